//! What hosts put before packets.

use super::packets::*;
use plait_dataplane_bpf::{PathProgram, PathPrograms, Verdict, path_names};
use plait_dataplane_reference::paths::tables::*;
use plait_dataplane_reference::paths::{
    Family, Steer, SteerTables, chosen, flow_of, hash_of, mapped, pushed,
};
use plait_dataplane_reference::tables::encapsulation;
use plait_model_wire::number::protocol;
use plait_model_wire::{checksum, icmp, ipv4, ipv6, push};
use rustix::time::{ClockId, clock_gettime};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use zerocopy::FromZeros;

#[test]
fn a_stack_of_any_height_is_as_if_each_header_was_pushed_alone() {
    let Some(programs) = programs_of(4000) else { return };
    let cases = pairs().flat_map(|pair| kinds(pair.0).into_iter().map(move |kind| (pair, kind)));
    for ((outer, inner), kind) in cases {
        for count in 1..=16 {
            put(&programs, prefix(inner), 1, selector::HASH, &[stack(outer, count, kind)]);
            for (payload, tos) in [(0, 0), (1, 2), (512, 3), (1400, 0xb8)] {
                let packet = packet(far(inner), 5000 + payload as u16, payload, tos);
                let hash = hash_of(&flow_of(&packet).unwrap());
                let ran = programs.run(PathProgram::Steer, &frame(&packet)).unwrap();
                assert_eq!(ran.verdict, Verdict::Next, "{:?}", programs.drops());
                assert_eq!(
                    ran.packet,
                    frame(&pushed(&packet, shared(outer), &relays(outer, count), kind, hash).unwrap()),
                    "{inner:?} under {kind} × {count} of {outer:?}, {payload} bytes"
                );
            }
        }
    }
    assert!(programs.drops().unwrap().is_empty());
}

#[test]
fn the_longest_prefix_counts_and_all_else_goes_as_it_was() {
    let Some(programs) = programs() else { return };
    let more = |destination: IpAddr| {
        let whole = frame(&packet(destination, 5000, 10, 0));
        programs.run(PathProgram::Steer, &whole).unwrap().packet.len() - whole.len()
    };
    for family in Family::ALL {
        let one = family.header();
        let stack = |count| stack(family, count, encapsulation::IPIP);
        let (near, other, none): (IpAddr, IpAddr, IpAddr) = match family {
            Family::Ipv4 => ([172, 16, 3, 0].into(), [172, 16, 9, 9].into(), [172, 17, 0, 1].into()),
            Family::Ipv6 => (
                Ipv6Addr::new(0x2001, 0xdb8, 16, 3, 0, 0, 0, 0).into(),
                Ipv6Addr::new(0x2001, 0xdb8, 16, 9, 0, 0, 0, 9).into(),
                Ipv6Addr::new(0x2001, 0xdb8, 17, 0, 0, 0, 0, 1).into(),
            ),
        };
        let bits = if family == Family::Ipv4 { 24 } else { 64 };
        put(&programs, prefix(family), 1, selector::HASH, &[stack(1)]);
        put(&programs, PrefixKey::new(near, bits), 2, selector::HASH, &[stack(2)]);
        assert_eq!((more(other), more(far(family)), more(none)), (one, 2 * one, 0));
        // Nor gets what has its stack another one.
        let far = far(family);
        let stacked = pushed(&packet(far, 5000, 10, 0), shared(family), &[far], encapsulation::IPIP, 0);
        let stacked = frame(&stacked.unwrap());
        assert_eq!(programs.run(PathProgram::Steer, &stacked).unwrap().packet, stacked);
    }
}

#[test]
fn the_shortest_prefix_of_ipv6_has_no_address_of_ipv4() {
    let Some(programs) = programs() else { return };
    let all = PrefixKey::new(Ipv6Addr::UNSPECIFIED.into(), 0);
    put(&programs, all, 1, selector::HASH, &[stack(Family::Ipv6, 1, encapsulation::IPIP)]);
    let steered = |family| {
        let whole = frame(&packet(far(family), 5000, 10, 0));
        programs.run(PathProgram::Steer, &whole).unwrap().packet != whole
    };
    assert_eq!(Family::ALL.map(steered), [false, true]);
    let all = PrefixKey::new(Ipv4Addr::UNSPECIFIED.into(), 0);
    put(&programs, all, 2, selector::HASH, &[stack(Family::Ipv4, 1, encapsulation::IPIP)]);
    assert_eq!(Family::ALL.map(steered), [true, true]);
}

