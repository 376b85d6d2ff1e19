//! The delays between all nodes, as far as anybody told them.

use crate::Routes;
use plait_model_overlay::NodeId;
use plait_model_topology::graph::Graph;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What a way costs more, in microseconds, of which one end alone has told. Choice: a node that joins tells of others
/// before they know it, or they of it; until both have, packets of others do not turn to it, and where there is no
/// other way they still try.
const HALF_A_WAY: u32 = 1 << 30;

/// What each node says of its way to others. The same reports give the same matrix on every node, in whatever order they
/// came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DelayMatrix {
    reports: BTreeMap<NodeId, BTreeMap<NodeId, Duration>>,
}

impl DelayMatrix {
    /// A node's latest report, which replaces those before.
    pub fn report(&mut self, node: NodeId, delays: BTreeMap<NodeId, Duration>) {
        self.reports.insert(node, delays);
    }

    /// Forgets what a node said. What others say of it stays until they change their minds.
    pub fn forget(&mut self, node: NodeId) {
        self.reports.remove(&node);
    }

    /// What a node said.
    pub fn of(&self, node: NodeId) -> Option<&BTreeMap<NodeId, Duration>> {
        self.reports.get(&node)
    }

    /// The delay between two nodes. Choice: trees and paths must be alike everywhere, so the way there and the way back
    /// count as one, the mean of what both ends say; where one end says nothing, the other's word counts, but only if
    /// that end has reported at all, since a node that nobody heard from cannot be a relay.
    pub fn delay(&self, a: NodeId, b: NodeId) -> Option<Duration> {
        let (from_a, from_b) = (self.reports.get(&a)?, self.reports.get(&b)?);
        match (from_a.get(&b), from_b.get(&a)) {
            (Some(there), Some(back)) => Some((*there + *back) / 2),
            (one, other) => one.or(other).copied(),
        }
    }

    /// Those that a node measured its way to.
    fn told_by(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        self.of(node).into_iter().flat_map(BTreeMap::keys).copied()
    }

    /// Everyone who reported.
    pub fn nodes(&self) -> BTreeSet<NodeId> {
        self.reports.keys().copied().collect()
    }

    /// Those that a node can reach, by whatever relays; itself among them, and those that it measured though they have
    /// told nothing yet: others who hear of that may send packets to them through it.
    pub fn reachable(&self, own: NodeId) -> BTreeSet<NodeId> {
        // Asked with each change, so that no graph is built for it: nodes that one end has told of are of one set.
        let (nodes, told) = self.told();
        let Ok(source) = nodes.binary_search(&own) else { return BTreeSet::new() };
        let mut sets: Vec<usize> = (0..nodes.len()).collect();
        for (a, b, _) in told {
            let (a, b) = (root(&mut sets, a), root(&mut sets, b));
            sets[a.max(b)] = a.min(b);
        }
        let source = root(&mut sets, source);
        let reached =
            (0..nodes.len()).filter(|node| root(&mut sets, *node) == source).map(|node| nodes[node]);
        let reached: Vec<NodeId> = reached.collect();
        reached.into_iter().chain(self.told_by(own)).collect()
    }

