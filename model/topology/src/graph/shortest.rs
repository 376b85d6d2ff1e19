//! Shortest paths from one vertex: breadth first where all costs are equal, else Dijkstra's algorithm (1959).

use super::Graph;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The sum of costs along a path. 64 bits hold 2³² steps of the highest cost.
pub type Distance = u64;

const UNREACHED: Distance = Distance::MAX;

/// How far every vertex is from one of them.
#[derive(Debug, Clone)]
pub struct ShortestPaths {
    source: usize,
    distance: Vec<Distance>,
    /// The vertices that can be reached, nearest first, each after all that precede it on a shortest path.
    order: Vec<u32>,
}

impl Graph {
    /// Shortest paths from one vertex to all others: O(V + E) when all costs are equal, else O((V + E) log V).
    pub fn shortest_paths(&self, source: usize) -> ShortestPaths {
        let mut paths =
            ShortestPaths { source, distance: vec![UNREACHED; self.vertices()], order: Vec::new() };
        paths.distance[source] = 0;
        match self.uniform {
            Some(cost) => breadth_first(self, Distance::from(cost), &mut paths),
            None => dijkstra(self, &mut paths),
        }
        paths
    }

    /// Shortest paths from every vertex in turn. The pairs are never held at once: 5,000 vertices would be 200 MB.
    pub fn all_shortest_paths(&self) -> impl Iterator<Item = ShortestPaths> + '_ {
        (0..self.vertices()).map(|source| self.shortest_paths(source))
    }

    /// Whether paths that begin at the source go on from a vertex.
    #[inline]
    pub(super) fn expands(&self, vertex: usize, source: usize) -> bool {
        self.transit[vertex] || vertex == source
    }
}

fn breadth_first(graph: &Graph, cost: Distance, paths: &mut ShortestPaths) {
    paths.order.reserve(graph.vertices());
    paths.order.push(paths.source as u32);
    let mut at = 0;
    while let Some(&vertex) = paths.order.get(at) {
        at += 1;
        let vertex = vertex as usize;
        if !graph.expands(vertex, paths.source) {
            continue;
        }
        let distance = paths.distance[vertex] + cost;
        for arc in graph.arcs(vertex) {
            let known = &mut paths.distance[arc.to as usize];
            if *known == UNREACHED {
                *known = distance;
                paths.order.push(arc.to);
            }
        }
    }
}

fn dijkstra(graph: &Graph, paths: &mut ShortestPaths) {
    let mut settled = vec![false; graph.vertices()];
    let mut queue = BinaryHeap::from([Reverse((0, paths.source as u32))]);
    while let Some(Reverse((distance, vertex))) = queue.pop() {
        let vertex = vertex as usize;
        if std::mem::replace(&mut settled[vertex], true) {
            continue;
        }
        paths.order.push(vertex as u32);
        if !graph.expands(vertex, paths.source) {
            continue;
        }
        for arc in graph.arcs(vertex) {
            let through = distance + Distance::from(arc.cost);
            let known = &mut paths.distance[arc.to as usize];
            if through < *known {
                *known = through;
                queue.push(Reverse((through, arc.to)));
            }
        }
    }
}

impl ShortestPaths {
    /// Where the paths begin.
    pub fn source(&self) -> usize {
        self.source
    }

    /// The cost of the shortest path to a vertex; none when there is no path.
    #[inline]
    pub fn distance(&self, vertex: usize) -> Option<Distance> {
        let distance = self.distance[vertex];
        (distance != UNREACHED).then_some(distance)
    }

    /// The vertices that can be reached, the source first, then by distance.
    pub fn reached(&self) -> impl Iterator<Item = usize> + '_ {
        self.order.iter().map(|&vertex| vertex as usize)
    }

    /// The longest of the shortest paths: the source's eccentricity among what it reaches.
    pub fn eccentricity(&self) -> Distance {
        self.order.last().map_or(0, |&vertex| self.distance[vertex as usize])
    }

    /// Whether an arc out of `vertex` lies on a shortest path from the source.
    #[inline]
    pub fn is_tight(&self, graph: &Graph, vertex: usize, arc: super::Arc) -> bool {
        let distance = self.distance[vertex];
        distance != UNREACHED
            && graph.expands(vertex, self.source)
            && self.distance[arc.to as usize] == distance + Distance::from(arc.cost)
    }
}
