//! The eBPF programs and the reference walk, held against each other: the same tables, the same packets, the same fates.

mod drivers;
mod groups;
mod hooks;
mod superpackets;
#[path = "../support/mod.rs"]
mod support;
mod tables;
mod tenants;

use plait_dataplane_bpf::{Program, Verdict, names};
use plait_dataplane_reference::tables::*;
use plait_dataplane_reference::{Outcome, Walk};
use plait_model_wire::ethernet::Mac;
use plait_model_wire::number::ether_type;
use plait_model_wire::{ovstack, push, too_big};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use support::*;

/// A packet of ovstack of those that nodes may meet, whole or broken.
fn received() -> impl Strategy<Value = Vec<u8>> {
    let node = prop_oneof![Just(OWN), Just(PEER), Just(FAR), any::<u32>().prop_map(ovstack::NodeId)];
    let header = (
        0u8..4,
        prop_oneof![9 => Just(APPLICATION), 1 => any::<u8>()],
        prop_oneof![9 => Just(VNI), 1 => 0u32..1 << 24],
        any::<u32>(),
        node.clone(),
        node.clone(),
    )
        .prop_map(|(ttl, application, vni, hash, destination, source)| ovstack::Repr {
            ttl,
            application,
            is_control: false,
            vni,
            hash,
            destination,
            source,
        });
    let said = (prop_oneof![0u32..1500, any::<u32>()], node).prop_map(|(room, destination)| {
        let mut message = Vec::new();
        push(&mut message, &too_big::Repr { room, destination });
        message
    });
    broken((header, frames(), proptest::option::weighted(0.2, said)).prop_map(|(header, frame, said)| {
        match said {
            Some(said) => arriving(&ovstack::Repr { is_control: true, ..header }, &said),
            None => arriving(&header, &frame),
        }
    }))
}

/// Some with another byte somewhere, some cut.
fn broken(packets: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let another = proptest::option::weighted(0.4, (any::<prop::sample::Index>(), any::<u8>()));
    let cut = proptest::option::weighted(0.2, any::<prop::sample::Index>());
    (packets, another, cut).prop_map(|(mut packet, another, cut)| {
        if let Some((at, byte)) = another {
            // Headers are what is worth breaking.
            let at = at.index(packet.len().min(120));
            packet[at] = byte;
        }
        if let Some(at) = cut {
            packet.truncate(15 + at.index(packet.len().min(140) - 15));
        }
        packet
    })
}

fn frames() -> impl Strategy<Value = Vec<u8>> {
    let station = prop_oneof![
        Just(STATION_A),
        Just(STATION_B),
        Just(STATION_C),
        Just(STATION_F),
        any::<[u8; 6]>().prop_map(Mac)
    ];
    let kind = prop::sample::select(vec![
        ether_type::IPV4,
        ether_type::ARP,
        ether_type::IPV6,
        ether_type::MPLS,
        ether_type::NSH,
    ]);
    let kind = prop_oneof![5 => kind, 1 => any::<u16>()];
    (station.clone(), station, kind, packets(), any::<bool>()).prop_map(|(to, from, kind, packet, is_ip)| {
        if is_ip {
            let kind = if packet[0] >> 4 == 6 { ether_type::IPV6 } else { ether_type::IPV4 };
            frame(to, from, kind, &packet)
        } else {
            frame(to, from, kind, &vec![packet[1] & 3; packet.len() - 19])
        }
    })
}

/// IP packets for the peer's hosts, for hosts far away, for nobody, and for many.
fn packets() -> impl Strategy<Value = Vec<u8>> {
    let network = prop_oneof![Just(1), Just(2), Just(77)];
    (network, 0usize..1500, 0u8..4, any::<bool>()).prop_map(|(network, bytes, ecn, is_ipv6)| match is_ipv6 {
        true => inner_ipv6(bytes, ecn, network == 2),
        false => {
            let first = if network == 77 && bytes % 2 == 0 { 239 } else { 10 };
            inner_ipv4_for(Ipv4Addr::new(first, network, 0, 2), bytes, ecn)
        }
    })
}

