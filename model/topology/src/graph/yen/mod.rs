//! The k shortest loop-free paths (Yen, "Finding the k shortest loopless paths in a network", 1971).
//!
//! What is found is told by the graph alone: paths in order of cost, then of fewer edges, then of lower vertices from
//! the first that differs, then of lower edges. There is one such list for every k, so that a graph in which something
//! elsewhere changed has the same one.
//!
//! 1. [`PathFinder`] – takes a graph apart once, for many searches;
//! 2. `uniform` – where all edges cost the same: paths of one length after another, by sets of vertices;
//! 3. `sidetracks` – any costs, where few short ways have loops: backwards from the end, by how much longer each step makes it;
//! 4. `lawler` – any costs: Yen's partition with Lawler's modification, looked into no deeper than needed.

mod distances;
mod lawler;
mod sidetracks;
mod uniform;

use super::{Distance, Graph};
use lawler::Lawler;
use sidetracks::Sidetracks;
use uniform::Uniform;

/// A path without loops.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path {
    /// The sum of its costs.
    pub cost: Distance,
    /// The vertices it visits, both ends included.
    pub vertices: Vec<usize>,
    /// The edges it runs along, one fewer than the vertices.
    pub edges: Vec<usize>,
}

/// Finds k shortest loop-free paths in one graph, to one destination after another.
#[derive(Debug)]
pub struct PathFinder<'a> {
    graph: &'a Graph,
    uniform: Option<Uniform<'a>>,
    /// Made when they are first needed.
    sidetracks: Option<Sidetracks<'a>>,
    lawler: Option<Lawler<'a>>,
}

impl Graph {
    /// Up to `k` loop-free paths: the cheapest first, of equally cheap ones that with the fewest edges, of these that
    /// with the lowest vertices. Parallel edges make different paths. For several searches in one graph a
    /// [`PathFinder`] is faster.
    pub fn k_shortest_paths(&self, from: usize, to: usize, k: usize) -> Vec<Path> {
        PathFinder::new(self).k_shortest_paths(from, to, k)
    }
}

impl<'a> PathFinder<'a> {
    /// For searches in a graph. O(V + E), and V²/8 bytes for a graph of up to 4,096 vertices whose edges cost all the
    /// same.
    pub fn new(graph: &'a Graph) -> Self {
        Self { graph, uniform: Uniform::new(graph), sidetracks: None, lawler: None }
    }

    /// What [`Graph::k_shortest_paths`] gives. O(k V (E + V log V)) in the worst case, as Yen's; where all edges cost
    /// the same and there are many short paths, near the length of the answer.
    pub fn k_shortest_paths(&mut self, from: usize, to: usize, k: usize) -> Vec<Path> {
        if k == 0 {
            return Vec::new();
        }
        if from == to {
            return vec![Path { cost: 0, vertices: vec![from], edges: Vec::new() }];
        }
        let graph = self.graph;
        let found = self.uniform.as_mut().and_then(|uniform| uniform.search(from, to, k));
        let sidetracks = &mut self.sidetracks;
        let found =
            found.or_else(|| sidetracks.get_or_insert_with(|| Sidetracks::new(graph)).search(from, to, k));
        found.unwrap_or_else(|| self.lawler.get_or_insert_with(|| Lawler::new(graph)).search(from, to, k))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn searches_for_any_costs_find_the_same(
            edges in prop::collection::vec((0..40usize, 0..40usize, 0..12u32), 20..200),
            hosts in prop::collection::vec(any::<bool>(), 8),
            k in 1..20usize,
        ) {
            let mut builder = crate::graph::GraphBuilder::new(40);
            for (a, b, cost) in edges {
                builder.edge(a, b, cost);
            }
            (0..8).filter(|&host| hosts[host]).for_each(|host| builder.no_transit(host * 5));
            let graph = builder.build();
            let (mut lawler, mut sidetracks) = (Lawler::new(&graph), Sidetracks::new(&graph));
            let mut found = 0;
            for (from, to) in (0..4).flat_map(|from| (20..40).map(move |to| (from, to))) {
                if let Some(paths) = sidetracks.search(from, to, k) {
                    prop_assert_eq!(lawler.search(from, to, k), paths);
                    found += 1;
                }
            }
            prop_assert!(found > 0, "it gives up on each");
        }
    }
}