#[test]
fn what_neighbours_say_to_each_other_stays_on_their_link() {
    let Some(programs) = programs() else { return };
    let all = PrefixKey::new(Ipv6Addr::UNSPECIFIED.into(), 0);
    put(&programs, all, 1, selector::HASH, &[stack(Family::Ipv6, 1, encapsulation::GRE)]);
    let is_steered = |destination: IpAddr, kind: u8| {
        let mut packet = vec![0; 24];
        packet[0] = kind;
        wrap(&mut packet, destination, protocol::ICMPV6, 0);
        let whole = frame(&packet);
        programs.run(PathProgram::Steer, &whole).unwrap().packet != whole
    };
    // Solicitations and advertisements, also those for a neighbour's own address; echoes go by relays.
    for (kind, steered) in [(128, true), (133, false), (135, false), (136, false), (137, false), (138, true)]
    {
        assert_eq!(is_steered(far(Family::Ipv6), kind), steered, "{kind}");
    }
    for link in ["ff02::1:ff00:4", "ff05::1:3", "fe80::4"] {
        assert!(!is_steered(link.parse().unwrap(), 128), "{link}");
    }
    assert!(is_steered("fec0::1".parse().unwrap(), 128));
    let all = PrefixKey::new(Ipv4Addr::UNSPECIFIED.into(), 0);
    put(&programs, all, 2, selector::HASH, &[stack(Family::Ipv4, 1, encapsulation::GRE)]);
    for (destination, steered) in [
        ("224.0.0.5", false),
        ("239.255.255.250", false),
        ("255.255.255.255", false),
        ("169.254.1.1", false),
        ("223.255.255.255", true),
        ("169.253.255.255", true),
        ("169.255.0.1", true),
    ] {
        let whole = frame(&packet(destination.parse().unwrap(), 5000, 10, 0));
        let ran = programs.run(PathProgram::Steer, &whole).unwrap();
        assert_eq!(ran.packet != whole, steered, "{destination}");
    }
}

#[test]
fn each_selector_gives_flows_their_lists_and_counts_them() {
    for family in Family::ALL {
        let Some(programs) = programs() else { return };
        let lists = [1, 2, 3, 4].map(|count| stack(family, count, encapsulation::GRE));
        let list_of = |packet: &[u8]| {
            let ran = programs.run(PathProgram::Steer, &frame(packet)).unwrap();
            (ran.packet.len() - packet.len() - 14) / (family.header() + 4) - 1
        };
        let flows: Vec<_> = (0..32).map(|port| packet(far(family), 6000 + port, 10, 0)).collect();

        let set = put(&programs, prefix(family), 1, selector::HASH, &lists);
        for flow in &flows {
            assert_eq!(list_of(flow), chosen(&set, hash_of(&flow_of(flow).unwrap())));
        }
        put(&programs, prefix(family), 2, selector::ROUND_ROBIN, &lists);
        for _ in 0..2 {
            for (turn, flow) in flows.iter().enumerate() {
                assert_eq!(list_of(flow), turn % 4, "a flow keeps its turn");
            }
        }
        put(&programs, prefix(family), 3, selector::FLOW_BASED, &lists);
        let moved = flow_of(&flows[5]).unwrap();
        let stays = list_of(&flows[6]);
        for list in 0..4 {
            programs.table(&path_names::MOVES).unwrap().set(&moved, &(3 << 32 | list)).unwrap();
            assert_eq!(list_of(&flows[5]), list as usize);
            assert_eq!(list_of(&flows[6]), stays);
        }
        let known = programs.table(&path_names::FLOWS).unwrap().get(&moved).unwrap().unwrap();
        assert_eq!((known.packets, known.set, known.list), (7, 3, 3));
        assert_eq!(known.bytes, 7 * frame(&flows[5]).len() as u64);
        let sent =
            |slot: u32| (0..4).map(|list| programs.list_count(slot * 8 + list).unwrap().packets).sum::<u64>();
        assert_eq!((sent(1), sent(2)), (32, 64));
        assert_eq!(programs.list_count(2 * 8).unwrap().packets, 16);
    }
}

