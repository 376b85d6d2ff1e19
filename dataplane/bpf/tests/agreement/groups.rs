//! Copies for groups: both send the same ones in the same order, not back to where a packet came from, and one up; and both say the
//! same of those that are too big.

use super::*;
use crate::support::line::Line;
use plait_dataplane_links::scratch::Namespace;
use plait_dataplane_reference::mapped;

/// The third of the group, whose device takes no long packets.
const THIRD: ovstack::NodeId = ovstack::NodeId(0x0a00_0004);
const THIRD_LOCATOR: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 4);
const THIRD_HOP: u32 = 3;

/// A group of three and of the node itself, which frames for unknown stations go to.
fn gather(node: &Node, line: &Line, third: (u32, bool), includes_own: bool) {
    gather_those(node, line, third, &[PEER_HOP, THIRD_HOP, FAR_HOP], includes_own);
}

/// The same of others.
fn gather_those(node: &Node, line: &Line, third: (u32, bool), next: &[u32], includes_own: bool) {
    let application = u32::from(APPLICATION);
    let programs = &node.programs;
    let adjacency =
        |mtu| Adjacency { interface: line.index, mtu, destination: GATEWAY.0, source: UNDERLAY.0 };
    programs.table(&names::ADJACENCY_SLOTS).unwrap().set(&9, &adjacency(1500)).unwrap();
    programs.table(&names::ADJACENCY_SLOTS).unwrap().set(&10, &adjacency(800)).unwrap();
    programs.table(&names::ADJACENCIES).unwrap().set(&6, &10).unwrap();
    let (kind, is_ipv6) = third;
    let [own, theirs] = [OWN_LOCATOR, THIRD_LOCATOR].map(|locator| of_family(locator, is_ipv6));
    let wire = Wire::new(own, theirs, kind, 6).unwrap();
    programs.table(&names::WIRES).unwrap().set(&THIRD_HOP, &wire).unwrap();
    let address = mapped(theirs);
    programs.table(&names::LOCATORS).unwrap().set(&LocatorKey { application, address }, &THIRD.0).unwrap();
    let mut choices = [Choice { below: 0, wire: 0 }; size::CHOICES as usize];
    choices[0] = Choice { below: 50, wire: THIRD_HOP };
    let hop = Hop { node: THIRD.0, weights: 50, count: 1, path: 0, choices };
    programs.table(&names::HOPS).unwrap().set(&THIRD_HOP, &hop).unwrap();
    node.flood();
    let mut hops = [0; size::GROUP as usize];
    hops[..next.len()].copy_from_slice(next);
    // Short headers first, as the agent has them: what is no IP grows only.
    let wires = programs.table(&names::WIRES).unwrap();
    hops[..next.len()].sort_by_key(|hop| wires.get(hop).unwrap().unwrap().length);
    let group = Group { count: next.len() as u32, includes_own: includes_own.into(), hops };
    programs.table(&names::GROUPS).unwrap().set(&0, &group).unwrap();
    programs.table(&names::NODES).unwrap().set(&NodeKey { application, node: GROUP.0 }, &GROUP_PATH).unwrap();
}

/// Sends a packet through both, and compares each copy. How many there were.
fn compare(
    node: &Node,
    line: &Line,
    walk: &RefCell<Walk>,
    packet: &[u8],
    program: Program,
) -> Result<usize, TestCaseError> {
    if is_stunted(packet) {
        return Ok(0);
    }
    let mut walk = walk.borrow_mut();
    walk.counts.drops = node.programs.drops().unwrap();
    unbounded(node);
    let ran = node.programs.run(program, packet).unwrap();
    let outcome = match program {
        Program::Receive => walk.receive(packet, second()),
        _ => walk.transmit(&node.device, packet, 0, second()),
    };
    let (sent, last) = match (ran.verdict, outcome) {
        (Verdict::Next, Outcome::Next) => (Vec::new(), None),
        (Verdict::Dropped, Outcome::Sent(sent)) => (sent, None),
        (Verdict::Redirected, Outcome::Sent(sent)) => (sent, Some(ran.packet)),
        (verdict, outcome) => return Err(TestCaseError::fail(format!("{verdict:?} and {outcome:?}"))),
    };
    // What came up before the last one left is seen by its device's counter alone.
    let (before, at_end) = sent.split_at(sent.len() - last.iter().len().min(sent.len()));
    let expected: Vec<_> = before.iter().filter(|sent| !sent.is_up).chain(at_end).collect();
    let mut left = line.left(expected.len() - at_end.len());
    left.extend(last);
    prop_assert_eq!(left.len(), expected.len(), "{:?}", walk.counts.drops);
    for (left, sent) in left.iter().zip(expected) {
        let bare = program == Program::Receive || sent.is_up;
        let frame = if bare { sent.frame.clone() } else { with_port_of(sent.frame.clone(), left) };
        prop_assert_eq!(left, &frame);
    }
    counted_alike(node, &walk)?;
    Ok(sent.len())
}

