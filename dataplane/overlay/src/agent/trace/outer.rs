//! Outer headers as people read them.

use crate::Encapsulation;
use crate::trace::TraceOuter;
use plait_dataplane_reference::udp_port;
use plait_model_wire::ethernet::Frame;
use plait_model_wire::number::{ether_type, protocol};
use plait_model_wire::{gre, ipv4, ipv6, ovstack, udp};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// What stands before a packet in the underlay. None for what no overlay sends.
/// Of two encapsulations that arrive alike it is the one that the application takes.
pub(super) fn read(bytes: &[u8], takes: &BTreeSet<Encapsulation>) -> Option<TraceOuter> {
    let (mut outer, shim) = parse(bytes)?;
    let alike = match outer.encapsulation {
        Encapsulation::Nsh => Encapsulation::Gpe,
        Encapsulation::Mpls => Encapsulation::Gre,
        other => other,
    };
    if !takes.contains(&outer.encapsulation) && takes.contains(&alike) {
        (outer.encapsulation, outer.vni) = (alike, vni(alike, shim));
    }
    Some(outer)
}

/// Whether it is a message of the overlay itself.
pub(super) fn is_message(bytes: &[u8]) -> bool {
    let is_control = |shim: &[u8]| ovstack::Packet::parse(shim).is_ok_and(|packet| packet.is_control());
    parse(bytes)
        .is_some_and(|(outer, shim)| outer.encapsulation == Encapsulation::Ovstack && is_control(shim))
}

/// The outer header, and the shim with what follows.
fn parse(bytes: &[u8]) -> Option<(TraceOuter, &[u8])> {
    let frame = Frame::parse(bytes).ok()?;
    let (locators, ttl, number, payload): ([IpAddr; 2], _, _, _) = match frame.ether_type() {
        ether_type::IPV4 => {
            let packet = ipv4::Packet::parse(frame.payload()).ok()?;
            let locators = [packet.source().into(), packet.destination().into()];
            (locators, packet.ttl(), packet.protocol(), packet.payload())
        }
        ether_type::IPV6 => {
            let packet = ipv6::Packet::parse(frame.payload()).ok()?;
            let locators = [packet.source().into(), packet.destination().into()];
            (locators, packet.hop_limit(), packet.next_header(), packet.payload())
        }
        _ => return None,
    };
    let half = |at: usize| Some(u16::from_be_bytes(payload.get(at..at + 2)?.try_into().ok()?));
    let (encapsulation, ports, begins) = match number {
        protocol::UDP => {
            let ports = [half(0)?, half(2)?];
            let is_it = |kind: &&Encapsulation| udp_port(**kind as u32) == Some(ports[1]);
            (*Encapsulation::ALL.iter().find(is_it)?, Some(ports), udp::Header::LENGTH)
        }
        protocol::GRE => match (half(0)?, half(2)?) {
            (gre::flag::KEY, _) => (Encapsulation::Nvgre, None, 0),
            (_, ether_type::MPLS) => (Encapsulation::Mpls, None, 0),
            _ => (Encapsulation::Gre, None, 0),
        },
        protocol::IPV4 | protocol::IPV6 => (Encapsulation::Ipip, None, 0),
        _ => return None,
    };
    let shim = payload.get(begins..)?;
    let outer = TraceOuter {
        hardware: [frame.source().to_string(), frame.destination().to_string()],
        locators,
        ports,
        ttl,
        encapsulation,
        vni: vni(encapsulation, shim),
        hops: shim.get(1).copied().filter(|_| encapsulation == Encapsulation::Ovstack),
    };
    Some((outer, shim))
}

/// In all encapsulations that name one it begins at the fourth byte; of a label it is the first twenty bits.
fn vni(encapsulation: Encapsulation, shim: &[u8]) -> Option<u32> {
    let word = u32::from_be_bytes(shim.get(4..8)?.try_into().ok()?);
    match encapsulation {
        Encapsulation::Gre | Encapsulation::Ipip | Encapsulation::Gue => None,
        Encapsulation::Mpls => Some(word >> 12),
        _ => Some(word >> 8),
    }
}