#[test]
fn a_flow_stays_by_its_list_whatever_else_its_prefix_gets() {
    for (family, selector) in Family::ALL
        .into_iter()
        .flat_map(|family| [selector::HASH, selector::ROUND_ROBIN].map(|selector| (family, selector)))
    {
        let Some(programs) = programs() else { return };
        let lists = [1, 2, 3, 4].map(|count| stack(family, count, encapsulation::GRE));
        let relays = |packet: &[u8]| {
            let ran = programs.run(PathProgram::Steer, &frame(packet)).unwrap();
            (ran.packet.len() - packet.len() - 14) / (family.header() + 4)
        };
        let flows: Vec<_> = (0..32).map(|port| packet(far(family), 6000 + port, 10, 0)).collect();
        let mut set = put(&programs, prefix(family), 1, selector, &lists);
        let before: Vec<_> = flows.iter().map(|flow| relays(flow)).collect();
        // The same stacks in another order, without the first of them, in a set of their own.
        set.choices.swap(0, 3);
        (1..).zip(&mut set.choices[..3]).for_each(|(below, choice)| choice.below = below);
        (set.count, set.weights) = (3, 3);
        programs.table(&path_names::SETS).unwrap().set(&2, &set).unwrap();
        programs.set_prefix(&prefix(family), 2).unwrap();
        let mut left = 0;
        for (flow, before) in flows.iter().zip(before) {
            let after = relays(flow);
            assert!(after == before || before == 1, "{selector}: from {before} relays to {after}");
            assert_ne!(after, 1);
            left += usize::from(before == 1);
            assert_eq!(relays(flow), after);
        }
        assert!(left > 0, "no flow had to leave");
    }
}

/// How many relays a packet is given.
fn relays_of(programs: &PathPrograms, packet: &[u8], outer: Family) -> usize {
    let ran = programs.run(PathProgram::Steer, &frame(packet)).unwrap();
    assert_eq!(ran.verdict, Verdict::Next);
    (ran.packet.len() - packet.len() - 14) / outer.header()
}

#[test]
fn a_known_flow_goes_by_the_prefixes_of_this_moment() {
    let Some(programs) = programs() else { return };
    for family in Family::ALL {
        let stacks = |count| [stack(family, count, encapsulation::IPIP)];
        let packet = packet(far(family), 5000, 10, 0);
        let relays = || [(); 2].map(|()| relays_of(&programs, &packet, family));
        let bits = if family == Family::Ipv4 { 24 } else { 64 };
        let narrow = PrefixKey::new(far(family), bits);
        assert_eq!(relays(), [0, 0]);
        put(&programs, prefix(family), 1, selector::HASH, &stacks(1));
        assert_eq!(relays(), [1, 1]);
        put(&programs, narrow, 2, selector::HASH, &stacks(2));
        assert_eq!(relays(), [2, 2], "a longer prefix was added");
        put(&programs, narrow, 3, selector::HASH, &stacks(3));
        assert_eq!(relays(), [3, 3], "it was turned to another set");
        assert!(programs.remove_prefix(&narrow).unwrap());
        assert_eq!(relays(), [1, 1], "it was removed");
        assert!(programs.remove_prefix(&prefix(family)).unwrap());
        assert_eq!(relays(), [0, 0], "all were");
        assert!(!programs.remove_prefix(&narrow).unwrap());
    }
}

