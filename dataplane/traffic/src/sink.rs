//! What counts.

use crate::clock::{LOOK, now};
use crate::{Head, PortError, socket};
use indexmap::IndexMap;
use indexmap::map::Entry;
use std::fs;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

/// A port that counts the flows that come.
#[derive(Debug)]
pub struct Sink {
    port: u16,
    socket: UdpSocket,
}

/// What tells a flow from all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    /// Where its datagrams come from.
    pub from: SocketAddr,
    /// Its sender's run.
    pub run: u32,
    /// Its number among the flows of that run.
    pub flow: u32,
}

/// What came of a flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Arrived {
    /// Datagrams.
    pub datagrams: u64,
    /// Bytes of payload.
    pub bytes: u64,
    /// Datagrams that came after one that was sent later, and those that came twice.
    pub reordered: u64,
    /// The highest number seen, and one more: so many were sent at least.
    pub next: u64,
    /// When the first came.
    pub first: u64,
    /// When the last came.
    pub last: u64,
}

impl Arrived {
    /// Datagrams that did not come though later ones did. Those at a flow's end that nothing follows are not among them,
    /// and each that came twice hides one.
    pub fn missing(&self) -> u64 {
        self.next.saturating_sub(self.datagrams)
    }
}

/// What a sink heard.
#[derive(Debug, Clone, Default)]
pub struct Heard {
    /// Flows, in the order in which they came.
    pub flows: IndexMap<Key, Arrived>,
    /// Datagrams that are of no flow.
    pub strange: u64,
    /// Datagrams of flows beyond the [`Sink::MOST_FLOWS`] that came first.
    pub beyond: u64,
    /// Datagrams that reached this host and found the socket full, where the kernel says how many.
    pub overrun: Option<u64>,
}

impl Sink {
    /// The most flows that are told apart. Choice: as many as one traffic has at most; who makes up senders fills no memory.
    pub const MOST_FLOWS: usize = 1_000_000;

    /// Takes a port, of IPv4 and IPv6.
    ///
    /// # Errors
    /// It is taken.
    pub fn bind(port: u16) -> Result<Self, PortError> {
        Ok(Self { port, socket: socket::sink(port)? })
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Counts what comes, until `go_on`, which is told of it and asked 20 times a second, says no.
    ///
    /// # Errors
    /// A kernel that does not wait.
    pub fn listen(&self, mut go_on: impl FnMut(&Heard) -> bool) -> io::Result<Heard> {
        self.socket.set_read_timeout(Some(Duration::from_nanos(LOOK)))?;
        let mut heard = Heard::default();
        let mut buffer = vec![0; 65_536];
        let mut look = now();
        loop {
            let came = self.socket.recv_from(&mut buffer);
            let time = now();
            // Otherwise a timeout, or an error that ICMP reported of another datagram.
            if let Ok((length, from)) = came {
                heard.count(&buffer[..length], from, time);
            }
            if time >= look {
                if !go_on(&heard) {
                    heard.overrun = self.overrun();
                    return Ok(heard);
                }
                look = time + LOOK;
            }
        }
    }

    /// Datagrams that found this socket full.
    fn overrun(&self) -> Option<u64> {
        let inode = rustix::fs::fstat(&self.socket).ok()?.st_ino.to_string();
        let row = |table: &str| {
            let text = fs::read_to_string(format!("/proc/thread-self/net/{table}")).ok()?;
            // sl local remote st tx:rx tr:when retrnsmt uid timeout inode ref pointer drops
            let mut rows = text.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
            let own = rows.find(|columns| columns.get(9) == Some(&inode.as_str()))?;
            own.get(12)?.parse().ok()
        };
        row("udp6").or_else(|| row("udp"))
    }
}

impl Heard {
    fn count(&mut self, payload: &[u8], from: SocketAddr, time: u64) {
        let Some(head) = Head::parse(payload) else {
            self.strange += 1;
            return;
        };
        // A socket of both families calls an IPv4 address by IPv6's name of it.
        let from = SocketAddr::new(from.ip().to_canonical(), from.port());
        let key = Key { from, run: head.run, flow: head.flow };
        let is_room = self.flows.len() < Sink::MOST_FLOWS;
        let flow = match self.flows.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) if is_room => new.insert(Arrived { first: time, ..Arrived::default() }),
            Entry::Vacant(_) => {
                self.beyond += 1;
                return;
            }
        };
        flow.datagrams += 1;
        flow.bytes += payload.len() as u64;
        flow.reordered += u64::from(head.number < flow.next);
        flow.next = flow.next.max(head.number.saturating_add(1));
        flow.last = time;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_makes_up_senders_fills_no_memory_and_hides_no_flow_that_was_there() {
        let from = SocketAddr::from(([192, 0, 2, 1], 20_000));
        let most = Sink::MOST_FLOWS as u32;
        let mut heard = Heard::default();
        for flow in (0..most + 3).chain([0, most]) {
            heard.count(&Head { run: 1, flow, number: 0 }.bytes(), from, 1);
        }
        assert_eq!((heard.flows.len(), heard.beyond, heard.strange), (Sink::MOST_FLOWS, 4, 0));
        assert_eq!(heard.flows[0].datagrams, 2);
    }
}