    /// The paths of least delay from a node, and the tree of least delay for a group: vRON, section 4.2.3 of the paper.
    ///
    /// Of equally long paths the one whose first hop has the least identity is taken. The tree is the only one of its
    /// kind: edges count by delay, then by their ends' identities. Choice: by Kruskal's algorithm instead of Prim's;
    /// with an order in which no two edges are equal both find the same tree.
    pub fn routes(&self, own: NodeId, group: Option<NodeId>) -> Routes {
        let (nodes, graph) = self.graph();
        let mut routes = Routes::new();
        let Some(source) = nodes.iter().position(|node| *node == own) else { return routes };
        let paths = graph.shortest_paths(source);
        let hops = graph.next_hops(&paths);
        for vertex in paths.reached().filter(|vertex| *vertex != source) {
            let first = graph.next_hop_arcs(source, &hops, vertex).map(|arc| nodes[arc.to as usize]).min();
            if let Some(first) = first {
                routes.insert(nodes[vertex], BTreeSet::from([first]));
            }
        }
        for node in self.told_by(own) {
            routes.entry(node).or_insert_with(|| BTreeSet::from([node]));
        }
        if let Some(group) = group {
            let tree = graph.minimum_spanning_forest().edges.into_iter().map(|edge| graph.edges()[edge].ends);
            let beside = tree.filter_map(|[a, b]| match source as u32 {
                own if own == a => Some(nodes[b as usize]),
                own if own == b => Some(nodes[a as usize]),
                _ => None,
            });
            let mut hops: BTreeSet<NodeId> = beside.collect();
            if !hops.is_empty() {
                hops.insert(own);
                routes.insert(group, hops);
            }
        }
        routes
    }

    /// The nodes by identity, and what each told of another that has reported as well: their positions, the lower one first,
    /// and the delay.
    fn told(&self) -> (Vec<NodeId>, Vec<(usize, usize, Duration)>) {
        let nodes: Vec<NodeId> = self.reports.keys().copied().collect();
        // Only pairs of which one measured the other: in a large overlay few of all.
        let mut told = Vec::with_capacity(self.reports.values().map(BTreeMap::len).sum());
        for (a, said) in self.reports.values().enumerate() {
            for (other, delay) in said {
                if let Ok(b) = nodes.binary_search(other)
                    && a != b
                {
                    told.push((a.min(b), a.max(b), *delay));
                }
            }
        }
        (nodes, told)
    }

    /// The nodes by identity, and the graph of those positions: an edge where [`delay`](Self::delay) has one.
    fn graph(&self) -> (Vec<NodeId>, Graph) {
        let (nodes, mut told) = self.told();
        told.sort_unstable();
        let edges = told.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)).map(|pair| {
            let (a, b, first) = pair[0];
            // Each end tells of the other once.
            let (delay, is_told_by_both) = match pair.get(1) {
                Some((.., second)) => ((first + *second) / 2, true),
                None => (first, false),
            };
            // A hop costs something, or packets could circle between nodes that are equally far.
            let cost = u32::try_from(delay.as_micros()).unwrap_or(u32::MAX).clamp(1, HALF_A_WAY - 1);
            (a, b, if is_told_by_both { cost } else { HALF_A_WAY + cost })
        });
        let graph = Graph::undirected(nodes.len(), edges);
        (nodes, graph)
    }
}