/// What a node may hear of ovstack, most of it for the group, from one of the others or from somebody.
fn heard(driver: u32, is_ipv6: bool) -> impl Strategy<Value = Vec<u8>> {
    let to = prop_oneof![6 => Just(GROUP), 1 => Just(OWN), 1 => Just(FAR)];
    let from = prop_oneof![4 => Just(PEER), 4 => Just(FAR), 1 => Just(OWN), 1 => any::<u32>().prop_map(ovstack::NodeId)];
    let header = (0u8..6, to, from, any::<u32>(), prop::bool::weighted(0.05), 0u8..4, any::<bool>());
    (header, frames(), packets()).prop_map(
        move |((ttl, to, from, hash, is_control, tos, is_far), frame, packet)| {
            let carried = if driver == driver::IP { packet } else { frame };
            let mut packet =
                arriving_in(encapsulation::OVSTACK, is_ipv6, &carried, driver != driver::IP, tos);
            let at = behind_ip(is_ipv6) + 8;
            packet[at + 1] = ttl;
            packet[at + 3] |= if is_control { ovstack::CONTROL } else { 0 };
            packet[at + 8..at + 12].copy_from_slice(&hash.to_be_bytes());
            packet[at + 12..at + 16].copy_from_slice(&to.0.to_be_bytes());
            packet[at + 16..at + 20].copy_from_slice(&from.0.to_be_bytes());
            if is_far {
                match of_family(FAR_LOCATOR, is_ipv6) {
                    std::net::IpAddr::V4(address) => packet[26..30].copy_from_slice(&address.octets()),
                    std::net::IpAddr::V6(address) => packet[22..38].copy_from_slice(&address.octets()),
                }
            }
            packet
        },
    )
}

/// Groups in every encapsulation, whose third is reached in another one, over both families.
fn groups(try_it: impl Fn(&Line, Way, (u32, bool), bool) + Sync) {
    if !may_load() {
        return;
    }
    let namespace = Namespace::new().unwrap();
    let line = Line::new(&namespace);
    for (step, encapsulation) in ENCAPSULATIONS.into_iter().enumerate() {
        for is_ipv6 in [false, true] {
            let carries_packets = matches!(encapsulation, encapsulation::IPIP | encapsulation::GUE);
            let driver = if carries_packets { driver::IP } else { driver::ETHERNET };
            let others = if carries_packets {
                [encapsulation::GENEVE, encapsulation::OVSTACK]
            } else {
                [encapsulation::OVSTACK, encapsulation::VXLAN]
            };
            let third = (others[step % 2], is_ipv6 != (step % 3 == 0));
            let way = Way { driver, encapsulation, is_ipv6 };
            namespace.run(|| try_it(&line, way, third, step % 4 != 3)).unwrap();
        }
    }
}

#[test]
fn both_send_groups_the_same_copies() {
    groups(|line, way, third, includes_own| {
        // Packets of a device that carries them go to no group.
        if way.driver == driver::IP {
            return;
        }
        let node = way.node().unwrap();
        gather(&node, line, third, includes_own);
        // Behind one of them there is no room for long ones: they leave all the same, and their host is told.
        let limit = u64::from(second()) << 32 | 600;
        if way.is_ipv6 {
            node.programs.table(&names::LIMITS).unwrap().set(&GROUP_PATH, &limit).unwrap();
        }
        let walk = RefCell::new(node.walk());
        let most = RefCell::new(0);
        let both = |packet: Vec<u8>| {
            let copies = compare(&node, line, &walk, &packet, Program::Transmit)?;
            let mut most = most.borrow_mut();
            *most = copies.max(*most);
            Ok(())
        };
        // One of which three copies leave and its host is told, whatever else is drawn.
        both(frame(STATION_A, STATION_C, ether_type::IPV4, &inner_ipv4(620, 0))).unwrap();
        runner(100).run(&frames(), both).unwrap();
        assert_eq!(most.into_inner(), 3 + usize::from(way.is_ipv6), "{way:?}");
        wrote_alike(&node, &walk.borrow());
    });
}

#[test]
fn both_pass_on_to_groups_and_never_back() {
    pass_on(&[PEER_HOP, THIRD_HOP, FAR_HOP], 300);
}

#[test]
fn both_send_no_further_what_comes_from_none_of_a_group() {
    pass_on(&[THIRD_HOP, FAR_HOP], 400);
}

/// So many packets that come for a group with such next hops, through both.
fn pass_on(next: &[u32], packets: u32) {
    groups(|line, way, third, includes_own| {
        let node = way.node().unwrap();
        gather_those(&node, line, third, next, includes_own);
        let walk = RefCell::new(node.walk());
        let copies = RefCell::new([0; 5]);
        // Behind the headers of UDP and ovstack. A copy that has less in it than an IP header is long the kernel makes no room for,
        // where its outer header gets shorter.
        let least = behind_ip(way.is_ipv6) + 8 + 20 + 20;
        let both = |packet: Vec<u8>| {
            if packet.len() < least {
                return Ok(());
            }
            copies.borrow_mut()[compare(&node, line, &walk, &packet, Program::Receive)?] += 1;
            Ok(())
        };
        runner(packets).run(&broken(heard(way.driver, way.is_ipv6)), both).unwrap();
        // The one that it is from gets none.
        let copies = copies.into_inner();
        let most = next.len() - 1 + usize::from(includes_own);
        assert!(
            copies[most] > 3 && copies[most + 1..].iter().all(|count| *count == 0),
            "{copies:?} of {way:?}"
        );
        wrote_alike(&node, &walk.borrow());
    });
}

