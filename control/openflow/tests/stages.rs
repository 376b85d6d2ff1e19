//! Steps that wait for barriers: answered in any order, late, never, or by nobody.

use plait_control_openflow::{
    Actions, Command, Commands, Fields, Flow, Gate, Packet, PacketOut, Port, Staged, Step, Token, Told,
};
use plait_control_runtime::Cause;
use std::time::Duration;

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// A command that is told from another by its switch and number.
fn commands(of: &[(u64, u8)]) -> Commands {
    of.iter().map(|(switch, number)| (*switch, Command::Raw(vec![*number]))).collect()
}

/// Steps of these numbers for switch 1, each behind some others, which get their part first.
fn staged(steps: &[(u8, &[u64])]) -> Staged {
    let first: Vec<(u64, u8)> =
        steps.iter().flat_map(|(number, behind)| behind.iter().map(|switch| (*switch, *number))).collect();
    let steps = steps
        .iter()
        .map(|(number, behind)| Step { behind: behind.to_vec(), then: commands(&[(1, *number)]) })
        .collect();
    Staged { first: commands(&first), steps, patience: 10_000, supersedes: false }
}

/// What steps were told.
fn numbers(told: &[Told]) -> Vec<u8> {
    let words = told.iter().flat_map(|told| told.commands.words());
    words
        .map(|(switch, command)| match command {
            Command::Raw(bytes) if switch == 1 => bytes[0],
            other => panic!("{other:?} for {switch}"),
        })
        .collect()
}

/// What is told first, and its barriers.
fn hold(gate: &mut Gate, now: Duration, staged: &Staged) -> Vec<Token> {
    let told = gate.hold(now, staged, Cause::default());
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].commands, staged.first);
    told[0].barriers.clone()
}

#[test]
fn a_step_is_told_when_all_that_it_is_behind_have_answered_in_whatever_order() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let mut gate = Gate::default();
        let barriers = hold(&mut gate, ms(0), &staged(&[(7, &[2, 3, 4, 3])]));
        assert_eq!(barriers.iter().map(|token| token.switch).collect::<Vec<_>>(), [2, 3, 4]);
        for (place, which) in order.into_iter().enumerate() {
            assert_eq!(gate.passed().held, 1);
            let told = gate.answered(barriers[which]);
            assert_eq!(numbers(&told), if place == 2 { vec![7] } else { vec![] });
            // An answer that comes twice is none.
            assert!(gate.answered(barriers[which]).is_empty());
        }
        let passed = gate.passed();
        assert_eq!((passed.held, passed.answered, passed.overdue), (0, 1, 0));
        assert_eq!(gate.poll_timeout(), None);
    }
}

/// One that is gone is waited for no longer, and no step that waited for it counts as answered.
#[test]
fn a_step_behind_one_that_is_gone_is_told_and_not_counted_as_answered() {
    let mut gate = Gate::default();
    let barriers = hold(&mut gate, ms(0), &staged(&[(1, &[2, 3]), (2, &[3])]));
    assert!(gate.abandoned(barriers[0]).is_empty());
    assert_eq!(numbers(&gate.answered(barriers[1])), [1, 2]);
    // What nobody waits for opens nothing, whoever says that it is answered.
    hold(&mut gate, ms(0), &staged(&[(3, &[2])]));
    for number in (0..10).filter(|number| *number != 2) {
        assert!(gate.answered(Token { switch: 2, number }).is_empty());
    }
    assert!(gate.answered(Token { switch: 4, number: 2 }).is_empty());
    let passed = gate.passed();
    assert_eq!((passed.held, passed.answered, passed.abandoned, passed.overdue), (1, 1, 1, 0));
}

