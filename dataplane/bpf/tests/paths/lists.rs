//! Relay lists inside one header: what relays do with them, and with what is none.

use super::packets::*;
use plait_dataplane_bpf::{PathProgram, PathPrograms, Verdict};
use plait_dataplane_reference::paths::tables::*;
use plait_dataplane_reference::paths::{Family, pushed};
use plait_dataplane_reference::tables::encapsulation;
use plait_model_wire::number::protocol;
use plait_model_wire::{ipv4, ipv6, push, relay_list, segment_routing};
use std::net::{IpAddr, Ipv6Addr};

fn relayed(programs: &PathPrograms, frame: &[u8]) -> (Verdict, Vec<u8>) {
    let ran = programs.run(PathProgram::Relay, frame).unwrap();
    (ran.verdict, ran.packet)
}

/// Families and encapsulations that have a list inside, over packets of either family.
fn cases() -> impl Iterator<Item = (Family, Family, u32)> {
    let has_list = |kind: &u32| [encapsulation::OVSTACK, encapsulation::SRV6].contains(kind);
    pairs().flat_map(move |(outer, inner)| {
        kinds(outer).into_iter().filter(has_list).map(move |kind| (outer, inner, kind))
    })
}

/// Where a frame goes, and how many relays are left then.
fn said(frame: &[u8], kind: u32) -> (IpAddr, u8) {
    let (destination, payload): (IpAddr, &[u8]) = match Family::of_packet(&frame[14..]).unwrap() {
        Family::Ipv4 => {
            let ip = ipv4::Packet::parse(&frame[14..]).unwrap();
            assert!(ip.checksum_fits());
            (ip.destination().into(), ip.payload())
        }
        Family::Ipv6 => {
            let ip = ipv6::Packet::parse(&frame[14..]).unwrap();
            (ip.destination().into(), ip.payload())
        }
    };
    let left = match kind {
        encapsulation::SRV6 => segment_routing::Packet::parse(payload).unwrap().left(),
        _ => relay_list::Packet::parse(&payload[8 + 20..]).unwrap().left(),
    };
    (destination, left)
}

#[test]
fn a_packet_goes_from_relay_to_relay_under_one_header() {
    let Some(programs) = programs() else { return };
    relay_all(&programs);
    for (outer, inner, kind) in cases() {
        let packet = packet(far(inner), 5000, 100, 0);
        for count in 2..=16 {
            let all = relays(outer, count);
            let mut frame = frame(&pushed(&packet, shared(outer), &all, kind, 7).unwrap());
            let length = frame.len();
            for (passed, next) in (1..).zip(&all[1..]) {
                let (verdict, on) = relayed(&programs, &frame);
                assert_eq!(verdict, Verdict::Next, "{:?}", programs.drops());
                assert_eq!(said(&on, kind), (*next, (count - 1 - passed) as u8));
                assert_eq!((on.len(), &on[length - packet.len()..]), (length, &packet[..]));
                frame = on;
            }
            // The last one takes all of it off.
            assert_eq!(relayed(&programs, &frame), (Verdict::Next, super::packets::frame(&packet)));
        }
    }
    assert!(programs.drops().unwrap().is_empty());
}

/// As senders that are not ours write them: with the first segment in the list as well.
#[test]
fn segments_that_are_not_reduced_are_followed() {
    let Some(programs) = programs() else { return };
    relay_all(&programs);
    let packet = packet(far(Family::Ipv6), 5000, 100, 0);
    let all = relays(Family::Ipv6, 3);
    let segments: Vec<Ipv6Addr> = all.iter().filter_map(|relay| relay.to_string().parse().ok()).collect();
    let mut whole = packet.clone();
    push(&mut whole, &segment_routing::Repr { next: protocol::IPV6, left: 2, segments: segments.clone() });
    let IpAddr::V6(source) = shared(Family::Ipv6) else { unreachable!() };
    let outer = ipv6::Repr {
        source,
        destination: segments[0],
        next_header: protocol::ROUTING,
        hop_limit: 64,
        traffic_class: 0,
        flow_label: 1,
    };
    push(&mut whole, &outer);
    let mut frame = frame(&whole);
    for (next, left) in [(all[1], 1), (all[2], 0)] {
        frame = relayed(&programs, &frame).1;
        assert_eq!(said(&frame, encapsulation::SRV6), (next, left));
    }
    assert_eq!(relayed(&programs, &frame), (Verdict::Next, super::packets::frame(&packet)));
}

#[test]
fn the_last_relay_tells_of_congestion() {
    let Some(programs) = programs() else { return };
    relay_all(&programs);
    for (outer, inner, kind) in cases() {
        for (outside, inside, behind) in [(3, 2, Some(3)), (3, 0, None), (1, 2, Some(1)), (0, 1, Some(1))] {
            let marked = packet(far(inner), 5000, 100, outside);
            let plain = packet(far(inner), 5000, 100, inside);
            let all = relays(outer, 2);
            let mut stacked = frame(&pushed(&marked, shared(outer), &all, kind, 7).unwrap());
            let front = stacked.len() - plain.len();
            stacked[front..].copy_from_slice(&plain);
            // Under way nobody looks inside.
            let (verdict, on) = relayed(&programs, &stacked);
            assert_eq!(verdict, Verdict::Next);
            let (verdict, left) = relayed(&programs, &on);
            match behind {
                None => assert_eq!(verdict, Verdict::Dropped),
                Some(marks) => assert_eq!(left, frame(&packet(far(inner), 5000, 100, marks))),
            }
        }
    }
}

