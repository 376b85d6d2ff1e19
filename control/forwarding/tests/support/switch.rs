//! A switch: ports, a flow table, and the packets that it keeps.

use plait_control_openflow::*;
use plait_model_wire::number::{ether_type, protocol};
use plait_model_wire::openflow::v13::oxm::Oxm;
use plait_model_wire::openflow::{v10, v13};
use plait_model_wire::{arp, ethernet, ipv4, ipv6};
use std::collections::BTreeMap;

pub struct Switch {
    pub version: Version,
    pub connected: bool,
    pub dead: bool,
    /// Whether each is up.
    pub ports: BTreeMap<u32, bool>,
    pub flows: Vec<Entry>,
    /// Packets that it keeps, with the port that each came by.
    pub kept: BTreeMap<u32, (u32, Vec<u8>)>,
    keeps: bool,
    buffers: u32,
    miss_length: u16,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub flow: Flow,
    pub packets: u64,
}

pub enum Out {
    Port(u32, Vec<u8>),
    Controller(Request),
}

/// What a packet-in says.
pub struct Request {
    pub port: u32,
    pub buffer: Option<u32>,
    pub total: u16,
    pub frame: Vec<u8>,
}

impl Switch {
    pub fn new(version: Version, keeps: bool) -> Self {
        Self {
            version,
            connected: false,
            dead: false,
            ports: BTreeMap::new(),
            flows: Vec::new(),
            kept: BTreeMap::new(),
            keeps,
            buffers: 0,
            miss_length: 128,
        }
    }

    pub fn info(&self) -> SwitchInfo {
        let port = |(number, up): (&u32, &bool)| PortInfo {
            number: Port(*number),
            name: format!("port{number}"),
            address: [6, 0, 0, 0, 0, *number as u8],
            // What it said last, of one that died.
            up: *up,
            speed: None,
        };
        SwitchInfo {
            version: self.version.number(),
            connected: self.connected,
            tables: 1,
            ports: self.ports.iter().map(port).collect(),
            ..SwitchInfo::default()
        }
    }

    /// A frame comes by a port.
    pub fn forward(&mut self, port: u32, frame: Vec<u8>) -> Vec<Out> {
        let mut best: Option<usize> = None;
        for (place, entry) in self.flows.iter().enumerate() {
            let higher = best.is_none_or(|best| self.flows[best].flow.priority < entry.flow.priority);
            if higher && has(&entry.flow.fields, port, &frame) {
                best = Some(place);
            }
        }
        match best {
            Some(place) => {
                self.flows[place].packets += 1;
                let actions = self.flows[place].flow.actions.clone();
                self.apply(&actions, port, frame)
            }
            None if self.version == Version::V10 => {
                vec![self.tell_controller(port, self.miss_length, frame)]
            }
            None => Vec::new(),
        }
    }

    fn tell_controller(&mut self, port: u32, length: u16, frame: Vec<u8>) -> Out {
        let total = frame.len() as u16;
        if length == 0xffff || !self.keeps {
            return Out::Controller(Request { port, buffer: None, total, frame });
        }
        self.buffers += 1;
        let first = frame[..frame.len().min(length.into())].to_vec();
        self.kept.insert(self.buffers, (port, frame));
        Out::Controller(Request { port, buffer: Some(self.buffers), total, frame: first })
    }

    fn apply(&mut self, actions: &Actions, in_port: u32, frame: Vec<u8>) -> Vec<Out> {
        let mut out = Vec::new();
        for action in actions.as_slice() {
            match action {
                Action::Output(port) if *port == Port::FLOOD || *port == Port::ALL => {
                    let up = self.ports.iter().filter(|(number, up)| **up && **number != in_port);
                    out.extend(up.map(|(number, _)| Out::Port(*number, frame.clone())));
                }
                Action::Output(port) if *port == Port::IN_PORT => out.push(Out::Port(in_port, frame.clone())),
                // 1.3.5 section 5.12: a packet leaves by the port that it came by only if one says so.
                Action::Output(port) if port.0 != in_port => {
                    assert!(port.is_physical(), "output to {port:?}");
                    if self.ports.get(&port.0).copied().unwrap_or(false) {
                        out.push(Out::Port(port.0, frame.clone()));
                    }
                }
                Action::Output(_) => {}
                Action::Controller(length) => {
                    let to = self.tell_controller(in_port, *length, frame.clone());
                    out.push(to);
                }
                other => panic!("this switch cannot {other:?}"),
            }
        }
        out
    }

