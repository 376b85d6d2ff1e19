//! Which of a prefix's lists flows go by.

mod row;

use plait_control_paths::Operation;
use plait_dataplane_paths::{Encapsulation, FlowKey, FlowReport, Options, Paths, Selector};
use row::{PAIRS, Row, SHARED, bound};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

/// How many flows there are: enough that a weight which is a tenth off is seen.
const FLOWS: u16 = 4000;

/// How many lists there may be with as many flows each.
fn lists(row: &Row, count: usize) -> Vec<Vec<std::net::IpAddr>> {
    // What a list is does not matter here, and a list may be there twice.
    (0..count).map(|_| row.list(&[1])).collect()
}

fn steered(row: &Row, selector: Selector, count: usize) -> Paths {
    let mut paths = row.steers(Options { selector, ..Options::new(SHARED, Encapsulation::Gre) });
    paths.apply(Operation::Set { prefix: row.prefix(), lists: lists(row, count) }).unwrap();
    paths
}

/// Flows that differ in one thing alone: how well a hash spreads them is a matter of what that is.
#[derive(Debug, Clone, Copy)]
enum Differ {
    Source,
    Destination,
    Host,
}

/// Sends a packet of each flow.
fn send(row: &Row, differ: Differ) {
    let bind = |port: u16| row.within(0, || bound(|| UdpSocket::bind(row.any(port))));
    let far = row.far();
    let host = |number: u8| -> IpAddr {
        match far {
            IpAddr::V4(far) => Ipv4Addr::from_bits(far.to_bits() & !0xff | u32::from(number)).into(),
            IpAddr::V6(far) => Ipv6Addr::from_bits(far.to_bits() & !0xff | u128::from(number)).into(),
        }
    };
    match differ {
        Differ::Source => row.within(0, || {
            for port in 0..FLOWS {
                let sender = bound(|| UdpSocket::bind(row.any(20_000 + port)));
                sender.send_to(&[1], (far, 9)).unwrap();
            }
        }),
        Differ::Destination => {
            let sender = bind(5000);
            for port in 0..FLOWS {
                sender.send_to(&[1], (far, 1 + port)).unwrap();
            }
        }
        Differ::Host => {
            let sender = bind(5000);
            for flow in 0..FLOWS {
                sender.send_to(&[1], (host(1 + (flow % 250) as u8), 1 + flow / 250)).unwrap();
            }
        }
    }
}

/// The flows that were sent, by their keys: what the kernel says on its own is none of them.
fn flows(paths: &Paths) -> BTreeMap<FlowKeyOrder, FlowReport> {
    let all = paths.flows().unwrap().into_iter();
    let sent = all.filter(|flow| flow.key.protocol == 17);
    let by_key: BTreeMap<_, _> = sent.map(|flow| (order(&flow.key), flow)).collect();
    assert_eq!(by_key.len(), usize::from(FLOWS));
    by_key
}

type FlowKeyOrder = ([u8; 16], [u8; 4]);

fn order(key: &FlowKey) -> FlowKeyOrder {
    (key.destination, key.ports)
}

fn count(flows: &BTreeMap<FlowKeyOrder, FlowReport>, list: u32) -> f64 {
    flows.values().filter(|flow| flow.list == list).count() as f64
}

#[test]
fn weights_are_kept_within_what_chance_allows() {
    let Some(row) = Row::new(3) else { return };
    let all = [Differ::Source, Differ::Destination, Differ::Host];
    for (row, differ) in PAIRS[..2].iter().flat_map(|pair| all.map(|differ| (row.of(*pair), differ))) {
        for (weights, shares) in
            [(vec![3, 1], [0.75, 0.25]), (vec![1, 1], [0.5, 0.5]), (vec![0, 5], [0.0, 1.0])]
        {
            let paths = steered(&row, Selector::Weighted(weights), 2);
            send(&row, differ);
            let flows = flows(&paths);
            for (list, share) in (0..).zip(shares) {
                // 99.9 % of draws of a binomial distribution are within 3.29 standard deviations.
                let (n, found) = (f64::from(FLOWS), count(&flows, list));
                let away = (found - n * share).abs();
                assert!(
                    away <= 3.29 * (n * share * (1.0 - share)).sqrt(),
                    "{differ:?}: {found} by list {list}"
                );
            }
            row.within(0, move || drop(paths));
        }
    }
}

