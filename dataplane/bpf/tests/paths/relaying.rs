//! What relays and borders do.

use super::packets::*;
use plait_dataplane_bpf::{PathProgram, PathPrograms, Verdict, path_names};
use plait_dataplane_reference::paths::tables::*;
use plait_dataplane_reference::paths::{Family, pushed};
use plait_dataplane_reference::tables::encapsulation;

fn relayed(programs: &PathPrograms, frame: &[u8]) -> (Verdict, Vec<u8>) {
    let ran = programs.run(PathProgram::Relay, frame).unwrap();
    (ran.verdict, ran.packet)
}

#[test]
fn relays_take_off_what_was_put_on_until_the_packet_is_there() {
    let Some(programs) = programs() else { return };
    relay_all(&programs);
    for (outer, inner) in pairs() {
        let packet = packet(far(inner), 5000, 100, 0);
        for kind in KINDS {
            let all = relays(outer, 16);
            for height in (1..=16).rev() {
                let under = |height: usize| {
                    frame(&pushed(&packet, shared(outer), &all[16 - height..], kind, 7).unwrap())
                };
                assert_eq!(
                    relayed(&programs, &under(height)),
                    (Verdict::Next, under(height - 1)),
                    "{inner:?} under {height} of {kind} over {outer:?}: {:?}",
                    programs.drops()
                );
            }
        }
        // Nobody's relay leaves packets alone.
        let other = frame(&pushed(&packet, host(outer), &relays(outer, 1), encapsulation::IPIP, 0).unwrap());
        assert_eq!(relayed(&programs, &other).1, other);
    }
    assert!(programs.drops().unwrap().is_empty());
}

#[test]
fn a_relay_refuses_lengths_that_do_not_fit() {
    let Some(programs) = programs() else { return };
    relay_all(&programs);
    for (outer, inner) in pairs() {
        for kind in KINDS {
            let packet = packet(far(inner), 5000, 100, 0);
            let whole = frame(&pushed(&packet, shared(outer), &relays(outer, 1), kind, 7).unwrap());
            let mut longer = whole.clone();
            longer.extend([0; 8]);
            let mut within = whole.clone();
            let place = whole.len() - packet.len() + if inner == Family::Ipv4 { 2 } else { 4 };
            within[place..place + 2].copy_from_slice(&1000u16.to_be_bytes());
            for wrong in [longer, within, whole[..whole.len() - 8].to_vec()] {
                assert_eq!(relayed(&programs, &wrong).0, Verdict::Dropped);
            }
            assert_eq!(relayed(&programs, &whole).0, Verdict::Next);
        }
    }
    assert_eq!(programs.drops().unwrap(), [(PathDrop::Length, 36)].into());
}

#[test]
fn a_relay_refuses_what_is_no_header_of_a_stack() {
    let Some(programs) = programs() else { return };
    relay_all(&programs);
    let mut refused = 0;
    for (outer, inner) in pairs() {
        let packet = packet(far(inner), 5000, 100, 0);
        let behind = 14 + outer.header();
        let of = |kind| frame(&pushed(&packet, shared(outer), &relays(outer, 1), kind, 7).unwrap());
        // Of each a byte that must be what it is: flags and type of GRE, port, checksum, flags and protocol of GUE, and the
        // version of what is inside.
        let gue = if outer == Family::Ipv6 { &[2, 6, 8, 9, 10, 12][..] } else { &[2, 8, 9, 10, 12] };
        for (kind, places) in
            [(encapsulation::GRE, &[0, 1, 2, 4][..]), (encapsulation::GUE, gue), (encapsulation::IPIP, &[0])]
        {
            for place in places {
                let mut wrong = of(kind);
                wrong[behind + place] ^= 0x10;
                assert_eq!(relayed(&programs, &wrong).0, Verdict::Dropped, "{outer:?}, {kind}: {place}");
                refused += 1;
            }
        }
        // What it takes is a matter of encapsulations, too.
        let key = RelayKey::new(relays(outer, 1)[0], shared(outer));
        let taken = programs.table(&path_names::RELAYS).unwrap();
        for kind in KINDS {
            let others = KINDS.into_iter().filter(|other| *other != kind);
            taken.set(&key, &others.fold(0, |bits, kind| bits | 1 << kind)).unwrap();
            assert_eq!(relayed(&programs, &of(kind)).0, Verdict::Dropped);
            refused += 1;
        }
        taken.set(&key, &u32::MAX).unwrap();
    }
    // A wrong checksum, options, a fragment.
    for (place, bits) in [(10, 1), (0, 2), (6, 0x20)] {
        let packet = packet(far(Family::Ipv4), 5000, 100, 0);
        let relays = relays(Family::Ipv4, 1);
        let mut wrong =
            frame(&pushed(&packet, shared(Family::Ipv4), &relays, encapsulation::GRE, 7).unwrap());
        wrong[14 + place] ^= bits;
        assert_eq!(relayed(&programs, &wrong).0, Verdict::Dropped);
        refused += 1;
    }
    assert_eq!(programs.drops().unwrap(), [(PathDrop::Malformed, refused)].into());
}

/// RFC 6040 section 4.2: what a switch between two relays marks gets to the receiver, and what cannot be marked is dropped.
#[test]
fn marks_of_congestion_get_through_a_relay() {
    let Some(programs) = programs() else { return };
    relay_all(&programs);
    let mut dropped = 0;
    for (outer, inner) in pairs() {
        for (outside, inside, behind) in [
            (3, 2, Some(3)),
            (3, 1, Some(3)),
            (3, 3, Some(3)),
            (3, 0, None),
            (1, 2, Some(1)),
            (2, 2, Some(2)),
            (0, 1, Some(1)),
        ] {
            for kind in KINDS {
                // Marks on the outer header are those of what was inside when it was written.
                let marked = packet(far(inner), 5000, 100, outside);
                let plain = packet(far(inner), 5000, 100, inside);
                let mut stacked = frame(&pushed(&marked, shared(outer), &relays(outer, 1), kind, 7).unwrap());
                let front = stacked.len() - plain.len();
                stacked[front..].copy_from_slice(&plain);
                let (verdict, left) = relayed(&programs, &stacked);
                match behind {
                    None => dropped += 1,
                    Some(marks) => assert_eq!(left, frame(&packet(far(inner), 5000, 100, marks))),
                }
                assert_eq!(verdict == Verdict::Dropped, behind.is_none(), "{outside} over {inside}");
            }
        }
    }
    assert_eq!(programs.drops().unwrap(), [(PathDrop::Congestion, dropped)].into());
}

#[test]
fn a_border_drops_what_is_forged_alone() {
    let Some(programs) = programs() else { return };
    let border = |frame: &[u8]| programs.run(PathProgram::Border, frame).unwrap().verdict;
    for (outer, inner) in pairs() {
        let packet = packet(far(inner), 1, 10, 0);
        let forged =
            frame(&pushed(&packet, shared(outer), &relays(outer, 1), encapsulation::IPIP, 0).unwrap());
        assert_eq!((border(&forged), border(&frame(&packet))), (Verdict::Dropped, Verdict::Next));
    }
    assert_eq!(programs.drops().unwrap(), [(PathDrop::Forged, 4)].into());
}
