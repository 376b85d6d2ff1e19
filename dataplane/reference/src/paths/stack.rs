//! Stacks of headers: as tables hold them, and as they stand before a packet.

use super::tables::{Stack, size};
use crate::tables::encapsulation;
use crate::template::{carrier, shim, udp_port};
use plait_model_wire::number::{ether_type, protocol};
use plait_model_wire::{checksum, gre, gue, ipv4, push, udp};
use std::net::Ipv4Addr;
use zerocopy::IntoBytes;

/// Hops that a packet has from one relay to the next. Choice: as many as hosts give theirs; a stack that goes round in
/// circles dies by them.
const TTL: u8 = 64;

/// Bytes of one relay's headers; none of an encapsulation that stacks are not made of.
pub fn stride(kind: u32) -> Option<usize> {
    let is_stacked = matches!(kind, encapsulation::IPIP | encapsulation::GRE | encapsulation::GUE);
    is_stacked.then(|| ipv4::Header::LENGTH + shim(kind).map_or(0, |shim| shim.len()))
}

fn header(source: Ipv4Addr, relay: Ipv4Addr, kind: u32, tos: u8) -> ipv4::Repr {
    let (protocol, destination) = (carrier(kind), relay);
    ipv4::Repr { source, destination, protocol, ttl: TTL, tos, dont_fragment: true, identification: 0 }
}

impl Stack {
    /// The headers from a shared source to each relay, the first one outermost. What programs fill in is nought.
    ///
    /// None for more than 16 relays, and for an encapsulation that stacks are not made of.
    pub fn new(source: Ipv4Addr, relays: &[Ipv4Addr], kind: u32) -> Option<Self> {
        let stride = stride(kind)?;
        if relays.len() > size::RELAYS as usize {
            return None;
        }
        let mut between = shim(kind)?;
        match kind {
            encapsulation::GRE => {
                between.clear();
                push(&mut between, &gre::Repr { protocol: ether_type::IPV4, ..Default::default() });
            }
            encapsulation::GUE => {
                let place = between.len() - gue::Header::LENGTH + 1;
                between[place] = protocol::IPV4;
            }
            _ => {}
        }
        let mut stack = Self {
            header: [0; size::STACK as usize],
            sums: [0; size::RELAYS as usize],
            count: relays.len() as u32,
            length: (relays.len() * stride) as u32,
            encapsulation: kind,
            reserved: 0,
        };
        let places = stack.header.chunks_exact_mut(stride).zip(&mut stack.sums);
        for (&relay, (place, sum)) in relays.iter().zip(places) {
            let mut fields = header(source, relay, kind, 0).header(0);
            (fields.total_length, fields.checksum) = (0.into(), 0.into());
            // The sum as a program on this machine adds it up: of words as they lie in memory.
            *sum = checksum::Sum::new().add(fields.as_bytes()).folded().to_be().into();
            let (ip, behind) = place.split_at_mut(ipv4::Header::LENGTH);
            ip.copy_from_slice(fields.as_bytes());
            behind.copy_from_slice(&between);
        }
        Some(stack)
    }
}

/// An IPv4 packet under the headers of a relay list, each written from what is inside it. Its marks of congestion stand in
/// each of them (RFC 6040).
pub fn pushed(packet: &[u8], source: Ipv4Addr, relays: &[Ipv4Addr], kind: u32, port: u16) -> Vec<u8> {
    let ecn = packet.get(1).map_or(0, |tos| tos & 3);
    let mut packet = packet.to_vec();
    for &relay in relays.iter().rev() {
        match kind {
            encapsulation::GRE => {
                push(&mut packet, &gre::Repr { protocol: ether_type::IPV4, ..Default::default() });
            }
            encapsulation::GUE => push(&mut packet, &gue::Repr::Header { protocol: protocol::IPV4 }),
            _ => {}
        }
        if let Some(destination) = udp_port(kind) {
            push(&mut packet, &udp::Repr { source: port, destination, checked: None });
        }
        push(&mut packet, &header(source, relay, kind, ecn));
    }
    packet
}
