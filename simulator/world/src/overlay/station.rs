//! The host above a member's device: the flows that it sends over the overlay, and those that come.

use super::flows::OverlayFlowSpec;
use super::neighbours::{Neighbours, answer, framed};
use super::outer::push_ip;
use plait_model_wire::ethernet::{self, Mac};
use plait_model_wire::neighbor::Neighbor as Message;
use plait_model_wire::number::{ether_type, protocol};
use plait_model_wire::{arp, ipv4, ipv6, push, udp};
use plait_simulator_engine::{FlowCounters, headers};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::net::IpAddr;
use std::time::Duration;

/// What a datagram begins with: its flow, its number, and when it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Head {
    flow: u32,
    number: u64,
    sent: u64,
}

/// A host with an address or more on an overlay's device.
#[derive(Debug)]
pub(super) struct Station {
    mac: Mac,
    /// Whether the device carries frames, for which others' hardware addresses are to be found. Of one that carries packets frames
    /// have none.
    finds_others: bool,
    addresses: BTreeSet<IpAddr>,
    neighbours: Neighbours,
    /// In the order of their flows' numbers.
    sources: Vec<Source>,
    /// When each source sends next.
    due: BinaryHeap<Reverse<(Duration, usize)>>,
    sinks: BTreeMap<u32, Sink>,
}

#[derive(Debug)]
struct Source {
    flow: u32,
    spec: OverlayFlowSpec,
    every: Duration,
    sent: u64,
}

#[derive(Debug, Default)]
struct Sink {
    counters: FlowCounters,
    /// The highest number seen, and one more.
    next: u64,
}

impl Station {
    /// The station above a device of that hardware address.
    pub fn new(mac: Mac, finds_others: bool) -> Self {
        Self {
            mac,
            finds_others,
            addresses: BTreeSet::new(),
            neighbours: Neighbours::default(),
            sources: Vec::new(),
            due: BinaryHeap::new(),
            sinks: BTreeMap::new(),
        }
    }

    /// Sends a flow from now on, whose number is higher than those of all before it.
    pub fn send(&mut self, flow: u32, spec: &OverlayFlowSpec) {
        let bits = (u128::from(spec.size) + u128::from(headers(spec.addresses[1].is_ipv6()))) * 8;
        let every = bits * 1_000_000_000 / u128::from(spec.rate.bits_per_second().max(1));
        let every = Duration::from_nanos(u64::try_from(every).unwrap_or(u64::MAX).max(1));
        self.addresses.insert(spec.addresses[0]);
        if spec.start < spec.stop {
            self.due.push(Reverse((spec.start, self.sources.len())));
        }
        self.sources.push(Source { flow, spec: spec.clone(), every, sent: 0 });
    }

    /// Counts a flow that comes.
    pub fn receive(&mut self, flow: u32, spec: &OverlayFlowSpec) {
        self.addresses.insert(spec.addresses[1]);
        self.sinks.entry(flow).or_default();
    }

    /// How many datagrams of a flow were sent from here.
    pub fn sent(&self, flow: u32) -> u64 {
        self.sources.binary_search_by_key(&flow, |source| source.flow).map_or(0, |at| self.sources[at].sent)
    }

    /// What came here of a flow, if it is for this one.
    pub fn received(&self, flow: u32) -> Option<FlowCounters> {
        self.sinks.get(&flow).map(|sink| sink.counters)
    }

    /// The frames that are due.
    pub fn handle_timeout(&mut self, now: Duration) -> Vec<Vec<u8>> {
        let mut frames = self.neighbours.handle_timeout(now);
        while let Some(&Reverse((instant, at))) = self.due.peek()
            && instant <= now
        {
            self.due.pop();
            let source = &mut self.sources[at];
            let packet = source.packet(now);
            let [own, to] = source.spec.addresses;
            match self.finds_others {
                true => frames.extend(self.neighbours.send(now, (self.mac, own), to, packet)),
                false => frames.push(framed(packet, Mac::default(), Mac::default(), to)),
            }
            let next = instant.saturating_add(source.every);
            if next < source.spec.stop {
                self.due.push(Reverse((next, at)));
            }
        }
        frames
    }

    /// When [`handle_timeout`](Self::handle_timeout) is next worth a call.
    pub fn poll_timeout(&self) -> Option<Duration> {
        let due = self.due.peek().map(|Reverse((instant, _))| *instant);
        [due, self.neighbours.poll_timeout()].into_iter().flatten().min()
    }

