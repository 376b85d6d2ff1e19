//! Yen's algorithm for any costs, with Lawler's modification (1972) and lazy detours.
//!
//! A *branch* is all paths that begin alike and do not go on by certain edges. The best path of a branch found, the rest
//! of it are smaller branches, one for each vertex behind which a path may leave it. The distances of vertices to the end
//! bound from below how long the paths of a branch are; a branch is looked into when it is its turn, and nearly always the
//! bound is met by walking down these distances. Only where a vertex of the beginning is in the way are distances computed
//! anew without it.
//!
//! Distances to the end are found backwards from it, those vertices first that lie on the shortest ways from the beginning
//! (A*, Hart, Nilsson and Raphael 1968, with the true distances from the beginning, which one search gives for all ends). At
//! first only a few vertices take part. No path through others is shorter than the *horizon*, so that paths within it are
//! the shortest there are; where they are too few, twice as many vertices take part.

use super::Path;
use super::distances::{Distances, Length, UNREACHED, sum};
use crate::graph::{Distance, Graph};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Step {
    to: u32,
    edge: u32,
    cost: u32,
}

#[derive(Debug)]
pub(super) struct Lawler<'a> {
    graph: &'a Graph,
    reversed: Graph,
    /// The arcs out of each vertex, lower vertices first, and where those of each begin.
    steps: Vec<Step>,
    first: Vec<usize>,
    /// From the vertex that paths were last asked from, which is that.
    from_start: Distances,
    start: Option<usize>,
    to_end: Distances,
    /// To the end without some vertices.
    around: Distances,
    /// The length of the paths that may be missed.
    horizon: Length,
    /// Vertices of the beginning of the branch that is looked into: a stamp that is its number.
    taken: Marks,
    /// Vertices from which no walk leads to the end.
    dead: Marks,
}

/// So many vertices take part at first. Choice: a few times those of the eight shortest paths in random graphs.
const FIRST: usize = 64;

/// A set of vertices that is emptied by counting.
#[derive(Debug)]
struct Marks {
    stamps: Vec<u32>,
    now: u32,
}

impl Marks {
    fn new(vertices: usize) -> Self {
        Self { stamps: vec![0; vertices], now: 0 }
    }

    fn clear(&mut self) {
        self.now = self.now.checked_add(1).unwrap_or_else(|| {
            self.stamps.fill(0);
            1
        });
    }

    fn put(&mut self, vertex: usize) {
        self.stamps[vertex] = self.now;
    }

    fn has(&self, vertex: usize) -> bool {
        self.stamps[vertex] == self.now
    }
}

/// Paths that begin so, and go on by none of some edges.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Branch {
    vertices: Vec<usize>,
    edges: Vec<usize>,
    length: Length,
    without: Vec<usize>,
}

/// The best path of a branch. Ordered as paths are.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    length: Length,
    vertices: Vec<usize>,
    edges: Vec<usize>,
    /// Where it left an earlier one, and the edges that are taken there.
    leaves_at: usize,
    without: Vec<usize>,
}

impl<'a> Lawler<'a> {
    pub fn new(graph: &'a Graph) -> Self {
        let mut steps = Vec::with_capacity(graph.edges().len() * 2);
        let mut first = vec![0];
        for vertex in 0..graph.vertices() {
            let from = steps.len();
            let arcs = graph.arcs(vertex).iter().filter(|arc| arc.to as usize != vertex);
            steps.extend(arcs.map(|arc| Step { to: arc.to, edge: arc.edge, cost: arc.cost }));
            steps[from..].sort_unstable();
            first.push(steps.len());
        }
        Self {
            graph,
            reversed: graph.reversed(),
            steps,
            first,
            from_start: Distances::default(),
            start: None,
            to_end: Distances::default(),
            around: Distances::default(),
            horizon: UNREACHED,
            taken: Marks::new(graph.vertices()),
            dead: Marks::new(graph.vertices()),
        }
    }

    pub fn search(&mut self, from: usize, to: usize, k: usize) -> Vec<Path> {
        if self.start != Some(from) {
            self.start = Some(from);
            self.from_start.begin(self.graph, from);
            self.from_start.go_on(self.graph, None, usize::MAX, UNREACHED, |_| Some((0, 0)));
        }
        self.to_end.begin(&self.reversed, to);
        let mut most = FIRST;
        loop {
            let start = &self.from_start;
            self.to_end.go_on(&self.reversed, Some(from), most, UNREACHED, |vertex| start.of(vertex));
            // All that is still to be looked at lies on no shorter path.
            self.horizon = self.to_end.queue.peek().map_or(UNREACHED, |Reverse((through, ..))| *through);
            let found = self.within(from, to, k);
            if found.len() == k || self.horizon == UNREACHED {
                return found;
            }
            most = most.saturating_mul(2);
        }
    }

    /// The k shortest paths, as far as they are shorter than the horizon.
    fn within(&mut self, from: usize, to: usize, k: usize) -> Vec<Path> {
        let whole = Branch { vertices: vec![from], edges: Vec::new(), length: (0, 0), without: Vec::new() };
        let mut open = BinaryHeap::new();
        open.extend(self.bounded(whole, to));
        let mut ready = BinaryHeap::<Reverse<Candidate>>::new();
        let mut found = Vec::new();
        while found.len() < k {
            // What may be as short as the best so far is looked into before that is taken.
            while let Some(Reverse((bound, _))) = open.peek()
                && ready.peek().is_none_or(|Reverse(best)| *bound <= best.length)
            {
                let Some(Reverse((bound, branch))) = open.pop() else { break };
                ready.extend(self.best(branch, bound, to).map(Reverse));
            }
            let Some(Reverse(best)) = ready.pop() else { break };
            let mut length = (0, 0);
            for at in 0..best.edges.len() {
                if at >= best.leaves_at {
                    let mut without = vec![best.edges[at]];
                    if at == best.leaves_at {
                        without.extend(&best.without);
                    }
                    let vertices = best.vertices[..=at].to_vec();
                    let edges = best.edges[..at].to_vec();
                    open.extend(self.bounded(Branch { vertices, edges, length, without }, to));
                }
                length = self.behind(length, best.vertices[at], best.edges[at]);
            }
            found.push(Path { cost: best.length.0, vertices: best.vertices, edges: best.edges });
        }
        found
    }

