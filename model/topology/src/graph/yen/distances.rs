//! How far vertices are from one of them, as far as anybody asked.

use crate::graph::{Distance, Graph};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Cost, then edges: even where edges cost nothing, every step towards the end makes it smaller.
pub(super) type Length = (Distance, u32);

pub(super) const UNREACHED: Length = (Distance::MAX, u32::MAX);

#[derive(Debug, Default)]
pub(super) struct Distances {
    pub length: Vec<Length>,
    /// Vertices by the sum of their distance and what is ahead.
    pub queue: BinaryHeap<Reverse<(Length, Length, u32)>>,
    root: usize,
    settled: usize,
}

pub(super) fn sum(a: Length, b: Length) -> Length {
    (a.0 + b.0, a.1 + b.1)
}

impl Distances {
    /// Forgets all, for distances to or from another vertex.
    pub fn begin(&mut self, graph: &Graph, root: usize) {
        self.length.clear();
        self.length.resize(graph.vertices(), UNREACHED);
        self.queue.clear();
        self.length[root] = (0, 0);
        self.queue.push(Reverse(((0, 0), (0, 0), root as u32)));
        self.root = root;
        self.settled = 0;
    }

    pub fn of(&self, vertex: usize) -> Option<Length> {
        Some(self.length[vertex]).filter(|&length| length != UNREACHED)
    }

    /// Goes on until so many vertices are known, or no others are near enough: those with the least sum of distance and
    /// what is ahead are first; those that nothing is known to be ahead of take no part. Paths lead through no vertex that
    /// forbids it, nor through that which is barred.
    pub fn go_on(
        &mut self,
        graph: &Graph,
        barred: Option<usize>,
        most: usize,
        until: Length,
        ahead: impl Fn(usize) -> Option<Length>,
    ) {
        while self.settled < most
            && let Some(&Reverse((sum_of_both, length, vertex))) = self.queue.peek()
            && sum_of_both < until
        {
            self.queue.pop();
            let at = vertex as usize;
            if length > self.length[at] {
                continue;
            }
            self.settled += 1;
            if at != self.root && !graph.is_transit(at) || barred == Some(at) {
                continue;
            }
            for arc in graph.arcs(at) {
                let further = sum(length, (arc.cost.into(), 1));
                let known = &mut self.length[arc.to as usize];
                if further < *known
                    && let Some(ahead) = ahead(arc.to as usize)
                {
                    *known = further;
                    self.queue.push(Reverse((sum(further, ahead), further, arc.to)));
                }
            }
        }
    }
}
