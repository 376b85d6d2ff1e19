//! Parts of a graph, whole or after failures.

use super::Graph;
use std::collections::HashSet;

/// Which vertices hang together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Components {
    /// The component of each vertex; numbered by their lowest vertex. None for a vertex that was removed.
    of: Vec<Option<usize>>,
    count: usize,
}

/// What is removed from a graph before looking at what is left.
#[derive(Debug, Clone, Default)]
pub struct Without {
    /// Edges by index.
    pub edges: HashSet<usize>,
    /// Vertices by index.
    pub vertices: HashSet<usize>,
}

impl Graph {
    /// The connected components, edges taken both ways. Vertices that paths cannot lead through do join their
    /// neighbours here: a host between two routers is plugged into both.
    pub fn components(&self) -> Components {
        self.components_without(&Without::default())
    }

    /// The connected components of what is left after removing edges and vertices.
    pub fn components_without(&self, without: &Without) -> Components {
        let mut sets = DisjointSets::new(self.vertices());
        for (index, edge) in self.edges.iter().enumerate() {
            let [a, b] = edge.ends.map(|end| end as usize);
            let gone = without.edges.contains(&index)
                || without.vertices.contains(&a)
                || without.vertices.contains(&b);
            if !gone {
                sets.join(a, b);
            }
        }
        let mut of = vec![None; self.vertices()];
        let mut number = vec![None; self.vertices()];
        let mut count = 0;
        for vertex in (0..self.vertices()).filter(|vertex| !without.vertices.contains(vertex)) {
            let root = sets.root(vertex);
            let component = *number[root].get_or_insert_with(|| {
                count += 1;
                count - 1
            });
            of[vertex] = Some(component);
        }
        Components { of, count }
    }

    /// Whether every pair of vertices that is left can reach each other.
    pub fn is_connected_without(&self, without: &Without) -> bool {
        self.components_without(without).count() <= 1
    }
}

impl Components {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The component of a vertex; none when the vertex was removed.
    pub fn of(&self, vertex: usize) -> Option<usize> {
        self.of[vertex]
    }

    /// Whether two vertices are left and hang together.
    pub fn joined(&self, a: usize, b: usize) -> bool {
        self.of[a].is_some() && self.of[a] == self.of[b]
    }

    /// The vertices of each component, in order.
    pub fn members(&self) -> Vec<Vec<usize>> {
        let mut members = vec![Vec::new(); self.count];
        for (vertex, component) in self.of.iter().enumerate() {
            if let Some(component) = component {
                members[*component].push(vertex);
            }
        }
        members
    }
}

/// Tarjan's union-find (1975), with path halving and the lower index as root.
#[derive(Debug, Clone)]
pub(crate) struct DisjointSets {
    parent: Vec<usize>,
}

impl DisjointSets {
    pub fn new(count: usize) -> Self {
        Self { parent: (0..count).collect() }
    }

    pub fn root(&mut self, mut item: usize) -> usize {
        while self.parent[item] != item {
            self.parent[item] = self.parent[self.parent[item]];
            item = self.parent[item];
        }
        item
    }

    /// Joins two sets; false when they were one already.
    pub fn join(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        self.parent[a.max(b)] = a.min(b);
        a != b
    }
}
