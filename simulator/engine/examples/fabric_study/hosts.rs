//! Hosts: one sends flows of datagrams, each by the list that its selector says, and counts what comes to it.

use plait_control_paths::select::{FlowKey, Selector};
use plait_model_wire::number::protocol;
use plait_simulator_engine::{Datagram, Host, StackIndex, Transmit};
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Bytes of UDP payload, as the thesis has them.
pub const PAYLOAD: usize = 1024;
/// Bytes of the frame around them: the headers of UDP, IP and Ethernet.
pub const FRAME: usize = PAYLOAD + 8 + 20 + 14;
/// The port that datagrams are for.
pub const PORT: u16 = 5000;

pub struct Flow {
    pub port: u16,
    pub gap: Duration,
    pub next: Duration,
    pub sent: u64,
}

/// A host with its flows to one other.
pub struct Station {
    pub address: IpAddr,
    pub peer: IpAddr,
    pub flows: Vec<Flow>,
    pub lists: Vec<StackIndex>,
    pub selector: Option<Selector>,
    /// What is sent from then on counts.
    pub from: Duration,
    /// Until when it sends.
    pub until: Duration,
    pub counted: Counted,
    ready: VecDeque<Transmit>,
    /// Datagrams of flows that move, until those before have arrived.
    held: BTreeMap<(Duration, u64), Transmit>,
    number: u64,
    /// By flow, the number that is due next.
    expected: BTreeMap<(IpAddr, u16), u64>,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Counted {
    pub sent: u64,
    pub received: u64,
    /// Datagrams that came after one that was sent later.
    pub reordered: u64,
    /// Flows that were moved.
    pub moved: u64,
    /// Datagrams that were held for the order's sake.
    pub held: u64,
}

impl Station {
    pub fn new(addresses: [IpAddr; 2], flows: Vec<Flow>, times: [Duration; 2]) -> Self {
        Self {
            address: addresses[0],
            peer: addresses[1],
            flows,
            lists: Vec::new(),
            selector: None,
            from: times[0],
            until: times[1],
            counted: Counted::default(),
            ready: VecDeque::new(),
            held: BTreeMap::new(),
            number: 0,
            expected: BTreeMap::new(),
        }
    }

    fn send(&mut self, flow: usize, now: Duration) {
        let Flow { port, sent, .. } = self.flows[flow];
        let mut payload = vec![0; PAYLOAD];
        payload[..8].copy_from_slice(&sent.to_be_bytes());
        payload[8..16].copy_from_slice(&(now.as_nanos() as u64).to_be_bytes());
        let (mut relays, mut at) = (StackIndex::NONE, now);
        if let Some(selector) = &mut self.selector {
            let key = FlowKey {
                source: self.address,
                destination: self.peer,
                protocol: protocol::UDP,
                source_port: port,
                destination_port: PORT,
            };
            let placement = selector.place(key, FRAME, now);
            (relays, at) = (self.lists[placement.list], placement.at);
        }
        let destination = SocketAddr::new(self.peer, PORT);
        let transmit = Transmit { source: None, port: Some(port), destination, payload, relays };
        self.counted.sent += u64::from(now >= self.from);
        if at <= now {
            return self.ready.push_back(transmit);
        }
        self.counted.held += 1;
        self.held.insert((at, self.number), transmit);
        self.number += 1;
    }
}

impl Host for Station {
    fn handle_datagram(&mut self, _: Duration, datagram: &Datagram<'_>) {
        let word = |at: usize| {
            let bytes: [u8; 8] = datagram.payload[at..at + 8].try_into().unwrap_or_default();
            u64::from_be_bytes(bytes)
        };
        let due = self.expected.entry((datagram.source.ip(), datagram.source.port())).or_default();
        self.counted.reordered += u64::from(word(0) < *due);
        *due = (*due).max(word(0) + 1);
        self.counted.received += u64::from(Duration::from_nanos(word(8)) >= self.from);
    }

    fn handle_timeout(&mut self, now: Duration) {
        while let Some(first) = self.held.first_entry().filter(|first| first.key().0 <= now) {
            self.ready.push_back(first.remove());
        }
        if let Some(selector) = &mut self.selector
            && selector.poll_timeout() <= now
        {
            self.counted.moved += u64::from(selector.handle_timeout(now).is_some());
        }
        for flow in 0..self.flows.len() {
            while self.flows[flow].next <= now && now < self.until {
                self.send(flow, now);
                let flow = &mut self.flows[flow];
                flow.sent += 1;
                flow.next += flow.gap;
            }
        }
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.ready.pop_front()
    }

    fn poll_timeout(&self) -> Option<Duration> {
        let flows = self.flows.iter().map(|flow| flow.next).filter(|next| *next < self.until);
        let held = self.held.first_key_value().map(|((at, _), _)| *at);
        let sends = flows.chain(held).min()?;
        Some(self.selector.as_ref().map_or(sends, |selector| sends.min(selector.poll_timeout())))
    }
}
