//! The bytes that a packet stands for, by the same writers that real packets are made with.

use crate::encapsulation::{Encapsulation, Stack, StackIndex, entropy_port};
use crate::fabric::{DirectionNumber, Fabric};
use crate::packet::{NO_FLOW, Packet, TTL, flag, headers};
use crate::partition::inner_hash;
use plait_model_wire::ethernet::{self, Mac};
use plait_model_wire::number::{ether_type, port, protocol};
use plait_model_wire::ovstack::NodeId;
use plait_model_wire::{gre, gue, ipv4, ipv6, ovstack, push, relay_list, segment_routing, udp};
use std::net::{IpAddr, Ipv6Addr};

/// The frame as it passes an interface: its headers, and the payload where there is one.
///
/// Interfaces have the addresses 02:00 and their number. Choice: of a frame that comes out of a switch the source is
/// the switch's port, since packets do not carry who sent them on the segment.
pub(super) fn emit(fabric: &Fabric, packet: &Packet, interface: DirectionNumber) -> Vec<u8> {
    let address = |index| fabric.addresses.address(index);
    let (source, destination) = (address(packet.source), address(packet.destination));
    let kept = packet.body.as_ref().map_or(0, |body| body.len());
    let wears = packet.stack != StackIndex::NONE;
    let stack = wears.then(|| &fabric.stacks[packet.stack.0 as usize]);
    let levels = stack.map_or(&[][..], |stack| &stack.levels[usize::from(packet.position)..]);
    let around: u32 = levels.iter().map(|level| level.length).sum();
    let payload = packet.frame.saturating_sub(headers(packet.is_ipv6()) + around) as usize;
    let mut bytes = match &packet.body {
        Some(body) => body.to_vec(),
        None => vec![0; payload],
    };
    if packet.protocol() == protocol::UDP {
        let [from, to] = packet.udp_ports();
        let checked = Some((source, destination));
        push(&mut bytes, &udp::Repr { source: from, destination: to, checked });
    }
    let ecn = match packet.flags & (flag::MARKED | flag::ECN_CAPABLE) {
        0 => 0,
        flag::ECN_CAPABLE => 2,
        _ => 3,
    };
    let ttl = if wears { packet.inner_ttl } else { packet.ttl };
    push_ip(&mut bytes, source, destination, packet.protocol(), ttl, ecn, packet.number);
    let inner = inner_hash(fabric, packet);
    let mut is_ipv6 = packet.is_ipv6();
    if let Some(stack) = stack {
        // One header has the list of all.
        let written = if stack.encapsulation.has_list() { &levels[..1] } else { levels };
        for (depth, level) in written.iter().enumerate().rev() {
            let number = push_between(&mut bytes, stack, packet.position, is_ipv6, inner);
            let ttl = if depth == 0 { packet.ttl } else { TTL };
            push_ip(&mut bytes, stack.source, level.address, number, ttl, ecn, packet.number);
            is_ipv6 = level.address.is_ipv6();
        }
    }
    let ether_type = if is_ipv6 { ether_type::IPV6 } else { ether_type::IPV4 };
    // A frame that leaves is from this interface; one that comes is for it, or for another on its segment.
    let comes = packet.station == interface;
    let source = Mac(mac(if comes { interface ^ 1 } else { interface }));
    push(&mut bytes, &ethernet::Repr { destination: Mac(mac(packet.station)), source, ether_type });
    if packet.flow != NO_FLOW {
        bytes.truncate(bytes.len() - (payload - kept));
    }
    bytes
}

/// What stands between an IP header of a stack, so many of whose relays were passed, and what is inside. The IP protocol of the
/// first of it.
fn push_between(bytes: &mut Vec<u8>, stack: &Stack, passed: u8, is_ipv6: bool, inner: u32) -> u8 {
    let carried = if is_ipv6 { protocol::IPV6 } else { protocol::IPV4 };
    // The first relay stands in the outer header alone.
    let listed = || stack.levels.iter().skip(1).map(|level| level.address);
    let left = (stack.levels.len() - 1).saturating_sub(passed.into()) as u8;
    let push_udp = |bytes: &mut Vec<u8>, destination| {
        push(bytes, &udp::Repr { source: entropy_port(inner), destination, checked: None });
        protocol::UDP
    };
    match stack.encapsulation {
        Encapsulation::Gre => {
            let protocol = if is_ipv6 { ether_type::IPV6 } else { ether_type::IPV4 };
            push(bytes, &gre::Repr { protocol, ..gre::Repr::default() });
            protocol::GRE
        }
        Encapsulation::Ipip => carried,
        Encapsulation::Gue => {
            push(bytes, &gue::Repr::Header { protocol: carried });
            push_udp(bytes, port::GUE)
        }
        Encapsulation::Srv6 if stack.levels.len() == 1 => carried,
        Encapsulation::Srv6 => {
            let segments = listed().map(mapped).collect();
            push(bytes, &segment_routing::Repr { next: carried, left, segments });
            protocol::ROUTING
        }
        Encapsulation::Ovstack => {
            push(bytes, &relay_list::Repr { left, relays: listed().collect(), next: carried });
            let header = ovstack::Repr {
                ttl: ovstack::DEFAULT_TTL.saturating_sub(passed),
                application: relay_list::APPLICATION,
                is_control: false,
                vni: 0,
                hash: inner,
                destination: NodeId(0),
                source: NodeId(0),
            };
            push(bytes, &header);
            push_udp(bytes, port::OVSTACK)
        }
    }
}

fn mapped(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

fn push_ip(
    bytes: &mut Vec<u8>,
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
    ttl: u8,
    ecn: u8,
    number: u32,
) {
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let identification = number as u16;
            let repr = ipv4::Repr {
                source,
                destination,
                protocol,
                ttl,
                tos: ecn,
                dont_fragment: true,
                identification,
            };
            push(bytes, &repr);
        }
        (source, destination) => {
            let [source, destination] = [source, destination].map(mapped);
            let repr = ipv6::Repr {
                source,
                destination,
                next_header: protocol,
                hop_limit: ttl,
                traffic_class: ecn,
                flow_label: 0,
            };
            push(bytes, &repr);
        }
    }
}

/// The link-layer address of an interface.
fn mac(interface: DirectionNumber) -> [u8; 6] {
    let [a, b, c, d] = interface.to_be_bytes();
    [2, 0, a, b, c, d]
}
