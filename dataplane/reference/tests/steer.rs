//! Flows keep their lists and their order, and lists get their shares.

use plait_dataplane_reference::paths::tables::{
    FlowKey, ListChoice, ListSet, MovePlace, PrefixKey, selector, size,
};
use plait_dataplane_reference::paths::{Steer, SteerTables, Steered, hash_of, mapped};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;

/// By how much one path may be later than another, in nanoseconds.
const SPREAD: u64 = 500;

/// Bytes of each stack.
const STACK: u32 = 24;

const FAR: Ipv4Addr = Ipv4Addr::new(172, 16, 9, 1);

fn flow(number: u16) -> FlowKey {
    let [a, b] = number.to_be_bytes();
    let (source, destination) = (mapped(Ipv4Addr::new(172, 16, 0, 1).into()), mapped(FAR.into()));
    FlowKey { source, destination, ports: [a, b, 0, 7], protocol: 17 }
}

/// A set of stacks with their weights.
fn set(selector: u32, stacks: &[(u32, u32)]) -> ListSet {
    let mut choices = [ListChoice { below: 0, stack: 0, name: 0 }; size::LISTS as usize];
    let mut weights = 0;
    for (&(stack, weight), choice) in stacks.iter().zip(&mut choices) {
        weights += weight;
        *choice = ListChoice { below: weights, stack, name: stack };
    }
    ListSet { count: stacks.len() as u32, selector, weights, turns: 0, tallest: STACK, choices }
}

/// Tables in which all goes by one set.
fn tables(number: u32, set: ListSet) -> Arc<SteerTables> {
    let mut tables = SteerTables::default();
    tables.prefixes.insert(&PrefixKey::new(FAR.into(), 24), number);
    let stacks = set.choices[..set.count as usize].iter();
    tables.stacks.extend(stacks.map(|choice| (choice.stack, STACK)));
    tables.sets.insert(number, set);
    tables.into()
}

fn steer(selector: u32, weights: &[u32]) -> Steer {
    let stacks: Vec<(u32, u32)> = (0..).zip(weights.iter().copied()).collect();
    Steer::new(SPREAD, 65_536, tables(1, set(selector, &stacks)))
}

fn send(steer: &mut Steer, number: u16, now: u64) -> (u32, u64) {
    let Steered { stack, at } = steer.transmit(&flow(number), 1000, 1500, now).expect("it fits");
    (stack.expect("it is steered"), at)
}

/// Paths as first in, first out: when the last packet by each arrives.
#[derive(Default)]
struct Paths(BTreeMap<u32, u64>);

impl Paths {
    fn arrival(&mut self, path: u32, sent: u64, delay: u64) -> u64 {
        let last = self.0.entry(path).or_default();
        *last = (*last).max(sent + delay);
        *last
    }
}

/// What is done before a packet is sent.
#[derive(Debug, Clone)]
enum Before {
    Nothing,
    /// A flow is to move to a list, by hand or not.
    Move(u16, u32, bool),
    /// The list at a place is gone, a new one is there, and they stand in another order.
    Replace(usize),
}

fn before() -> impl Strategy<Value = Before> {
    prop_oneof![
        20 => Just(Before::Nothing),
        4 => (0..12u16, 0..3u32, any::<bool>()).prop_map(|(flow, list, by_hand)| Before::Move(flow, list, by_hand)),
        1 => (0..3usize).prop_map(Before::Replace),
    ]
}

