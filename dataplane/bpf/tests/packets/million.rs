//! A LIB of a million nodes in the kernel, each at a locator of its own.

use super::*;
use plait_dataplane_bpf::{Programs, Sizes};
use plait_dataplane_reference::{arrivals, mapped};
use std::net::Ipv4Addr;

const NODES: u32 = 1_000_000;
/// What tables of that size take, and some: a guest may have less.
const MEMORY_KIB: u64 = 3 << 20;

/// Of nodes, locators and paths the first are the other tests'.
const FIRST: u32 = 16;

fn id(number: u32) -> u32 {
    0x0b00_0000 + number
}

fn locator(number: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from_be_bytes([11, 0, 0, 0]) + number)
}

#[test]
fn a_million_nodes_fit_and_any_is_sent_to_and_heard() {
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap();
    let available = memory.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let available: u64 = available.unwrap().trim().trim_end_matches(" kB").parse().unwrap();
    if available < MEMORY_KIB {
        println!(
            "skipped: tables of a million nodes need {MEMORY_KIB} KiB of memory, and {available} are free"
        );
        return;
    }
    if !may_load() {
        return;
    }
    let device =
        Device { tenant: TENANT, driver: driver::ETHERNET, prefix: [24, 64], offset: 0, mask: [0; 16] };
    let sizes = Sizes { identifiers: 16, nodes: NODES + FIRST };
    let programs = Programs::load(&[Program::Receive], &device, sizes).unwrap();
    let node = support::Node { programs: programs.into(), device };
    node.fill(driver::ETHERNET, encapsulation::OVSTACK, false);
    let application = u32::from(APPLICATION);
    let put = &node.programs;
    let (nodes, paths, hops) = (put.table(&names::NODES), put.table(&names::PATHS), put.table(&names::HOPS));
    let (nodes, paths, hops) = (nodes.unwrap(), paths.unwrap(), hops.unwrap());
    let (wires, peers) = (put.table(&names::WIRES).unwrap(), put.table(&names::PEERS).unwrap());
    let mut applications = [0; 8];
    applications[usize::from(APPLICATION / 32)] |= 1 << (APPLICATION % 32);
    let peer = Peer { encapsulation: encapsulation::OVSTACK, application, vni: VNI, applications };
    let [protocol_port] = arrivals(encapsulation::OVSTACK, driver::ETHERNET)[..] else {
        panic!("one way to arrive")
    };
    for number in 0..NODES {
        let (index, locator) = (FIRST + number, locator(number));
        let wire = Wire::new(OWN_LOCATOR.into(), locator.into(), encapsulation::OVSTACK, ADJACENCY).unwrap();
        wires.set(&index, &wire).unwrap();
        let mut choices = [Choice { below: 0, wire: 0 }; size::CHOICES as usize];
        choices[0] = Choice { below: 1, wire: index };
        hops.set(&index, &Hop { node: id(number), weights: 1, count: 1, path: 0, choices }).unwrap();
        paths.set(&index, &(u64::from(path::HOP) << 32 | u64::from(index))).unwrap();
        nodes.set(&NodeKey { application, node: id(number) }, &index).unwrap();
        let own = mapped(OWN_LOCATOR.into());
        peers.set(&PeerKey { locator: mapped(locator.into()), own, protocol_port }, &peer).unwrap();
    }

    // The first, the last, and some between, each from another of them.
    for number in (0..NODES).step_by(997).chain([NODES - 1]) {
        let from = NODES - 1 - number;
        let (destination, source) = (ovstack::NodeId(id(number)), ovstack::NodeId(id(from)));
        let passing = ovstack::Repr { destination, source, ..overlay_header() };
        let mut packet = arriving(&passing, &[1; 90]);
        change_source(&mut packet, locator(from).octets());
        let ran = node.programs.run(Program::Receive, &packet).unwrap();
        assert_eq!(ran.verdict, Verdict::Redirected, "{number}: {:?}", node.programs.drops());
        let outer = ethernet::Frame::parse(&ran.packet).unwrap();
        let said = ipv4::Repr::of(&ipv4::Packet::parse(outer.payload()).unwrap()).unwrap();
        assert_eq!((said.source, said.destination), (OWN_LOCATOR, locator(number)));
    }
    // Who is none of them is not heard.
    let mut packet = arriving(&overlay_header(), &[1; 90]);
    change_source(&mut packet, locator(NODES).octets());
    assert_eq!(node.programs.run(Program::Receive, &packet).unwrap().verdict, Verdict::Dropped);
    assert_eq!(node.drops(Drop::UnknownLocator), 1);
}
