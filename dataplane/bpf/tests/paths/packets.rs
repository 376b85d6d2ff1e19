//! Packets of both families, and what the programs' tables say of them.

use super::shelf::{Lent, Shelf};
use plait_dataplane_bpf::{PathPrograms, PathSizes, path_names};
use plait_dataplane_reference::paths::Family;
use plait_dataplane_reference::paths::tables::*;
use plait_dataplane_reference::tables::encapsulation;
use plait_model_wire::ethernet::Mac;
use plait_model_wire::number::protocol;
use plait_model_wire::{ethernet, ipv4, ipv6, push, udp};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use zerocopy::{FromZeros, IntoBytes};

pub const MTU: u32 = 2000;
/// Those that have a header for each relay.
pub const KINDS: [u32; 3] = [encapsulation::IPIP, encapsulation::GRE, encapsulation::GUE];

const SHARED: (Ipv4Addr, Ipv6Addr) =
    (Ipv4Addr::new(203, 0, 113, 1), Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 1));

fn either(family: Family, addresses: (Ipv4Addr, Ipv6Addr)) -> IpAddr {
    match family {
        Family::Ipv4 => addresses.0.into(),
        Family::Ipv6 => addresses.1.into(),
    }
}

pub fn shared(family: Family) -> IpAddr {
    either(family, SHARED)
}

/// Who sends.
pub fn host(family: Family) -> IpAddr {
    either(family, (Ipv4Addr::new(10, 0, 0, 2), Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 2)))
}

/// Who receives.
pub fn far(family: Family) -> IpAddr {
    either(family, (Ipv4Addr::new(172, 16, 3, 4), Ipv6Addr::new(0x2001, 0xdb8, 16, 3, 0, 0, 0, 4)))
}

/// A prefix that they are in.
pub fn prefix(family: Family) -> PrefixKey {
    match family {
        Family::Ipv4 => PrefixKey::new(Ipv4Addr::new(172, 16, 0, 0).into(), 16),
        Family::Ipv6 => PrefixKey::new(Ipv6Addr::new(0x2001, 0xdb8, 16, 0, 0, 0, 0, 0).into(), 48),
    }
}

pub fn relays(family: Family, count: usize) -> Vec<IpAddr> {
    let relay = |relay: u8| {
        either(
            family,
            (Ipv4Addr::new(10, 255, 0, relay), Ipv6Addr::new(0x2001, 0xdb8, 255, 0, 0, 0, 0, relay.into())),
        )
    };
    (1..=count as u8).map(relay).collect()
}

/// All encapsulations that headers of a family have.
pub fn kinds(outer: Family) -> Vec<u32> {
    let all = KINDS.into_iter().chain([encapsulation::OVSTACK, encapsulation::SRV6]);
    all.filter(|kind| outer == Family::Ipv6 || *kind != encapsulation::SRV6).collect()
}

/// Each family of headers over each of packets.
pub fn pairs() -> impl Iterator<Item = (Family, Family)> {
    Family::ALL.into_iter().flat_map(|outer| Family::ALL.map(|inner| (outer, inner)))
}

pub fn programs_of(mtu: u32) -> Option<Lent<Vec<u8>, PathPrograms>> {
    programs_as(Steering { mtu, ..Steering::new_zeroed() })
}

static SHELF: Shelf<Vec<u8>, PathPrograms> = Shelf::new();

/// Programs with the usual sources of headers, and otherwise as it is said.
pub fn programs_as(steering: Steering) -> Option<Lent<Vec<u8>, PathPrograms>> {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: eBPF programs are loaded by root only");
        return None;
    }
    let (source, source_ipv6) = (SHARED.0.octets(), SHARED.1.octets());
    let steering = Steering { source, source_ipv6, ..steering };
    let sizes = PathSizes { prefixes: 64, sets: 16, stacks: 64, flows: 256 };
    Some(SHELF.lend(
        steering.as_bytes().to_vec(),
        |programs| programs.clear().unwrap(),
        || PathPrograms::load(&steering, sizes, None).unwrap(),
    ))
}

pub fn programs() -> Option<Lent<Vec<u8>, PathPrograms>> {
    programs_of(MTU)
}

/// Puts an IP header before what a host sends.
pub fn wrap(packet: &mut Vec<u8>, destination: IpAddr, protocol: u8, ecn: u8) {
    match (host(Family::of(destination)), destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => push(
            packet,
            &ipv4::Repr {
                source,
                destination,
                protocol,
                ttl: 63,
                tos: ecn,
                dont_fragment: true,
                identification: 7,
            },
        ),
        (IpAddr::V6(source), IpAddr::V6(destination)) => push(
            packet,
            &ipv6::Repr {
                source,
                destination,
                next_header: protocol,
                hop_limit: 63,
                traffic_class: ecn,
                flow_label: 0x12345,
            },
        ),
        _ => unreachable!("a host has addresses of both families"),
    }
}

pub fn packet(destination: IpAddr, port: u16, payload: usize, tos: u8) -> Vec<u8> {
    let mut packet = vec![0x5a; payload];
    let checked = Some((host(Family::of(destination)), destination));
    push(&mut packet, &udp::Repr { source: port, destination: 9, checked });
    wrap(&mut packet, destination, protocol::UDP, tos);
    packet
}

pub fn frame(packet: &[u8]) -> Vec<u8> {
    let mut frame = packet.to_vec();
    let (destination, source) = (Mac([2, 0, 0, 0, 0, 1]), Mac([2, 0, 0, 0, 0, 2]));
    let ether_type = Family::of_packet(packet).unwrap().ether_type();
    push(&mut frame, &ethernet::Repr { destination, source, ether_type });
    frame
}

/// Has a prefix go by lists, of equal weight.
pub fn put(to: &PathPrograms, key: PrefixKey, slot: u32, selector: u32, lists: &[Stack]) -> ListSet {
    let mut choices = [ListChoice { below: 0, stack: 0, name: 0 }; size::LISTS as usize];
    for (index, (stack, choice)) in lists.iter().zip(&mut choices).enumerate() {
        let place = slot * 8 + index as u32;
        *choice = ListChoice { below: index as u32 + 1, stack: place, name: place };
        to.table(&path_names::STACKS).unwrap().set(&choice.stack, stack).unwrap();
    }
    let count = lists.len() as u32;
    let tallest = lists.iter().map(|stack| stack.length).max().unwrap_or_default();
    let set = ListSet { count, selector, weights: count, turns: 0, tallest, choices };
    to.table(&path_names::SETS).unwrap().set(&slot, &set).unwrap();
    to.set_prefix(&key, slot).unwrap();
    set
}

pub fn stack(family: Family, count: usize, kind: u32) -> Stack {
    Stack::new(shared(family), &relays(family, count), kind).unwrap()
}

/// Makes the programs relays of all addresses.
pub fn relay_all(programs: &PathPrograms) {
    let taken = programs.table(&path_names::RELAYS).unwrap();
    for family in Family::ALL {
        for relay in relays(family, 16) {
            taken.set(&RelayKey::new(relay, shared(family)), &u32::MAX).unwrap();
        }
    }
}