    /// Does what it is told. What its version has no words for is a fault of whoever told it.
    pub fn obey(&mut self, command: &Command) -> Vec<Out> {
        let mut bytes = Vec::new();
        match command {
            Command::Flow(flow) => {
                flow.emit_into(self.version, 1, &mut bytes).unwrap();
                self.change(flow.clone(), None);
                match flow.buffer.filter(|_| flow.change == Change::Add) {
                    Some(buffer) => {
                        let (port, frame) = self.kept.remove(&buffer).expect("the packet is kept");
                        self.apply(&flow.actions, port, frame)
                    }
                    None => Vec::new(),
                }
            }
            Command::PacketOut(out) => {
                out.emit_into(self.version, 1, &mut bytes).unwrap();
                let (in_port, frame) = match &out.packet {
                    Packet::Kept(buffer) => self.kept.remove(buffer).expect("the packet is kept"),
                    Packet::Bytes(bytes) => (out.in_port.0, bytes.clone()),
                    Packet::Of(batch, place) => {
                        let packet = batch.get(*place).unwrap();
                        assert_eq!(usize::from(packet.total_length), packet.frame.len(), "it is whole");
                        (out.in_port.0, packet.frame.to_vec())
                    }
                };
                self.apply(&out.actions, in_port, frame)
            }
            Command::Barrier => Vec::new(),
            Command::Raw(bytes) => {
                self.raw(bytes);
                Vec::new()
            }
        }
    }

    fn raw(&mut self, bytes: &[u8]) {
        let fields = |eth_dst| Fields { eth_dst, ..Fields::ANY };
        match self.version {
            Version::V10 => match v10::Message::parse(bytes).unwrap().body {
                v10::Body::SetConfig(config) => self.miss_length = config.miss_send_length,
                v10::Body::FlowMod(flow) => {
                    assert_eq!(flow.command, v10::flow_mod::FlowModCommand::DELETE);
                    let mut any = v10::Match::ANY;
                    let to = flow.flow_match.ethernet_destination;
                    let named = flow.flow_match != any;
                    if named {
                        any.ethernet_destination = to;
                        let wild = v10::Wildcards::ETHERNET_DESTINATION;
                        any.wildcards = v10::Wildcards(any.wildcards.0 & !wild.0);
                    }
                    assert_eq!(flow.flow_match, any, "by destination, or any");
                    self.change(Flow::delete(fields(named.then_some(to.0))), Some(flow.out_port.into()));
                }
                other => panic!("{other:?}"),
            },
            Version::V13 => match v13::Message::parse(bytes).unwrap().body {
                v13::Body::SetConfig(config) => self.miss_length = config.miss_send_length,
                v13::Body::FlowMod(flow) => {
                    assert_eq!(flow.command, v13::flow_mod::FlowModCommand::DELETE);
                    let to = match flow.flow_match.fields() {
                        [] => None,
                        [Oxm::EthDst(to)] => Some(to.value.0),
                        other => panic!("{other:?}"),
                    };
                    let leaving = (flow.out_port != v13::PortNumber::ANY).then(|| flow.out_port.into());
                    let marked = |entry: &Entry| (entry.flow.cookie ^ flow.cookie) & flow.cookie_mask == 0;
                    let (marked, others) = std::mem::take(&mut self.flows).into_iter().partition(marked);
                    self.flows = marked;
                    self.change(Flow::delete(fields(to)), leaving);
                    self.flows.extend::<Vec<_>>(others);
                }
                other => panic!("{other:?}"),
            },
        }
    }