#[test]
fn a_set_that_a_flow_was_found_is_taken_by_that_generation_and_that_flow_alone() {
    let Some(programs) = programs() else { return };
    let flows = programs.table(&path_names::FLOWS).unwrap();
    for family in Family::ALL {
        let stacks = |count| [stack(family, count, encapsulation::IPIP)];
        put(&programs, PrefixKey::new([192, 0, 2, 0].into(), 24), 2, selector::HASH, &stacks(2));
        put(&programs, prefix(family), 1, selector::HASH, &stacks(1));
        let [one, other] = [5000, 5001].map(|port| packet(far(family), port, 10, 0));
        let relays = |packet: &[u8]| relays_of(&programs, packet, family);
        let key = |packet: &[u8]| flow_of(packet).unwrap();
        let known = |packet: &[u8]| flows.get(&key(packet)).unwrap().unwrap();
        assert_eq!([relays(&one), relays(&other)], [1, 1]);
        // Nobody looks for the prefix of a flow that was found one.
        let elsewhere = Flow { set: 2, ..known(&one) };
        flows.set(&key(&one), &elsewhere).unwrap();
        assert_eq!(relays(&one), 2);
        // What was found for one flow, or of another generation, is nothing to go by.
        for found in [known(&other).found, elsewhere.found.wrapping_add(1)] {
            flows.set(&key(&one), &Flow { found, ..elsewhere }).unwrap();
            assert_eq!(relays(&one), 1);
            assert_eq!((known(&one).set, known(&one).found), (1, elsewhere.found));
        }
        // Nor is it once prefixes have changed.
        flows.set(&key(&one), &elsewhere).unwrap();
        assert!(!programs.remove_prefix(&PrefixKey::new([198, 51, 100, 0].into(), 24)).unwrap());
        assert_eq!(relays(&one), 1);
    }
}

#[test]
fn a_packet_of_ipv6_between_mapped_addresses_is_of_no_prefix_of_ipv4() {
    let Some(programs) = programs() else { return };
    put(&programs, prefix(Family::Ipv4), 1, selector::HASH, &[stack(Family::Ipv4, 1, encapsulation::IPIP)]);
    let plain = packet(far(Family::Ipv4), 5000, 10, 0);
    let of_ipv6 = |address| Ipv6Addr::from(mapped(address));
    let mut mapped = plain[20..].to_vec();
    push(
        &mut mapped,
        &ipv6::Repr {
            source: of_ipv6(host(Family::Ipv4)),
            destination: of_ipv6(far(Family::Ipv4)),
            next_header: protocol::UDP,
            hop_limit: 63,
            traffic_class: 0,
            flow_label: 0,
        },
    );
    assert_eq!(flow_of(&mapped), flow_of(&plain), "their keys are one");
    let relays = |packet: &[u8]| relays_of(&programs, packet, Family::Ipv4);
    for _ in 0..2 {
        assert_eq!([relays(&plain), relays(&mapped)], [1, 0]);
    }
}

/// An address in the third of three prefixes, or in none.
fn third(family: Family, third: u8, last: u8) -> IpAddr {
    match family {
        Family::Ipv4 => Ipv4Addr::new(172, 16, third, last).into(),
        Family::Ipv6 => Ipv6Addr::new(0x2001, 0xdb8, 16, third.into(), 0, 0, 0, last.into()).into(),
    }
}

