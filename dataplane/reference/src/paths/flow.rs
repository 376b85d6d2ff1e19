//! From a packet to its flow, and to what of it routers between relays see.

use super::family::{Family, mapped};
use super::tables::{FlowKey, ListSet};
use crate::drivers::mixed;
use plait_model_wire::number::protocol;
use plait_model_wire::{ipv4, ipv6};
use std::net::IpAddr;

/// The flow of an IP packet; none of what is no such packet. Choice: of IPv6 the ports are those right behind its header;
/// what has extension headers is told from others by its addresses and the first of them.
pub fn flow_of(packet: &[u8]) -> Option<FlowKey> {
    let has_ports = |number: u8| [protocol::TCP, protocol::UDP, protocol::SCTP].contains(&number);
    let (source, destination, number, behind): (IpAddr, IpAddr, u8, &[u8]) = match Family::of_packet(packet)?
    {
        Family::Ipv4 => {
            let ip = ipv4::Packet::parse(packet).ok()?;
            let behind = if ip.is_fragment() { &[] } else { ip.payload() };
            (ip.source().into(), ip.destination().into(), ip.protocol(), behind)
        }
        Family::Ipv6 => {
            let ip = ipv6::Packet::parse(packet).ok()?;
            (ip.source().into(), ip.destination().into(), ip.next_header(), ip.payload())
        }
    };
    let ports = behind.first_chunk().filter(|_| has_ports(number)).copied().unwrap_or_default();
    Some(FlowKey { source: mapped(source), destination: mapped(destination), ports, protocol: number.into() })
}

/// A flow's hash.
pub fn hash_of(flow: &FlowKey) -> u32 {
    let words = |address: [u8; 16]| {
        let (chunks, _) = address.as_chunks::<4>();
        [0, 1, 2, 3].map(|word| u32::from_ne_bytes(chunks[word]))
    };
    let folded = |address: [u8; 16]| match words(address) {
        [0, 0, third, last] if third == 0xffff_u32.to_be() => last,
        [a, b, c, last] => mixed(a, b, c) ^ last,
    };
    let ports = u32::from_ne_bytes(flow.ports);
    mixed(folded(flow.source), folded(flow.destination), ports ^ flow.protocol)
}

/// The UDP port that a flow's stack has as its source, in which a switch's hash sees the flow.
pub fn source_port(hash: u32) -> u16 {
    0xc000 | (hash & 0x3fff) as u16
}

/// The label that a flow's stack has, in which IPv6 routers see the flow (RFC 6438); nought is none (RFC 6437).
pub fn flow_label(hash: u32) -> u32 {
    (hash & 0xf_ffff).max(1)
}

/// The list that a hash names in a set, counted from nought.
pub fn chosen(set: &ListSet, hash: u32) -> usize {
    let point = (u64::from(hash) * u64::from(set.weights)) >> 32;
    let all = &set.choices[..set.count as usize];
    all.iter().position(|choice| point < choice.below.into()).unwrap_or(0)
}
