//! What sends.

use crate::clock::{LOOK, now, sleep_until};
use crate::{Head, PortError, socket};
use plait_model_quantity::ByteCount;
use plait_model_traffic::Flow;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{SocketAddr, UdpSocket};

/// A flow to send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Its number among all flows of its run, which each datagram carries.
    pub flow: u32,
    /// The receiver.
    pub to: SocketAddr,
    /// The port that it leaves from.
    pub source_port: u16,
    /// Bytes of payload; fewer than a [`Head`] has are sent as so many.
    pub size: u16,
    /// Nanoseconds from one datagram to the next.
    pub every: u64,
    /// When the first leaves, from the [`Sender`]'s beginning on.
    pub start: u64,
    /// Before when the last leaves, likewise.
    pub stop: u64,
}

impl Source {
    /// The source of a flow, from one instant behind the beginning to another.
    pub fn of(number: u32, flow: &Flow, to: SocketAddr, [start, stop]: [u64; 2]) -> Self {
        let bits = u128::from(frame(flow.size, &to).bytes()) * 8;
        let every = bits * 1_000_000_000 / u128::from(flow.rate.bits_per_second().max(1));
        Self {
            flow: number,
            to,
            source_port: flow.source_port,
            size: u16::try_from(flow.size.bytes()).unwrap_or(u16::MAX),
            // A quarter of what the clock holds is for ever, and may still be added to an instant.
            every: u64::try_from(every).unwrap_or(u64::MAX).clamp(1, u64::MAX / 4),
            start,
            stop,
        }
    }

    fn length(&self) -> usize {
        usize::from(self.size).max(Head::LENGTH)
    }
}

/// Bytes of the Ethernet frame that carries a payload to an address, by which rates count.
pub fn frame(payload: ByteCount, to: &SocketAddr) -> ByteCount {
    let headers = if to.is_ipv6() { 14 + 40 + 8 } else { 14 + 20 + 8 };
    ByteCount::new(payload.bytes() + headers)
}

/// What became of a source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sent {
    /// Datagrams sent.
    pub datagrams: u64,
    /// Datagrams that the kernel did not take: no route, a full buffer, longer than a packet.
    pub refused: u64,
    /// The number of the last such error.
    pub why: Option<i32>,
}

/// Choice: who is this much late when a flow ends sends the rest no more. It is half of how long the sinks of a run
/// listen on, and longer than a thread waits for its turn on a busy machine.
const PATIENCE: u64 = 500_000_000;

/// Sources with their ports.
#[derive(Debug)]
pub struct Sender {
    run: u32,
    sources: Vec<(Source, UdpSocket)>,
}

impl Sender {
    /// Takes the ports of all sources. Datagrams longer than a packet are refused where `whole` says so, otherwise the
    /// kernel cuts them up.
    ///
    /// # Errors
    /// Ports that are taken.
    pub fn bind(run: u32, sources: Vec<Source>, whole: bool) -> Result<Self, PortError> {
        socket::open_many();
        let bound = sources.into_iter().map(|source| {
            let socket = socket::source(source.source_port, &source.to, whole)?;
            Ok((source, socket))
        });
        Ok(Self { run, sources: bound.collect::<Result<_, _>>()? })
    }

    /// Sends every datagram at its instant, counted from `begin`, or as soon after it as this thread runs, until all flows are
    /// over or `go_on`, which is told what was sent so far and asked 20 times a second, says no.
    pub fn send(&self, begin: u64, mut go_on: impl FnMut(&[Sent]) -> bool) -> Vec<Sent> {
        let mut sent = vec![Sent::default(); self.sources.len()];
        let flows = self.sources.iter().enumerate().filter(|(_, (source, _))| source.start < source.stop);
        let mut due: BinaryHeap<_> = flows.map(|(at, (source, _))| Reverse((source.start, at, 0))).collect();
        let longest = self.sources.iter().map(|(source, _)| source.length()).max().unwrap_or(Head::LENGTH);
        let mut payload = vec![0; longest];
        let mut look = now();
        while let Some(Reverse((time_of_run, at, number))) = due.pop() {
            let instant = begin.saturating_add(time_of_run);
            let late = loop {
                let time = now();
                if time >= look {
                    if !go_on(&sent) {
                        return sent;
                    }
                    look = time + LOOK;
                }
                if time >= instant {
                    break time;
                }
                sleep_until(instant.min(look));
            };
            let (source, socket) = &self.sources[at];
            if late > begin.saturating_add(source.stop).saturating_add(PATIENCE) {
                continue;
            }
            let head = Head { run: self.run, flow: source.flow, number };
            payload[..Head::LENGTH].copy_from_slice(&head.bytes());
            match socket.send_to(&payload[..source.length()], source.to) {
                Ok(_) => sent[at].datagrams += 1,
                Err(why) => {
                    sent[at].refused += 1;
                    sent[at].why = why.raw_os_error();
                }
            }
            let next = time_of_run.saturating_add(source.every.max(1));
            if next < source.stop {
                due.push(Reverse((next, at, number + 1)));
            }
        }
        sent
    }
}