/// Packets behind a label or a service header, of small numbers or of any.
fn behind_others() -> impl Strategy<Value = (Inside, Vec<u8>)> {
    let front = prop_oneof![Just([0; 8]), any::<[u8; 8]>()];
    (any::<bool>(), front, packets()).prop_map(|(is_label, front, packet)| match is_label {
        true => (Inside::Labels, [&front[..2], &[front[2] | 1, 9], &packet[..]].concat()),
        false => (Inside::Service, [&front[..], &packet[..]].concat()),
    })
}

/// What a device carries, as the peer sends it, and in which encapsulation. Of the two with a header of VXLAN-GPE it is that one.
fn in_any(driver: u32, is_ipv6: bool, gpe: u32) -> impl Strategy<Value = (u32, Vec<u8>)> {
    let carried = (frames(), packets(), behind_others(), 0u8..3);
    let carried = carried.prop_map(move |(frame, packet, other, one_in_three)| match driver {
        driver::IP => (Inside::Packet, packet),
        driver::PAYLOAD if one_in_three == 0 => (Inside::Packet, packet),
        driver::PAYLOAD => other,
        _ => (Inside::Frame, frame),
    });
    let kinds = prop::sample::select(ENCAPSULATIONS.to_vec());
    (kinds, carried, 0u8..4).prop_map(move |(kind, (inside, carried), tos)| {
        use encapsulation::*;
        let kind = match (kind, inside) {
            (NSH | GPE, Inside::Labels) if gpe == GPE => GRE,
            (NSH | GPE, _) => gpe,
            (VXLAN | NVGRE, Inside::Packet) => GENEVE,
            (IPIP | GUE, Inside::Frame) => GRE,
            (VXLAN | OVSTACK | MPLS, Inside::Labels | Inside::Service) => GENEVE,
            (NVGRE | IPIP | GUE, Inside::Labels | Inside::Service) => GRE,
            _ => kind,
        };
        (kind, arriving_with(kind, is_ipv6, &carried, inside, tos))
    })
}

/// How a node sends, and what is tried on it.
#[derive(Debug, Clone, Copy)]
struct Way {
    driver: u32,
    encapsulation: u32,
    is_ipv6: bool,
}

impl Way {
    fn node(self) -> Option<Node> {
        Node::with(Program::ALL, self.driver, self.encapsulation, self.is_ipv6)
    }

    /// Compares what became of a packet on both sides, with what was counted.
    fn compare(
        self,
        node: &Node,
        walk: &RefCell<Walk>,
        packet: &[u8],
        program: Program,
    ) -> Result<(), TestCaseError> {
        if is_stunted(packet) {
            return Ok(());
        }
        let mut walk = walk.borrow_mut();
        walk.counts.drops = node.programs.drops().unwrap();
        unbounded(node);
        let ran = node.programs.run(program, packet).unwrap();
        let device = node.device;
        let outcome = match program {
            Program::Receive | Program::Relay => walk.receive(packet, second()),
            Program::Transmit => walk.transmit(&device, packet, flow_in(&ran.packet), second()),
            // Nobody gave the packet to this host.
            Program::Guard => walk.guard(packet, true),
        };
        match (ran.verdict, outcome) {
            (Verdict::Next, Outcome::Next) => prop_assert_eq!(ran.packet, packet),
            // Up by the device that it came by.
            (Verdict::Next, Outcome::Sent(sent)) => {
                let [sent] = &sent[..] else { panic!("the walk sends {sent:?}") };
                prop_assert!(sent.is_up && sent.interface == 0, "{:?}", sent);
                // Where packets are carried, the header before them is of no more use.
                let from = if matches!(self.driver, driver::IP | driver::PAYLOAD) { 14 } else { 0 };
                prop_assert_eq!(&ran.packet[from..], &sent.frame[from..], "{:?}", self);
            }
            (Verdict::Dropped, Outcome::Sent(sent)) => {
                prop_assert!(sent.is_empty(), "the walk sends {:?}", sent);
            }
            (Verdict::Redirected, Outcome::Sent(sent)) => {
                prop_assert_eq!(sent.len(), 1, "{:?}", walk.counts.drops);
                prop_assert!(sent[0].interface != 0);
                let frame = sent[0].frame.clone();
                // What comes up, and what the kernel finds the way of, has no header of the overlay's.
                let is_bare = sent[0].via.is_none();
                let is_received = program == Program::Receive;
                let frame = if is_bare || is_received { frame } else { with_port_of(frame, &ran.packet) };
                prop_assert_eq!(ran.packet, frame, "{:?}", self);
            }
            (verdict, outcome) => prop_assert!(false, "{:?} and {:?}", verdict, outcome),
        }
        counted_alike(node, &walk)
    }
}

