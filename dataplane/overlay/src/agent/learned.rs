//! What the data plane learned, for those who watch.

use plait_dataplane_reference::tables::FibKey;
use std::collections::HashMap;
use std::time::Duration;

/// Stations that the data plane learned and the node of each, as they were found in its table. Kept only while somebody watches.
#[derive(Debug, Default)]
pub(super) struct Learned {
    /// With the number of the look that found it last.
    nodes: HashMap<FibKey, (u32, u64)>,
    look: u64,
    /// Entries of the table that this look met, and the one before.
    entries: [usize; 2],
    /// Whether somebody watched when the look that is under way began.
    is_looking: bool,
    /// Whether one look has been made, before which all would be news.
    is_whole: bool,
}

/// From one look to the next while somebody watches, and the table has so many entries at most. Choice: a look at each takes a
/// microsecond.
const PAUSE: Duration = Duration::from_secs(1);
const FEW: usize = 1 << 16;

impl Learned {
    /// All stations are looked at from now on, one after the other.
    pub fn begin_look(&mut self, is_watched: bool) {
        let [last, _] = self.entries;
        if !is_watched {
            *self = Self::default();
        }
        (self.is_looking, self.entries) = (is_watched, [0, last]);
    }

    /// An entry was met, whoever made it.
    pub fn meet(&mut self) {
        self.entries[0] += 1;
    }

    /// A station was found at a node. Whether that is news.
    pub fn find(&mut self, station: FibKey, node: u32) -> bool {
        if !self.is_looking {
            return false;
        }
        let before = self.nodes.insert(station, (node, self.look));
        self.is_whole && before.is_none_or(|(before, _)| before != node)
    }

    /// All have been looked at: those that were not found are gone.
    pub fn end_look(&mut self) {
        let Self { nodes, look, .. } = self;
        nodes.retain(|_, (_, found)| found == look);
        self.look += 1;
        self.is_whole = self.is_looking;
    }

    /// From one look to the next, if those of `usual` are soon enough where nobody watches.
    pub fn pause(&self, is_watched: bool, usual: Duration) -> Duration {
        let is_soon = is_watched && self.entries.iter().all(|count| *count <= FEW);
        if is_soon { PAUSE.min(usual) } else { usual }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(last: u8) -> FibKey {
        FibKey { tenant: 1, identifier: [last; 16] }
    }

    #[test]
    fn what_is_new_or_at_another_node_is_news_once() {
        let mut learned = Learned::default();
        let mut look = |is_watched: bool, stations: &[(u8, u32)]| {
            learned.begin_look(is_watched);
            let news: Vec<bool> =
                stations.iter().map(|&(last, node)| learned.find(key(last), node)).collect();
            learned.end_look();
            news
        };
        assert_eq!(look(false, &[(1, 5)]), [false]);
        assert_eq!(look(true, &[(1, 5)]), [false], "it was there before anybody watched");
        assert_eq!(look(true, &[(1, 5), (2, 5)]), [false, true]);
        assert_eq!(look(true, &[(2, 6)]), [true], "it moved");
        assert_eq!(look(true, &[(1, 5), (2, 6)]), [true, false], "the first was forgotten meanwhile");
        assert_eq!(look(false, &[(3, 5)]), [false]);
        assert_eq!(look(true, &[(4, 5)]), [false]);
    }
}
