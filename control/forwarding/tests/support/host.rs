//! A host: it resolves addresses and answers echoes.

use super::End;
use plait_model_wire::ethernet::{self, Mac};
use plait_model_wire::neighbor::Neighbor;
use plait_model_wire::number::{ether_type, protocol};
use plait_model_wire::{arp, ipv4, ipv6, push};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

pub struct Host {
    pub at: End,
    pub mac: Mac,
    pub ip: Ipv4Addr,
    pub ip6: Ipv6Addr,
    pub neighbours: BTreeMap<Ipv4Addr, Mac>,
    pub neighbours6: BTreeMap<Ipv6Addr, Mac>,
    /// Every frame that it was given, its own among them if the network sends them back.
    pub heard: Vec<Vec<u8>>,
    /// Answers to its echo requests.
    pub echoes: usize,
}

/// A frame.
pub fn frame(destination: Mac, source: Mac, ether_type: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = payload.to_vec();
    push(&mut bytes, &ethernet::Repr { destination, source, ether_type });
    bytes
}

impl Host {
    pub fn new(number: usize, at: End) -> Self {
        let low = number as u8 + 1;
        Self {
            at,
            mac: Mac([2, 0, 0, 0, 0, low]),
            ip: [10, 0, 0, low].into(),
            ip6: [0xfd00, 0, 0, 0, 0, 0, 0, low.into()].into(),
            neighbours: BTreeMap::new(),
            neighbours6: BTreeMap::new(),
            heard: Vec::new(),
            echoes: 0,
        }
    }

    pub fn ask(&self, ip: Ipv4Addr) -> Vec<u8> {
        let mut bytes = Vec::new();
        let target = (Mac::default(), ip);
        push(&mut bytes, &arp::Repr { operation: arp::REQUEST, sender: (self.mac, self.ip), target });
        frame(Mac::BROADCAST, self.mac, ether_type::ARP, &bytes)
    }

    pub fn solicit(&self, ip: Ipv6Addr) -> Vec<u8> {
        let [.., a, b, c] = ip.octets();
        let group: Ipv6Addr =
            [0xff02, 0, 0, 0, 0, 1, 0xff00 | u16::from(a), u16::from_be_bytes([b, c])].into();
        let says = Neighbor::Solicitation { target: ip, source: Some(self.mac) };
        let mut bytes = Vec::new();
        push(&mut bytes, &says.between(self.ip6, group));
        self.packet6(Mac([0x33, 0x33, 0xff, a, b, c]), group, 255, &bytes)
    }

    pub fn echo(&self, mac: Mac, ip: Ipv4Addr) -> Vec<u8> {
        self.icmp(mac, ip, 8)
    }

    fn icmp(&self, mac: Mac, ip: Ipv4Addr, kind: u8) -> Vec<u8> {
        self.packet(mac, ip, protocol::ICMP, &[kind, 0, 0, 0, 0, 1, 0, 1])
    }

    pub fn packet(&self, mac: Mac, destination: Ipv4Addr, protocol: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = payload.to_vec();
        let (source, ttl, tos) = (self.ip, 64, 0);
        let repr =
            ipv4::Repr { source, destination, protocol, ttl, tos, dont_fragment: true, identification: 0 };
        push(&mut bytes, &repr);
        frame(mac, self.mac, ether_type::IPV4, &bytes)
    }

    pub fn udp(&self, mac: Mac, ip: Ipv4Addr, ports: (u16, u16)) -> Vec<u8> {
        let mut bytes = vec![0; 200];
        push(
            &mut bytes,
            &plait_model_wire::udp::Repr { source: ports.0, destination: ports.1, checked: None },
        );
        self.packet(mac, ip, protocol::UDP, &bytes)
    }

    pub fn echo6(&self, mac: Mac, ip: Ipv6Addr) -> Vec<u8> {
        self.packet6(mac, ip, 64, &[128, 0, 0, 0, 0, 1, 0, 1])
    }

    fn packet6(&self, mac: Mac, destination: Ipv6Addr, hop_limit: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = payload.to_vec();
        let (source, next_header, traffic_class, flow_label) = (self.ip6, protocol::ICMPV6, 0, 0);
        let repr = ipv6::Repr { source, destination, next_header, hop_limit, traffic_class, flow_label };
        push(&mut bytes, &repr);
        frame(mac, self.mac, ether_type::IPV6, &bytes)
    }

    /// Hears a frame, and answers.
    pub fn hear(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        self.heard.push(bytes.to_vec());
        let parsed = ethernet::Frame::parse(bytes).unwrap();
        if parsed.destination() != self.mac && !parsed.destination().is_group() {
            return Vec::new();
        }
        let answer = match parsed.ether_type() {
            ether_type::ARP => self.resolve(&arp::Packet::parse(parsed.payload()).unwrap()),
            ether_type::IPV4 => {
                let packet = ipv4::Packet::parse(parsed.payload()).unwrap();
                self.echoed(packet.protocol() == protocol::ICMP, packet.payload(), 8, 0)
                    .then(|| self.icmp(parsed.source(), packet.source(), 0))
            }
            ether_type::IPV6 => {
                let packet = ipv6::Packet::parse(parsed.payload()).unwrap();
                if self.echoed(true, packet.payload(), 128, 129) {
                    let reply = [129, 0, 0, 0, 0, 1, 0, 1];
                    Some(self.packet6(parsed.source(), packet.source(), 64, &reply))
                } else {
                    self.resolve6(parsed.source(), &packet)
                }
            }
            _ => None,
        };
        answer.into_iter().collect()
    }

    /// Whether it is an echo request; an answer is counted.
    fn echoed(&mut self, icmp: bool, payload: &[u8], request: u8, reply: u8) -> bool {
        let kind = payload.first().copied().filter(|_| icmp);
        self.echoes += usize::from(kind == Some(reply));
        kind == Some(request)
    }

    fn resolve(&mut self, packet: &arp::Packet<'_>) -> Option<Vec<u8>> {
        let (mac, ip) = packet.sender();
        if packet.target().1 != self.ip {
            return None;
        }
        self.neighbours.insert(ip, mac);
        (packet.operation() == arp::REQUEST).then(|| {
            let mut bytes = Vec::new();
            let sender = (self.mac, self.ip);
            push(&mut bytes, &arp::Repr { operation: arp::REPLY, sender, target: (mac, ip) });
            frame(mac, self.mac, ether_type::ARP, &bytes)
        })
    }

    fn resolve6(&mut self, from: Mac, packet: &ipv6::Packet<'_>) -> Option<Vec<u8>> {
        let (source, destination) = (packet.source(), packet.destination());
        match Neighbor::of(packet.payload(), source, destination, packet.hop_limit()) {
            Ok(Neighbor::Solicitation { target, source: Some(mac) }) if target == self.ip6 => {
                self.neighbours6.insert(source, mac);
                let mac = Some(self.mac);
                let says =
                    Neighbor::Advertisement { target, mac, router: false, solicited: true, overrides: true };
                let mut bytes = Vec::new();
                push(&mut bytes, &says.between(self.ip6, source));
                Some(self.packet6(from, source, 255, &bytes))
            }
            Ok(Neighbor::Advertisement { target, mac: Some(mac), .. }) => {
                self.neighbours6.insert(target, mac);
                None
            }
            _ => None,
        }
    }
}

impl Host {
    /// Its addresses.
    pub fn clone_ends(&self) -> (Mac, Ipv4Addr) {
        (self.mac, self.ip)
    }
}
