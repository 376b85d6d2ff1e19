//! What became of the packets.

use serde::{Deserialize, Serialize};

/// What became of the packets of one direction, in packets as on the wire: a train of ten segments counts ten.
///
/// Every packet is accounted for: `arrived + duplicated` equals `failed + lost + queue_dropped + aqm_dropped +
/// departed` and those still under way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Handed to the link.
    pub arrived: u64,
    /// Bytes handed to the link.
    pub arrived_bytes: u64,
    /// Delivered.
    pub departed: u64,
    /// Bytes delivered.
    pub departed_bytes: u64,
    /// Dropped because the link was down.
    pub failed: u64,
    /// Lost as the conditions ask.
    pub lost: u64,
    /// Copies made.
    pub duplicated: u64,
    /// Damaged by one bit.
    pub corrupted: u64,
    /// Sent past the delay.
    pub reordered: u64,
    /// Dropped because the queue was full.
    pub queue_dropped: u64,
    /// Dropped by RED or CoDel before the queue was full.
    pub aqm_dropped: u64,
    /// Marked by RED or CoDel instead of dropped.
    pub marked: u64,
}

impl Counters {
    /// Packets that are neither delivered nor dropped.
    pub fn under_way(&self) -> u64 {
        let came = self.arrived + self.duplicated;
        let gone = self.failed + self.lost + self.queue_dropped + self.aqm_dropped + self.departed;
        came - gone
    }
}