fn policy() -> impl Strategy<Value = u32> {
    prop_oneof![Just(selector::HASH), Just(selector::ROUND_ROBIN), Just(selector::FLOW_BASED)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_packet_overtakes_another_of_its_flow(
        selector in policy(),
        weights in prop::collection::vec(1..4u32, 3),
        patience in 0..900u64,
        // After how long, of which flow, and how late on its path beyond the least.
        packets in prop::collection::vec((before(), 0..200u64, 0..12u16, 0..SPREAD), 1..400),
    ) {
        let mut lists: Vec<u32> = vec![0, 1, 2];
        let weighted = |lists: &[u32]| set(selector, &lists.iter().copied().zip(weights.iter().copied()).collect::<Vec<_>>());
        let (mut number, mut next_list) = (1, 3);
        let mut steer = Steer::new(SPREAD, 100, tables(number, weighted(&lists)));
        steer.patience = Some(patience);
        let (mut sends, mut sent, mut now) = (Vec::new(), BTreeMap::<u16, (u64, u32)>::new(), 0);
        for (before, gap, key, late) in packets {
            now += gap;
            match before {
                Before::Nothing => {}
                Before::Move(key, list, by_hand) => {
                    steer.move_flow(flow(key), MovePlace { set: number, list, by_hand });
                }
                Before::Replace(place) => {
                    lists.remove(place);
                    lists.insert(0, next_list);
                    (next_list, number) = (next_list + 1, number + 1);
                    steer.tables = tables(number, weighted(&lists));
                }
            }
            let (list, at) = send(&mut steer, key, now);
            if let Some((last, by)) = sent.insert(key, (at, list)) {
                prop_assert!(last <= at && at <= now.max(last) + SPREAD, "held for longer than the spread");
                let is_asked = selector == selector::FLOW_BASED && steer.moves.contains_key(&flow(key));
                prop_assert!(by == list || is_asked || !lists.contains(&by), "it left a list that is there");
            } else {
                prop_assert_eq!(at, now);
            }
            sends.push((at, sends.len(), key, list, 900 + late));
        }
        // A path carries what it is given in the order in which it is given.
        sends.sort_unstable();
        let (mut paths, mut arrived) = (Paths::default(), BTreeMap::<u16, (u64, usize)>::new());
        for (at, turn, key, list, delay) in sends {
            // Delays differ by less than the spread, from one packet to the next and from one path to another.
            let arrival = (paths.arrival(list, at, delay), turn);
            let before = arrived.insert(key, arrival);
            prop_assert!(before.is_none_or(|before| before < arrival), "reordered");
        }
    }
}

#[test]
fn round_robin_gives_each_new_flow_the_next_list() {
    let mut steer = steer(selector::ROUND_ROBIN, &[1; 3]);
    let lists: Vec<_> = (0..8).map(|number| send(&mut steer, number, number.into()).0).collect();
    assert_eq!(lists, [0, 1, 2, 0, 1, 2, 0, 1]);
    assert_eq!(send(&mut steer, 4, 9).0, 1, "a flow that is known is not new");
}

#[test]
fn lists_get_their_weights_share_of_the_flows() {
    for (weights, shares) in [([1; 4], [0.25; 4]), ([1, 0, 2, 5], [0.125, 0.0, 0.25, 0.625])] {
        let mut steer = steer(selector::HASH, &weights);
        let mut counts = [0; 4];
        (0..8000).for_each(|number| counts[send(&mut steer, number, 0).0 as usize] += 1);
        for (count, share) in counts.into_iter().zip(shares) {
            // Five standard deviations of a binomial, of 8,000 at one half the widest: 224.
            assert!((f64::from(count) - 8000.0 * share).abs() < 224.0, "{weights:?}: {counts:?}");
            assert!(share > 0.0 || count == 0);
        }
    }
}

#[test]
fn a_flow_that_is_moved_waits_for_a_gap_and_is_held_once_its_patience_is_over() {
    let mut steer = steer(selector::FLOW_BASED, &[1, 1]);
    steer.patience = Some(300);
    let (own, _) = send(&mut steer, 1, 1000);
    let other = 1 - own;
    steer.move_flow(flow(1), MovePlace { set: 1, list: other, by_hand: true });
    for now in [1001, 1200, 1301] {
        assert_eq!(send(&mut steer, 1, now), (own, now), "there is no gap yet");
    }
    let held = send(&mut steer, 1, 1302);
    assert_eq!(held, (other, 1302 + SPREAD));
    assert_eq!(send(&mut steer, 1, 1400), held, "what follows keeps its order");
    assert_eq!(send(&mut steer, 1, held.1), (other, held.1));
    // One that was silent for long enough moves at once.
    steer.move_flow(flow(1), MovePlace { set: 1, list: own, by_hand: false });
    assert_eq!(send(&mut steer, 1, held.1 + SPREAD + 1), (own, held.1 + SPREAD + 1));
}

#[test]
fn a_flow_whose_list_is_gone_goes_at_once_where_nobody_holds_packets() {
    let mut steer = steer(selector::HASH, &[1]);
    assert_eq!(send(&mut steer, 1, 1), (0, 1));
    steer.tables = tables(2, set(selector::HASH, &[(9, 1)]));
    assert_eq!(send(&mut steer, 1, 2), (9, 2));
}

#[test]
fn the_hash_depends_on_every_field() {
    let of = flow(1);
    let other = |address: [u8; 4]| mapped(Ipv4Addr::from(address).into());
    let others = [
        FlowKey { source: other([172, 16, 0, 2]), ..of },
        FlowKey { destination: other([172, 16, 9, 2]), ..of },
        FlowKey { protocol: 6, ..of },
        flow(2),
        FlowKey { ports: [0, 1, 0, 8], ..of },
        FlowKey { source: of.destination, destination: of.source, ..of },
    ];
    let hashes: BTreeSet<_> = others.iter().chain([&of]).map(hash_of).collect();
    assert_eq!(hashes.len(), 7, "{hashes:?}");
}
