//! Path control's programs on this kernel, without a device: packets in, packets out, held against the reference.

use plait_dataplane_bpf::{PathProgram, PathPrograms, PathSizes, Verdict, path_names};
use plait_dataplane_reference::paths::tables::*;
use plait_dataplane_reference::paths::{Steer, SteerTables, chosen, flow_of, hash_of, pushed, source_port};
use plait_dataplane_reference::tables::encapsulation;
use plait_model_wire::ethernet::Mac;
use plait_model_wire::number::{ether_type, protocol};
use plait_model_wire::{ethernet, ipv4, push, udp};
use std::net::Ipv4Addr;

const SHARED: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);
const MTU: u32 = 2000;
const HOST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const FAR: Ipv4Addr = Ipv4Addr::new(172, 16, 3, 4);
const KINDS: [u32; 3] = [encapsulation::IPIP, encapsulation::GRE, encapsulation::GUE];

fn programs() -> Option<PathPrograms> {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: eBPF programs are loaded by root only");
        return None;
    }
    let steering = Steering { source: SHARED.octets(), mtu: MTU, superpackets: 0, reserved: 0, spread: 0 };
    let sizes = PathSizes { prefixes: 64, sets: 16, stacks: 64, flows: 256 };
    Some(PathPrograms::load(&steering, sizes).unwrap())
}

fn relays(count: usize) -> Vec<Ipv4Addr> {
    (1..=count as u8).map(|relay| Ipv4Addr::new(10, 255, 0, relay)).collect()
}

fn packet(destination: Ipv4Addr, port: u16, payload: usize, tos: u8) -> Vec<u8> {
    let mut packet = vec![0x5a; payload];
    push(
        &mut packet,
        &udp::Repr { source: port, destination: 9, checked: Some((HOST.into(), destination.into())) },
    );
    let (source, protocol, ttl, dont_fragment, identification) = (HOST, protocol::UDP, 63, true, 7);
    push(&mut packet, &ipv4::Repr { source, destination, protocol, ttl, tos, dont_fragment, identification });
    packet
}

fn frame(packet: &[u8]) -> Vec<u8> {
    let mut frame = packet.to_vec();
    let (destination, source) = (Mac([2, 0, 0, 0, 0, 1]), Mac([2, 0, 0, 0, 0, 2]));
    push(&mut frame, &ethernet::Repr { destination, source, ether_type: ether_type::IPV4 });
    frame
}

/// Has a prefix go by lists, of equal weight.
fn put(to: &PathPrograms, prefix: (Ipv4Addr, u32), slot: u32, selector: u32, lists: &[Stack]) -> ListSet {
    let mut choices = [ListChoice { below: 0, stack: 0 }; size::LISTS as usize];
    for (index, (stack, choice)) in lists.iter().zip(&mut choices).enumerate() {
        *choice = ListChoice { below: index as u32 + 1, stack: slot * 8 + index as u32 };
        to.table(&path_names::STACKS).unwrap().set(&choice.stack, stack).unwrap();
    }
    let count = lists.len() as u32;
    let set = ListSet { count, selector, weights: count, turns: 0, choices };
    to.table(&path_names::SETS).unwrap().set(&slot, &set).unwrap();
    let key = PrefixKey { bits: prefix.1, address: prefix.0.octets() };
    to.table(&path_names::PREFIXES).unwrap().set(&key, &slot).unwrap();
    set
}

fn stack(count: usize, kind: u32) -> Stack {
    Stack::new(SHARED, &relays(count), kind).unwrap()
}

const PREFIX: (Ipv4Addr, u32) = (Ipv4Addr::new(172, 16, 0, 0), 16);

#[test]
fn a_stack_of_any_height_is_as_if_each_header_was_pushed_alone() {
    let Some(programs) = programs() else { return };
    for kind in KINDS {
        for count in 1..=16 {
            put(&programs, PREFIX, 1, selector::HASH, &[stack(count, kind)]);
            for (payload, tos) in [(0, 0), (1, 2), (512, 3), (1400, 0xb8)] {
                let packet = packet(FAR, 5000 + payload as u16, payload, tos);
                let port = source_port(hash_of(&flow_of(&packet).unwrap()));
                let ran = programs.run(PathProgram::Steer, &frame(&packet)).unwrap();
                assert_eq!(ran.verdict, Verdict::Next, "{:?}", programs.drops());
                assert_eq!(
                    ran.packet,
                    frame(&pushed(&packet, SHARED, &relays(count), kind, port)),
                    "{kind} × {count}, {payload} bytes"
                );
            }
        }
    }
    assert!(programs.drops().unwrap().is_empty());
}

