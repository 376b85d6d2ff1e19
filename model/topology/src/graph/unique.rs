//! Paths that are the only shortest ones.

use super::rows::{Rows, has};
use super::{Distance, Graph};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Tells which paths are the only shortest ones between their ends: those that packets take whichever of equally short
/// ways their routers choose.
#[derive(Debug)]
pub struct UniquePaths<'a> {
    graph: &'a Graph,
    rows: Option<Rows>,
    /// Of each vertex that paths were asked to begin at.
    from: Vec<Option<Box<Search>>>,
}

const NOWHERE: u32 = u32::MAX;
const SEVERAL: u32 = u32::MAX - 1;

/// Dijkstra's algorithm from a vertex, as far as it was needed.
#[derive(Debug)]
struct Search {
    /// How far each vertex is, and from where the shortest paths come to it.
    reached: Box<[(Distance, u32)]>,
    queue: BinaryHeap<Reverse<(Distance, u32)>>,
}

impl<'a> UniquePaths<'a> {
    /// For paths of a graph.
    pub fn new(graph: &'a Graph) -> Self {
        Self { graph, rows: Rows::new(graph), from: (0..graph.vertices()).map(|_| None).collect() }
    }

    /// Whether a path, told by its vertices, is the only shortest one between its ends. Parallel edges are one way; a path
    /// without edges is.
    ///
    /// Where paths have more than two edges or edges cost differently, what is nearer to the first vertex than the last is
    /// searched, once for all paths from there: 16 V bytes for each such vertex.
    ///
    /// With edges that cost nothing in a circle, a path may be said not to be the only one though it is; never the
    /// other way round.
    pub fn is_unique(&mut self, path: &[usize]) -> bool {
        match (path, &self.rows) {
            ([] | [_], _) => true,
            (&[from, to], Some(rows)) => from != to && has(rows.from(from), to),
            (&[from, through, to], Some(rows)) => {
                let loops = has(rows.from(from), from) || has(rows.from(to), to);
                if loops || from == to {
                    return self.is_only_way(path);
                }
                let only = |sets: ((&u64, &u64), &u64)| sets.0.0 & sets.0.1 & sets.1;
                let between = || rows.from(from).iter().zip(rows.to(to)).zip(&rows.transit).map(only);
                !has(rows.from(from), to)
                    && between().map(u64::count_ones).sum::<u32>() == 1
                    && between().nth(through / 64).is_some_and(|word| word >> (through % 64) & 1 == 1)
            }
            _ => self.is_only_way(path),
        }
    }

    fn is_only_way(&mut self, path: &[usize]) -> bool {
        let (from, to) = (path[0], path[path.len() - 1]);
        let Some(cost) = self.graph.cost_of(path).filter(|_| from != to) else { return false };
        let graph = self.graph;
        let search = self.from[from].get_or_insert_with(|| Box::new(Search::new(graph, from)));
        search.reach(graph, from, cost);
        search.reached[to].0 == cost
            && path.windows(2).all(|step| search.reached[step[1]].1 as usize == step[0])
    }
}

impl Graph {
    /// What a path costs that is told by its vertices; none when it is no path.
    fn cost_of(&self, path: &[usize]) -> Option<Distance> {
        let step = |step: &[usize]| {
            let arcs = self.arcs(step[0]).iter().filter(|arc| arc.to as usize == step[1]);
            arcs.map(|arc| Distance::from(arc.cost)).min()
        };
        path.windows(2).map(step).sum()
    }
}

impl Search {
    fn new(graph: &Graph, from: usize) -> Self {
        let mut reached = vec![(Distance::MAX, NOWHERE); graph.vertices()].into_boxed_slice();
        reached[from].0 = 0;
        Self { reached, queue: BinaryHeap::from([Reverse((0, from as u32))]) }
    }

    /// Goes on until everything up to a distance is known.
    fn reach(&mut self, graph: &Graph, from: usize, most: Distance) {
        while let Some(&Reverse((distance, vertex))) = self.queue.peek()
            && distance <= most
        {
            self.queue.pop();
            let at = vertex as usize;
            if distance > self.reached[at].0 || !(graph.is_transit(at) || at == from) {
                continue;
            }
            for arc in graph.arcs(at).iter().filter(|arc| arc.to != vertex && arc.to as usize != from) {
                let through = distance + Distance::from(arc.cost);
                let (known, before) = &mut self.reached[arc.to as usize];
                if through < *known {
                    (*known, *before) = (through, vertex);
                    self.queue.push(Reverse((through, arc.to)));
                } else if through == *known && *before != vertex {
                    *before = SEVERAL;
                }
            }
        }
    }
}