    fn change(&mut self, flow: Flow, leaving: Option<Port>) {
        let same = |entry: &Entry| entry.flow.priority == flow.priority && entry.flow.fields == flow.fields;
        match flow.change {
            Change::Add => {
                self.flows.retain(|entry| !same(entry));
                self.flows.push(Entry { flow: Flow { buffer: None, ..flow }, packets: 0 });
            }
            Change::Delete => self.flows.retain(|entry| {
                let leaves = |port: Port| entry.flow.actions.as_slice().contains(&Action::Output(port));
                !(within(&entry.flow.fields, &flow.fields) && leaving.is_none_or(leaves))
            }),
            Change::DeleteStrict => self.flows.retain(|entry| !same(entry)),
            other => panic!("this switch cannot {other:?}"),
        }
    }
}

/// Whether every packet of `inner` is one of `outer`.
fn within(inner: &Fields, outer: &Fields) -> bool {
    fn same<T: PartialEq + Copy>(inner: Option<T>, outer: Option<T>) -> bool {
        outer.is_none() || inner == outer
    }
    let net = |inner: Option<(std::net::Ipv4Addr, u8)>, outer: Option<(std::net::Ipv4Addr, u8)>| match outer {
        None => true,
        Some((network, bits)) => inner.is_some_and(|(address, own)| {
            own >= bits && in_network(address.to_bits().into(), network.to_bits().into(), 32, bits)
        }),
    };
    same(inner.in_port, outer.in_port)
        && same(inner.eth_src, outer.eth_src)
        && same(inner.eth_dst, outer.eth_dst)
        && same(inner.eth_type, outer.eth_type)
        && same(inner.vlan, outer.vlan)
        && same(inner.protocol, outer.protocol)
        && same(inner.source_port, outer.source_port)
        && same(inner.destination_port, outer.destination_port)
        && net(inner.ipv4_src, outer.ipv4_src)
        && net(inner.ipv4_dst, outer.ipv4_dst)
        && same(inner.ipv6_src, outer.ipv6_src)
        && same(inner.ipv6_dst, outer.ipv6_dst)
}

fn in_network(address: u128, network: u128, width: u32, bits: u8) -> bool {
    (address ^ network).checked_shr(width - u32::from(bits)).unwrap_or(0) == 0
}

/// Whether a frame has what fields ask for.
fn has(fields: &Fields, port: u32, bytes: &[u8]) -> bool {
    let frame = ethernet::Frame::parse(bytes).unwrap();
    let mut exact = Fields {
        in_port: Some(Port(port)),
        eth_src: Some(frame.source().0),
        eth_dst: Some(frame.destination().0),
        eth_type: Some(frame.ether_type()),
        vlan: Some(0),
        ..Fields::ANY
    };
    let mut inside: Option<(u8, &[u8])> = None;
    match frame.ether_type() {
        ether_type::IPV4 => {
            if let Ok(packet) = ipv4::Packet::parse(frame.payload()) {
                exact.ipv4_src = Some((packet.source(), 32));
                exact.ipv4_dst = Some((packet.destination(), 32));
                inside = Some((packet.protocol(), packet.payload()));
            }
        }
        ether_type::IPV6 => {
            if let Ok(packet) = ipv6::Packet::parse(frame.payload()) {
                exact.ipv6_src = Some((packet.source(), 128));
                exact.ipv6_dst = Some((packet.destination(), 128));
                inside = Some((packet.next_header(), packet.payload()));
            }
        }
        ether_type::ARP => {
            if let Ok(packet) = arp::Packet::parse(frame.payload()) {
                exact.ipv4_src = Some((packet.sender().1, 32));
                exact.ipv4_dst = Some((packet.target().1, 32));
                exact.protocol = Some(packet.operation() as u8);
            }
        }
        _ => {}
    }
    if let Some((number, payload)) = inside {
        exact.protocol = Some(number);
        let ports = match (number, payload) {
            (protocol::TCP | protocol::UDP, [a, b, c, d, ..]) => {
                Some((u16::from_be_bytes([*a, *b]), u16::from_be_bytes([*c, *d])))
            }
            (protocol::ICMP | protocol::ICMPV6, [kind, code, ..]) => Some(((*kind).into(), (*code).into())),
            _ => None,
        };
        (exact.source_port, exact.destination_port) = (ports.map(|both| both.0), ports.map(|both| both.1));
    }
    within(&exact, fields)
}