#[test]
fn the_reference_steers_packet_by_packet_as_the_program_does() {
    let Some(programs) = programs() else { return };
    let mut tables = SteerTables::default();
    for (family, first) in [(Family::Ipv4, 1), (Family::Ipv6, 5)] {
        // Of different heights, so that a packet's length says its list; one is plain routing.
        let lists = [0, 1, 2, 5].map(|count| stack(family, count, encapsulation::GRE));
        let bits = if family == Family::Ipv4 { 24 } else { 64 };
        let prefixes = [
            (prefix(family), selector::HASH),
            (PrefixKey::new(third(family, 1, 0), bits), selector::ROUND_ROBIN),
            (PrefixKey::new(third(family, 2, 0), bits), selector::FLOW_BASED),
        ];
        for (slot, (prefix, selector)) in (first..).zip(prefixes) {
            let set = put(&programs, prefix, slot, selector, &lists);
            tables.prefixes.insert(&prefix, slot);
            tables.sets.insert(slot, set);
            let stacks = set.choices.iter().zip(&lists);
            tables.stacks.extend(stacks.map(|(choice, stack)| (choice.stack, stack.length)));
        }
    }
    let mut steer = Steer::new(0, 256, tables.into());
    let mut draw = 1u32;
    let mut draw = |below: u32| {
        draw = draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (draw >> 8) % below
    };
    let (mut moved, mut too_big, mut long) = (0, 0, 0);
    for now in 1..3000u64 {
        let family = Family::ALL[draw(2) as usize];
        let destination = third(family, draw(4) as u8, 9);
        // What fits the tallest, a little less, or a little more.
        let most = MTU as usize - 5 * (family.header() + 4) - family.header() - 8;
        let payload = if draw(8) == 0 { most - 35 + draw(70) as usize } else { draw(400) as usize };
        let packet = packet(destination, 5000 + draw(12) as u16, payload, 0);
        let key = flow_of(&packet).unwrap();
        let flow_based = steer.flows.get(&key).map(|flow| flow.set).filter(|set| [3, 7].contains(set));
        if let Some(set) = flow_based.filter(|_| draw(5) == 0) {
            let place = MovePlace { set, list: draw(4), by_hand: draw(2) == 0 };
            steer.move_flow(key, place);
            programs.table(&path_names::MOVES).unwrap().set(&key, &place.word()).unwrap();
            moved += 1;
        }
        let frame = frame(&packet);
        let ran = programs.run(PathProgram::Steer, &frame).unwrap();
        match steer.transmit(&key, frame.len() as u32, MTU, now) {
            Ok(steered) => {
                let more = steered.stack.map_or(0, |stack| steer.tables.stacks[&stack]) as usize;
                assert_eq!((ran.verdict, ran.packet.len()), (Verdict::Next, frame.len() + more), "{key:?}");
                long += u32::from(payload > 400);
            }
            Err(reason) => {
                assert_eq!((ran.verdict, reason), (Verdict::Redirected, PathDrop::TooBig), "{key:?}");
                too_big += 1;
            }
        }
    }
    assert!(moved > 20 && too_big > 20 && long > 20, "{moved} moves, {too_big} too long, {long} just not");
    let flows = programs.table(&path_names::FLOWS).unwrap();
    assert_eq!(flows.keys().count(), steer.flows.len());
    for (key, flow) in steer.flows.iter() {
        let known = flows.get(key).unwrap().unwrap();
        let of = |flow: &Flow| (flow.packets, flow.bytes, flow.set, flow.list);
        assert_eq!(of(&known), of(flow), "{key:?}");
    }
    for (stack, count) in &steer.counts {
        assert_eq!(programs.list_count(*stack).unwrap(), *count, "stack {stack}");
    }
    assert_eq!(programs.drops().unwrap(), steer.drops);
}

/// A minute, which is longer than a test takes, or half of what this machine has been up, in nanoseconds: what came when it
/// started was that long ago.
fn idle() -> u64 {
    let up = clock_gettime(ClockId::Monotonic);
    (up.tv_sec as u64 * 500_000_000).min(60_000_000_000)
}

