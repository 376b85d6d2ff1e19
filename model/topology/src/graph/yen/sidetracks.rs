//! Any costs, where most ways that are short have no loop: paths are told off one after another, backwards from their end.
//!
//! A *part* is the rest of a path from one of its vertices on. How far each vertex is from the beginning, one search says for all
//! ends; so the least length of a path with a given part is known, and is that of the path unless it has a loop. The part with the
//! least is taken next. It goes on by the best way into its vertex, and where it came by one way, another part comes by the next
//! best: so that what is looked at is about as much as what is found. The ways into a vertex are put in order once, for all ends.
//!
//! Parts with a loop go on no further. Where there are many, or many paths of one length, the search gives up, and Lawler's takes
//! over, which is never in vain.
//!
//! Source: ways as detours from the tree of shortest paths are Eppstein's ("Finding the k shortest paths", 1998).

use super::Path;
use super::distances::{Distances, Length, UNREACHED, sum};
use crate::graph::Graph;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Steps before the search gives up, and further ones for each path asked for: parts that are taken, and their vertices by fours.
/// Choice: about half the time that Lawler's search takes for a few paths.
const STEPS: (usize, usize) = (512, 128);
/// Steps at most, however many paths are asked for: parts are kept.
const MOST: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Sidetracks<'a> {
    graph: &'a Graph,
    reversed: Graph,
    /// From the vertex that paths were last asked from, which is that.
    from_start: Distances,
    start: Option<usize>,
    /// Ways into each vertex, the best first, of vertices of which anybody asked.
    into: Vec<Option<Box<[Way]>>>,
    parts: Vec<Part>,
    queue: BinaryHeap<Reverse<(Length, u32)>>,
}

/// A way into a vertex, by the length of the shortest from the beginning that comes by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Way {
    least: Length,
    from: u32,
    edge: u32,
    cost: u32,
}

#[derive(Debug, Clone, Copy)]
struct Part {
    vertex: u32,
    /// The edge out of it, the rest of the part behind that, and which of the ways into the rest's first vertex that is.
    edge: u32,
    rest: u32,
    way: u32,
    length: Length,
    /// How many edges it has.
    steps: u32,
}

/// The rest of the part that is the end alone.
const NOTHING: u32 = u32::MAX;

impl<'a> Sidetracks<'a> {
    pub fn new(graph: &'a Graph) -> Self {
        Self {
            graph,
            reversed: graph.reversed(),
            from_start: Distances::default(),
            start: None,
            into: Vec::new(),
            parts: Vec::new(),
            queue: BinaryHeap::new(),
        }
    }

    /// The k shortest paths, or all there are; none when they are not found within a bounded number of steps.
    pub fn search(&mut self, from: usize, to: usize, k: usize) -> Option<Vec<Path>> {
        if self.start != Some(from) {
            self.start = Some(from);
            self.from_start.begin(self.graph, from);
            self.from_start.go_on(self.graph, None, usize::MAX, UNREACHED, |_| Some((0, 0)));
            self.into.clear();
            self.into.resize(self.graph.vertices(), None);
        }
        let Some(least) = self.from_start.of(to) else { return Some(Vec::new()) };
        self.parts.clear();
        self.queue.clear();
        self.parts.push(Part { vertex: to as u32, edge: 0, rest: NOTHING, way: 0, length: (0, 0), steps: 0 });
        self.queue.push(Reverse((least, 0)));
        let mut found: Vec<(Length, u32)> = Vec::new();
        let mut left = STEPS.0.saturating_add(k.saturating_mul(STEPS.1)).min(MOST);
        while let Some(Reverse((least, number))) = self.queue.pop() {
            // Of equally long paths it is their vertices that say which are the first, so that all of them are needed.
            if found.get(k - 1).is_some_and(|(last, _)| least > *last) {
                break;
            }
            let part = self.parts[number as usize];
            left = left.checked_sub(1 + part.steps as usize / 4)?;
            if part.rest != NOTHING {
                self.go_on(part.rest, part.way + 1);
            }
            if part.vertex as usize == from {
                found.push((least, number));
            } else if !self.has_loop(part) {
                self.go_on(number, 0);
            }
        }
        let mut paths: Vec<Path> =
            found.into_iter().map(|(length, number)| self.path(length, number)).collect();
        paths.sort_unstable_by(|a, b| {
            let key = |path: &'_ Path| (path.cost, path.edges.len());
            key(a).cmp(&key(b)).then_with(|| (&a.vertices, &a.edges).cmp(&(&b.vertices, &b.edges)))
        });
        paths.truncate(k);
        Some(paths)
    }

    /// The part that comes to a part by one of the ways into its vertex, if there are so many.
    fn go_on(&mut self, rest: u32, way: u32) {
        let Part { vertex, length, steps, .. } = self.parts[rest as usize];
        let Some(Way { least, from, edge, cost }) = self.ways(vertex as usize).get(way as usize).copied()
        else {
            return;
        };
        self.queue.push(Reverse((sum(least, length), self.parts.len() as u32)));
        let length = sum(length, (cost.into(), 1));
        self.parts.push(Part { vertex: from, edge, rest, way, length, steps: steps + 1 });
    }

    /// The ways into a vertex that paths may take.
    fn ways(&mut self, vertex: usize) -> &[Way] {
        let Self { graph, reversed, from_start, start, into, .. } = self;
        into[vertex].get_or_insert_with(|| {
            let way = |arc: &crate::graph::Arc| {
                let from = arc.to as usize;
                let may_be = from != vertex && (*start == Some(from) || graph.is_transit(from));
                let far = from_start.of(from).filter(|_| may_be)?;
                let least = sum(far, (arc.cost.into(), 1));
                Some(Way { least, from: arc.to, edge: arc.edge, cost: arc.cost })
            };
            let mut ways: Vec<Way> = reversed.arcs(vertex).iter().filter_map(way).collect();
            ways.sort_unstable();
            ways.into()
        })
    }

    /// Whether a part visits its first vertex again.
    fn has_loop(&self, part: Part) -> bool {
        let mut rest = part.rest;
        while let Some(further) = self.parts.get(rest as usize) {
            if further.vertex == part.vertex {
                return true;
            }
            rest = further.rest;
        }
        false
    }

    fn path(&self, (cost, _): Length, number: u32) -> Path {
        let mut part = self.parts[number as usize];
        let (mut vertices, mut edges) = (vec![part.vertex as usize], Vec::new());
        while let Some(rest) = self.parts.get(part.rest as usize) {
            edges.push(part.edge as usize);
            vertices.push(rest.vertex as usize);
            part = *rest;
        }
        Path { cost, vertices, edges }
    }
}
