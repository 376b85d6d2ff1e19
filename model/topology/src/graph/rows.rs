//! Sets of vertices as bits.

use super::Graph;

/// Above this many vertices rows of bits would be mostly noughts.
const MOST_VERTICES: usize = 4096;

pub(super) fn has(set: &[u64], vertex: usize) -> bool {
    set[vertex / 64] >> (vertex % 64) & 1 == 1
}

pub(super) fn put(set: &mut [u64], vertex: usize) {
    set[vertex / 64] |= 1 << (vertex % 64);
}

/// The neighbours of each vertex of a graph whose edges cost all the same, none of them parallel to another.
#[derive(Debug, Clone)]
pub(super) struct Rows {
    pub words: usize,
    /// Where one step leads from each vertex.
    out: Vec<u64>,
    /// From where one step leads to each vertex; none when that is the same.
    back: Option<Vec<u64>>,
    /// Vertices that paths may lead through.
    pub transit: Vec<u64>,
}

impl Rows {
    /// None for a graph of another kind, or one that is too large.
    pub fn new(graph: &Graph) -> Option<Self> {
        let vertices = graph.vertices();
        graph.uniform.filter(|_| vertices <= MOST_VERTICES)?;
        let words = vertices.div_ceil(64);
        let mut out = vec![0; vertices * words];
        let mut back = vec![0; vertices * words];
        for from in 0..vertices {
            for arc in graph.arcs(from) {
                let to = arc.to as usize;
                if has(&out[from * words..], to) {
                    return None;
                }
                put(&mut out[from * words..], to);
                put(&mut back[to * words..], from);
            }
        }
        let mut transit = vec![0; words];
        (0..vertices).filter(|&vertex| graph.is_transit(vertex)).for_each(|vertex| put(&mut transit, vertex));
        Some(Self { words, back: (out != back).then_some(back), out, transit })
    }

    /// Where one step leads.
    pub fn from(&self, vertex: usize) -> &[u64] {
        &self.out[vertex * self.words..][..self.words]
    }

    /// From where one step leads there.
    pub fn to(&self, vertex: usize) -> &[u64] {
        &self.back.as_deref().unwrap_or(&self.out)[vertex * self.words..][..self.words]
    }
}
