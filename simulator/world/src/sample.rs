//! What is seen of links.

use crate::world::World;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// From end 0 to end 1, the order of the link's name.
    Forward,
    /// From end 1 to end 0.
    Reverse,
    /// Both.
    Both,
}

impl Side {
    /// Whether it includes the direction from `end` (0 or 1) to the other.
    pub fn includes(self, end: usize) -> bool {
        match self {
            Self::Forward => end == 0,
            Self::Reverse => end == 1,
            Self::Both => true,
        }
    }

    /// The same seen from the other end.
    pub fn turned(self) -> Self {
        match self {
            Self::Forward => Self::Reverse,
            Self::Reverse => Self::Forward,
            Self::Both => Self::Both,
        }
    }
}

/// The counters of one direction of a link, from the world's start, and its queue at one instant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkRow {
    /// When.
    pub at: Duration,
    /// The link's name; of a LAN's member `LAN/NODE:INTERFACE`.
    pub link: String,
    /// The direction; never [`Side::Both`].
    pub side: Side,
    /// Packets delivered at the other end.
    pub packets: u64,
    /// Bytes delivered at the other end, as whole frames.
    pub bytes: u64,
    /// Packets that were lost as asked, or because the link had failed.
    pub lost: u64,
    /// Packets that its queue dropped.
    pub queue_dropped: u64,
    /// Packets that its queue marked (ECN).
    pub marked: u64,
    /// Packets that are neither delivered nor dropped.
    pub queue_packets: u64,
    /// Bytes that wait for the rate.
    pub queue_bytes: u64,
}

impl World {
    /// Every direction of every link as it is now, in the order of the file, then each LAN's members.
    pub fn link_rows(&mut self) -> Vec<LinkRow> {
        let at = self.now();
        let mut rows = Vec::with_capacity(2 * self.links.len());
        for link in &self.links {
            for (end, side) in [Side::Forward, Side::Reverse].into_iter().enumerate() {
                let state = self.simulation.link_state(link.index, end);
                let counters = state.counters;
                rows.push(LinkRow {
                    at,
                    link: link.name.clone(),
                    side,
                    packets: counters.departed,
                    bytes: counters.departed_bytes,
                    lost: counters.lost + counters.failed,
                    queue_dropped: counters.queue_dropped + counters.aqm_dropped,
                    marked: counters.marked,
                    queue_packets: counters.under_way(),
                    queue_bytes: state.backlog,
                });
            }
        }
        rows
    }
}