    fn steps(&self, vertex: usize) -> &[Step] {
        &self.steps[self.first[vertex]..self.first[vertex + 1]]
    }

    fn behind(&self, (cost, edges): Length, vertex: usize, edge: usize) -> Length {
        let step = self.steps(vertex).iter().find(|step| step.edge as usize == edge);
        (cost + Distance::from(step.expect("a path walks along arcs").cost), edges + 1)
    }

    /// A branch with the least length that its paths may have; none when none leads to the end.
    fn bounded(&mut self, branch: Branch, to: usize) -> Option<Reverse<(Length, Branch)>> {
        self.enter(&branch);
        let least = self.firsts(&branch, to).map(|step| through(step, &self.to_end)).min()?;
        self.may_be(branch.length, least).then(|| Reverse((sum(branch.length, least), branch)))
    }

    /// Whether a path whose beginning and rest are so long is within the horizon.
    fn may_be(&self, beginning: Length, rest: Length) -> bool {
        rest != UNREACHED && sum(beginning, rest) < self.horizon
    }

    /// Takes the vertices of a branch's beginning out of the graph.
    fn enter(&mut self, branch: &Branch) {
        self.taken.clear();
        branch.vertices.iter().for_each(|&vertex| self.taken.put(vertex));
    }

    /// The ways a branch may go on, lower vertices first.
    fn firsts<'b>(&'b self, branch: &'b Branch, to: usize) -> impl Iterator<Item = Step> + 'b {
        let at = *branch.vertices.last().expect("a branch has a beginning");
        let steps = self.steps(at).iter().copied();
        steps
            .filter(move |step| self.may_enter(step.to as usize, to))
            .filter(|step| !branch.without.contains(&(step.edge as usize)))
    }

    fn may_enter(&self, vertex: usize, to: usize) -> bool {
        !self.taken.has(vertex) && (vertex == to || self.graph.is_transit(vertex))
    }

    /// The best path of a branch whose paths are at least as long as the bound.
    fn best(&mut self, branch: Branch, bound: Length, to: usize) -> Option<Candidate> {
        self.enter(&branch);
        self.dead.clear();
        let (mut length, mut rest) = (bound, self.descend(&branch, bound, to));
        if rest.is_none() {
            // The vertices of the beginning are in the way of all paths that are as short as the bound.
            let mut around = std::mem::take(&mut self.around);
            around.begin(&self.reversed, to);
            let free = |vertex| self.from_start.of(vertex).filter(|_| !self.taken.has(vertex));
            around.go_on(&self.reversed, None, usize::MAX, self.horizon, free);
            let least = self.firsts(&branch, to).map(|step| through(step, &around)).min();
            self.around = around;
            length = sum(branch.length, least.filter(|&least| self.may_be(branch.length, least))?);
            std::mem::swap(&mut self.around, &mut self.to_end);
            rest = self.descend(&branch, length, to);
            std::mem::swap(&mut self.around, &mut self.to_end);
        }
        let leaves_at = branch.edges.len();
        let Branch { mut vertices, mut edges, without, .. } = branch;
        for step in rest? {
            vertices.push(step.to as usize);
            edges.push(step.edge as usize);
        }
        Some(Candidate { length, vertices, edges, leaves_at, without })
    }

    /// The path of a branch that has this length and the lowest vertices, as each of its steps must come nearer to the end
    /// by its length. Every vertex is left at most once in vain.
    fn descend(&mut self, branch: &Branch, length: Length, to: usize) -> Option<Vec<Step>> {
        self.dead.clear();
        let firsts: Vec<Step> = self
            .firsts(branch, to)
            .filter(|&step| {
                let least = through(step, &self.to_end);
                least != UNREACHED && sum(branch.length, least) == length
            })
            .collect();
        for first in firsts {
            if self.dead.has(first.to as usize) {
                continue;
            }
            let mut path = vec![first];
            let mut at = vec![0];
            while let Some(&here) = path.last() {
                let vertex = here.to as usize;
                if vertex == to {
                    return Some(path);
                }
                let place = at.last_mut().expect("as long as the path");
                let next = self.steps(vertex)[*place..].iter().position(|&step| {
                    self.may_enter(step.to as usize, to)
                        && !self.dead.has(step.to as usize)
                        && through(step, &self.to_end) == self.to_end.length[vertex]
                });
                match next {
                    Some(further) => {
                        let index = *place + further;
                        *place = index + 1;
                        path.push(self.steps(vertex)[index]);
                        at.push(0);
                    }
                    None => {
                        self.dead.put(vertex);
                        path.pop();
                        at.pop();
                    }
                }
            }
        }
        None
    }
}

fn through(step: Step, distances: &Distances) -> Length {
    match distances.length[step.to as usize] {
        UNREACHED => UNREACHED,
        length => sum(length, (step.cost.into(), 1)),
    }
}