#[test]
fn a_flow_that_was_silent_for_longer_than_flows_are_known_is_another_one() {
    let idle = idle();
    let Some(programs) = programs_as(Steering { mtu: MTU, idle, ..Steering::new_zeroed() }) else { return };
    let flows = programs.table(&path_names::FLOWS).unwrap();
    let moves = programs.table(&path_names::MOVES).unwrap();
    for (family, first) in [(Family::Ipv4, 1), (Family::Ipv6, 5)] {
        let lists = [1, 2, 3, 4].map(|count| stack(family, count, encapsulation::GRE));
        let packets = [5000, 5001].map(|port| packet(far(family), port, 10, 0));
        let keys = packets.each_ref().map(|packet| flow_of(packet).unwrap());
        let list_of = |packet: &[u8]| relays_of(&programs, packet, family);
        for (slot, selector) in (first..).zip([selector::ROUND_ROBIN, selector::FLOW_BASED]) {
            assert!(keys.iter().all(|key| flows.remove(key).is_ok()));
            let set = put(&programs, prefix(family), slot, selector, &lists);
            let mut tables = SteerTables::default();
            tables.prefixes.insert(&prefix(family), slot);
            tables.sets.insert(slot, set);
            tables
                .stacks
                .extend(set.choices.iter().zip(&lists).map(|(choice, stack)| (choice.stack, stack.length)));
            let mut steer = Steer::new(0, 256, tables.into());
            steer.idle = Some(idle);
            let mut now = 1;
            // The height of the stack that both give a packet, whose list is one less.
            let mut both = |packet: &[u8], now: u64| {
                let given = list_of(packet);
                let length = frame(packet).len() as u32;
                let stack =
                    steer.transmit(&flow_of(packet).unwrap(), length, MTU, now).unwrap().stack.unwrap();
                let reference = steer.tables.stacks[&stack] as usize / family.header();
                assert_eq!(given, reference, "{family:?} by {selector}");
                let known = flows.get(&flow_of(packet).unwrap()).unwrap().unwrap();
                (given, known.packets, steer.flows.get(&flow_of(packet).unwrap()).unwrap().packets)
            };
            let before = packets.each_ref().map(|packet| both(packet, now).0);
            if selector == selector::FLOW_BASED {
                let place = MovePlace { set: slot, list: before[0] as u32 % 4, by_hand: true };
                moves.set(&keys[0], &place.word()).unwrap();
            }
            // Of one alone nothing was heard for longer than that.
            let known = flows.get(&keys[0]).unwrap().unwrap();
            let heard = known.heard.saturating_sub(idle + 1);
            flows.set(&keys[0], &Flow { heard, ..known }).unwrap();
            assert_eq!(both(&packets[1], idle / 2), (before[1], 2, 2));
            now += idle + 1;
            let anew = if selector == selector::ROUND_ROBIN { 3 } else { before[0] };
            assert_eq!(both(&packets[0], now), (anew, 1, 1), "its turn, or its hash, and it counts anew");
            assert_eq!(both(&packets[0], now), (anew, 2, 2), "it is known again");
            assert_eq!(both(&packets[1], now), (before[1], 3, 3));
            assert_eq!(moves.get(&keys[0]).unwrap(), None, "and nobody moved it");
        }
    }
}

#[test]
fn what_is_refused_of_a_known_flow_takes_its_turn_and_nothing_that_is_known_of_it() {
    let Some(programs) = programs() else { return };
    let flows = programs.table(&path_names::FLOWS).unwrap();
    for (family, first) in [(Family::Ipv4, 1), (Family::Ipv6, 5)] {
        let lists = [1, 2].map(|count| stack(family, count, encapsulation::GRE));
        let whole = MTU as usize - family.header() - 8;
        let [short, long] = [10, whole].map(|payload| packet(far(family), 5000, payload, 0));
        let key = flow_of(&short).unwrap();
        let run = |packet: &[u8]| programs.run(PathProgram::Steer, &frame(packet)).unwrap().verdict;
        // The program's tables and the reference's.
        let turns_to = |slot| {
            let set = put(&programs, prefix(family), slot, selector::ROUND_ROBIN, &lists);
            let mut tables = SteerTables::default();
            tables.prefixes.insert(&prefix(family), slot);
            tables.sets.insert(slot, set);
            let stacks = set.choices.iter().zip(&lists);
            tables.stacks.extend(stacks.map(|(choice, stack)| (choice.stack, stack.length)));
            tables
        };
        let mut steer = Steer::new(0, 256, turns_to(first).into());
        let length = |packet: &[u8]| frame(packet).len() as u32;
        for now in [1, 2] {
            assert_eq!(run(&short), Verdict::Next);
            steer.transmit(&key, length(&short), MTU, now).unwrap();
        }
        let before = [flows.get(&key).unwrap().unwrap(), *steer.flows.get(&key).unwrap()];
        steer.tables = turns_to(first + 1).into();
        assert_eq!(run(&long), Verdict::Redirected);
        steer.transmit(&key, length(&long), MTU, 3).unwrap_err();
        let after = [flows.get(&key).unwrap().unwrap(), *steer.flows.get(&key).unwrap()];
        for (before, after) in before.iter().zip(&after) {
            assert_eq!((before.set, before.packets), (first, 2));
            assert_eq!((after.set, after.list), (first + 1, 0));
            let known = |flow: &Flow| (flow.packets, flow.bytes, flow.heard);
            assert_eq!(known(after), known(before), "{family:?}");
        }
    }
}

