//! From a path to the wire, for what begins here and for what passes.

use super::parcel::Parcel;
use super::{Left, Refusal, Sent, Via, Walk};
use crate::drivers::Payload;
use crate::tables::*;
use crate::template::{IPV4_SOURCE, IPV6_SOURCE, SERVICE_INDEX, udp_port};
use plait_model_wire::ethernet::{self, Mac};
use plait_model_wire::number::{ether_type, protocol};
use plait_model_wire::{
    geneve, gre, gue, ipv4, ipv6, mpls, nsh, nvgre, ovstack, push, udp, vxlan, vxlan_gpe,
};

/// Where a packet leaves by a hop.
struct Found {
    hop: Hop,
    /// Of the pair of locators.
    weight: u32,
    /// The wire's.
    number: u32,
    wire: Wire,
    adjacency: Adjacency,
}

impl Walk {
    /// Sends a packet on its path, or up where it ends here.
    pub(super) fn follow(
        &mut self,
        path: u32,
        parcel: &Parcel,
        application: &Application,
        second: u32,
    ) -> Result<Left, Refusal> {
        let word = self.paths.get(&path).ok_or(Drop::NoRoute)?;
        self.counts.paths.entry(path).or_default().add(parcel.carried.len());
        let began_here = parcel.from == [0; 16];
        let (kind, index) = ((word >> 32) as u32, word as u32);
        match kind {
            path::HOP => self.address_to(index, parcel).map(Left::from),
            path::GROUP => {
                let group = self.groups.get(&index).ok_or(Drop::NoRoute)?;
                let previous = self.came_from(parcel);
                let hops = &group.hops[..group.count.min(size::GROUP) as usize];
                let is_previous = |hop: &u32| self.hops.get(hop).is_some_and(|hop| hop.node == previous);
                // Both ends of a branch must want it: where nodes differ on the tree, copies would come back manifold.
                let passes = began_here || hops.iter().any(is_previous);
                let (mut sent, mut room) = (Vec::new(), None::<u32>);
                if !passes && !hops.is_empty() {
                    self.drop(Drop::NoRoute);
                }
                for hop in hops.iter().copied().filter(|_| passes) {
                    // Not back to where it came from.
                    if self.hops.get(&hop).is_none_or(|hop| hop.node == previous) {
                        continue;
                    }
                    match self.address_to(hop, parcel) {
                        Ok(copy) => sent.push(copy),
                        Err(refusal) => {
                            // Of several that it is too big for, the one with the least room counts.
                            room = room.into_iter().chain(refusal.room).min();
                            self.drop(refusal.reason);
                        }
                    }
                }
                if group.includes_own != 0 && parcel.overlay.source.0 != application.own {
                    match self.deliver(parcel, room.is_some(), second) {
                        Ok(copy) => sent.push(copy),
                        Err(reason) => self.drop(reason),
                    }
                }
                Ok(Left { sent, room })
            }
            path::OWN if !began_here => Ok(self.deliver(parcel, false, second)?.into()),
            _ => Err(Drop::NoRoute.into()),
        }
    }

    /// Whether messages of the overlay are understood at a path's next hop: only where it is spoken to in ovstack.
    pub(super) fn is_told(&self, path: u32, parcel: &Parcel) -> bool {
        let word = self.paths.get(&path).filter(|word| (word >> 32) as u32 == path::HOP);
        // What leads nowhere is counted as such by who goes there.
        let found = word.and_then(|word| self.find_wire(word as u32, parcel.overlay.hash));
        found.is_none_or(|found| found.wire.form & !form::IPV6 == encapsulation::OVSTACK)
    }

    /// The header and the neighbour of a hop.
    fn find_wire(&self, index: u32, hash: u32) -> Option<Found> {
        let hop = self.hops.get(&index).filter(|hop| hop.count > 0)?;
        let (number, weight) = chosen(&hop, hash);
        let wire = self.wires.get(&number)?;
        let slot = self.adjacencies.get(&wire.adjacency)?;
        let adjacency = self.adjacency_slots.get(&(slot as u32))?;
        (adjacency.interface != 0).then_some(Found { hop, weight, number, wire, adjacency })
    }

