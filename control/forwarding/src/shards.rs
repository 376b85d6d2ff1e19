//! A map from numbers, of hardware addresses most of all, that is read far more often than it changes.

use foldhash::fast::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;

/// Values by number, none of which is 0, in parts that copies share until one of them changes a part: 64 by default.
///
/// Choice: parts that are open-addressed arrays, and no persistent trie: a look-up waits for two loads that depend
/// on each other, where a trie of a thousand stations takes about five. A change copies the part that it is in,
/// 6 KiB of a table of 16384 values of 8 bytes, once for each run that changes it.
///
/// Choice: hashed by foldhash with seeds of the process's own, since numbers are chosen by whoever sends; std's
/// SipHash would do, and takes more steps.
#[derive(Debug, Clone)]
pub(crate) struct Shards<V> {
    hasher: RandomState,
    shards: Arc<[Shard<V>]>,
    count: usize,
}

/// An open-addressed array with room for a third more than it holds; its length is 0 or a power of two.
type Shard<V> = Arc<[Slot<V>]>;

#[derive(Debug, Clone, Default)]
#[repr(C)]
struct Slot<V> {
    /// 0 is none.
    key: u64,
    value: V,
}

const SHARDS: usize = 64;
const LEAST: usize = 4;

impl<V: Clone + Default> Default for Shards<V> {
    fn default() -> Self {
        Self::with_parts(SHARDS)
    }
}

impl<V: Clone + Default> Shards<V> {
    /// In so many parts, a power of two up to 65536: each run that changes something copies the list of them.
    pub fn with_parts(parts: usize) -> Self {
        let none: Shard<V> = Arc::default();
        Self { hasher: RandomState::default(), shards: vec![none; parts].into(), count: 0 }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The value of a number.
    #[inline]
    pub fn get(&self, key: u64) -> Option<&V> {
        self.look(key).end()
    }

    /// Begins to look for a number: whoever has several to look for begins with all, so that they wait for memory together.
    #[inline]
    pub fn look(&self, key: u64) -> Look<'_, V> {
        let hash = self.hasher.hash_one(key);
        let slots = &*self.shards[self.shard(hash)];
        let at = hash as usize & slots.len().wrapping_sub(1);
        Look { slots, at, first: slots.get(at).map_or(0, |slot| slot.key), key }
    }

    /// Gives a number, which is not 0, a value.
    pub fn insert(&mut self, key: u64, value: V) {
        let hash = self.hasher.hash_one(key);
        let at = self.shard(hash);
        let shard = &mut Arc::make_mut(&mut self.shards)[at];
        if let Some(at) = place(shard, hash, key).filter(|at| shard[*at].key == key) {
            Arc::make_mut(shard)[at].value = value;
            return;
        }
        let held = shard.iter().filter(|slot| slot.key != 0).count();
        if (held + 1) * 4 > shard.len() * 3 {
            let mut larger: Vec<Slot<V>> = vec![Slot::default(); (shard.len() * 2).max(LEAST)];
            for slot in shard.iter().filter(|slot| slot.key != 0) {
                if let Some(at) = place(&larger, self.hasher.hash_one(slot.key), slot.key) {
                    larger[at] = slot.clone();
                }
            }
            *shard = larger.into();
        }
        // There is room, so that there is a place.
        if let Some(at) = place(shard, hash, key) {
            Arc::make_mut(shard)[at] = Slot { key, value };
            self.count += 1;
        }
    }

    /// Takes a number out, if it is there.
    pub fn remove(&mut self, key: u64) {
        let hash = self.hasher.hash_one(key);
        let part = self.shard(hash);
        let shard = &self.shards[part];
        let Some(mut hole) = place(shard, hash, key).filter(|at| shard[*at].key == key) else { return };
        let slots = Arc::make_mut(&mut Arc::make_mut(&mut self.shards)[part]);
        self.count -= 1;
        let mask = slots.len() - 1;
        let mut at = hole;
        // Those behind move up, so that no search ends at a hole before them.
        loop {
            at = (at + 1) & mask;
            let key = slots[at].key;
            if key == 0 {
                break;
            }
            let home = self.hasher.hash_one(key) as usize & mask;
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(hole) & mask {
                slots.swap(hole, at);
                hole = at;
            }
        }
        slots[hole] = Slot::default();
    }

    #[inline]
    fn shard(&self, hash: u64) -> usize {
        (hash >> 48) as usize & (self.shards.len() - 1)
    }

    /// All of it, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &V)> {
        let slots = self.shards.iter().flat_map(|shard| shard.iter());
        slots.filter(|slot| slot.key != 0).map(|slot| (slot.key, &slot.value))
    }
}

/// A look-up that was begun.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look<'a, V> {
    slots: &'a [Slot<V>],
    at: usize,
    /// The number at the first place. It is read and not looked at, so that nothing waits for it yet.
    first: u64,
    key: u64,
}

impl<'a, V> Look<'a, V> {
    /// What was looked for.
    #[inline]
    pub fn end(self) -> Option<&'a V> {
        let Self { slots, mut at, first, key } = self;
        if key == 0 {
            return None;
        }
        let mut found = first;
        while found != key && found != 0 {
            at = (at + 1) & (slots.len() - 1);
            found = slots[at].key;
        }
        (found == key).then(|| &slots[at].value)
    }
}

/// Where a key is, or where it would be. None in an array without room.
#[inline]
fn place<V>(slots: &[Slot<V>], hash: u64, key: u64) -> Option<usize> {
    let mask = slots.len().checked_sub(1)?;
    let mut at = hash as usize & mask;
    while slots[at].key != key && slots[at].key != 0 {
        at = (at + 1) & mask;
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn it_is_a_map_and_copies_stay_what_they_were(
            changes in proptest::collection::vec((1u64..400, proptest::option::of(0u32..9)), 0..2000),
            parts in 0u32..11,
        ) {
            let (mut shards, mut map) = (Shards::with_parts(1 << parts), HashMap::new());
            let (mut early, mut early_map) = (shards.clone(), map.clone());
            for (place, (key, port)) in changes.iter().enumerate() {
                if place == changes.len() / 2 {
                    (early, early_map) = (shards.clone(), map.clone());
                }
                match port {
                    Some(port) => {
                        let value = (*port, place as u64);
                        shards.insert(*key, value);
                        map.insert(*key, value);
                    }
                    None => {
                        shards.remove(*key);
                        map.remove(key);
                    }
                }
            }
            for (shards, map) in [(shards, map), (early, early_map)] {
                prop_assert_eq!(shards.count(), map.len());
                let all: HashMap<u64, (u32, u64)> = shards.iter().map(|(key, value)| (key, *value)).collect();
                prop_assert_eq!(&all, &map);
                for key in 0..400 {
                    prop_assert_eq!(shards.get(key), map.get(&key));
                }
            }
        }
    }
}
