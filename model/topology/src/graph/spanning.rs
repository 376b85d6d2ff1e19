//! Minimum spanning trees by Kruskal's algorithm (1956).

use super::Graph;
use super::components::DisjointSets;

/// A minimum spanning tree of every component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanningForest {
    /// The edges of the trees, by index, in ascending order.
    pub edges: Vec<usize>,
    /// The sum of their costs.
    pub cost: u64,
}

impl Graph {
    /// The cheapest set of edges that joins all that can be joined, in O(E log E). An edge counts with the lower of its
    /// two costs; of equal ones the first added wins.
    pub fn minimum_spanning_forest(&self) -> SpanningForest {
        let cost = |index: usize| {
            self.edges[index].costs.iter().flatten().min().copied().map_or(u64::MAX, u64::from)
        };
        let mut by_cost: Vec<usize> = (0..self.edges.len()).collect();
        by_cost.sort_by_key(|&index| (cost(index), index));
        let mut sets = DisjointSets::new(self.vertices());
        let mut edges: Vec<usize> = by_cost
            .into_iter()
            .filter(|&index| {
                let [a, b] = self.edges[index].ends;
                sets.join(a as usize, b as usize)
            })
            .collect();
        edges.sort_unstable();
        SpanningForest { cost: edges.iter().map(|&index| cost(index)).sum(), edges }
    }
}
