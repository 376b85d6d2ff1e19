//! Directed edges that make links: the k-th from a to b and the k-th from b to a are one.

use std::collections::{HashMap, VecDeque};

/// Links that wait for their other direction, by the ends it would have.
#[derive(Default)]
pub(super) struct Pairs {
    waiting: HashMap<(usize, usize), VecDeque<(usize, usize)>>,
}

impl Pairs {
    /// The link whose other direction this edge is, if one waits for it.
    pub fn meet(&mut self, from: usize, to: usize) -> Option<usize> {
        self.waiting.get_mut(&(from, to)).and_then(VecDeque::pop_front).map(|(link, _)| link)
    }

    /// Lets a link that this edge began wait.
    pub fn wait(&mut self, from: usize, to: usize, link: usize, line: usize) {
        self.waiting.entry((to, from)).or_default().push_back((link, line));
    }

    /// The links that nobody met, with their lines, in their order.
    pub fn alone(self) -> Vec<(usize, usize)> {
        let mut alone: Vec<(usize, usize)> = self.waiting.into_values().flatten().collect();
        alone.sort_unstable();
        alone
    }
}