/// How often relays answer, and how fast stations are learned, is not compared.
fn unbounded(node: &Node) {
    let nothing = Bucket { spent_until: 0 };
    node.programs.table(&names::ANSWERING).unwrap().set(&0, &nothing).unwrap();
    for tenant in TENANTS {
        node.programs.table(&names::LEARNING).unwrap().set(&tenant, &nothing).unwrap();
    }
}

/// The tenants that there may be.
const TENANTS: std::ops::Range<u32> = TENANT..TENANT + 2;

/// The wires that hops may lead by.
const WIRES: std::ops::Range<u32> = 0..8;

/// A walk by the tables of a node as they are now, which counts on from where that is.
fn fresh(node: &Node) -> Walk {
    let (mut walk, programs) = (node.walk(), &node.programs);
    walk.counts.tenants.extend(TENANTS.map(|tenant| (tenant, programs.tenant_count(tenant).unwrap())));
    walk.counts.paths.extend(PATHS.map(|path| (path, programs.path_count(path).unwrap())));
    walk.counts.hops.extend(PATHS.map(|path| (path, programs.hop_count(path).unwrap())));
    walk.counts.wires.extend(WIRES.map(|wire| (wire, programs.wire_count(wire).unwrap())));
    walk
}

/// Every counter of both: drops by reason, devices, paths, next hops, pairs of locators.
fn counted_alike(node: &Node, walk: &Walk) -> Result<(), TestCaseError> {
    prop_assert_eq!(node.programs.drops().unwrap(), walk.counts.drops.clone());
    for number in TENANTS {
        let tenant = walk.counts.tenants.get(&number).copied().unwrap_or_default();
        prop_assert_eq!(node.programs.tenant_count(number).unwrap(), tenant, "tenant {}", number);
    }
    for path in PATHS {
        let count = walk.counts.paths.get(&path).copied().unwrap_or_default();
        prop_assert_eq!(node.programs.path_count(path).unwrap(), count, "path {}", path);
        let count = walk.counts.hops.get(&path).copied().unwrap_or_default();
        prop_assert_eq!(node.programs.hop_count(path).unwrap(), count, "next hop of path {}", path);
    }
    for wire in WIRES {
        let count = walk.counts.wires.get(&wire).copied().unwrap_or_default();
        prop_assert_eq!(node.programs.wire_count(wire).unwrap(), count, "wire {}", wire);
    }
    Ok(())
}

/// What both wrote into tables: what was learned, with all that was counted of each entry, and what fits paths.
fn wrote_alike(node: &Node, walk: &Walk) {
    let fib = node.programs.table(&names::FIB).unwrap();
    let keys: BTreeSet<[u8; 16]> = fib.keys().map(|key| key.identifier).collect();
    assert_eq!(keys, walk.fib.keys().map(|key| key.identifier).collect());
    for (key, walked) in walk.fib.iter() {
        let known = fib.get(key).unwrap().unwrap();
        // The clocks of both may be a tick apart.
        assert!(known.heard.abs_diff(walked.heard) <= 2, "{key:?}: {known:?} and {walked:?}");
        assert_eq!(known, FibEntry { heard: known.heard, ..*walked }, "{key:?}");
    }
    let limits = node.programs.table(&names::LIMITS).unwrap();
    for path in PATHS {
        let fits = |word: Option<u64>| word.unwrap_or_default() as u32;
        assert_eq!(fits(limits.get(&path).unwrap()), fits(walk.limits.get(&path)), "path {path}");
    }
}