    /// A frame comes up by the device. The frames that answer it, and those that waited for it.
    pub fn handle_frame(&mut self, now: Duration, frame: &[u8]) -> Vec<Vec<u8>> {
        let Ok(frame) = ethernet::Frame::parse(frame) else { return Vec::new() };
        let is_own = frame.destination() == self.mac || frame.destination().is_group();
        if self.finds_others && !is_own {
            return Vec::new();
        }
        match frame.ether_type() {
            ether_type::ARP => self.handle_arp(now, frame.payload()),
            ether_type::IPV4 => {
                if let Ok(packet) = ipv4::Packet::parse(frame.payload())
                    && packet.protocol() == protocol::UDP
                {
                    self.count(now, packet.destination().into(), packet.payload());
                }
                Vec::new()
            }
            ether_type::IPV6 => {
                let Ok(packet) = ipv6::Packet::parse(frame.payload()) else { return Vec::new() };
                match packet.next_header() {
                    protocol::UDP => {
                        self.count(now, packet.destination().into(), packet.payload());
                        Vec::new()
                    }
                    protocol::ICMPV6 => self.handle_neighbor(now, &packet),
                    _ => Vec::new(),
                }
            }
            _ => Vec::new(),
        }
    }

    fn handle_arp(&mut self, now: Duration, payload: &[u8]) -> Vec<Vec<u8>> {
        let Ok(packet) = arp::Packet::parse(payload) else { return Vec::new() };
        let ((mac, sender), target) = (packet.sender(), IpAddr::from(packet.target().1));
        self.meet(now, (mac, sender.into()), target, packet.operation() == arp::REQUEST)
    }

    fn handle_neighbor(&mut self, now: Duration, packet: &ipv6::Packet<'_>) -> Vec<Vec<u8>> {
        let (source, destination) = (packet.source(), packet.destination());
        match Message::of(packet.payload(), source, destination, packet.hop_limit()) {
            Ok(Message::Solicitation { target, source: Some(mac) }) => {
                self.meet(now, (mac, source.into()), target.into(), true)
            }
            Ok(Message::Advertisement { target, mac: Some(mac), .. }) => {
                self.meet(now, (mac, target.into()), destination.into(), false)
            }
            _ => Vec::new(),
        }
    }

    /// Another station says who it is, and asks about an address of this one if it is a question.
    fn meet(
        &mut self,
        now: Duration,
        other: (Mac, IpAddr),
        target: IpAddr,
        is_question: bool,
    ) -> Vec<Vec<u8>> {
        if !self.addresses.contains(&target) {
            return Vec::new();
        }
        let mut frames = self.neighbours.heard(now, other.1, other.0);
        if is_question {
            frames.push(answer((self.mac, target), other));
        }
        frames
    }

    fn count(&mut self, now: Duration, to: IpAddr, payload: &[u8]) {
        if !self.addresses.contains(&to) {
            return;
        }
        let Ok(datagram) = udp::Datagram::parse(payload) else { return };
        let Some(head) = Head::parse(datagram.payload()) else { return };
        let Some(sink) = self.sinks.get_mut(&head.flow) else { return };
        sink.counters.arrive(now.as_nanos() as u64, head.sent, datagram.payload().len() as u64);
        sink.counters.reordered += u64::from(head.number < sink.next);
        sink.next = sink.next.max(head.number.saturating_add(1));
    }
}

impl Source {
    /// The next datagram, with its headers but Ethernet's.
    fn packet(&mut self, now: Duration) -> Vec<u8> {
        let spec = &self.spec;
        let head = Head { flow: self.flow, number: self.sent, sent: now.as_nanos() as u64 };
        let mut packet = head.bytes().to_vec();
        packet.resize(usize::from(spec.size).max(Head::LENGTH), 0);
        let [source, destination] = spec.ports;
        let checked = Some((spec.addresses[0], spec.addresses[1]));
        push(&mut packet, &udp::Repr { source, destination, checked });
        push_ip(&mut packet, spec.addresses, protocol::UDP, 64, 0);
        self.sent += 1;
        packet
    }
}

impl Head {
    const LENGTH: usize = 20;

    fn bytes(&self) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        bytes[..4].copy_from_slice(&self.flow.to_be_bytes());
        bytes[4..12].copy_from_slice(&self.number.to_be_bytes());
        bytes[12..].copy_from_slice(&self.sent.to_be_bytes());
        bytes
    }

    fn parse(payload: &[u8]) -> Option<Self> {
        let (flow, rest) = payload.split_first_chunk()?;
        let (number, rest) = rest.split_first_chunk()?;
        let sent = rest.first_chunk()?;
        Some(Self {
            flow: u32::from_be_bytes(*flow),
            number: u64::from_be_bytes(*number),
            sent: u64::from_be_bytes(*sent),
        })
    }
}