#[test]
fn turns_are_taken_exactly() {
    let Some(row) = Row::new(3) else { return };
    for lists in [2, 4, 64] {
        let paths = steered(&row, Selector::RoundRobin, lists);
        for _ in 0..3 {
            // Flows that are known keep their turn.
            send(&row, Differ::Destination);
        }
        let flows = flows(&paths);
        for (turn, flow) in flows.values().enumerate() {
            assert_eq!((flow.list as usize, flow.packets), (turn % lists, 3), "{:?}", flow.key);
        }
        row.within(0, move || drop(paths));
    }
}

#[test]
fn flows_stay_by_the_lists_that_are_still_there() {
    let Some(row) = Row::new(4) else { return };
    let named = |lists: &[&[usize]]| lists.iter().map(|nodes| row.list(nodes)).collect::<Vec<_>>();
    for selector in [Selector::Hash, Selector::RoundRobin, Selector::FlowBased] {
        let mut paths =
            row.steers(Options { selector: selector.clone(), ..Options::new(SHARED, Encapsulation::Gre) });
        let (before, after) = (named(&[&[1], &[2], &[1, 2], &[]]), named(&[&[2, 1], &[], &[1, 2], &[2]]));
        paths.apply(Operation::Set { prefix: row.prefix(), lists: before.clone() }).unwrap();
        send(&row, Differ::Destination);
        let went = flows(&paths);
        let packets: u64 = paths.counters().unwrap().iter().map(|list| list.packets).sum();
        paths.apply(Operation::Set { prefix: row.prefix(), lists: after.clone() }).unwrap();
        // Where they go is known before anything goes there.
        for (key, flow) in flows(&paths).iter().filter(|(_, flow)| flow.prefix.is_some()) {
            assert_eq!(after[flow.list as usize], before[went[key].list as usize], "{selector:?}");
        }
        send(&row, Differ::Destination);
        let (mut left, go) = (0, flows(&paths));
        for (key, flow) in &go {
            let (was, is) = (&before[went[key].list as usize], &after[flow.list as usize]);
            assert!(was == is || *was == before[0], "{selector:?}: from {was:?} to {is:?}");
            left += usize::from(*was == before[0]);
        }
        assert!(left > 0);
        // Lists that are still there go on counting; what went by the one that is gone is no longer told.
        let now: u64 = paths.counters().unwrap().iter().map(|list| list.packets).sum();
        assert!(now >= packets - left as u64 + u64::from(FLOWS), "{now} of {packets}");
        row.within(0, move || drop(paths));
    }
}

#[test]
fn a_flow_stays_where_its_hash_leads() {
    let Some(row) = Row::new(3) else { return };
    for selector in [Selector::Hash, Selector::Weighted(vec![1, 2, 3, 4]), Selector::FlowBased] {
        let mut paths = steered(&row, selector.clone(), 4);
        let mut before: Option<BTreeMap<FlowKeyOrder, u32>> = None;
        for round in 1..=3 {
            send(&row, Differ::Destination);
            let flows = flows(&paths);
            let found: BTreeMap<_, _> = flows.iter().map(|(key, flow)| (*key, flow.list)).collect();
            if let Some(before) = before.replace(found.clone()) {
                assert_eq!(found, before, "{selector:?}");
            }
            // All packets of a flow were counted at its list.
            let counters = paths.counters().unwrap();
            for (list, counter) in (0..).zip(&counters) {
                assert_eq!(counter.packets as f64, count(&flows, list) * f64::from(round));
            }
            if round == 2 {
                // The same lists as before: nothing changes, and they go on counting.
                paths.apply(Operation::Set { prefix: row.prefix(), lists: lists(&row, 4) }).unwrap();
            }
        }
        row.within(0, move || drop(paths));
    }
}