/// The clock of [`FibEntry::heard`], which stands still for a tick: one that does not would be ahead of the programs.
fn second() -> u32 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::MonotonicCoarse);
    ((time.tv_sec as u128 * 1_000_000_000 + time.tv_nsec as u128) >> 30) as u32
}

/// What a driver relays the walk sends on just so; and the driver leaves alone all but that. Whether it was relayed.
fn relays_alike(node: &Node, walk: &mut Walk, packet: &[u8]) -> Result<bool, TestCaseError> {
    let ran = node.programs.run(Program::Relay, packet).unwrap();
    walk.counts.drops.clear();
    let outcome = walk.receive(packet, second());
    let expected = match outcome {
        // Nothing was dropped for it, as too big; and it went to a node, not up.
        Outcome::Sent(mut sent) if walk.counts.drops.is_empty() => sent.pop().filter(|sent| !sent.is_up),
        _ => None,
    };
    // What came in by another encapsulation gets longer or shorter, or the other family.
    let expected = expected
        .filter(|sent| sent.frame.len() == packet.len() && sent.frame.get(12..14) == packet.get(12..14));
    let expected =
        expected.map_or((Verdict::Next, packet.to_vec()), |sent| (Verdict::Redirected, sent.frame));
    let is_relayed = expected.0 == Verdict::Redirected;
    prop_assert_eq!((ran.verdict, ran.packet), expected);
    prop_assert_eq!(node.programs.drops().unwrap(), Default::default());
    Ok(is_relayed)
}

/// So with each of many packets.
fn all_relayed_alike(way: Way, packets: impl Strategy<Value = Vec<u8>>) {
    let Some(node) = way.node() else { return };
    let (walk, relayed) = (RefCell::new(node.walk()), RefCell::new(0));
    let compare = |packet: Vec<u8>| {
        *relayed.borrow_mut() += u32::from(relays_alike(&node, &mut walk.borrow_mut(), &packet)?);
        Ok(())
    };
    runner(2000).run(&packets, compare).unwrap();
    let relayed = relayed.into_inner();
    assert!(relayed > 200 || way.encapsulation != encapsulation::OVSTACK, "{relayed} of {way:?}");
}

#[test]
fn a_driver_relays_what_the_walk_does_and_nothing_else() {
    for is_ipv6 in [false, true] {
        for encapsulation in [encapsulation::OVSTACK, encapsulation::GENEVE] {
            let way = Way { driver: driver::ETHERNET, encapsulation, is_ipv6 };
            let whole = (frames(), any::<u32>(), 0u8..4, 0u8..4, any::<bool>()).prop_map(
                move |(frame, hash, ttl, tos, passes)| {
                    let mut packet = arriving_in(encapsulation::OVSTACK, is_ipv6, &frame, true, tos);
                    let at = behind_ip(is_ipv6) + 8;
                    packet[at + 1] = ttl;
                    packet[at + 8..at + 12].copy_from_slice(&hash.to_be_bytes());
                    let to = if passes { FAR } else { OWN };
                    packet[at + 12..at + 16].copy_from_slice(&to.0.to_be_bytes());
                    packet
                },
            );
            all_relayed_alike(way, broken(whole));
        }
    }
    all_relayed_alike(
        Way { driver: driver::ETHERNET, encapsulation: encapsulation::OVSTACK, is_ipv6: false },
        received(),
    );
}

/// So many cases, or as many as `make fuzz` asks for.
fn runner(cases: u32) -> TestRunner {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(0);
    let cases = cases.max(asked);
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() })
}

#[test]
fn both_receive_alike() {
    let way = Way { driver: driver::ETHERNET, encapsulation: encapsulation::OVSTACK, is_ipv6: false };
    let Some(node) = way.node() else { return };
    let walk = RefCell::new(node.walk());
    runner(6000).run(&received(), |packet| way.compare(&node, &walk, &packet, Program::Receive)).unwrap();
    let drops = node.programs.drops().unwrap();
    assert!(drops.len() >= 6, "most reasons are met: {drops:?}");
    wrote_alike(&node, &walk.borrow());
    let stations = walk.borrow().fib.len();
    assert!(stations > 20, "{stations} stations were learned");
}