#[test]
fn relays_take_off_what_was_put_on_until_the_packet_is_there() {
    let Some(programs) = programs() else { return };
    let taken = programs.table(&path_names::RELAYS).unwrap();
    for relay in relays(16) {
        let key = RelayKey { own: relay.octets(), source: SHARED.octets() };
        taken.set(&key, &KINDS.iter().fold(0, |bits, kind| bits | 1 << kind)).unwrap();
    }
    let packet = packet(FAR, 5000, 100, 0);
    for kind in KINDS {
        let all = relays(16);
        for height in (1..=16).rev() {
            let under = |height: usize| frame(&pushed(&packet, SHARED, &all[16 - height..], kind, 50_000));
            let ran = programs.run(PathProgram::Relay, &under(height)).unwrap();
            assert_eq!(
                (ran.verdict, ran.packet),
                (Verdict::Next, under(height - 1)),
                "{:?}",
                programs.drops()
            );
        }
    }
    // Nobody's relay leaves packets alone.
    let other = frame(&pushed(&packet, HOST, &relays(1), encapsulation::IPIP, 0));
    assert_eq!(programs.run(PathProgram::Relay, &other).unwrap().packet, other);
    assert!(programs.drops().unwrap().is_empty());
}

#[test]
fn a_relay_refuses_lengths_that_do_not_fit() {
    let Some(programs) = programs() else { return };
    let key = RelayKey { own: relays(1)[0].octets(), source: SHARED.octets() };
    programs.table(&path_names::RELAYS).unwrap().set(&key, &u32::MAX).unwrap();
    for kind in KINDS {
        let whole = frame(&pushed(&packet(FAR, 5000, 100, 0), SHARED, &relays(1), kind, 50_000));
        let mut longer = whole.clone();
        longer.extend([0; 8]);
        let mut inner = whole.clone();
        let place = whole.len() - 128 + 2;
        inner[place..place + 2].copy_from_slice(&1000u16.to_be_bytes());
        for wrong in [longer, inner, whole[..whole.len() - 8].to_vec()] {
            assert_eq!(programs.run(PathProgram::Relay, &wrong).unwrap().verdict, Verdict::Dropped);
        }
        assert_eq!(programs.run(PathProgram::Relay, &whole).unwrap().verdict, Verdict::Next);
    }
    assert_eq!(programs.drops().unwrap(), [(PathDrop::Length, 9)].into());
}

#[test]
fn the_longest_prefix_counts_and_all_else_goes_as_it_was() {
    let Some(programs) = programs() else { return };
    put(&programs, PREFIX, 1, selector::HASH, &[stack(1, encapsulation::IPIP)]);
    put(&programs, (Ipv4Addr::new(172, 16, 3, 0), 24), 2, selector::HASH, &[stack(2, encapsulation::IPIP)]);
    let more = |destination| {
        let whole = frame(&packet(destination, 5000, 10, 0));
        programs.run(PathProgram::Steer, &whole).unwrap().packet.len() - whole.len()
    };
    assert_eq!(more(Ipv4Addr::new(172, 16, 9, 9)), 20);
    assert_eq!(more(FAR), 40);
    assert_eq!(more(Ipv4Addr::new(172, 17, 0, 1)), 0);
    // Nor gets what has its stack another one.
    let stacked = frame(&pushed(&packet(FAR, 5000, 10, 0), SHARED, &[FAR], encapsulation::IPIP, 0));
    assert_eq!(programs.run(PathProgram::Steer, &stacked).unwrap().packet, stacked);
}

