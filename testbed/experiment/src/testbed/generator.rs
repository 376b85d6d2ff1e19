//! The program that carries a node's share of `traffic:`, sources and sinks.
//!
//! One thread sends, each flow's datagrams at their instants; one thread for each port receives. Instants are of
//! `CLOCK_MONOTONIC`, which all nodes of a testbed share.

use plait_testbed_runtime::kernel::time::monotonic_nanos;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::thread;
use std::time::Duration;

/// What one node has to do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// The flows that it sends.
    pub sends: Vec<Send>,
    /// The ports that it listens on.
    pub receives: Vec<u16>,
    /// Whether it listens by IPv6.
    pub six: bool,
    /// When it stops listening.
    pub until: u64,
}

/// A flow to send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Send {
    /// Its number among all flows of the run, which each datagram carries.
    pub flow: u32,
    /// The receiver.
    pub to: SocketAddr,
    /// The port that it leaves from.
    pub source_port: u16,
    /// Bytes of payload.
    pub size: u16,
    /// Nanoseconds from one datagram to the next.
    pub every: u64,
    /// When the first leaves.
    pub start: u64,
    /// Before when the last leaves.
    pub stop: u64,
}

/// What became of a node's share.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// Datagrams sent, by flow.
    pub sent: BTreeMap<u32, u64>,
    /// What came, by flow.
    pub received: BTreeMap<u32, Received>,
}

/// What a sink saw of a flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Received {
    /// Datagrams.
    pub datagrams: u64,
    /// Bytes of payload.
    pub bytes: u64,
    /// Datagrams that came after one that was sent later.
    pub reordered: u64,
    /// The highest number seen, and one more.
    next: u64,
}

/// What datagrams of flows begin with, before the flow's number (4 bytes) and the datagram's own (8 bytes).
const MARK: [u8; 8] = *b"plaitudp";

/// How often a sink sees whether its time is over.
const LOOK: Duration = Duration::from_millis(50);

/// Carries a share until its end.
///
/// # Errors
/// Ports that are taken.
pub fn carry(share: &Share) -> io::Result<Told> {
    let any = |port| match share.six {
        true => SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), port),
        false => SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port),
    };
    let bound = |port: u16| {
        let taken = |error: io::Error| io::Error::new(error.kind(), format!("port {port}: {error}"));
        UdpSocket::bind(any(port)).map_err(taken)
    };
    let sinks = share.receives.iter().map(|port| bound(*port)).collect::<io::Result<Vec<_>>>()?;
    let sources = share.sends.iter().map(|send| bound(send.source_port)).collect::<io::Result<Vec<_>>>()?;
    thread::scope(|scope| {
        let sinks: Vec<_> =
            sinks.into_iter().map(|socket| scope.spawn(move || receive(&socket, share.until))).collect();
        let sent = send(&share.sends, &sources);
        let mut told = Told { sent, received: BTreeMap::new() };
        for sink in sinks {
            let received = sink.join().map_err(|_| io::Error::other("a sink broke"))??;
            told.received.extend(received);
        }
        Ok(told)
    })
}

/// Sends every datagram at its instant, or as soon after it as this thread runs.
fn send(sends: &[Send], sockets: &[UdpSocket]) -> BTreeMap<u32, u64> {
    let mut sent: BTreeMap<u32, u64> = sends.iter().map(|send| (send.flow, 0)).collect();
    let first = sends.iter().enumerate().filter(|(_, send)| send.start < send.stop);
    let mut due: BinaryHeap<_> = first.map(|(at, send)| Reverse((send.start, at, 0u64))).collect();
    let mut payload = vec![0; sends.iter().map(|send| usize::from(send.size)).max().unwrap_or(0)];
    while let Some(Reverse((instant, at, number))) = due.pop() {
        let rest = instant.saturating_sub(monotonic_nanos());
        if rest > 0 {
            thread::sleep(Duration::from_nanos(rest));
        }
        let flow = &sends[at];
        payload[..8].copy_from_slice(&MARK);
        payload[8..12].copy_from_slice(&flow.flow.to_be_bytes());
        payload[12..20].copy_from_slice(&number.to_be_bytes());
        // One that the kernel does not take (no route, a full buffer) was not sent.
        if sockets[at].send_to(&payload[..usize::from(flow.size)], flow.to).is_ok() {
            *sent.entry(flow.flow).or_default() += 1;
        }
        let next = instant + flow.every.max(1);
        if next < flow.stop {
            due.push(Reverse((next, at, number + 1)));
        }
    }
    sent
}

/// Takes datagrams until an instant; what is no flow's is left alone.
fn receive(socket: &UdpSocket, until: u64) -> io::Result<BTreeMap<u32, Received>> {
    socket.set_read_timeout(Some(LOOK))?;
    let mut flows: BTreeMap<u32, Received> = BTreeMap::new();
    let mut buffer = vec![0; 65_536];
    while monotonic_nanos() < until {
        // A timeout, or an error that ICMP reported of another datagram.
        let Ok(length) = socket.recv(&mut buffer) else { continue };
        let Some((flow, number)) = numbers(&buffer[..length]) else { continue };
        let seen = flows.entry(flow).or_default();
        seen.datagrams += 1;
        seen.bytes += length as u64;
        seen.reordered += u64::from(number < seen.next);
        seen.next = seen.next.max(number.saturating_add(1));
    }
    Ok(flows)
}

/// The flow and number of a datagram.
fn numbers(payload: &[u8]) -> Option<(u32, u64)> {
    let rest = payload.strip_prefix(&MARK)?;
    let (flow, rest) = rest.split_first_chunk()?;
    let number = rest.first_chunk()?;
    Some((u32::from_be_bytes(*flow), u64::from_be_bytes(*number)))
}