/// What is drawn of a group: each next hop's outer header, whether it is of IPv6, and the MTU on its way, if there is one; which of
/// them are in the group, and whether this node is.
type DrawnGroup = (Vec<(u32, bool, Option<u32>)>, Vec<bool>, bool);

/// Writes a drawn group, in the place of the one before.
fn draw(node: &Node, line: &Line, (hops, are_in, includes_own): &DrawnGroup) {
    let programs = &node.programs;
    let numbers = [PEER_HOP, FAR_HOP, THIRD_HOP];
    let nodes = [PEER, FAR, THIRD];
    for ((number, of), (kind, is_ipv6, mtu)) in numbers.into_iter().zip(nodes).zip(hops) {
        let interface = if mtu.is_some() { line.index } else { 0 };
        let adjacency =
            Adjacency { interface, mtu: mtu.unwrap_or_default(), destination: GATEWAY.0, source: UNDERLAY.0 };
        programs.table(&names::ADJACENCY_SLOTS).unwrap().set(&number, &adjacency).unwrap();
        programs.table(&names::ADJACENCIES).unwrap().set(&number, &number.into()).unwrap();
        let [own, theirs] = [OWN_LOCATOR, THIRD_LOCATOR].map(|locator| of_family(locator, *is_ipv6));
        let wire = Wire::new(own, theirs, *kind, number).unwrap();
        programs.table(&names::WIRES).unwrap().set(&number, &wire).unwrap();
        let mut choices = [Choice { below: 0, wire: 0 }; size::CHOICES as usize];
        choices[0] = Choice { below: 50, wire: number };
        let path = if of == FAR { FAR_PATH } else { PEER_PATH };
        let hop = Hop { node: of.0, weights: 50, count: 1, path, choices };
        programs.table(&names::HOPS).unwrap().set(&number, &hop).unwrap();
    }
    let next: Vec<u32> =
        numbers.into_iter().zip(are_in).filter(|(_, is_in)| **is_in).map(|(hop, _)| hop).collect();
    let mut sorted = next;
    let wires = programs.table(&names::WIRES).unwrap();
    sorted.sort_by_key(|hop| wires.get(hop).unwrap().unwrap().length);
    let mut hops = [0; size::GROUP as usize];
    hops[..sorted.len()].copy_from_slice(&sorted);
    let group = Group { count: sorted.len() as u32, includes_own: (*includes_own).into(), hops };
    programs.table(&names::GROUPS).unwrap().set(&0, &group).unwrap();
    programs.turn().unwrap();
}

/// Whatever the group and the ways to its next hops are, both send the same copies, of what begins here and of what passes.
#[test]
fn both_send_and_pass_on_to_any_groups_alike() {
    if !may_load() {
        return;
    }
    let namespace = Namespace::new().unwrap();
    let line = Line::new(&namespace);
    for is_ipv6 in [false, true] {
        namespace
            .run(|| {
                let way = Way { driver: driver::ETHERNET, encapsulation: encapsulation::OVSTACK, is_ipv6 };
                let node = way.node().unwrap();
                gather(&node, &line, (encapsulation::OVSTACK, is_ipv6), true);
                let kinds = proptest::sample::select(ENCAPSULATIONS.to_vec());
                let mtu =
                    proptest::option::weighted(0.9, proptest::sample::select(vec![60, 400, 800, 1400, 1500]));
                let hops = proptest::collection::vec((kinds, any::<bool>(), mtu), 3);
                let are_in = proptest::collection::vec(prop::bool::weighted(0.8), 3);
                let least = behind_ip(is_ipv6) + 8 + 20 + 20;
                let packets = (
                    proptest::collection::vec(frames(), 10),
                    proptest::collection::vec(broken(heard(way.driver, is_ipv6)), 20),
                );
                let copies = RefCell::new([0; 5]);
                runner(60)
                    .run(&((hops, are_in, any::<bool>()), packets), |(tables, (begun, passing))| {
                        draw(&node, &line, &tables);
                        let walk = RefCell::new(fresh(&node));
                        for frame in &begun {
                            copies.borrow_mut()[compare(&node, &line, &walk, frame, Program::Transmit)?] += 1;
                        }
                        for packet in passing.iter().filter(|packet| packet.len() >= least) {
                            copies.borrow_mut()[compare(&node, &line, &walk, packet, Program::Receive)?] += 1;
                        }
                        wrote_alike(&node, &walk.borrow());
                        Ok(())
                    })
                    .unwrap();
                let copies = copies.into_inner();
                assert!(copies[..4].iter().all(|count| *count > 3), "{copies:?} of {way:?}");
            })
            .unwrap();
    }
}
