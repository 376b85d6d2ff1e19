//! Selectors: each flow keeps its list and its order, and lists get their shares.

use plait_control_paths::select::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::time::Duration;

fn flow(number: u16) -> FlowKey {
    let (source, destination) = (Ipv4Addr::new(172, 16, 0, 1).into(), Ipv4Addr::new(172, 16, 9, 1).into());
    FlowKey { source, destination, protocol: 17, source_port: number, destination_port: 7 }
}

fn micros(number: u64) -> Duration {
    Duration::from_micros(number)
}

const SPREAD: Duration = Duration::from_micros(500);

fn selector(policy: Policy, lists: usize) -> Selector {
    let config = SelectorConfig { spread: SPREAD, idle: micros(5_000), ..SelectorConfig::new(policy) };
    Selector::new(config, lists, Duration::ZERO)
}

fn often() -> Rearrangement {
    Rearrangement { period: micros(700), patience: micros(300) }
}

fn policy() -> impl Strategy<Value = Policy> {
    prop_oneof![
        Just(Policy::Hash),
        Just(Policy::RoundRobin),
        prop::collection::vec(0..4u32, 1..5).prop_map(Policy::Weighted),
        Just(Policy::FlowBased(often())),
    ]
}

/// Lists as first in, first out: when the last packet by each arrives. Two parts of a path, each with its own delay.
#[derive(Default)]
struct Paths(BTreeMap<u64, Duration>);

