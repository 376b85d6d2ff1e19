//! Stacks of headers: as tables hold them, and as they stand before a packet. Those with a relay list inside are one header
//! high.

use super::family::Family;
use super::flow::{flow_label, source_port};
use super::list::{Between, between};
use super::tables::{Stack, size};
use crate::tables::encapsulation;
use crate::template::{carrier, udp_port};
use plait_model_wire::{checksum, gre, gue, ipv4, ipv6, push, udp};
use std::net::IpAddr;
use zerocopy::IntoBytes;

/// Hops that a packet has from one relay to the next. Choice: as many as hosts give theirs; a stack that goes round in
/// circles dies by them.
const HOPS: u8 = 64;

/// Bytes of one relay's headers; none of an encapsulation that stacks are not made of.
pub fn stride(kind: u32, family: Family) -> Option<usize> {
    Some(family.header() + shim(kind, family)?.len())
}

/// The UDP header of an encapsulation that has one, with nought for what programs fill in. No checksum is none of it, over
/// IPv6 too, as RFC 6935 has it for tunnels.
fn udp_of(kind: u32) -> Vec<u8> {
    let header =
        |port: u16| udp::Header { destination: port.into(), ..Default::default() }.as_bytes().to_vec();
    udp_port(kind).map(header).unwrap_or_default()
}

/// What stands between an IP header and a packet of a family, with nought for what programs fill in. None of an
/// encapsulation that stacks are not made of.
fn shim(kind: u32, carried: Family) -> Option<Vec<u8>> {
    let mut between = Vec::new();
    match kind {
        encapsulation::IPIP => {}
        encapsulation::GRE => {
            push(&mut between, &gre::Repr { protocol: carried.ether_type(), ..Default::default() });
        }
        encapsulation::GUE => {
            push(&mut between, &gue::Repr::Header { protocol: carried.protocol() });
            between.splice(0..0, udp_of(kind));
        }
        _ => return None,
    }
    Some(between)
}

/// Whether all relays of a list stand inside one header.
pub fn has_list(kind: u32) -> bool {
    matches!(kind, encapsulation::OVSTACK | encapsulation::SRV6)
}

/// What an IP header says is behind it.
fn protocol_of(kind: u32, carried: Family) -> u8 {
    if kind == encapsulation::IPIP { carried.protocol() } else { carrier(kind) }
}

/// An outer header.
enum Outer {
    Ipv4(ipv4::Repr),
    Ipv6(ipv6::Repr),
}

impl Outer {
    /// From a shared source to a relay, of one family.
    fn new(source: IpAddr, relay: IpAddr, protocol: u8, ecn: u8, label: u32) -> Option<Self> {
        Some(match (source, relay) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => Self::Ipv4(ipv4::Repr {
                source,
                destination,
                protocol,
                ttl: HOPS,
                tos: ecn,
                dont_fragment: true,
                identification: 0,
            }),
            (IpAddr::V6(source), IpAddr::V6(destination)) => Self::Ipv6(ipv6::Repr {
                source,
                destination,
                next_header: protocol,
                hop_limit: HOPS,
                traffic_class: ecn,
                flow_label: label,
            }),
            _ => return None,
        })
    }

    /// The header with nought for what programs fill in, and the sum that they begin its checksum with.
    fn template(&self) -> (Vec<u8>, u32) {
        match self {
            Self::Ipv4(repr) => {
                let mut fields = repr.header(0);
                (fields.total_length, fields.checksum) = (0.into(), 0.into());
                // The sum as a program on this machine adds it up: of words as they lie in memory.
                let sum = checksum::Sum::new().add(fields.as_bytes()).folded().to_be();
                (fields.as_bytes().to_vec(), sum.into())
            }
            Self::Ipv6(repr) => (repr.header(0).as_bytes().to_vec(), 0),
        }
    }

    fn push(&self, packet: &mut Vec<u8>) {
        match self {
            Self::Ipv4(repr) => push(packet, repr),
            Self::Ipv6(repr) => push(packet, repr),
        }
    }
}

