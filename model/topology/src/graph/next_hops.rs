//! Sets of equally short first hops.

use super::{Arc, Graph, ShortestPaths};

/// For one source and every destination: which arcs out of the source begin a shortest path.
///
/// A bit stands for an arc of [`Graph::arcs`] of the source, so sets join by words.
#[derive(Debug, Clone)]
pub struct NextHops {
    words: usize,
    bits: Vec<u64>,
}

impl Graph {
    /// The first hops of all shortest paths from where `paths` begin: one pass over the arcs.
    ///
    /// With arcs of cost nought in a circle (switches in a loop), hops that only such a circle adds may be missing;
    /// those given are always right.
    pub fn next_hops(&self, paths: &ShortestPaths) -> NextHops {
        let source = paths.source();
        let words = self.arcs(source).len().div_ceil(64).max(1);
        let mut bits = vec![0u64; self.vertices() * words];
        for (hop, &arc) in self.arcs(source).iter().enumerate() {
            if arc.to as usize != source && paths.is_tight(self, source, arc) {
                bits[arc.to as usize * words + hop / 64] |= 1 << (hop % 64);
            }
        }
        for vertex in paths.reached().filter(|&vertex| vertex != source) {
            for &arc in self.arcs(vertex) {
                let to = arc.to as usize;
                if to != vertex && to != source && paths.is_tight(self, vertex, arc) {
                    for word in 0..words {
                        bits[to * words + word] |= bits[vertex * words + word];
                    }
                }
            }
        }
        NextHops { words, bits }
    }

    /// The arcs out of the source that begin a shortest path to a vertex, in the order of [`Graph::arcs`].
    pub fn next_hop_arcs<'a>(
        &'a self,
        source: usize,
        hops: &'a NextHops,
        to: usize,
    ) -> impl Iterator<Item = Arc> + 'a {
        let arcs = self.arcs(source);
        hops.of(to).map(move |hop| arcs[hop])
    }
}

impl NextHops {
    /// Positions in [`Graph::arcs`] of the source, lowest first. Empty for the source and what it cannot reach.
    pub fn of(&self, to: usize) -> impl Iterator<Item = usize> + '_ {
        let words = &self.bits[to * self.words..(to + 1) * self.words];
        words.iter().enumerate().flat_map(|(word, &bits)| {
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| word * 64 + bit)
        })
    }
}
