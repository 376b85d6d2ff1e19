//! Relays against the thesis's example, against brute force, and against switches that choose at random.

use plait_control_paths::*;
use plait_model_topology::graph::Graph;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// A connected fabric or not, of some switches; costs all 1 or different ones.
fn fabric(most: usize) -> impl Strategy<Value = Fabric> {
    (3..most, any::<bool>()).prop_flat_map(|(switches, equal)| {
        let costs = if equal { 1..2u32 } else { 1..4u32 };
        let links = prop::collection::vec((0..switches, 0..switches, costs), switches..3 * switches);
        links.prop_map(move |links| Fabric::of_links(switches, links))
    })
}

/// All ways by which packets may go from a switch to another, when each switch chooses freely between equally short ones.
fn ways(graph: &Graph, from: usize, to: usize) -> BTreeSet<Vec<usize>> {
    let back = graph.reversed().shortest_paths(to);
    let to_end: Vec<_> = (0..graph.vertices()).map(|vertex| back.distance(vertex)).collect();
    let mut done = BTreeSet::new();
    let mut open = vec![vec![from]];
    while let Some(way) = open.pop() {
        let at = way[way.len() - 1];
        if at == to {
            done.insert(way);
            continue;
        }
        for arc in graph.arcs(at) {
            let next = arc.to as usize;
            let nearer = to_end[next].map(|left| left + u64::from(arc.cost));
            if nearer.is_some() && nearer == to_end[at] {
                open.push([&way[..], &[next]].concat());
            }
        }
    }
    done
}

/// Every way by which packets with these relays may go.
fn all_ways(graph: &Graph, from: usize, relays: &[usize], to: usize) -> BTreeSet<Vec<usize>> {
    let mut so_far = BTreeSet::from([vec![from]]);
    for &stop in relays.iter().chain([&to]) {
        so_far = so_far
            .into_iter()
            .flat_map(|way| {
                let on = ways(graph, way[way.len() - 1], stop);
                on.into_iter().map(move |more| [&way[..], &more[1..]].concat())
            })
            .collect();
    }
    so_far
}

/// All lists of so many of some switches, in any order.
fn lists(of: &[usize], count: usize) -> Vec<Vec<usize>> {
    (0..count).fold(vec![vec![]], |lists, _| {
        let longer =
            |list: Vec<usize>| of.iter().map(move |&next| [&list[..], &[next]].concat()).collect::<Vec<_>>();
        lists.into_iter().flat_map(longer).collect()
    })
}

#[test]
fn the_relays_of_the_thesis_figure_5_10_are_extracted() {
    let paths: [&[usize]; 6] = [
        &[1, 11, 2, 9, 17],
        &[1, 11, 8, 5, 2, 9, 17],
        &[1, 11, 8, 9, 17],
        // The figure's other paths leave node 1 by others; these do.
        &[1, 4, 9, 17],
        &[1, 4, 6, 17],
        &[1, 3, 17],
    ];
    let relays = PathTree::new(paths).relays();
    assert_eq!(relays[0], [11, 2]);
    assert_eq!(relays[1], [11, 8, 5]);
    assert_eq!(relays[2], [11, 8, 9]);
    assert_eq!(relays[3..], [vec![4, 9], vec![4, 6], vec![3]]);
    assert_eq!(PathTree::new([[1, 2, 3]]).relays(), [Vec::<usize>::new()], "a single path needs no name");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_sure_list_leads_along_its_path_whatever_the_hashes_do_and_no_shorter_one_does(fabric in fabric(7)) {
        let plan = Plan::new(Settings { k: 6, ..Settings::default() }, fabric, 0);
        let graph = plan.fabric().graph();
        for to in 1..plan.fabric().switches().len() {
            for path in plan.paths(to) {
                let only = BTreeSet::from([path.switches.clone()]);
                let found = path.relays.as_ref().map(|relays| relays.iter().map(|&relay| relay as usize).collect::<Vec<_>>());
                if let Some(relays) = &found {
                    prop_assert_eq!(&all_ways(graph, 0, relays, to), &only);
                }
                // No list of fewer relays does it; where there is none at all, no list whatever.
                let inner = &path.switches[1..path.switches.len() - 1];
                for count in 0..found.map_or(inner.len() + 1, |relays| relays.len()) {
                    for list in lists(inner, count) {
                        prop_assert_ne!(&all_ways(graph, 0, &list, to), &only, "{:?}", list);
                    }
                }
            }
        }
    }

    #[test]
    fn a_plan_that_is_kept_up_is_a_plan_made_anew(
        fabric in fabric(14),
        changes in prop::collection::vec((0..14usize, 0..14usize, 0..4u32), 1..6),
        faithful: bool,
    ) {
        let method = || if faithful { Method::Faithful } else { Method::Sure };
        let settings = || Settings { k: 5, method: method(), ..Settings::default() };
        let mut plan = Plan::new(settings(), fabric.clone(), 0);
        let mut links = fabric.links().to_vec();
        let switches = fabric.switches();
        for (a, b, cost) in changes {
            let (a, b) = ((a % switches.len()) as u32, (b % switches.len()) as u32);
            links.retain(|link| (link.from, link.to) != (a, b));
            if cost > 0 {
                links.push(Link { from: a, to: b, cost });
            }
            let now = Fabric::new(switches.to_vec(), links.clone());
            plan.update(now.clone(), 0);
            let anew = Plan::new(settings(), now, 0);
            for to in 0..switches.len() {
                prop_assert_eq!(plan.paths(to), anew.paths(to));
            }
        }
    }

    #[test]
    fn with_hops_that_are_known_lists_are_as_short_as_can_be(fabric in fabric(7), salt: u64) {
        let hops = Hops::of(&fabric, salt);
        let settings = Settings { k: 6, method: Method::Known(std::sync::Arc::new(hops.clone())), ..Settings::default() };
        let plan = Plan::new(settings, fabric, 0);
        for to in 1..plan.fabric().switches().len() {
            for path in plan.paths(to) {
                let inner = &path.switches[1..path.switches.len() - 1];
                let mut all = (0..=inner.len()).flat_map(|count| lists(inner, count));
                let shortest = all.find(|list| hops.way(0, list, to).as_ref() == Some(&path.switches));
                prop_assert_eq!(path.relays.as_ref().map(|relays| relays.len()), shortest.map(|list| list.len()));
                if let Some(relays) = &path.relays {
                    let relays: Vec<_> = relays.iter().map(|&relay| relay as usize).collect();
                    prop_assert_eq!(hops.way(0, &relays, to), Some(path.switches.clone()));
                }
            }
        }
    }
}