#[test]
fn both_receive_every_encapsulation_alike() {
    for (driver, in_place, gpe) in [
        (driver::ETHERNET, false, encapsulation::NSH),
        (driver::ETHERNET, true, encapsulation::GPE),
        (driver::IP, false, encapsulation::NSH),
        (driver::IP, true, encapsulation::GPE),
        (driver::BITS, false, encapsulation::NSH),
        (driver::PAYLOAD, false, encapsulation::GPE),
        (driver::PAYLOAD, true, encapsulation::NSH),
    ] {
        for is_ipv6 in [false, true] {
            let way = Way { driver, encapsulation: encapsulation::OVSTACK, is_ipv6 };
            let Some(node) = way.node() else { return };
            if in_place {
                node.take_in_place();
            }
            node.take(gpe, is_ipv6);
            if driver == driver::PAYLOAD {
                node.take(encapsulation::GRE, is_ipv6);
            }
            let walk = RefCell::new(node.walk());
            let redirected = RefCell::new([0; 16]);
            let whole = (in_any(driver, is_ipv6, gpe), any::<bool>(), broken(Just(vec![0; 160])));
            runner(if in_place { 800 } else { 2500 })
                .run(&whole, |((kind, mut packet), is_broken, noise)| {
                    if is_broken {
                        // The same byte, and the same cut, as the noise has.
                        if let Some(at) =
                            noise.iter().position(|byte| *byte != 0).filter(|at| *at < packet.len())
                        {
                            packet[at] = noise[at];
                        }
                        packet.truncate(if noise.len() < 160 { noise.len() } else { packet.len() });
                    }
                    let before = node.programs.drops().unwrap();
                    way.compare(&node, &walk, &packet, Program::Receive)?;
                    redirected.borrow_mut()[kind as usize] +=
                        u32::from(before == node.programs.drops().unwrap());
                    Ok(())
                })
                .unwrap();
            wrote_alike(&node, &walk.borrow());
            for kind in ENCAPSULATIONS {
                let goes_on = redirected.borrow()[kind as usize];
                let is_sent = match driver {
                    driver::IP | driver::PAYLOAD => {
                        !matches!(kind, encapsulation::VXLAN | encapsulation::NVGRE)
                    }
                    _ => !matches!(kind, encapsulation::IPIP | encapsulation::GUE),
                };
                let is_sent =
                    is_sent && (kind == gpe || !matches!(kind, encapsulation::NSH | encapsulation::GPE));
                // A label that is carried arrives as one that says a VNI does.
                let is_sent = is_sent && (driver, kind) != (driver::PAYLOAD, encapsulation::MPLS);
                // Of three packets of payload one is IP.
                let least = if driver == driver::PAYLOAD { 5 } else { 20 };
                assert!(!is_sent || goes_on > least, "{goes_on} of encapsulation {kind} went on");
            }
        }
    }
}

#[test]
fn both_transmit_alike() {
    for driver in [driver::ETHERNET, driver::IP, driver::BITS, driver::PAYLOAD] {
        for encapsulation in ENCAPSULATIONS {
            for is_ipv6 in [false, true] {
                let way = Way { driver, encapsulation, is_ipv6 };
                let Some(node) = way.node() else { return };
                // A relay on the way to one of the two has no room for the longest.
                let limit = u64::from(second()) << 32 | 1000;
                node.programs.table(&names::LIMITS).unwrap().set(&FAR_PATH, &limit).unwrap();
                // What misses is dropped, or leaves by the kernel's own route: of one family, or of both.
                node.fall_back(if is_ipv6 { [1, 0] } else { [0, 0] });
                let walk = RefCell::new(node.walk());
                let compare = |packet: Vec<u8>| way.compare(&node, &walk, &packet, Program::Transmit);
                runner(150).run(&frames(), compare).unwrap();
                // Who writes frames to a device itself need write no packets.
                runner(50).run(&broken(frames()), compare).unwrap();
                wrote_alike(&node, &walk.borrow());
            }
        }
    }
}

