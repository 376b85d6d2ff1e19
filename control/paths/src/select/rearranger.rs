//! Algorithm 1 where somebody else counts: by counters that only grow, as a kernel's do.

use super::rearrange::{FlowShare, Reading, Window, rearranged};
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// Which flows are to move, by what they had sent at the rearrangement before.
#[derive(Debug, Clone)]
pub struct Rearranger<K> {
    reading: Reading,
    sent: HashMap<K, u64>,
}

impl<K> Default for Rearranger<K> {
    fn default() -> Self {
        Self::new(Reading::default())
    }
}

impl<K> Rearranger<K> {
    /// By a reading of Algorithm 1.
    pub fn new(reading: Reading) -> Self {
        Self { reading, sent: HashMap::new() }
    }
}

impl<K: Ord + Hash + Copy> Rearranger<K> {
    /// One flow of each prefix at most, with the list that it is to go by.
    ///
    /// Each flow comes with its prefix, if that is still there, and with all bytes that it ever sent. `lists` says how many
    /// lists a prefix has; none where its flows are not moved.
    pub fn run<P: Ord>(
        &mut self,
        flows: impl IntoIterator<Item = (Option<P>, FlowShare<K>)>,
        lists: impl Fn(&P) -> Option<usize>,
    ) -> Vec<(P, K, usize)> {
        let mut sent = HashMap::new();
        let mut by_prefix: BTreeMap<P, Vec<FlowShare<K>>> = BTreeMap::new();
        for (prefix, flow) in flows {
            sent.insert(flow.key, flow.bytes);
            // One that was forgotten meanwhile began to count anew; of one that was not there, all is of this period.
            let before = match self.reading.window {
                Window::Period => self.sent.get(&flow.key).copied().filter(|before| *before <= flow.bytes),
                Window::Ever => None,
            };
            let Some(prefix) = prefix else { continue };
            let bytes = flow.bytes - before.unwrap_or(0);
            by_prefix.entry(prefix).or_default().push(FlowShare { bytes, ..flow });
        }
        self.sent = sent;
        let mut moves = Vec::new();
        for (prefix, flows) in by_prefix {
            let Some(count) = lists(&prefix) else { continue };
            let known = flows.iter().filter(|flow| flow.list < count);
            let shares =
                known.map(|flow| FlowShare { moves: flow.moves.filter(|list| *list < count), ..*flow });
            if let Some((key, list)) = rearranged(count, self.reading.candidates, shares) {
                moves.push((prefix, key, list));
            }
        }
        moves
    }
}