    /// The outer header for a hop, and the interface to leave by.
    fn address_to(&mut self, index: u32, parcel: &Parcel) -> Result<Sent, Refusal> {
        let found = self.find_wire(index, parcel.overlay.hash).ok_or(Drop::NoRoute)?;
        let Found { hop, weight, number, wire, adjacency } = found;
        let mut frame = parcel.carried.clone();
        let bytes = wire.length as usize + frame.len();
        let room = (adjacency.mtu + ethernet::Header::LENGTH as u32).saturating_sub(wire.length);
        if frame.len() > room as usize {
            return Err(Refusal { reason: Drop::TooBig, room: Some(room).filter(|room| *room > 0) });
        }
        let encapsulation = wire.form & !form::IPV6;
        let carrier = push_shim(&mut frame, encapsulation, parcel).ok_or(Drop::Refused)?;
        if let Some(destination) = udp_port(encapsulation) {
            push(&mut frame, &udp::Repr { source: parcel.port, destination, checked: None });
        }
        let ttl =
            if encapsulation == encapsulation::OVSTACK { hops::OUTER as u8 } else { parcel.overlay.ttl };
        let ether_type = match wire.form & form::IPV6 {
            0 => {
                push(&mut frame, &ipv4_of(&wire, carrier, ttl, parcel.ecn));
                ether_type::IPV4
            }
            _ => {
                push(&mut frame, &ipv6_of(&wire, carrier, ttl, parcel.ecn));
                ether_type::IPV6
            }
        };
        let (destination, source) = (Mac(adjacency.destination), Mac(adjacency.source));
        push(&mut frame, &ethernet::Repr { destination, source, ether_type });
        debug_assert_eq!(frame.len(), bytes);
        self.counts.hops.entry(hop.path).or_default().add(parcel.carried.len());
        self.counts.wires.entry(number).or_default().add(parcel.carried.len());
        let via = Some(Via { node: hop.node, weight, weights: hop.weights });
        Ok(Sent { interface: adjacency.interface, is_up: false, frame, via })
    }
}

/// Puts before a payload what stands between it and IP, or UDP. Gives the IP protocol that carries it, or nothing where
/// the encapsulation cannot say what the payload is.
fn push_shim(frame: &mut Vec<u8>, encapsulation: u32, parcel: &Parcel) -> Option<u8> {
    let (payload, vni, hash) = (parcel.payload, parcel.overlay.vni, parcel.overlay.hash);
    let is_ip = matches!(payload, Payload::Ipv4 | Payload::Ipv6);
    let is_control = payload == Payload::Control;
    let is_other = matches!(payload, Payload::Mpls | Payload::Nsh);
    let is_frame = !is_ip && !is_other;
    match encapsulation {
        encapsulation::OVSTACK if !is_other => push(frame, &ovstack::Repr { is_control, ..parcel.overlay }),
        // Nobody else has messages of the overlay.
        _ if is_control => return None,
        encapsulation::VXLAN if is_frame => push(frame, &vxlan::Repr { vni }),
        encapsulation::GENEVE => {
            push(frame, &geneve::Repr { vni, protocol: payload.ether_type(), options: &[] });
        }
        encapsulation::NVGRE if is_frame => push(frame, &nvgre::Repr { subnet: vni, flow: hash as u8 }),
        encapsulation::GRE => {
            push(frame, &gre::Repr { protocol: payload.ether_type(), ..Default::default() })
        }
        encapsulation::IPIP if is_ip => {}
        encapsulation::MPLS if !is_other => {
            let ttl = parcel.overlay.ttl;
            push(frame, &mpls::Repr { label: vni, traffic_class: 0, is_bottom: true, ttl });
            push(frame, &gre::Repr { protocol: ether_type::MPLS, ..Default::default() });
        }
        encapsulation::NSH => {
            let header = nsh::Repr {
                service_path: vni,
                service_index: SERVICE_INDEX,
                ttl: parcel.overlay.ttl.min(nsh::DEFAULT_TTL),
                next_protocol: payload.next(),
                metadata: nsh::Metadata::List(&[]),
            };
            push(frame, &header);
            push(frame, &vxlan_gpe::Repr { vni, next_protocol: vxlan_gpe::next::NSH });
        }
        encapsulation::GUE if is_ip => push(frame, &gue::Repr::Header { protocol: payload.protocol() }),
        encapsulation::GPE if payload != Payload::Mpls => {
            push(frame, &vxlan_gpe::Repr { vni, next_protocol: payload.next() });
        }
        _ => return None,
    }
    Some(match encapsulation {
        encapsulation::IPIP => payload.protocol(),
        encapsulation::NVGRE | encapsulation::GRE | encapsulation::MPLS => protocol::GRE,
        _ => protocol::UDP,
    })
}

/// One of a hop's wires, by weight, and that weight; a flow's hash always names the same.
fn chosen(hop: &Hop, hash: u32) -> (u32, u32) {
    let point = ((u64::from(hash) * u64::from(hop.weights)) >> 32) as u32;
    let choices = &hop.choices[..hop.count.min(size::CHOICES) as usize];
    let found = if hop.count > 1 { choices.iter().position(|choice| point < choice.below) } else { None };
    let found = found.unwrap_or(0);
    let below = found.checked_sub(1).map_or(0, |before| hop.choices[before].below);
    (hop.choices[found].wire, hop.choices[found].below.saturating_sub(below))
}

fn ipv4_of(wire: &Wire, protocol: u8, ttl: u8, tos: u8) -> ipv4::Repr {
    let [source, destination] = wire.addresses(IPV4_SOURCE).map(|bytes: [u8; 4]| bytes.into());
    ipv4::Repr { source, destination, protocol, ttl, tos, dont_fragment: true, identification: 0 }
}

fn ipv6_of(wire: &Wire, next_header: u8, hop_limit: u8, traffic_class: u8) -> ipv6::Repr {
    let [source, destination] = wire.addresses(IPV6_SOURCE).map(|bytes: [u8; 16]| bytes.into());
    ipv6::Repr { source, destination, next_header, hop_limit, traffic_class, flow_label: 0 }
}