#[test]
fn both_relay_into_every_encapsulation_alike() {
    for encapsulation in ENCAPSULATIONS {
        for driver in [driver::ETHERNET, driver::IP] {
            for is_ipv6 in [false, true] {
                let way = Way { driver, encapsulation, is_ipv6 };
                let Some(node) = way.node() else { return };
                // Packets come by both families, and leave by one.
                node.accept(!is_ipv6);
                let walk = RefCell::new(node.walk());
                let carried = (frames(), packets()).prop_map(move |(frame, packet)| match driver {
                    driver::ETHERNET => frame,
                    _ => packet,
                });
                let relayed = (carried, any::<bool>(), 0u8..4).prop_map(move |(carried, by_ipv6, tos)| {
                    let is_frame = driver == driver::ETHERNET;
                    let mut packet = arriving_in(encapsulation::OVSTACK, by_ipv6, &carried, is_frame, tos);
                    let at = behind_ip(by_ipv6) + 8 + 12;
                    packet[at..at + 4].copy_from_slice(&FAR.0.to_be_bytes());
                    packet
                });
                let compare = |packet: Vec<u8>| way.compare(&node, &walk, &packet, Program::Receive);
                runner(100).run(&relayed, compare).unwrap();
                let passed = walk.borrow().counts.paths.get(&FAR_PATH).copied().unwrap_or_default();
                assert!(passed.packets > 80, "{passed:?} of {way:?}");
            }
        }
    }
}

/// What comes in one encapsulation leaves in another, whichever both are.
#[test]
fn both_relay_between_any_two_encapsulations_alike() {
    let gpe = |out: u32| if out.is_multiple_of(2) { encapsulation::NSH } else { encapsulation::GPE };
    for out in ENCAPSULATIONS {
        for (driver, is_ipv6) in [(driver::ETHERNET, false), (driver::IP, true)] {
            let way = Way { driver, encapsulation: out, is_ipv6 };
            let Some(node) = way.node() else { return };
            node.take(gpe(out), is_ipv6);
            let walk = RefCell::new(node.walk());
            let passed = || walk.borrow().counts.paths.get(&FAR_PATH).map_or(0, |count| count.packets);
            let by_kind = RefCell::new([0; 16]);
            runner(400)
                .run(&in_any(driver, is_ipv6, gpe(out)), |(kind, packet)| {
                    let before = passed();
                    way.compare(&node, &walk, &packet, Program::Receive)?;
                    by_kind.borrow_mut()[kind as usize] += passed() - before;
                    Ok(())
                })
                .unwrap();
            let kinds = by_kind.borrow().iter().filter(|count| **count > 0).count();
            assert!(kinds >= 6, "{:?} of each kind went on, {way:?}", by_kind.borrow());
        }
    }
}

#[test]
fn both_guard_alike() {
    let way = Way { driver: driver::ETHERNET, encapsulation: encapsulation::OVSTACK, is_ipv6: false };
    for is_ipv6 in [false, true] {
        let Some(node) = Node::with([Program::Guard], way.driver, way.encapsulation, is_ipv6) else { return };
        let walk = RefCell::new(node.walk());
        let kinds = prop::sample::select(ENCAPSULATIONS.to_vec());
        let sent = (kinds, frames(), any::<bool>()).prop_map(move |(kind, frame, is_own)| {
            let mut packet = arriving_in(kind, is_ipv6, &frame, true, 0);
            // As if from this node, to the peer.
            let [source, destination, bytes] = if is_ipv6 { [22, 38, 16] } else { [26, 30, 4] };
            for byte in (0..bytes).filter(|_| is_own) {
                packet.swap(source + byte, destination + byte);
            }
            packet
        });
        runner(500).run(&broken(sent), |packet| way.compare(&node, &walk, &packet, Program::Guard)).unwrap();
        assert!(node.drops(Drop::Forged) > 100, "{:?}", node.programs.drops());
    }
}
