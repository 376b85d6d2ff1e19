//! What was decided about packets, so that two runs can be compared.

use crate::draw::mix;
use serde::{Deserialize, Serialize};

/// Digests of the fates of a direction's first packets: of the first one, the first two, four, eight and so on. Two
/// runs of one file agree in every digest that both have, however many packets each had.
///
/// It ends where the conditions are changed, because the change meets another packet in each run.
///
/// What each packet needs stands first, as in all of a direction.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[repr(C)]
pub struct Journal {
    /// How many were noted, which is the next one's number; [`ENDED`] once no more are.
    #[serde(skip)]
    packets: u64,
    #[serde(skip)]
    sum: u64,
    /// Digest of the first 2^i packets at place i.
    pub digests: Vec<u64>,
}

/// No packet's number.
const ENDED: u64 = u64::MAX;

/// What the link decided of a packet before it met the queue.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Fate {
    pub lost: bool,
    pub doubled: bool,
    pub hurried: bool,
    pub corrupt: Option<u64>,
    pub delay: u64,
}

impl Fate {
    /// A number that says it.
    #[inline]
    pub fn digest(self) -> u64 {
        let flags = u64::from(self.lost) | u64::from(self.doubled) << 1 | u64::from(self.hurried) << 2;
        let corrupt = self.corrupt.map_or(0, |bit| mix(bit.wrapping_add(1)));
        mix(self.delay.wrapping_add(flags << 61)) ^ corrupt
    }
}

impl Journal {
    #[inline]
    pub(super) fn note(&mut self, number: u64, fate: Fate) {
        self.note_digest(number, fate.digest());
    }

    /// The same of a fate that many packets have.
    #[inline]
    pub(super) fn note_digest(&mut self, number: u64, digest: u64) {
        // Trains are not decided about, and housekeeping counts apart.
        if number != self.packets {
            return;
        }
        self.sum = mix(self.sum ^ digest);
        self.packets += 1;
        if self.packets.is_power_of_two() {
            self.digests.push(self.sum);
        }
    }

    pub(super) fn end(&mut self) {
        self.packets = ENDED;
    }

    /// How many packets two runs have in common, rounded down to a power of two, and whether all of them fared alike.
    pub fn compare(&self, other: &Self) -> (u64, bool) {
        let common = self.digests.len().min(other.digests.len());
        let packets = if common == 0 { 0 } else { 1 << (common - 1) };
        (packets, self.digests[..common] == other.digests[..common])
    }
}
