//! How a device's packets are steered.

use plait_dataplane_bpf::PathSizes;
use plait_dataplane_reference::paths::tables::selector;
use plait_dataplane_reference::tables::encapsulation;
use std::net::Ipv4Addr;

/// What stands between the IP headers of a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encapsulation {
    /// Nothing: 20 bytes a relay.
    Ipip,
    /// GRE: 24 bytes a relay.
    Gre,
    /// UDP and GUE: 32 bytes a relay, and switches see flows in the port.
    Gue,
}

impl Encapsulation {
    pub(crate) fn number(self) -> u32 {
        match self {
            Self::Ipip => encapsulation::IPIP,
            Self::Gre => encapsulation::GRE,
            Self::Gue => encapsulation::GUE,
        }
    }
}

/// Which of a prefix's lists a flow goes by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// By its hash.
    Hash,
    /// By its hash, each list its share: the weights in the lists' order. Where no list has one, all have the same.
    Weighted(Vec<u32>),
    /// A new flow goes by the next list.
    RoundRobin,
    /// By its hash, until [`Paths::move_flow`](crate::Paths::move_flow).
    FlowBased,
}

impl Selector {
    pub(crate) fn number(&self) -> u32 {
        match self {
            Self::Hash | Self::Weighted(_) => selector::HASH,
            Self::RoundRobin => selector::ROUND_ROBIN,
            Self::FlowBased => selector::FLOW_BASED,
        }
    }

    /// The weights of so many lists.
    pub(crate) fn weights(&self, lists: usize) -> Vec<u32> {
        let given = match self {
            Self::Weighted(weights) => {
                (0..lists).map(|list| weights.get(list).copied().unwrap_or(0)).collect()
            }
            _ => Vec::new(),
        };
        // Their sum is one of 32 bits in the table.
        let is_some = given.iter().any(|weight| *weight > 0);
        if is_some { given.iter().map(|weight| (*weight).min(1 << 24)).collect() } else { vec![1; lists] }
    }
}

/// Packets of many segments, which the sender's kernel leaves to the device to cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Superpackets {
    /// Senders make none for this device: after cutting, headers in the middle of a stack would say a wrong length. What
    /// comes all the same under more than one header is dropped and counted.
    Cut,
    /// They stay whole under any stack: for relays of Plait alone.
    Whole,
}

/// How a device's packets are steered.
#[derive(Debug, Clone)]
pub struct Options {
    /// The source of all stacks, nobody's address.
    pub source: Ipv4Addr,
    /// What stands between their headers.
    pub encapsulation: Encapsulation,
    /// Which list a flow goes by.
    pub selector: Selector,
    /// What becomes of superpackets.
    pub superpackets: Superpackets,
    /// How large the tables are.
    pub sizes: PathSizes,
}

impl Options {
    /// By hash, superpackets cut, with tables of the usual sizes.
    pub fn new(source: Ipv4Addr, encapsulation: Encapsulation) -> Self {
        let (selector, superpackets) = (Selector::Hash, Superpackets::Cut);
        Self { source, encapsulation, selector, superpackets, sizes: PathSizes::default() }
    }
}
