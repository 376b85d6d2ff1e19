//! The k shortest loop-free paths (Yen, "Finding the k shortest loopless paths in a network", 1971).

use super::{Arc, Distance, Graph};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

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

impl Graph {
    /// Up to `k` loop-free paths, cheapest first. Among equally cheap ones the choice is arbitrary, but always the
    /// same. Parallel edges make different paths. O(k V (E + V) log V).
    pub fn k_shortest_paths(&self, from: usize, to: usize, k: usize) -> Vec<Path> {
        let mut found: Vec<Path> = Vec::new();
        let mut candidates = BTreeSet::new();
        candidates.extend(self.detour(
            from,
            to,
            Path { cost: 0, vertices: vec![from], edges: Vec::new() },
            &[],
        ));
        while found.len() < k {
            let Some(path) = candidates.pop_first() else { break };
            // Every path that leaves this one at a vertex of it, by an arc that no found path with the same beginning
            // took.
            for spur in 0..path.edges.len() {
                let root = Path {
                    cost: self.cost_along(&path.vertices[..=spur], &path.edges[..spur]),
                    vertices: path.vertices[..=spur].to_vec(),
                    edges: path.edges[..spur].to_vec(),
                };
                let taken: Vec<usize> = found
                    .iter()
                    .chain([&path])
                    .filter(|other| other.edges.len() > spur && other.edges[..spur] == root.edges)
                    .map(|other| other.edges[spur])
                    .collect();
                candidates.extend(self.detour(path.vertices[spur], to, root, &taken));
            }
            found.push(path);
        }
        found
    }

    fn cost_along(&self, vertices: &[usize], edges: &[usize]) -> Distance {
        let arc = |(from, edge): (&usize, &usize)| {
            let arcs = self.arcs(*from).iter();
            arcs.filter(|arc| arc.edge as usize == *edge)
                .map(|arc| Distance::from(arc.cost))
                .sum::<Distance>()
        };
        vertices.iter().zip(edges).map(arc).sum()
    }

    /// The shortest way from the end of `root` to `to` that visits none of the root's vertices again and begins with
    /// none of the edges taken, behind the root.
    fn detour(&self, spur: usize, to: usize, root: Path, taken: &[usize]) -> Option<Path> {
        if spur == to {
            return root.edges.is_empty().then_some(root);
        }
        let mut distance = vec![Distance::MAX; self.vertices()];
        let mut before: Vec<Option<(u32, u32)>> = vec![None; self.vertices()];
        for &vertex in &root.vertices {
            distance[vertex] = 0;
        }
        let mut queue = BinaryHeap::from([Reverse((0, spur as u32))]);
        while let Some(Reverse((so_far, vertex))) = queue.pop() {
            let at = vertex as usize;
            if at == to {
                break;
            }
            if so_far > distance[at] || !(self.transit[at] || at == spur && root.edges.is_empty()) {
                continue;
            }
            for &Arc { to: next, cost, edge } in self.arcs(at) {
                if at == spur && taken.contains(&(edge as usize)) {
                    continue;
                }
                let through = so_far + Distance::from(cost);
                let known = &mut distance[next as usize];
                if through < *known {
                    *known = through;
                    before[next as usize] = Some((vertex, edge));
                    queue.push(Reverse((through, next)));
                }
            }
        }
        before[to]?;
        let mut tail = Vec::new();
        let mut at = to;
        while let Some((vertex, edge)) = before[at] {
            tail.push((at, edge as usize));
            at = vertex as usize;
        }
        let mut path = root;
        path.cost += distance[to];
        for (vertex, edge) in tail.into_iter().rev() {
            path.vertices.push(vertex);
            path.edges.push(edge);
        }
        Some(path)
    }
}