#[test]
fn lists_that_cannot_be_are_dropped_and_counted() {
    let Some(programs) = programs() else { return };
    relay_all(&programs);
    let (mut malformed, mut lengths) = (0, 0);
    for (outer, inner, kind) in cases() {
        let packet = packet(far(inner), 5000, 100, 0);
        let whole = frame(&pushed(&packet, shared(outer), &relays(outer, 4), kind, 7).unwrap());
        let behind = 14 + outer.header();
        // What may not be otherwise: of segments their number, those left, the last one's and the type; of ovstack port,
        // version, application and control, of its list those left, their number, and the words of an address.
        let wrong: &[(usize, u8)] = match kind {
            encapsulation::SRV6 => &[(1, 1), (1, 0), (2, 0), (2, 3), (3, 4), (3, 255), (4, 3), (4, 255)],
            _ => {
                &[(2, 0), (8, 0), (8, 2), (10, 7), (11, 0x80), (28, 4), (28, 255), (29, 17), (29, 2), (30, 2)]
            }
        };
        for (place, value) in wrong {
            let mut frame = whole.clone();
            frame[behind + place] = *value;
            assert_eq!(relayed(&programs, &frame).0, Verdict::Dropped, "{kind} of {outer:?}: {place}");
            malformed += 1;
        }
        // A next relay that is a group.
        let mut group = whole.clone();
        let place = group.len()
            - packet.len()
            - if kind == encapsulation::SRV6 { 16 } else { 3 * if outer == Family::Ipv4 { 4 } else { 16 } };
        group[place] = 0xff;
        assert_eq!(relayed(&programs, &group).0, Verdict::Dropped);
        malformed += 1;
        // Lengths, of which a relay under way looks at all, too.
        let mut longer = whole.clone();
        longer.extend([0; 8]);
        let mut within = whole.clone();
        let place = whole.len() - packet.len() + if inner == Family::Ipv4 { 2 } else { 4 };
        within[place..place + 2].copy_from_slice(&1000u16.to_be_bytes());
        for frame in [longer, within, whole[..whole.len() - 8].to_vec()] {
            assert_eq!(relayed(&programs, &frame).0, Verdict::Dropped);
            lengths += 1;
        }
        // Cut anywhere, it is nothing that goes on.
        for length in 14 + outer.header()..whole.len() {
            assert_eq!(relayed(&programs, &whole[..length]).0, Verdict::Dropped, "{length} bytes");
            lengths += 1;
        }
    }
    let drops = programs.drops().unwrap();
    assert_eq!(drops.values().sum::<u64>(), malformed + lengths);
    // What is cut down to a least frame or below may be short or no list at all: both are counted.
    assert!(drops[&PathDrop::Malformed] >= malformed && drops[&PathDrop::Length] > 0, "{drops:?}");
}

#[test]
fn a_list_that_leads_to_where_it_is_or_has_no_hops_is_a_loop() {
    let Some(programs) = programs() else { return };
    relay_all(&programs);
    let mut loops = 0;
    for (outer, inner, kind) in cases() {
        let packet = packet(far(inner), 5000, 100, 0);
        let here = relays(outer, 1)[0];
        let frame = |relays: &[IpAddr]| {
            super::packets::frame(&pushed(&packet, shared(outer), relays, kind, 7).unwrap())
        };
        assert_eq!(relayed(&programs, &frame(&[here, here])).0, Verdict::Dropped);
        loops += 1;
        if kind == encapsulation::OVSTACK {
            let mut tired = frame(&relays(outer, 3));
            tired[14 + outer.header() + 8 + 1] = 0;
            assert_eq!(relayed(&programs, &tired).0, Verdict::Dropped);
            loops += 1;
        }
        // To and fro between two is a path, which ends with its list.
        let [first, second] = relays(outer, 2)[..] else { unreachable!() };
        let mut to_and_fro = frame(&[first, second, first, second]);
        for _ in 0..3 {
            to_and_fro = relayed(&programs, &to_and_fro).1;
        }
        assert_eq!(relayed(&programs, &to_and_fro), (Verdict::Next, super::packets::frame(&packet)));
    }
    assert_eq!(programs.drops().unwrap(), [(PathDrop::Loop, loops)].into());
}

#[test]
fn a_relay_takes_lists_only_where_it_was_made_for_them() {
    let Some(programs) = programs() else { return };
    relay_all(&programs);
    for (outer, inner, kind) in cases() {
        let packet = packet(far(inner), 5000, 100, 0);
        let all = relays(outer, 2);
        let frame = frame(&pushed(&packet, shared(outer), &all, kind, 7).unwrap());
        let taken = programs.table(&plait_dataplane_bpf::path_names::RELAYS).unwrap();
        let key = RelayKey::new(all[0], shared(outer));
        taken.set(&key, &!(1 << kind)).unwrap();
        assert_eq!(relayed(&programs, &frame).0, Verdict::Dropped);
        taken.set(&key, &(1 << kind)).unwrap();
        assert_eq!(relayed(&programs, &frame).0, Verdict::Next);
        taken.set(&key, &u32::MAX).unwrap();
    }
}
