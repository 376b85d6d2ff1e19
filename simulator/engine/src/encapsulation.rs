//! Stacks of tunnel headers: a list of relays that a packet goes by before its destination.
//!
//! Nakamura's thesis, section 5.3: the first relay's header is outermost, every header has the same source address that
//! nobody has, each relay takes off its own header and forwards what is inside, and needs no state for that.

use crate::address::AddressIndex;
use crate::hash::{flow_hash, mix};
use plait_model_wire::number::{port, protocol};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// The most relays in one list. Choice: as many as a program of the kernel can push at once.
pub const MOST_RELAYS: usize = 16;

/// Which headers a relay's tunnel has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encapsulation {
    /// IP · GRE, RFC 2784: four bytes beside the IP header.
    Gre,
    /// IP in IP, RFC 2003.
    Ipip,
    /// IP · UDP · GUE, whose source port tells flows apart.
    Gue,
}

impl Encapsulation {
    /// Bytes that one header adds.
    pub fn length(self, is_ipv6: bool) -> u32 {
        let ip = if is_ipv6 { 40 } else { 20 };
        ip + match self {
            Self::Gre => 4,
            Self::Ipip => 0,
            Self::Gue => 8 + 4,
        }
    }
}

/// A list of relays by its place among those of a simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StackIndex(pub(crate) u32);

impl StackIndex {
    /// No relays.
    pub const NONE: Self = Self(u32::MAX);
}

/// A list of relays.
#[derive(Debug, Clone)]
pub(crate) struct Stack {
    pub encapsulation: Encapsulation,
    pub source: IpAddr,
    pub levels: Vec<Level>,
}

/// One header.
#[derive(Debug, Clone)]
pub(crate) struct Level {
    pub relay: AddressIndex,
    pub address: IpAddr,
    /// Bytes that it adds.
    pub length: u32,
    /// What switches hash of it, where flows do not differ in it.
    hash: u32,
}

impl Stack {
    pub fn new(encapsulation: Encapsulation, source: IpAddr, relays: &[(AddressIndex, IpAddr)]) -> Self {
        let level = |&(relay, address): &(AddressIndex, IpAddr)| {
            let number = match (encapsulation, address.is_ipv6()) {
                (Encapsulation::Gre, _) => protocol::GRE,
                (Encapsulation::Ipip, false) => protocol::IPV4,
                (Encapsulation::Ipip, true) => protocol::IPV6,
                (Encapsulation::Gue, _) => protocol::UDP,
            };
            let hash = flow_hash(source, address, number, [0, 0]);
            Level { relay, address, length: encapsulation.length(address.is_ipv6()), hash }
        };
        Self { encapsulation, source, levels: relays.iter().map(level).collect() }
    }

    /// Bytes of all headers.
    pub fn length(&self) -> u32 {
        self.levels.iter().map(|level| level.length).sum()
    }

    pub fn level(&self, position: u8) -> &Level {
        &self.levels[usize::from(position)]
    }

    /// What switches hash of one header, around a packet of this inner hash.
    pub fn hash(&self, position: u8, inner: u32) -> u32 {
        let level = self.level(position);
        match self.encapsulation {
            Encapsulation::Gue => {
                flow_hash(self.source, level.address, protocol::UDP, [entropy_port(inner), port::GUE])
            }
            Encapsulation::Gre | Encapsulation::Ipip => level.hash,
        }
    }
}

/// The source port that tells a flow's outer headers apart, from the ephemeral range (RFC 7348, section 5).
pub(crate) fn entropy_port(inner: u32) -> u16 {
    0xc000 | (mix(inner.into()) >> 50) as u16
}
