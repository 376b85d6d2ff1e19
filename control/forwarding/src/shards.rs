//! A map from numbers, of hardware addresses most of all, that is read far more often than it changes.

use foldhash::fast::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;

/// Values by number, none of which is 0, in parts that copies share until one of them changes a part. There are more parts
/// the more values there are, up to 64 by default.
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
    /// Parts, at most.
    most: usize,
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
/// Values of a part, on average, beyond which there are twice as many parts. Choice: what 64 places have room for. A thousand
/// switches of some stations each would otherwise have sixty parts of one station each, and their tables thrice the memory.
const FULL: usize = 48;

impl<V: Clone + Default> Default for Shards<V> {
    fn default() -> Self {
        Self::with_most_parts(SHARDS)
    }
}

impl<V: Clone + Default> Shards<V> {
    /// In so many parts at most, a power of two up to 65536: each run that changes something copies the list of them.
    pub fn with_most_parts(most: usize) -> Self {
        Self { hasher: RandomState::default(), shards: [Shard::default()].into(), count: 0, most }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The value of a number.
    #[inline]
    pub fn get(&self, key: u64) -> Option<&V> {
        let seek = self.seek(key);
        seek.end(seek.begin())
    }

    /// The value of a number, to be changed: what a copy of this holds, too, is copied first.
    pub fn get_mut(&mut self, key: u64) -> Option<&mut V> {
        let hash = self.hasher.hash_one(key);
        let part = self.shard(hash);
        let shard = &self.shards[part];
        let at = place(shard, hash, key).filter(|at| key != 0 && shard[*at].key == key)?;
        Some(&mut Arc::make_mut(&mut Arc::make_mut(&mut self.shards)[part])[at].value)
    }

    /// Where a number is to be looked for, which waits for no memory but that of the list of parts. Whoever has several to look
    /// for asks that of all, and then [begins](Seek::begin) with all, so that they wait for memory together.
    #[inline]
    pub fn seek(&self, key: u64) -> Seek<'_, V> {
        let hash = self.hasher.hash_one(key);
        let slots = &*self.shards[self.shard(hash)];
        Seek { slots, at: hash as usize & slots.len().wrapping_sub(1), key }
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
            let held = shard.iter().filter(|slot| slot.key != 0);
            *shard = array(&self.hasher, held.cloned(), shard.len() * 2);
        }
        // There is room, so that there is a place.
        if let Some(at) = place(shard, hash, key) {
            Arc::make_mut(shard)[at] = Slot { key, value };
            self.count += 1;
        }
        if self.count > self.shards.len() * FULL && self.shards.len() < self.most {
            self.split();
        }
    }

    /// Makes twice as many parts.
    fn split(&mut self) {
        let mut parts: Vec<Vec<Slot<V>>> = vec![Vec::new(); self.shards.len() * 2];
        let mask = parts.len() - 1;
        for slot in self.shards.iter().flat_map(|shard| shard.iter()).filter(|slot| slot.key != 0) {
            parts[part(self.hasher.hash_one(slot.key), mask)].push(slot.clone());
        }
        let shard = |slots: Vec<Slot<V>>| {
            let room = (slots.len() * 4 / 3 + 1).next_power_of_two();
            array(&self.hasher, slots.into_iter(), room)
        };
        self.shards = parts.into_iter().map(shard).collect();
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
        part(hash, self.shards.len() - 1)
    }

    /// All of it, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &V)> {
        let slots = self.shards.iter().flat_map(|shard| shard.iter());
        slots.filter(|slot| slot.key != 0).map(|slot| (slot.key, &slot.value))
    }
}

/// Where a number is looked for first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seek<'a, V> {
    slots: &'a [Slot<V>],
    at: usize,
    key: u64,
}

/// The number at the place where a number is looked for first. It is read and not looked at, so that nothing waits for it yet.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct First(u64);

impl<'a, V> Seek<'a, V> {
    /// Begins to look.
    #[inline]
    pub fn begin(&self) -> First {
        First(self.slots.get(self.at).map_or(0, |slot| slot.key))
    }

    /// What is looked for, where it was begun with.
    #[inline]
    pub fn end(&self, First(first): First) -> Option<&'a V> {
        let Self { slots, mut at, key } = *self;
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

/// Which of a power of two of parts a value is in, by the number of the last one.
#[inline]
fn part(hash: u64, last: usize) -> usize {
    (hash >> 48) as usize & last
}

/// An array of values, with so much room at least.
fn array<V: Clone + Default>(
    hasher: &RandomState,
    slots: impl Iterator<Item = Slot<V>>,
    room: usize,
) -> Shard<V> {
    let mut array: Vec<Slot<V>> = vec![Slot::default(); room.max(LEAST)];
    for slot in slots {
        if let Some(at) = place(&array, hasher.hash_one(slot.key), slot.key) {
            array[at] = slot;
        }
    }
    array.into()
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
            let (mut shards, mut map) = (Shards::with_most_parts(1 << parts), HashMap::new());
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