/// What a sender is told of a packet that does not fit.
fn mtu_in(told: &[u8], inner: Family) -> u32 {
    match inner {
        Family::Ipv4 => {
            let ip = ipv4::Packet::parse(&told[14..]).unwrap();
            assert_eq!(
                (IpAddr::from(ip.source()), IpAddr::from(ip.destination())),
                (far(inner), host(inner))
            );
            assert!(ip.checksum_fits() && ip.protocol() == protocol::ICMP);
            assert_eq!(ip.payload()[..2], [3, 4]);
            assert_eq!(checksum::Sum::new().add(ip.payload()).folded(), 0xffff);
            u32::from_be_bytes(*ip.payload()[4..].first_chunk().unwrap())
        }
        Family::Ipv6 => {
            let ip = ipv6::Packet::parse(&told[14..]).unwrap();
            let (source, destination) = (ip.source().into(), ip.destination().into());
            assert_eq!((source, destination), (far(inner), host(inner)));
            let (message, length) = (ip.payload(), ip.payload().len());
            let sum = checksum::Sum::new().add_pseudo_header(source, destination, protocol::ICMPV6, length);
            assert_eq!(sum.add(message).folded(), 0xffff);
            assert_eq!((ip.next_header(), &message[..2]), (protocol::ICMPV6, &[2, 0][..]));
            assert!(length >= icmp::Header::LENGTH + inner.header() + 8, "the ports are in it");
            u32::from_be_bytes(*message[4..].first_chunk().unwrap())
        }
    }
}

/// Whichever list a flow goes by, so that none is too long for the list that it moves to.
#[test]
fn what_fits_the_tallest_list_of_a_set_fits_and_nothing_longer() {
    let Some(programs) = programs() else { return };
    for (outer, inner) in pairs() {
        let lists = [0, 1, 5].map(|count| stack(outer, count, encapsulation::GRE));
        put(&programs, prefix(inner), 1, selector::ROUND_ROBIN, &lists);
        let fits = MTU as usize - 5 * (outer.header() + 4);
        let most = fits - inner.header() - 8;
        let mut without_relays = 0;
        for port in 1..=3 {
            let run = |payload| {
                programs.run(PathProgram::Steer, &frame(&packet(far(inner), port, payload, 0))).unwrap()
            };
            let (gone, told) = (run(most), run(most + 1));
            assert_eq!(
                (gone.verdict, told.verdict),
                (Verdict::Next, Verdict::Redirected),
                "{outer:?}, {inner:?}"
            );
            assert_eq!(mtu_in(&told.packet, inner) as usize, fits);
            without_relays += u32::from(gone.packet.len() - 14 == fits);
        }
        assert_eq!(without_relays, 1, "of three, each of which has its turn");
    }
}

#[test]
fn what_is_too_long_with_its_stack_is_answered_with_what_fits() {
    let Some(programs) = programs() else { return };
    for (outer, inner) in pairs() {
        let height = 8;
        put(&programs, prefix(inner), 1, selector::HASH, &[stack(outer, height, encapsulation::GRE)]);
        let run =
            |payload| programs.run(PathProgram::Steer, &frame(&packet(far(inner), 1, payload, 0))).unwrap();
        let fits = MTU as usize - height * (outer.header() + 4);
        let most = fits - inner.header() - 8;
        assert_eq!((run(most).verdict, run(most + 1).verdict), (Verdict::Next, Verdict::Redirected));
        assert_eq!(mtu_in(&run(most + 1).packet, inner) as usize, fits);
    }
    // No link of IPv6 has less than 1280 bytes, whatever is left.
    put(&programs, prefix(Family::Ipv6), 1, selector::HASH, &[stack(Family::Ipv6, 16, encapsulation::GUE)]);
    let long = frame(&packet(far(Family::Ipv6), 1, 1400, 0));
    assert_eq!(mtu_in(&programs.run(PathProgram::Steer, &long).unwrap().packet, Family::Ipv6), 1280);
    assert_eq!(programs.drops().unwrap(), [(PathDrop::TooBig, 9)].into());
}
