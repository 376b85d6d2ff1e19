//! What becomes of a flow that moves and has no gap.

use super::packets::*;
use plait_dataplane_bpf::{PathProgram, PathPrograms, Verdict, path_names};
use plait_dataplane_reference::paths::tables::*;
use plait_dataplane_reference::paths::{Family, flow_of};
use plait_dataplane_reference::tables::encapsulation;
use zerocopy::{FromBytes, FromZeros};

/// Longer than a test takes.
const LONG: u64 = 3_600_000_000_000;
/// Devices that are not asked for here.
const HOLDER: Holder = Holder { tap: 4000, device: 4001 };

fn holds(programs: &PathPrograms, holder: Holder) {
    programs.table(&path_names::HOLDERS).unwrap().set(&0, &holder).unwrap();
}

#[test]
fn packets_go_to_the_holder_with_their_instant_once_patience_is_over() {
    let steering =
        Steering { spread: LONG, longest_hold: 2 * LONG, mark: 7, mtu: 1500, ..Steering::new_zeroed() };
    let Some(programs) = programs_as(steering) else { return };
    for (number, family) in Family::ALL.into_iter().enumerate() {
        let slot = number as u32 + 1;
        let lists: Vec<Stack> = (1..=2).map(|count| stack(family, count, encapsulation::GRE)).collect();
        put(&programs, prefix(family), slot, selector::FLOW_BASED, &lists);
        let packet = packet(far(family), 5000, 100, 0);
        let (key, frame) = (flow_of(&packet).unwrap(), frame(&packet));
        let steer = || programs.run(PathProgram::Steer, &frame).unwrap();
        assert_eq!(steer().verdict, Verdict::Next);
        let known = || programs.table(&path_names::FLOWS).unwrap().get(&key).unwrap().unwrap();
        let (before, packets) = (known().list, known().packets);
        let other = u64::from(slot) << 32 | u64::from(1 - before);
        programs.table(&path_names::MOVES).unwrap().set(&key, &other).unwrap();
        // Nobody holds: it goes on as it went.
        holds(&programs, Holder { tap: 0, device: 0 });
        for _ in 0..3 {
            assert_eq!(steer().verdict, Verdict::Next);
        }
        assert_eq!((known().list, known().packets, known().held), (before, packets + 3, 0));
        holds(&programs, HOLDER);
        for held in 1..=3 {
            let ran = steer();
            assert_eq!(ran.verdict, Verdict::Redirected);
            let (tag, rest) = HoldTag::read_from_prefix(&ran.packet).unwrap();
            assert_eq!((rest, tag.until), (&frame[..], known().holds + LONG));
            assert_eq!((known().held, known().gone, known().packets), (held, 0, packets + 3));
        }
        // The holder is gone: it moves all the same, rather than to be lost.
        holds(&programs, Holder { tap: 0, device: 0 });
        assert_eq!(steer().verdict, Verdict::Next);
        assert_eq!((known().list, known().holds, known().waits), (1 - before, 0, 0));
    }
    assert!(programs.drops().unwrap().is_empty());
}

#[test]
fn what_no_holder_lets_go_is_waited_for_no_longer_than_was_said() {
    let steering = Steering { spread: LONG, mark: 7, mtu: 1500, ..Steering::new_zeroed() };
    let Some(programs) = programs_as(steering) else { return };
    let family = Family::Ipv4;
    let lists: Vec<Stack> = (1..=2).map(|count| stack(family, count, encapsulation::GRE)).collect();
    put(&programs, prefix(family), 1, selector::FLOW_BASED, &lists);
    holds(&programs, HOLDER);
    let packet = packet(far(family), 5000, 100, 0);
    let (key, frame) = (flow_of(&packet).unwrap(), frame(&packet));
    let steer = || programs.run(PathProgram::Steer, &frame).unwrap().verdict;
    steer();
    let known = || programs.table(&path_names::FLOWS).unwrap().get(&key).unwrap().unwrap();
    let other = 1 - known().list;
    programs.table(&path_names::MOVES).unwrap().set(&key, &(1 << 32 | u64::from(other))).unwrap();
    // It begins to wait, is held, and the holder does nothing for longer than nought nanoseconds.
    assert_eq!([steer(), steer(), steer()], [Verdict::Next, Verdict::Redirected, Verdict::Next]);
    assert_eq!(known().list, other);
}

#[test]
fn what_is_let_go_leaves_by_the_device_and_by_none_where_nobody_holds() {
    let Some(programs) = programs() else { return };
    let frame = frame(&packet(far(Family::Ipv4), 5000, 100, 0));
    let release = || programs.run(PathProgram::Release, &frame).unwrap();
    assert_eq!(release().verdict, Verdict::Dropped);
    holds(&programs, HOLDER);
    assert_eq!((release().verdict, release().packet), (Verdict::Redirected, frame.clone()));
}
