//! A map from stations to where they are that is read far more often than it changes.

use foldhash::fast::RandomState;
use plait_control_openflow::Port;
use std::hash::BuildHasher;
use std::sync::Arc;

/// Stations by number, in 64 parts that copies share until one of them changes a part.
///
/// Choice: parts that are open-addressed arrays, and no persistent trie: a look-up waits for two loads that depend
/// on each other, where a trie of a thousand stations takes about five. A change copies the part that it is in,
/// 6 KiB of a table of 16384 stations, once for each run that changes it.
///
/// Choice: hashed by foldhash with seeds of the process's own, since addresses are chosen by whoever sends; std's
/// SipHash would do, and takes more steps.
#[derive(Debug, Clone)]
pub(crate) struct Shards {
    hasher: RandomState,
    shards: Arc<[Shard]>,
    count: usize,
}

/// An open-addressed array with room for a third more than it holds; its length is 0 or a power of two.
type Shard = Arc<[Slot]>;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
struct Slot {
    /// 0 is none; no station has that number.
    key: u64,
    station: Station,
}

/// Where a station is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Station {
    /// Behind this port.
    pub port: Port,
    /// How many of its table were learned before.
    pub learned: u64,
}

impl Default for Station {
    fn default() -> Self {
        Self { port: Port::ANY, learned: 0 }
    }
}

const SHARDS: usize = 64;
const LEAST: usize = 4;

impl Default for Shards {
    fn default() -> Self {
        let none: Shard = Arc::default();
        Self { hasher: RandomState::default(), shards: vec![none; SHARDS].into(), count: 0 }
    }
}

impl Shards {
    /// How many stations there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Where a station is.
    #[inline]
    pub fn get(&self, key: u64) -> Option<Station> {
        let hash = self.hasher.hash_one(key);
        let slots = &*self.shards[shard(hash)];
        slots.get(place(slots, hash, key)?).filter(|slot| slot.key == key).map(|slot| slot.station)
    }

    /// Puts a station, whose number is not 0, somewhere.
    pub fn insert(&mut self, key: u64, station: Station) {
        let hash = self.hasher.hash_one(key);
        let shard = &mut Arc::make_mut(&mut self.shards)[shard(hash)];
        if let Some(at) = place(shard, hash, key).filter(|at| shard[*at].key == key) {
            Arc::make_mut(shard)[at].station = station;
            return;
        }
        let held = shard.iter().filter(|slot| slot.key != 0).count();
        if (held + 1) * 4 > shard.len() * 3 {
            let mut larger = vec![Slot::default(); (shard.len() * 2).max(LEAST)];
            for slot in shard.iter().filter(|slot| slot.key != 0) {
                if let Some(at) = place(&larger, self.hasher.hash_one(slot.key), slot.key) {
                    larger[at] = *slot;
                }
            }
            *shard = larger.into();
        }
        // There is room, so that there is a place.
        if let Some(at) = place(shard, hash, key) {
            Arc::make_mut(shard)[at] = Slot { key, station };
            self.count += 1;
        }
    }

    /// Takes a station out, if it is there.
    pub fn remove(&mut self, key: u64) {
        let hash = self.hasher.hash_one(key);
        let shard = &self.shards[shard(hash)];
        let Some(mut hole) = place(shard, hash, key).filter(|at| shard[*at].key == key) else { return };
        let slots = Arc::make_mut(&mut Arc::make_mut(&mut self.shards)[self::shard(hash)]);
        self.count -= 1;
        let mask = slots.len() - 1;
        let mut at = hole;
        // Those behind move up, so that no search ends at a hole before them.
        loop {
            at = (at + 1) & mask;
            let slot = slots[at];
            if slot.key == 0 {
                break;
            }
            let home = self.hasher.hash_one(slot.key) as usize & mask;
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(hole) & mask {
                slots[hole] = slot;
                hole = at;
            }
        }
        slots[hole] = Slot::default();
    }

    /// Every station, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, Station)> {
        let slots = self.shards.iter().flat_map(|shard| shard.iter());
        slots.filter(|slot| slot.key != 0).map(|slot| (slot.key, slot.station))
    }
}

#[inline]
fn shard(hash: u64) -> usize {
    (hash >> 58) as usize
}

/// Where a key is, or where it would be. None in an array without room.
#[inline]
fn place(slots: &[Slot], hash: u64, key: u64) -> Option<usize> {
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
        ) {
            let (mut shards, mut map) = (Shards::default(), HashMap::new());
            let (mut early, mut early_map) = (shards.clone(), map.clone());
            for (place, (key, port)) in changes.iter().enumerate() {
                if place == changes.len() / 2 {
                    (early, early_map) = (shards.clone(), map.clone());
                }
                match port {
                    Some(port) => {
                        let station = Station { port: Port(*port), learned: place as u64 };
                        shards.insert(*key, station);
                        map.insert(*key, station);
                    }
                    None => {
                        shards.remove(*key);
                        map.remove(key);
                    }
                }
            }
            for (shards, map) in [(shards, map), (early, early_map)] {
                prop_assert_eq!(shards.count(), map.len());
                prop_assert_eq!(shards.iter().collect::<HashMap<_, _>>(), map.clone());
                for key in 1..400 {
                    prop_assert_eq!(shards.get(key), map.get(&key).copied());
                }
            }
        }
    }
}
