//! Paths that are the only shortest ones.

use super::Graph;
use super::rows::{Rows, has};

/// Tells which paths are the only shortest ones between their ends: those that packets take whichever of equally short
/// ways their routers choose.
#[derive(Debug)]
pub struct UniquePaths<'a> {
    graph: &'a Graph,
    rows: Option<Rows>,
    /// Of each vertex that paths were asked to begin at: from where the shortest paths come to every other.
    before: Vec<Option<Box<[u32]>>>,
}

const NOWHERE: u32 = u32::MAX;
const SEVERAL: u32 = u32::MAX - 1;

impl<'a> UniquePaths<'a> {
    /// For paths of a graph.
    pub fn new(graph: &'a Graph) -> Self {
        Self { graph, rows: Rows::new(graph), before: vec![None; graph.vertices()] }
    }

    /// Whether a path, told by its vertices, is the only shortest one between its ends. Parallel edges are one way. The
    /// first answer about paths that begin at a vertex takes a search from there, where paths have more than two edges or
    /// edges cost differently; further ones are near the path's length.
    ///
    /// With edges that cost nothing in a circle, a path may be said not to be the only one though it is; never the
    /// other way round.
    pub fn is_unique(&mut self, path: &[usize]) -> bool {
        match (path, &self.rows) {
            ([] | [_], _) => true,
            (&[from, to], Some(rows)) => from != to && has(rows.from(from), to),
            (&[from, through, to], Some(rows)) => {
                let only = |sets: ((&u64, &u64), &u64)| sets.0.0 & sets.0.1 & sets.1;
                let between = || rows.from(from).iter().zip(rows.to(to)).zip(&rows.transit).map(only);
                let loops = has(rows.from(from), from) || has(rows.from(to), to);
                if loops || from == to {
                    return self.is_only_way(path);
                }
                !has(rows.from(from), to)
                    && between().map(u64::count_ones).sum::<u32>() == 1
                    && between().nth(through / 64).is_some_and(|word| word >> (through % 64) & 1 == 1)
            }
            _ => self.is_only_way(path),
        }
    }

    fn is_only_way(&mut self, path: &[usize]) -> bool {
        let graph = self.graph;
        let before = self.before[path[0]].get_or_insert_with(|| before(graph, path[0]));
        path[0] != path[path.len() - 1] && path.windows(2).all(|step| before[step[1]] as usize == step[0])
    }
}

/// From where the shortest paths from a source come to every vertex.
fn before(graph: &Graph, source: usize) -> Box<[u32]> {
    let paths = graph.shortest_paths(source);
    let mut before = vec![NOWHERE; graph.vertices()].into_boxed_slice();
    for vertex in paths.reached() {
        for &arc in graph.arcs(vertex) {
            let to = arc.to as usize;
            if to != vertex && to != source && paths.is_tight(graph, vertex, arc) {
                before[to] = match before[to] {
                    NOWHERE => vertex as u32,
                    known if known == vertex as u32 => known,
                    _ => SEVERAL,
                };
            }
        }
    }
    before
}
