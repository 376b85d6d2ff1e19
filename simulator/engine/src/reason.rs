//! Why a packet went no further.

use serde::{Deserialize, Serialize};

/// Why a node dropped a packet. What links drop is in their own [`Counters`](plait_model_link::Counters).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// No route covers its destination.
    NoRoute,
    /// It had no hops left.
    Expired,
    /// It came to a host that it is not for.
    NotForUs,
    /// Nobody listens on its port.
    NoListener,
    /// It does not fit the link. Choice: nothing is fragmented, as with the "don't fragment" bit that today's stacks set.
    TooBig,
    /// It wears a tunnel header that this node does not take off: no relay, or not its source.
    NotDecapsulated,
    /// It came by a border with a source of tunnel headers that is to be used inside alone.
    Forged,
    /// A bit of it was wrong, as its checksum shows.
    Damaged,
    /// The switch knows no way to its station.
    NoStation,
}

impl Reason {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::NoRoute,
        Self::Expired,
        Self::NotForUs,
        Self::NoListener,
        Self::TooBig,
        Self::NotDecapsulated,
        Self::Forged,
        Self::Damaged,
        Self::NoStation,
    ];
}

/// What a node counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeCounters {
    /// Packets that its sources and protocols sent.
    pub sent: u64,
    /// Packets that its sinks and protocols got.
    pub received: u64,
    /// Packets that it passed on.
    pub forwarded: u64,
    /// Tunnel headers that it took off.
    pub decapsulated: u64,
    /// Packets that it dropped, in the order of [`Reason::ALL`].
    pub dropped: [u64; Reason::ALL.len()],
}

impl NodeCounters {
    /// Packets dropped for one reason.
    pub fn dropped_for(&self, reason: Reason) -> u64 {
        self.dropped[reason as usize]
    }

    pub(crate) fn drop(&mut self, reason: Reason) {
        self.dropped[reason as usize] += 1;
    }
}

/// What became of all packets: `sent + duplicated` is `received + at_nodes + at_links + under_way`, always.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Sent by sources and protocols.
    pub sent: u64,
    /// Copies that links made.
    pub duplicated: u64,
    /// Received by sinks and protocols.
    pub received: u64,
    /// Dropped by nodes, all reasons.
    pub at_nodes: u64,
    /// Dropped by links: lost, failed, by a full queue or its discipline.
    pub at_links: u64,
    /// On links or in queues.
    pub under_way: u64,
    /// Packets that came to the end of a link: the events of a simulation.
    pub hops: u64,
}

impl Totals {
    /// Whether every packet is accounted for.
    pub fn is_conserved(&self) -> bool {
        self.sent + self.duplicated == self.received + self.at_nodes + self.at_links + self.under_way
    }
}