impl Stack {
    /// The headers from a shared source to each relay, the first one outermost. What programs fill in is nought.
    ///
    /// None for more than 16 relays, for two families, for an encapsulation that stacks are not made of, and for one that
    /// the family has not.
    pub fn new(source: IpAddr, relays: &[IpAddr], kind: u32) -> Option<Self> {
        let family = Family::of(source);
        let mut stack = Self {
            header: [0; size::STACK as usize],
            sums: [0; size::RELAYS as usize],
            count: 0,
            length: 0,
            encapsulation: kind,
            family: family.number(),
        };
        if relays.len() > size::RELAYS as usize || relays.iter().any(|relay| Family::of(*relay) != family) {
            return None;
        }
        match has_list(kind) {
            _ if relays.is_empty() => {}
            true => {
                let Between { protocol, bytes } = between(relays, kind, family, 0)?;
                let behind = [udp_of(kind), bytes].concat();
                stack.add(&Outer::new(source, relays[0], protocol, 0, 0)?, &behind);
            }
            false => {
                let between = shim(kind, family)?;
                for &relay in relays {
                    stack.add(&Outer::new(source, relay, protocol_of(kind, family), 0, 0)?, &between);
                }
            }
        }
        Some(stack)
    }

    /// Adds a header, and what is behind it.
    fn add(&mut self, outer: &Outer, behind: &[u8]) {
        let (fields, sum) = outer.template();
        let place = &mut self.header[self.length as usize..];
        let (ip, rest) = place.split_at_mut(fields.len());
        ip.copy_from_slice(&fields);
        rest[..behind.len()].copy_from_slice(behind);
        self.sums[self.count as usize] = sum;
        self.length += (fields.len() + behind.len()) as u32;
        self.count += 1;
    }
}

/// The marks of congestion that a packet has.
fn ecn_of(packet: &[u8]) -> u8 {
    match (Family::of_packet(packet), packet) {
        (Some(Family::Ipv4), [_, tos, ..]) => tos & 3,
        (Some(Family::Ipv6), [_, class, ..]) => class >> 4 & 3,
        _ => 0,
    }
}

/// An IP packet of a flow of this hash under the headers of a relay list, each written from what is inside it. Its marks of
/// congestion stand in each of them (RFC 6040).
///
/// None of what is no packet, and where there is no [stack](Stack::new).
pub fn pushed(packet: &[u8], source: IpAddr, relays: &[IpAddr], kind: u32, hash: u32) -> Option<Vec<u8>> {
    let (ecn, mut carried) = (ecn_of(packet), Family::of_packet(packet)?);
    let mut packet = packet.to_vec();
    if has_list(kind) && !relays.is_empty() {
        let Between { protocol, bytes } = between(relays, kind, carried, hash)?;
        packet.splice(0..0, bytes);
        if let Some(destination) = udp_port(kind) {
            push(&mut packet, &udp::Repr { source: source_port(hash), destination, checked: None });
        }
        Outer::new(source, relays[0], protocol, ecn, flow_label(hash))?.push(&mut packet);
        return Some(packet);
    }
    for &relay in relays.iter().rev() {
        match kind {
            encapsulation::GRE => {
                push(&mut packet, &gre::Repr { protocol: carried.ether_type(), ..Default::default() });
            }
            encapsulation::GUE => push(&mut packet, &gue::Repr::Header { protocol: carried.protocol() }),
            encapsulation::IPIP => {}
            _ => return None,
        }
        if let Some(destination) = udp_port(kind) {
            push(&mut packet, &udp::Repr { source: source_port(hash), destination, checked: None });
        }
        Outer::new(source, relay, protocol_of(kind, carried), ecn, flow_label(hash))?.push(&mut packet);
        carried = Family::of(source);
    }
    Some(packet)
}
