//! Where all edges cost the same, paths are walked in order: all of the least number of edges, lower vertices first,
//! then all with one edge more. A walk takes no step to where the rest of the edges cannot reach from.
//!
//! Sets of vertices are bits, so that "neighbours of `v` from which two steps lead to the end" is a few words. In random
//! graphs, where short paths abound, nearly every step belongs to a path that is found. In graphs where it does not
//! (long detours through dead ends) the search gives up, and Lawler's takes over, which never walks in vain.

use super::Path;
use crate::graph::rows::{Rows, has, put};
use crate::graph::{Distance, Graph};

/// Vertices walked to before the search gives up, and further ones for each path asked for. Choice: about the time that
/// Lawler's search takes for a few paths, so that a vain attempt at most doubles it.
const STEPS: (usize, usize) = (2_000, 100);

#[derive(Debug)]
pub(super) struct Uniform<'a> {
    graph: &'a Graph,
    cost: Distance,
    rows: Rows,
    /// Level d: the vertices that a path may lead through, and the end, from which at most d steps lead to the end.
    within: Vec<u64>,
    /// Those of the last level that were not in the one before.
    frontier: Vec<u32>,
}

impl<'a> Uniform<'a> {
    /// None for a graph whose edges cost differently, or some of which are parallel.
    pub fn new(graph: &'a Graph) -> Option<Self> {
        let (cost, rows) = (graph.uniform?.into(), Rows::new(graph)?);
        Some(Self { graph, cost, rows, within: Vec::new(), frontier: Vec::new() })
    }

    /// The k shortest paths, or all there are; none when they are not found within a bounded number of steps.
    pub fn search(&mut self, from: usize, to: usize, k: usize) -> Option<Vec<Path>> {
        self.within.clear();
        self.within.resize(self.rows.words, 0);
        put(&mut self.within, to);
        self.frontier.clear();
        self.frontier.push(to as u32);
        let mut walk = Walk {
            found: Vec::with_capacity(k.min(16)),
            k,
            to,
            path: vec![from],
            visited: vec![0; self.rows.words],
            steps: STEPS.0.saturating_add(k.saturating_mul(STEPS.1)),
        };
        put(&mut walk.visited, from);
        for length in 1..self.graph.vertices() {
            // Before anything is found, nothing is in vain that leads nowhere.
            let reaches =
                self.level(length - 1).iter().zip(self.rows.from(from)).any(|(level, row)| level & row != 0);
            if reaches {
                if !self.walk(&mut walk, length) {
                    return None;
                }
                if walk.found.len() == k {
                    break;
                }
            } else if self.frontier.is_empty() {
                break;
            }
            self.deepen();
        }
        Some(walk.found)
    }

    fn level(&self, level: usize) -> &[u64] {
        &self.within[level * self.rows.words..(level + 1) * self.rows.words]
    }

    /// Adds a level.
    fn deepen(&mut self) {
        let last = self.within.len() - self.rows.words;
        self.within.extend_from_within(last..);
        let (known, level) = self.within[last..].split_at_mut(self.rows.words);
        for vertex in self.frontier.drain(..) {
            level.iter_mut().zip(self.rows.to(vertex as usize)).for_each(|(level, row)| *level |= row);
        }
        for (word, ((level, known), transit)) in
            level.iter_mut().zip(known).zip(&self.rows.transit).enumerate()
        {
            *level = *level & transit | *known;
            let mut new = *level & !*known;
            while new != 0 {
                self.frontier.push((word * 64) as u32 + new.trailing_zeros());
                new &= new - 1;
            }
        }
    }

    /// Walks on from the end of the path in all ways that lead to the end in so many steps, until enough are found; false
    /// when it is not worth it.
    fn walk(&self, walk: &mut Walk, left: usize) -> bool {
        let Some(steps) = walk.steps.checked_sub(1) else { return false };
        walk.steps = steps;
        let at = *walk.path.last().expect("a path has a beginning");
        if left == 1 {
            if has(self.rows.from(at), walk.to) {
                walk.found.push(self.path(walk));
            }
            return true;
        }
        for word in 0..self.rows.words {
            let mut ways = self.rows.from(at)[word] & self.level(left - 1)[word] & !walk.visited[word];
            while ways != 0 {
                let next = word * 64 + ways.trailing_zeros() as usize;
                ways &= ways - 1;
                if next == walk.to {
                    continue;
                }
                walk.path.push(next);
                put(&mut walk.visited, next);
                let goes_on = self.walk(walk, left - 1);
                walk.visited[word] &= !(1 << (next % 64));
                walk.path.pop();
                if !goes_on {
                    return false;
                }
                if walk.found.len() == walk.k {
                    return true;
                }
            }
        }
        true
    }

    fn path(&self, walk: &Walk) -> Path {
        let mut vertices = Vec::with_capacity(walk.path.len() + 1);
        vertices.extend_from_slice(&walk.path);
        vertices.push(walk.to);
        let edge = |step: &[usize]| {
            let arc = self.graph.arcs(step[0]).iter().find(|arc| arc.to as usize == step[1]);
            arc.expect("a step is an arc").edge as usize
        };
        let edges: Vec<usize> = vertices.windows(2).map(edge).collect();
        Path { cost: self.cost * edges.len() as Distance, vertices, edges }
    }
}

struct Walk {
    found: Vec<Path>,
    k: usize,
    to: usize,
    path: Vec<usize>,
    visited: Vec<u64>,
    steps: usize,
}
