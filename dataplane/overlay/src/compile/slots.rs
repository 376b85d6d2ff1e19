//! Indices of array tables: which are taken, and which may be written again.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::Hash;
use std::time::Duration;

/// How long a slot that nothing points at is left alone, since a program that read the pointer just before may still
/// read the slot. Choice: no program runs for a tenth of this.
pub(crate) const QUIET: Duration = Duration::from_millis(100);

/// All indices of a table are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the table of {table} is full: {size} entries")]
pub struct Full {
    /// Which.
    pub table: &'static str,
    /// How many it has.
    pub size: u32,
    /// Whether some are only left alone for a moment ([`QUIET`]): then it is worth to ask again.
    pub is_busy: bool,
}

/// Slots that are written once and then pointed at.
#[derive(Debug)]
pub(crate) struct Slots {
    table: &'static str,
    size: u32,
    next: u32,
    free: VecDeque<(Duration, u32)>,
}

impl Slots {
    /// Those of a table, of which nought is left out: it is what an empty pointer says.
    pub fn new(table: &'static str, size: u32) -> Self {
        Self { table, size, next: 1, free: VecDeque::new() }
    }

    /// A slot that nobody reads.
    pub fn take(&mut self, now: Duration) -> Result<u32, Full> {
        if self.free.front().is_some_and(|(since, _)| now >= *since + QUIET)
            && let Some((_, slot)) = self.free.pop_front()
        {
            return Ok(slot);
        }
        if self.next < self.size {
            self.next += 1;
            return Ok(self.next - 1);
        }
        Err(Full { table: self.table, size: self.size, is_busy: !self.free.is_empty() })
    }

    /// Nothing points at it any more.
    pub fn give(&mut self, slot: u32, now: Duration) {
        self.free.push_back((now, slot));
    }
}

/// Things with an index each, as long as anybody wants them.
#[derive(Debug)]
pub(super) struct Indices<K> {
    slots: Slots,
    known: HashMap<K, u32>,
    wanted: BTreeMap<u32, usize>,
}

impl<K: Eq + Hash + Clone> Indices<K> {
    pub fn new(table: &'static str, size: u32) -> Self {
        Self { slots: Slots::new(table, size), known: HashMap::new(), wanted: BTreeMap::new() }
    }

    /// All that have one.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.known.keys()
    }

    pub fn get(&self, key: &K) -> Option<u32> {
        self.known.get(key).copied()
    }

    /// Its index, wanted once more; and whether it is new.
    pub fn want(&mut self, key: &K, now: Duration) -> Result<(u32, bool), Full> {
        if let Some(index) = self.known.get(key) {
            *self.wanted.entry(*index).or_default() += 1;
            return Ok((*index, false));
        }
        let index = self.slots.take(now)?;
        self.known.insert(key.clone(), index);
        self.wanted.insert(index, 1);
        Ok((index, true))
    }

    /// Wanted once less; whether that was the last.
    pub fn let_go(&mut self, key: &K, now: Duration) -> bool {
        let Some(index) = self.known.get(key).copied() else { return false };
        let Some(wanted) = self.wanted.get_mut(&index) else { return false };
        *wanted -= 1;
        if *wanted > 0 {
            return false;
        }
        self.wanted.remove(&index);
        self.known.remove(key);
        self.slots.give(index, now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_left_alone_for_a_while() {
        let mut slots = Slots::new("hops", 3);
        let at = Duration::from_millis;
        assert_eq!((slots.take(at(0)), slots.take(at(0))), (Ok(1), Ok(2)));
        assert!(slots.take(at(0)).is_err());
        slots.give(1, at(50));
        assert_eq!(slots.take(at(149)), Err(Full { table: "hops", size: 3, is_busy: true }));
        assert_eq!(slots.take(at(150)), Ok(1));
    }

    #[test]
    fn an_index_lasts_as_long_as_it_is_wanted() {
        let mut indices = Indices::new("wires", 8);
        let at = Duration::from_secs;
        assert_eq!(indices.want(&"a", at(0)), Ok((1, true)));
        assert_eq!(indices.want(&"a", at(0)), Ok((1, false)));
        assert!(!indices.let_go(&"a", at(0)));
        assert!(indices.let_go(&"a", at(0)));
        assert_eq!(indices.get(&"a"), None);
        assert_eq!(indices.want(&"b", at(1)), Ok((1, true)));
    }
}
