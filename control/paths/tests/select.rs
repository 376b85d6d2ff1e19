//! Which flows are to move, and to which lists.

use plait_control_paths::select::*;
use proptest::prelude::*;

fn share(key: u16, list: usize, bytes: u64) -> FlowShare<u16> {
    FlowShare { key, list, moves: None, by_hand: false, bytes, hash: u32::from(key) }
}

/// By the reading that Plait has.
fn moved(lists: usize, flows: impl Iterator<Item = FlowShare<u16>> + Clone) -> Option<(u16, usize)> {
    rearranged(lists, Candidates::OfFullest, flows)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_rearrangement_never_makes_the_fullest_list_fuller(
        mut flows in prop::collection::vec((0..3usize, 1..10_000u64), 2..30),
    ) {
        let mut fullest = u64::MAX;
        // Each period every flow sends as much as ever; every move makes two lists more alike, so that they end.
        for _ in 0..1000 {
            let mut traffic = [0; 3];
            flows.iter().for_each(|(list, bytes)| traffic[*list] += bytes);
            let most = *traffic.iter().max().unwrap();
            prop_assert!(most <= fullest, "{} after {}", most, fullest);
            fullest = most;
            let shares = (0..).zip(&flows).map(|(key, &(list, bytes))| share(key, list, bytes));
            let Some((key, to)) = moved(3, shares) else {
                // No flow of the fullest list is smaller than its distance to the emptiest.
                let least = most - traffic.iter().min().unwrap();
                let stays = |fullest: usize| {
                    flows.iter().all(|(list, bytes)| *list != fullest || *bytes >= least)
                };
                prop_assert!((0..3).any(|list| traffic[list] == most && stays(list)));
                return Ok(());
            };
            flows[key as usize].0 = to;
        }
        prop_assert!(false, "flows move for ever");
    }
}

#[test]
fn the_largest_flow_that_fits_moves_from_the_fullest_list_to_the_emptiest() {
    // List 0 has 90, list 1 has 40: the difference is 50. Of 55, 30 and 5 on the fuller one 30 is the largest below it.
    let flows = [share(1, 0, 55), share(2, 0, 30), share(3, 0, 5), share(4, 1, 40)];
    assert_eq!(moved(2, flows.into_iter()), Some((2, 1)));
    // One that waits to move counts where it goes, and is no candidate.
    let waits = FlowShare { moves: Some(1), ..flows[1] };
    assert_eq!(moved(2, [flows[0], waits, flows[2], flows[3]].into_iter()), None);
    // One that somebody moved there stays, and counts.
    let by_hand = FlowShare { by_hand: true, ..flows[1] };
    assert_eq!(moved(2, [flows[0], by_hand, flows[2], flows[3]].into_iter()), Some((3, 1)));
    // And others become alike, though it is alone on the fullest list.
    let alone = FlowShare { by_hand: true, ..share(9, 0, 500) };
    let others = [share(1, 1, 40), share(2, 1, 30), share(3, 2, 5)];
    assert_eq!(moved(3, [alone].into_iter().chain(others)), Some((1, 2)));
    assert_eq!(moved(3, [alone].into_iter()), None);
    // A lone flow stays, and so does what sent nothing.
    assert_eq!(moved(2, [share(1, 0, 10), share(2, 0, 0)].into_iter()), None);
}

#[test]
fn as_printed_a_flow_of_another_list_moves_and_the_fullest_stays_as_full() {
    // Lists of 100, 60 and 20: the difference is 80. The largest flow below it is of the second list, and not of the fullest.
    let flows = [share(1, 0, 90), share(2, 0, 10), share(3, 1, 60), share(4, 2, 20)];
    assert_eq!(moved(3, flows.into_iter()), Some((2, 2)));
    assert_eq!(rearranged(3, Candidates::All, flows.into_iter()), Some((3, 2)));
    // The largest is on the emptiest list already: all stays as it is, though flow 2 would make both more alike.
    let flows = [share(1, 0, 90), share(2, 0, 10), share(3, 1, 20)];
    assert_eq!(moved(2, flows.into_iter()), Some((2, 1)));
    assert_eq!(rearranged(2, Candidates::All, flows.into_iter()), None);
}

#[test]
fn by_counters_that_never_begin_anew_what_was_large_once_counts_for_ever() {
    let moves = |window| {
        let mut rearranger = Rearranger::new(Reading { window, ..Reading::default() });
        let mut run = |bytes: [u64; 4]| {
            let flows = (0..).zip([0, 0, 1, 1]).zip(bytes);
            let of = |((key, list), bytes)| (Some("10.0.0.0/8"), share(key, list, bytes));
            rearranger.run(flows.map(of), |_| Some(2))
        };
        // Of the first list flow 0 sends all but 10, and then nothing more; of the second flows send 60 and 30, and again.
        assert_eq!(run([900, 10, 60, 30]), [("10.0.0.0/8", 1, 1)]);
        run([900, 20, 120, 60])
    };
    assert_eq!(moves(Window::Period), [("10.0.0.0/8", 2, 0)]);
    assert_eq!(moves(Window::Ever), [("10.0.0.0/8", 1, 1)]);
}

/// Hosts with two flows on one of many lists: each turns to an empty list, not all to the same one.
#[test]
fn hosts_do_not_turn_to_the_same_list_at_once() {
    const LISTS: usize = 16;
    let mut turned = [0; LISTS];
    for host in 0..1000u32 {
        let hash = |flow: u32| (host * 2 + flow).wrapping_mul(0x9e37_79b9);
        let flows = [0, 1].map(|flow| FlowShare { hash: hash(flow), ..share(flow as u16, 3, 10) });
        let more = FlowShare { hash: host, ..share(2, 3, 5) };
        let (_, list) = moved(LISTS, flows.into_iter().chain([more])).unwrap();
        turned[list] += 1;
    }
    assert_eq!(turned[3], 0);
    // 1000 of 15 are 67 each; that one has twice as many by chance does not happen.
    assert!(turned.iter().all(|count| *count < 134), "{turned:?}");
}

#[test]
fn counters_that_only_grow_move_flows_by_what_is_new_in_them() {
    let mut rearranger = Rearranger::default();
    let mut run = |flows: &[(u16, usize, u64)]| {
        let of = |&(key, list, bytes)| (Some("10.0.0.0/8"), share(key, list, bytes));
        // What is of no prefix any more, and of one whose flows stay, is not moved.
        let others = [(None, 8, 9000), (Some("11.0.0.0/8"), 9, 9000)];
        let other = |(prefix, key, bytes)| (prefix, share(key, 0, bytes));
        let flows = flows.iter().map(of).chain(others.map(other));
        rearranger.run(flows, |prefix| (*prefix == "10.0.0.0/8").then_some(2))
    };
    let moves = |key, list| vec![("10.0.0.0/8", key, list)];
    assert_eq!(run(&[(1, 0, 1000), (2, 0, 500), (3, 1, 100)]), moves(1, 1));
    // Since then 0, 300 and 100: what flow 1 sent before makes nothing fuller, and flow 2 is larger than the difference.
    assert_eq!(run(&[(1, 0, 1000), (2, 0, 800), (3, 1, 200)]), []);
    // Flow 1 was forgotten and began anew, with 150; flow 2 sent 500, flow 3 nothing.
    assert_eq!(run(&[(1, 0, 150), (2, 0, 1300), (3, 1, 200)]), moves(2, 1));
    assert_eq!(run(&[]), []);
}
