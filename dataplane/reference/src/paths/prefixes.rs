//! From prefixes of destinations to sets, as the kernel's trie has them.

use super::family::{Family, unmapped};
use super::tables::PrefixKey;
use std::collections::{BTreeMap, HashMap};

/// Bits of a key before the address: the family's.
const FAMILY: u32 = 32;

/// Sets by an address's first bits, with its family.
type Sets = HashMap<(u32, u128), u32>;

/// From prefixes of destinations to sets.
#[derive(Debug, Clone, Default)]
pub struct Prefixes(BTreeMap<u32, Sets>);

impl Prefixes {
    /// Turns a prefix to a set.
    pub fn insert(&mut self, key: &PrefixKey, set: u32) {
        let first = masked(key.address, key.bits);
        self.0.entry(key.bits).or_default().insert((key.family, first), set);
    }

    /// The set of the longest prefix that an address is of, as tables have addresses.
    pub fn longest(&self, address: [u8; 16]) -> Option<u32> {
        let family = Family::of(unmapped(address)).number();
        let mut longest_first = self.0.iter().rev();
        longest_first.find_map(|(bits, sets)| sets.get(&(family, masked(address, *bits))).copied())
    }
}

fn masked(address: [u8; 16], bits: u32) -> u128 {
    u128::from_be_bytes(address) & u128::MAX.checked_shl(FAMILY + 128 - bits).unwrap_or(0)
}