/// One next hop of each switch to each other, drawn of the equally short ones.
#[derive(Debug, Clone)]
struct Hops(Vec<Vec<Option<usize>>>);

impl Hops {
    fn of(fabric: &Fabric, salt: u64) -> Self {
        let graph = fabric.graph();
        let switches = 0..fabric.switches().len();
        let next = |at: usize, to: usize| {
            let all: BTreeSet<_> =
                ways(graph, at, to).into_iter().filter_map(|way| way.get(1).copied()).collect();
            let lot = salt.rotate_left((7 * at + to) as u32) as usize;
            all.iter().nth(lot % all.len().max(1)).copied()
        };
        Self(switches.clone().map(|at| switches.clone().map(|to| next(at, to)).collect()).collect())
    }

    fn way(&self, from: usize, relays: &[usize], to: usize) -> Option<Vec<usize>> {
        let mut way = vec![from];
        for &stop in relays.iter().chain([&to]) {
            while *way.last()? != stop {
                way.push(self.0[*way.last()?][stop]?);
            }
        }
        Some(way)
    }
}

impl NextHop for Hops {
    fn next_hop(&self, _: &Fabric, at: usize, towards: Towards) -> Option<usize> {
        let (Towards::Relay(to) | Towards::Behind(to)) = towards;
        self.0[at][to]
    }
}

#[test]
fn what_has_no_address_is_no_relay_and_what_is_too_long_is_no_list() {
    // Two equally long ways round a ring of eight, each of which takes a relay to name.
    let ring = Fabric::of_links(8, (0..8).map(|at| (at, (at + 1) % 8, 1)));
    let plan = Plan::new(Settings { k: 2, ..Settings::default() }, ring.clone(), 0);
    assert!(plan.paths(4).iter().all(|path| path.relays.as_ref().is_some_and(|relays| relays.len() == 1)));
    let plan = Plan::new(Settings { k: 2, most_relays: 0, ..Settings::default() }, ring.clone(), 0);
    assert!(plan.paths(4).iter().all(|path| path.relays.is_none()));
    let mut switches = ring.switches().to_vec();
    switches[1..4].iter_mut().for_each(|switch| switch.relay = None);
    let half = Fabric::new(switches, ring.links().to_vec());
    let plan = Plan::new(Settings { k: 2, ..Settings::default() }, half, 0);
    let relays: Vec<_> = plan.paths(4).iter().map(|path| path.relays.is_some()).collect();
    assert_eq!(relays, [false, true], "{:?}", plan.paths(4));
}