#[test]
fn each_selector_gives_flows_their_lists_and_counts_them() {
    let Some(programs) = programs() else { return };
    let lists = [1, 2, 3, 4].map(|count| stack(count, encapsulation::GRE));
    let list_of = |packet: &[u8]| {
        let ran = programs.run(PathProgram::Steer, &frame(packet)).unwrap();
        (ran.packet.len() - packet.len() - 14) / 24 - 1
    };
    let flows: Vec<_> = (0..32).map(|port| packet(FAR, 6000 + port, 10, 0)).collect();

    let set = put(&programs, PREFIX, 1, selector::HASH, &lists);
    for flow in &flows {
        assert_eq!(list_of(flow), chosen(&set, hash_of(&flow_of(flow).unwrap())));
    }
    put(&programs, PREFIX, 2, selector::ROUND_ROBIN, &lists);
    for _ in 0..2 {
        for (turn, flow) in flows.iter().enumerate() {
            assert_eq!(list_of(flow), turn % 4, "a flow keeps its turn");
        }
    }
    put(&programs, PREFIX, 3, selector::FLOW_BASED, &lists);
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

#[test]
fn the_reference_steers_packet_by_packet_as_the_program_does() {
    let Some(programs) = programs() else { return };
    let kind = encapsulation::GRE;
    // Of different heights, so that a packet's length says its list; one is plain routing.
    let lists = [0, 1, 2, 5].map(|count| stack(count, kind));
    let mut tables = SteerTables::default();
    let prefixes = [
        ((Ipv4Addr::new(172, 16, 0, 0), 16), 1, selector::HASH),
        ((Ipv4Addr::new(172, 16, 1, 0), 24), 2, selector::ROUND_ROBIN),
        ((Ipv4Addr::new(172, 16, 2, 0), 24), 3, selector::FLOW_BASED),
    ];
    for (prefix, slot, selector) in prefixes {
        let set = put(&programs, prefix, slot, selector, &lists);
        tables.prefixes.insert(prefix.0.octets(), prefix.1, slot);
        tables.sets.insert(slot, set);
        tables
            .stacks
            .extend(set.choices.iter().zip(&lists).map(|(choice, stack)| (choice.stack, stack.length)));
    }
    let mut steer = Steer::new(0, 256, tables.into());
    let mut draw = 1u32;
    let mut draw = |below: u32| {
        draw = draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (draw >> 8) % below
    };
    let (mut moved, mut too_big) = (0, 0);
    for now in 1..3000u64 {
        let destination = Ipv4Addr::new(172, 16, draw(4) as u8, 9);
        let payload = if draw(8) == 0 { 1900 + draw(80) as usize } else { draw(400) as usize };
        let packet = packet(destination, 5000 + draw(24) as u16, payload, 0);
        let key = flow_of(&packet).unwrap();
        if draw(10) == 0 && steer.flows.get(&key).is_some_and(|flow| flow.set == 3) {
            let list = draw(4);
            steer.move_flow(key, 3, list);
            let place = 3 << 32 | u64::from(list);
            programs.table(&path_names::MOVES).unwrap().set(&key, &place).unwrap();
            moved += 1;
        }
        let frame = frame(&packet);
        let ran = programs.run(PathProgram::Steer, &frame).unwrap();
        match steer.transmit(&key, frame.len() as u32, MTU, now) {
            Ok(stack) => {
                let more = stack.map_or(0, |stack| steer.tables.stacks[&stack]) as usize;
                assert_eq!((ran.verdict, ran.packet.len()), (Verdict::Next, frame.len() + more), "{key:?}");
            }
            Err(reason) => {
                assert_eq!((ran.verdict, reason), (Verdict::Redirected, PathDrop::TooBig), "{key:?}");
                too_big += 1;
            }
        }
    }
    assert!(moved > 20 && too_big > 20, "{moved} moves, {too_big} too long");
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

#[test]
fn what_is_too_long_with_its_stack_is_answered_and_what_is_forged_is_dropped() {
    let Some(programs) = programs() else { return };
    put(&programs, PREFIX, 1, selector::HASH, &[stack(16, encapsulation::GRE)]);
    let run = |payload| programs.run(PathProgram::Steer, &frame(&packet(FAR, 1, payload, 0))).unwrap();
    let most = MTU as usize - 16 * 24 - 28;
    assert_eq!((run(most).verdict, run(most + 1).verdict), (Verdict::Next, Verdict::Redirected));
    // The sender is told what fits.
    let told = run(most + 1).packet;
    let ip = ipv4::Packet::parse(&told[14..]).unwrap();
    assert_eq!((ip.source(), ip.destination(), ip.protocol()), (FAR, HOST, protocol::ICMP));
    assert!(ip.checksum_fits());
    assert_eq!(ip.payload()[..2], [3, 4]);
    assert_eq!(ip.payload()[6..8], (MTU as u16 - 16 * 24).to_be_bytes());
    let forged = frame(&pushed(&packet(FAR, 1, 10, 0), SHARED, &relays(1), encapsulation::IPIP, 0));
    assert_eq!(programs.run(PathProgram::Border, &forged).unwrap().verdict, Verdict::Dropped);
    assert_eq!(
        programs.run(PathProgram::Border, &frame(&packet(FAR, 1, 10, 0))).unwrap().verdict,
        Verdict::Next
    );
    assert_eq!(programs.drops().unwrap(), [(PathDrop::TooBig, 2), (PathDrop::Forged, 1)].into());
}
