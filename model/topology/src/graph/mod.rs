//! Graphs and the algorithms over them that all rooms share.
//!
//! Read in this order:
//!
//! 1. [`Graph`] – vertices by index, edges with a cost for each direction, parallel edges kept;
//! 2. [`Graph::of_network`] – the graph a network makes: hosts end paths, switches and LANs join their members;
//! 3. [`ShortestPaths`] – from one vertex, or from each in turn; and the sets of equally short first hops;
//! 4. [`Graph::k_shortest_paths`], [`PathFinder`] – Yen's loop-free paths;
//! 5. [`UniquePaths`] – which paths are the only shortest ones between their ends;
//! 6. [`Graph::minimum_spanning_forest`], [`Graph::components`], [`Without`] – trees, parts, and what is left after
//!    a failure.
//!
//! Every result is a function of the graph alone: ties are broken by the lower index, never by a hash or an address.

mod balls;
pub(crate) mod components;
mod network;
mod next_hops;
mod rows;
mod shortest;
mod spanning;
mod unique;
mod yen;

pub use components::{Components, Without};
pub use next_hops::NextHops;
pub use shortest::{Distance, ShortestPaths};
pub use spanning::SpanningForest;
pub use unique::UniquePaths;
pub use yen::{Path, PathFinder};

/// A step along an edge, out of one vertex into another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Arc {
    /// Where it leads.
    pub to: u32,
    /// What it costs.
    pub cost: u32,
    /// The edge it runs along.
    pub edge: u32,
}

/// An edge as it was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Edge {
    /// Its two ends.
    pub ends: [u32; 2],
    /// The cost from end 0 to end 1, and back; none where the edge cannot be walked that way.
    pub costs: [Option<u32>; 2],
}

/// A graph in compressed rows: the arcs out of a vertex lie side by side, in the order their edges were added.
#[derive(Debug, Clone)]
pub struct Graph {
    /// Where the arcs of each vertex begin, and one past the last.
    first: Vec<u32>,
    arcs: Vec<Arc>,
    edges: Vec<Edge>,
    /// Whether a path may lead through the vertex.
    transit: Vec<bool>,
    /// The cost of every arc, when they all cost the same and more than nothing.
    uniform: Option<u32>,
}

/// Collects the edges of a [`Graph`].
#[derive(Debug, Clone)]
pub struct GraphBuilder {
    edges: Vec<Edge>,
    transit: Vec<bool>,
}

impl GraphBuilder {
    /// A graph of `vertices` vertices without edges.
    ///
    /// # Panics
    /// With 2³² vertices or more.
    pub fn new(vertices: usize) -> Self {
        assert!(u32::try_from(vertices).is_ok(), "a graph holds fewer than 2^32 vertices");
        Self { edges: Vec::new(), transit: vec![true; vertices] }
    }

    /// Adds an edge that costs the same both ways, and gives its index.
    pub fn edge(&mut self, a: usize, b: usize, cost: u32) -> usize {
        self.edge_with(a, b, [Some(cost), Some(cost)])
    }

    /// Adds an edge that can be walked from `a` to `b` only.
    pub fn directed_edge(&mut self, a: usize, b: usize, cost: u32) -> usize {
        self.edge_with(a, b, [Some(cost), None])
    }

    /// Adds an edge with a cost from `a` to `b` and one back.
    ///
    /// # Panics
    /// When an end is not a vertex of the graph.
    pub fn edge_with(&mut self, a: usize, b: usize, costs: [Option<u32>; 2]) -> usize {
        let vertices = self.transit.len();
        assert!(a < vertices && b < vertices, "edge {a}-{b} in a graph of {vertices} vertices");
        self.edges.push(Edge { ends: [a as u32, b as u32], costs });
        self.edges.len() - 1
    }

    /// Makes paths end at a vertex: they may start or end there, but not lead through it.
    pub fn no_transit(&mut self, vertex: usize) {
        self.transit[vertex] = false;
    }

    /// The graph.
    pub fn build(self) -> Graph {
        let Self { edges, transit } = self;
        let mut first = vec![0u32; transit.len() + 1];
        let walkable = |edge: &Edge| {
            let Edge { ends: [a, b], costs: [there, back] } = *edge;
            // A loop edge runs both ways between the same vertex; one arc says all of it.
            [there.map(|cost| (a, b, cost)), back.filter(|_| a != b).map(|cost| (b, a, cost))]
        };
        for (from, ..) in edges.iter().flat_map(walkable).flatten() {
            first[from as usize + 1] += 1;
        }
        for vertex in 0..transit.len() {
            first[vertex + 1] += first[vertex];
        }
        let mut next = first.clone();
        let blank = Arc { to: 0, cost: 0, edge: 0 };
        let mut arcs = vec![blank; first[transit.len()] as usize];
        for (index, edge) in edges.iter().enumerate() {
            for (from, to, cost) in walkable(edge).into_iter().flatten() {
                let slot = &mut next[from as usize];
                arcs[*slot as usize] = Arc { to, cost, edge: index as u32 };
                *slot += 1;
            }
        }
        let uniform = arcs
            .first()
            .map(|arc| arc.cost)
            .filter(|&cost| cost > 0 && arcs.iter().all(|arc| arc.cost == cost));
        Graph { first, arcs, edges, transit, uniform }
    }
}

impl Graph {
    /// A graph of undirected edges `(a, b, cost)`.
    pub fn undirected(vertices: usize, edges: impl IntoIterator<Item = (usize, usize, u32)>) -> Self {
        let mut builder = GraphBuilder::new(vertices);
        for (a, b, cost) in edges {
            builder.edge(a, b, cost);
        }
        builder.build()
    }

    /// A graph of directed edges `(from, to, cost)`.
    pub fn directed(vertices: usize, edges: impl IntoIterator<Item = (usize, usize, u32)>) -> Self {
        let mut builder = GraphBuilder::new(vertices);
        for (a, b, cost) in edges {
            builder.directed_edge(a, b, cost);
        }
        builder.build()
    }

    /// How many vertices there are.
    pub fn vertices(&self) -> usize {
        self.transit.len()
    }

    /// The edges in the order they were added.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The arcs out of a vertex, in the order their edges were added.
    #[inline]
    pub fn arcs(&self, vertex: usize) -> &[Arc] {
        &self.arcs[self.first[vertex] as usize..self.first[vertex + 1] as usize]
    }

    /// Whether a path may lead through a vertex.
    pub fn is_transit(&self, vertex: usize) -> bool {
        self.transit[vertex]
    }

    /// The same vertices with every edge turned round.
    pub fn reversed(&self) -> Self {
        let mut builder = GraphBuilder { edges: self.edges.clone(), transit: self.transit.clone() };
        for edge in &mut builder.edges {
            edge.costs.swap(0, 1);
            // An edge that only leads back is an edge that leads there from its other end; a loop stays as it is.
            if edge.costs[0].is_none() {
                edge.costs.swap(0, 1);
                edge.ends.swap(0, 1);
            }
        }
        builder.build()
    }
}
