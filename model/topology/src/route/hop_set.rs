//! Sets of next hops: one word for nearly every node, more for hubs.

/// A set of positions in a node's list of next hops.
pub(super) trait HopSet: Clone {
    /// A set for `hops` next hops, with none in it.
    fn empty(hops: usize) -> Self;
    fn insert(&mut self, hop: usize);
    fn contains(&self, hop: usize) -> bool;
    fn is_empty(&self) -> bool;
    fn join(&mut self, other: &Self);
    fn intersection(&self, other: &Self) -> Self;
    /// The members, lowest first.
    fn iter(&self) -> impl Iterator<Item = usize> + '_;

    /// What ORTC gives a parent: what both children agree on, or else either's.
    fn meet(&self, other: &Self) -> Self {
        let both = self.intersection(other);
        if !both.is_empty() {
            return both;
        }
        let mut either = self.clone();
        either.join(other);
        either
    }
}

fn bits(word: u64) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(word), |word| Some(word & word.wrapping_sub(1)))
        .take_while(|&word| word != 0)
        .map(|word| word.trailing_zeros() as usize)
}

impl HopSet for u64 {
    fn empty(_: usize) -> Self {
        0
    }
    fn insert(&mut self, hop: usize) {
        *self |= 1 << hop;
    }
    fn contains(&self, hop: usize) -> bool {
        hop < 64 && self >> hop & 1 == 1
    }
    fn is_empty(&self) -> bool {
        *self == 0
    }
    fn join(&mut self, other: &Self) {
        *self |= other;
    }
    fn intersection(&self, other: &Self) -> Self {
        self & other
    }
    fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        bits(*self)
    }
}

impl HopSet for Box<[u64]> {
    fn empty(hops: usize) -> Self {
        vec![0; hops.div_ceil(64)].into()
    }
    fn insert(&mut self, hop: usize) {
        self[hop / 64] |= 1 << (hop % 64);
    }
    fn contains(&self, hop: usize) -> bool {
        self.get(hop / 64).is_some_and(|word| word >> (hop % 64) & 1 == 1)
    }
    fn is_empty(&self) -> bool {
        <[u64]>::iter(self).all(|&word| word == 0)
    }
    fn join(&mut self, other: &Self) {
        for (word, other) in self.iter_mut().zip(<[u64]>::iter(other)) {
            *word |= other;
        }
    }
    fn intersection(&self, other: &Self) -> Self {
        <[u64]>::iter(self).zip(<[u64]>::iter(other)).map(|(a, b)| a & b).collect()
    }
    fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        <[u64]>::iter(self).enumerate().flat_map(|(at, &word)| bits(word).map(move |bit| at * 64 + bit))
    }
}