#[test]
fn steps_of_one_batch_share_a_barrier_and_wait_for_no_others_switch() {
    let mut gate = Gate::default();
    let barriers = hold(&mut gate, ms(0), &staged(&[(1, &[2]), (2, &[2, 3]), (3, &[3])]));
    assert_eq!(barriers.len(), 2, "one of each switch");
    assert_eq!(numbers(&gate.answered(barriers[1])), [3]);
    assert_eq!(numbers(&gate.answered(barriers[0])), [1, 2]);
    // Later batches have barriers of their own: an answer to an earlier one is none to them.
    let earlier = hold(&mut gate, ms(0), &staged(&[(4, &[2])]));
    let later = hold(&mut gate, ms(0), &staged(&[(5, &[2])]));
    assert_eq!(numbers(&gate.answered(earlier[0])), [4]);
    assert_eq!(numbers(&gate.answered(later[0])), [5]);
    // What is behind nobody is told at once.
    let told = gate.hold(ms(0), &staged(&[(6, &[])]), Cause::default());
    assert_eq!(numbers(&told), [6]);
}

#[test]
fn a_step_whose_answer_is_lost_is_told_when_it_has_waited_for_long_enough() {
    let mut gate = Gate::default();
    let lost = hold(&mut gate, ms(5), &staged(&[(1, &[2, 3])]));
    let other = hold(&mut gate, ms(8), &staged(&[(2, &[3])]));
    gate.answered(lost[0]);
    assert_eq!(gate.poll_timeout(), Some(ms(15)));
    assert!(gate.handle_timeout(ms(14)).is_empty());
    assert_eq!(numbers(&gate.handle_timeout(ms(15))), [1]);
    // The other's comes, and what was lost comes late.
    assert_eq!(gate.poll_timeout(), Some(ms(18)));
    assert_eq!(numbers(&gate.answered(other[0])), [2]);
    assert!(gate.answered(lost[1]).is_empty());
    let passed = gate.passed();
    assert_eq!((passed.held, passed.answered, passed.overdue), (0, 1, 1));
}

/// A packet to be sent, and a flow.
fn packet_and_flow() -> Commands {
    let packet = Packet::Bytes(vec![7; 60]);
    let sent = PacketOut { in_port: Port(1), actions: Actions::output(Port(2)), packet };
    [(1, Command::Flow(Flow::delete(Fields::default()))), (1, Command::PacketOut(sent))].into_iter().collect()
}

#[test]
fn of_what_is_superseded_packets_are_sent_and_no_flow_is_told() {
    let mut gate = Gate::default();
    let old = hold(&mut gate, ms(0), &staged(&[(1, &[2])]));
    let steps = vec![Step { behind: vec![2], then: packet_and_flow() }];
    let packet = gate.hold(ms(0), &Staged { steps, patience: 10_000, ..Staged::default() }, Cause::default());
    let now = gate.hold(ms(1), &Staged { supersedes: true, ..staged(&[(2, &[2])]) }, Cause::default());
    let [sent, new] = &now[..] else { panic!("{now:?}") };
    assert!(matches!(&sent.commands.words()[..], [(1, Command::PacketOut(_))]), "{sent:?}");
    assert!(gate.answered(old[0]).is_empty() && gate.answered(packet[0].barriers[0]).is_empty());
    assert_eq!(numbers(&gate.answered(new.barriers[0])), [2]);
    assert!(gate.handle_timeout(ms(1000)).is_empty());
    assert_eq!((gate.passed().superseded, gate.passed().held), (2, 0));
}

#[test]
fn what_is_held_is_bounded_and_what_is_beyond_waits_for_nobody() {
    let mut gate = Gate::default();
    let large: Commands = [(1, Command::Raw(vec![0; 60_000]))].into_iter().collect();
    let steps = vec![Step { behind: vec![2], then: large }];
    let staged = Staged { steps, patience: 1000, ..Staged::default() };
    let mut at_once = 0;
    let mut barriers = Vec::new();
    for _ in 0..2000 {
        for told in gate.hold(ms(0), &staged, Cause::default()) {
            at_once += told.commands.len();
            barriers.extend(told.barriers);
        }
    }
    let held = gate.passed().held as usize;
    assert!((1000..1200).contains(&held) && held + at_once == 2000, "{held} and {at_once}");
    barriers.into_iter().for_each(|token| assert_eq!(gate.answered(token).len(), 1));
    assert!(gate.hold(ms(0), &staged, Cause::default())[0].commands.is_empty(), "there is room again");
}
