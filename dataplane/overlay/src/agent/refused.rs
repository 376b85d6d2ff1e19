//! Writes that the kernel refused.

use crate::Write;
use std::collections::HashMap;
use std::mem::Discriminant;
use zerocopy::IntoBytes;

/// What a write is about: the table, by its kind, and the key.
type Entry = (Discriminant<Write>, Vec<u8>);

/// Writes that are still to be done, in the order in which they were to be, of each entry the newest.
#[derive(Debug, Default)]
pub(super) struct Refused {
    writes: Vec<Option<Write>>,
    places: HashMap<Entry, usize>,
}

impl Refused {
    /// Adds one.
    pub fn add(&mut self, write: Write) {
        self.forget(&write);
        self.places.insert(entry(&write), self.writes.len());
        self.writes.push(Some(write));
    }

    /// Forgets what was to be written to the entry that a write is about.
    pub fn forget(&mut self, newer: &Write) {
        // Nothing is refused on most days.
        if !self.places.is_empty()
            && let Some(place) = self.places.remove(&entry(newer))
        {
            self.writes[place] = None;
        }
    }

    /// All of them.
    pub fn in_order(&self) -> impl Iterator<Item = &Write> {
        self.writes.iter().flatten()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

fn entry(write: &Write) -> Entry {
    let key = match write {
        Write::Application(key, _)
        | Write::Path(key, _)
        | Write::Hop(key, _)
        | Write::Group(key, _)
        | Write::Wire(key, _)
        | Write::Adjacency(key, _)
        | Write::AdjacencySlot(key, _)
        | Write::UncountHop(key)
        | Write::UncountWire(key) => key.as_bytes(),
        Write::Node(key, _) | Write::Forget(key) => key.as_bytes(),
        Write::Peer(key, _) => key.as_bytes(),
        Write::Endpoint(key, _) => key.as_bytes(),
        Write::Locator(key, _) => key.as_bytes(),
    };
    (std::mem::discriminant(write), key.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use plait_dataplane_reference::tables::NodeKey;

    #[test]
    fn what_is_newer_takes_the_place_of_what_was_refused() {
        let node = |node: u32, path| Write::Node(NodeKey { application: 1, node }, path);
        let mut refused = Refused::default();
        [node(2, Some(7)), Write::Path(2, 9), node(3, Some(8))]
            .into_iter()
            .for_each(|write| refused.add(write));
        // Another entry's, and another table's of the same number, stay.
        refused.forget(&node(2, None));
        assert_eq!(refused.in_order().cloned().collect::<Vec<_>>(), [Write::Path(2, 9), node(3, Some(8))]);
        // Refused once more it is behind the others.
        refused.add(Write::Path(2, 10));
        assert_eq!(refused.in_order().cloned().collect::<Vec<_>>(), [node(3, Some(8)), Write::Path(2, 10)]);
        refused.forget(&node(3, None));
        refused.forget(&Write::Path(2, 0));
        assert!(refused.is_empty());
    }
}