/// Who stands for the set that a node is in; those on the way are made to point to him sooner.
fn root(sets: &mut [usize], mut node: usize) -> usize {
    while sets[node] != node {
        sets[node] = sets[sets[node]];
        node = sets[node];
    }
    node
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(number: usize) -> NodeId {
        NodeId(number as u32 + 1)
    }

    /// Everyone's reports of symmetric delays in milliseconds; nought is no way.
    fn matrix(delays: &[Vec<u64>]) -> DelayMatrix {
        let mut matrix = DelayMatrix::default();
        for a in 0..delays.len() {
            let others = (0..delays.len()).filter(|b| *b != a);
            let said = others.filter_map(|b| {
                let delay = delays[a.max(b)][a.min(b)];
                (delay > 0).then(|| (id(b), Duration::from_millis(delay)))
            });
            matrix.report(id(a), said.collect());
        }
        matrix
    }

    #[test]
    fn a_detour_that_is_shorter_is_taken() {
        // 1 and 3 are 50 apart, by 2 only 30.
        let matrix = matrix(&[vec![], vec![10], vec![50, 20]]);
        assert_eq!(matrix.routes(id(0), None)[&id(2)], BTreeSet::from([id(1)]));
        assert_eq!(matrix.routes(id(1), None)[&id(2)], BTreeSet::from([id(2)]));
    }

    #[test]
    fn the_two_ways_count_as_one() {
        let mut matrix = DelayMatrix::default();
        let said = |node: usize, delay| BTreeMap::from([(id(node), Duration::from_millis(delay))]);
        matrix.report(id(0), said(1, 10));
        assert_eq!(
            matrix.delay(id(0), id(1)),
            None,
            "of a node that never reported nobody knows whether it is there"
        );
        matrix.report(id(1), said(0, 30));
        assert_eq!(matrix.delay(id(0), id(1)), Some(Duration::from_millis(20)));
        assert_eq!(matrix.delay(id(0), id(1)), matrix.delay(id(1), id(0)));
        matrix.report(id(1), BTreeMap::new());
        assert_eq!(matrix.delay(id(1), id(0)), Some(Duration::from_millis(10)));
    }

    fn delays() -> impl Strategy<Value = Vec<Vec<u64>>> {
        let row = |count| proptest::collection::vec(0u64..6, count);
        (2usize..9).prop_flat_map(move |nodes| (0..nodes).map(row).collect::<Vec<_>>())
    }

    proptest! {
        /// Some tell of others who have not told of them, or nothing at all.
        #[test]
        fn whoever_has_a_delay_to_somebody_reached_is_reached(
            told in proptest::collection::vec((0usize..12, 0usize..14, 1u64..5), 0..30),
        ) {
            let mut said: BTreeMap<NodeId, BTreeMap<NodeId, Duration>> = BTreeMap::new();
            for (from, to, delay) in told.into_iter().filter(|(from, to, _)| from != to) {
                said.entry(id(from)).or_default().insert(id(to), Duration::from_millis(delay));
            }
            let mut matrix = DelayMatrix::default();
            said.into_iter().for_each(|(node, delays)| matrix.report(node, delays));
            for own in matrix.nodes() {
                let mut reached = BTreeSet::from([own]);
                loop {
                    let more = |node: &NodeId| reached.iter().any(|known| matrix.delay(*known, *node).is_some());
                    let next: BTreeSet<NodeId> = matrix.nodes().into_iter().filter(more).collect();
                    if next.is_subset(&reached) {
                        break;
                    }
                    reached.extend(next);
                }
                reached.extend(matrix.of(own).into_iter().flat_map(BTreeMap::keys));
                prop_assert_eq!(matrix.reachable(own), reached.clone());
                prop_assert_eq!(matrix.routes(own, None).len() + 1, reached.len());
            }
            prop_assert_eq!(matrix.reachable(id(40)), BTreeSet::new());
        }

        #[test]
        fn packets_arrive_by_every_nodes_own_choice(delays in delays()) {
            let matrix = matrix(&delays);
            let routes: Vec<Routes> = (0..delays.len()).map(|node| matrix.routes(id(node), None)).collect();
            for from in 0..delays.len() {
                prop_assert_eq!(routes[from].len() + 1, matrix.reachable(id(from)).len());
                for destination in routes[from].keys() {
                    let mut at = id(from);
                    for _ in 0..delays.len() {
                        if at == *destination {
                            break;
                        }
                        at = *routes[at.0 as usize - 1][destination].first().unwrap();
                    }
                    prop_assert_eq!(at, *destination);
                }
            }
        }

        #[test]
        fn a_groups_packet_reaches_each_once(delays in delays()) {
            let (matrix, group) = (matrix(&delays), NodeId(99));
            let routes: Vec<Routes> = (0..delays.len()).map(|node| matrix.routes(id(node), Some(group))).collect();
            for origin in 0..delays.len() {
                let mut reached = BTreeSet::from([id(origin)]);
                let mut copies = vec![(id(origin), id(origin))];
                while let Some((at, from)) = copies.pop() {
                    let own = &routes[at.0 as usize - 1];
                    for hop in own.get(&group).into_iter().flatten().filter(|hop| **hop != from && **hop != at) {
                        prop_assert!(reached.insert(*hop), "{} has it twice", hop);
                        copies.push((*hop, at));
                    }
                }
                prop_assert_eq!(reached, matrix.reachable(id(origin)));
            }
        }
    }
}