impl Paths {
    fn arrival(&mut self, path: u64, sent: Duration, delay: Duration) -> Duration {
        let last = self.0.entry(path).or_default();
        *last = (*last).max(sent + delay);
        *last
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_packet_overtakes_another_of_its_flow(
        policy in policy(),
        few in any::<bool>(),
        // After how long, of which flow, how large, how late on its path beyond the least, and whether lists change.
        packets in prop::collection::vec((0..200u64, 0..12u16, 1..3000usize, 0..500u64, 0..60u8), 1..400),
        hold in 0..900u64,
    ) {
        let config = SelectorConfig {
            spread: SPREAD, idle: micros(hold), most_flows: if few { 5 } else { 100 }, ..SelectorConfig::new(policy)
        };
        let mut lists: Vec<u64> = vec![0, 1, 2];
        let mut next_list = 3;
        let mut selector = Selector::new(config, lists.len(), Duration::ZERO);
        let (mut sends, mut sent, mut now) = (Vec::new(), BTreeMap::new(), Duration::ZERO);
        for (gap, number, bytes, late, change) in packets {
            now += micros(gap);
            while selector.poll_timeout() <= now {
                selector.handle_timeout(now);
            }
            // Of flows that are too many to be known nothing is promised when lists change.
            if change < 3 && !few {
                // One list is gone, one is new, and they stand in another order.
                let before = lists.clone();
                lists.remove(usize::from(change) % lists.len());
                lists.insert(0, next_list);
                next_list += 1;
                let places: Vec<_> =
                    before.iter().map(|list| lists.iter().position(|other| other == list)).collect();
                selector.replace(lists.len(), &places, now);
            }
            let Placement { list, at } = selector.place(flow(number), bytes, now);
            let last = sent.insert(number, at).map_or(now, |last| now.max(last));
            prop_assert!(last <= at && at <= last + SPREAD + Duration::from_nanos(1), "held for longer than the spread");
            sends.push((at, sends.len(), number, lists[list], micros(900 + late)));
        }
        // A path carries what it is given in the order in which it is given.
        sends.sort();
        let (mut paths, mut arrived) = (Paths::default(), BTreeMap::<u16, (Duration, usize)>::new());
        for (at, turn, number, list, delay) in sends {
            // Delays differ by at most the spread, from one packet to the next and from one path to another.
            let arrival = (paths.arrival(list, at, delay), turn);
            let before = arrived.insert(number, arrival);
            prop_assert!(before.is_none_or(|before| before < arrival), "reordered");
        }
    }

    #[test]
    fn a_flow_keeps_its_list_where_nothing_is_rearranged(policy in policy(), numbers in prop::collection::vec(0..40u16, 1..200)) {
        let policy = if matches!(policy, Policy::FlowBased(_)) { Policy::Hash } else { policy };
        let mut selector = selector(policy, 4);
        let mut known = BTreeMap::new();
        for (number, now) in numbers.into_iter().zip(0..) {
            let Placement { list, at } = selector.place(flow(number), 100, micros(now));
            prop_assert_eq!(at, micros(now), "nothing is held");
            prop_assert_eq!(*known.entry(number).or_insert(list), list);
        }
    }

    #[test]
    fn a_rearrangement_never_makes_the_fullest_list_fuller(sizes in prop::collection::vec(1..10_000usize, 2..30)) {
        let mut selector = selector(Policy::FlowBased(often()), 3);
        let mut fullest = usize::MAX;
        let mut now = Duration::ZERO;
        for _ in 0..20 {
            // Each period every flow sends as much as ever.
            let mut traffic = [0; 3];
            for (number, &size) in sizes.iter().enumerate() {
                now += micros(1);
                traffic[selector.place(flow(number as u16), size, now).list] += size;
            }
            let most = *traffic.iter().max().unwrap();
            prop_assert!(most <= fullest, "{} after {}", most, fullest);
            fullest = most;
            now = selector.poll_timeout();
            selector.handle_timeout(now);
        }
        // In the end no flow of the fullest list is smaller than its distance to the emptiest: Algorithm 1 is done.
        prop_assert_eq!(selector.handle_timeout(selector.poll_timeout()), None);
    }
}

#[test]
fn round_robin_gives_each_new_flow_the_next_list() {
    let mut selector = selector(Policy::RoundRobin, 3);
    let lists: Vec<_> =
        (0..8).map(|number| selector.place(flow(number), 1, micros(number.into())).list).collect();
    assert_eq!(lists, [0, 1, 2, 0, 1, 2, 0, 1]);
    assert_eq!(selector.place(flow(4), 1, micros(9)).list, 1, "a flow that is known is not new");
}

#[test]
fn lists_get_their_weights_share_of_the_flows() {
    for (policy, shares) in [
        (Policy::Hash, [0.25; 4]),
        (Policy::Weighted(vec![1, 0, 2, 5]), [0.125, 0.0, 0.25, 0.625]),
        (Policy::Weighted(vec![0, 0]), [0.25; 4]),
    ] {
        let mut selector = selector(policy.clone(), 4);
        let mut counts = [0; 4];
        (0..8000).for_each(|number| counts[selector.place(flow(number), 1, Duration::ZERO).list] += 1);
        for (count, share) in counts.into_iter().zip(shares) {
            // Five standard deviations of a binomial, of 8,000 at one half the widest: 224.
            assert!((f64::from(count) - 8000.0 * share).abs() < 224.0, "{policy:?}: {counts:?}");
            assert!(share > 0.0 || count == 0);
        }
    }
}

#[test]
fn the_largest_flow_that_fits_moves_from_the_fullest_list_to_the_emptiest() {
    let mut selector = selector(Policy::FlowBased(often()), 2);
    // Four flows of one list and one of the other.
    let mut of = [Vec::new(), Vec::new()];
    for number in 0..40 {
        of[selector.place(flow(number), 0, Duration::ZERO).list].push(number);
    }
    let [first, second] = of;
    // List 0 has 90, list 1 has 40: the difference is 50. Of 55, 30 and 5 on the fuller one 30 is the largest below it.
    for (number, bytes) in [(first[0], 55), (first[1], 30), (first[2], 5), (second[0], 40)] {
        selector.place(flow(number), bytes, micros(1));
    }
    assert_eq!(selector.handle_timeout(micros(700)), Some((flow(first[1]), 1)));
    // Its next packet finds no gap and stays; one behind a gap goes by the new list at once.
    assert_eq!(selector.place(flow(first[1]), 1, micros(701)).list, 1, "the last packet is long gone");
    assert_eq!(selector.handle_timeout(micros(1399)), None, "not yet its turn");
    // A flow that sends without a gap is held, once its patience is over, for the spread.
    selector.place(flow(first[0]), 50, micros(1000));
    selector.place(flow(first[2]), 5, micros(1000));
    assert_eq!(selector.handle_timeout(micros(1400)), Some((flow(first[0]), 1)));
    for now in [1401, 1600, 1699] {
        assert_eq!(selector.place(flow(first[0]), 1, micros(now)), Placement { list: 0, at: micros(now) });
    }
    let moved = selector.place(flow(first[0]), 1, micros(1700));
    assert_eq!(moved, Placement { list: 1, at: micros(1699) + SPREAD + Duration::from_nanos(1) });
    let next = selector.place(flow(first[0]), 1, micros(1701));
    assert_eq!(next, Placement { list: 1, at: moved.at }, "what follows keeps its order");
}

#[test]
fn flows_that_are_idle_are_forgotten() {
    let mut selector = selector(Policy::Hash, 2);
    for number in 0..9 {
        selector.place(flow(number), 1, Duration::ZERO);
    }
    selector.place(flow(3), 1, micros(4_000));
    selector.handle_timeout(micros(5_000));
    assert_eq!(selector.flows(), 1);
}

#[test]
fn the_hash_depends_on_every_field_and_on_the_salt() {
    let of = flow(1);
    let others = [
        FlowKey { source: Ipv4Addr::new(172, 16, 0, 2).into(), ..of },
        FlowKey { destination: Ipv4Addr::new(172, 16, 9, 2).into(), ..of },
        FlowKey { protocol: 6, ..of },
        FlowKey { source_port: 2, ..of },
        FlowKey { destination_port: 8, ..of },
        FlowKey { source: of.destination, destination: of.source, ..of },
    ];
    let hashes: BTreeSet<_> = others.iter().chain([&of]).map(|key| key.hash(1)).chain([of.hash(2)]).collect();
    assert_eq!(hashes.len(), 8, "{hashes:?}");
}

#[test]
fn counters_that_only_grow_move_flows_by_what_is_new_in_them() {
    let mut rearranger = Rearranger::default();
    let mut run = |flows: &[(u16, usize, u64)]| {
        let share = |&(key, list, bytes)| (Some("10.0.0.0/8"), FlowShare { key, list, moves: None, bytes });
        // What is of no prefix any more, and of one whose flows stay, is not moved.
        let others = [(None, 8, 9000), (Some("11.0.0.0/8"), 9, 9000)];
        let other = |(prefix, key, bytes)| (prefix, FlowShare { key, list: 0, moves: None, bytes });
        let flows = flows.iter().map(share).chain(others.map(other));
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
