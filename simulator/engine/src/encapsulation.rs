//! Stacks of tunnel headers: a list of relays that a packet goes by before its destination.
//!
//! Nakamura's thesis, section 5.3: the first relay's header is outermost, every header has the same source address that
//! nobody has, each relay takes off its own header and forwards what is inside, and needs no state for that. Or all relays
//! stand in one header, of which each makes the next one the destination, and the last one takes it off.

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
    /// One IPv6 header, with a segment routing header behind it where there is more than one relay: RFC 8754, reduced as in
    /// RFC 8986 section 5.2.
    Srv6,
    /// One header: IP · UDP · ovstack · relay list, whose source port tells flows apart.
    Ovstack,
}

impl Encapsulation {
    /// Whether all relays stand in one header.
    pub fn has_list(self) -> bool {
        matches!(self, Self::Srv6 | Self::Ovstack)
    }

    /// Bytes of one header, in which so many relays are where it has a list.
    pub fn length(self, is_ipv6: bool, relays: usize) -> u32 {
        let (ip, address) = if is_ipv6 { (40, 16) } else { (20, 4) };
        let listed = address * relays.saturating_sub(1) as u32;
        ip + match self {
            Self::Gre => 4,
            Self::Ipip => 0,
            Self::Gue => 8 + 4,
            Self::Srv6 if relays > 1 => 8 + listed,
            Self::Srv6 => 0,
            Self::Ovstack => 8 + 20 + 4 + listed,
        }
    }

    /// What switches hash of a header for a relay, if no two flows differ in it and it is the same in any list: of GRE and IP in
    /// IP.
    pub fn hash(self, source: IpAddr, relay: IpAddr) -> Option<u32> {
        let number = self.protocol(relay.is_ipv6(), 1);
        matches!(self, Self::Gre | Self::Ipip).then(|| flow_hash(source, relay, number, [0, 0]))
    }

    /// The IP protocol behind one header.
    fn protocol(self, is_ipv6: bool, relays: usize) -> u8 {
        match self {
            Self::Gre => protocol::GRE,
            Self::Srv6 if relays > 1 => protocol::ROUTING,
            Self::Ipip | Self::Srv6 if is_ipv6 => protocol::IPV6,
            Self::Ipip | Self::Srv6 => protocol::IPV4,
            Self::Gue | Self::Ovstack => protocol::UDP,
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

/// One header, or one relay's turn in a header of several.
#[derive(Debug, Clone)]
pub(crate) struct Level {
    pub relay: AddressIndex,
    pub address: IpAddr,
    /// Bytes that its relay takes off.
    pub length: u32,
    /// What switches hash of it, where flows do not differ in it.
    hash: u32,
}

impl Stack {
    pub fn new(encapsulation: Encapsulation, source: IpAddr, relays: &[(AddressIndex, IpAddr)]) -> Self {
        let level = |(place, &(relay, address)): (usize, &(AddressIndex, IpAddr))| {
            let hash =
                flow_hash(source, address, encapsulation.protocol(address.is_ipv6(), relays.len()), [0, 0]);
            let is_sent_on = encapsulation.has_list() && place + 1 < relays.len();
            let length = if is_sent_on { 0 } else { encapsulation.length(address.is_ipv6(), relays.len()) };
            Level { relay, address, length, hash }
        };
        Self { encapsulation, source, levels: relays.iter().enumerate().map(level).collect() }
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
        let of_flow =
            |port| flow_hash(self.source, level.address, protocol::UDP, [entropy_port(inner), port]);
        match self.encapsulation {
            Encapsulation::Gue => of_flow(port::GUE),
            Encapsulation::Ovstack => of_flow(port::OVSTACK),
            Encapsulation::Gre | Encapsulation::Ipip | Encapsulation::Srv6 => level.hash,
        }
    }
}

/// The source port that tells a flow's outer headers apart, from the ephemeral range (RFC 7348, section 5).
pub(crate) fn entropy_port(inner: u32) -> u16 {
    0xc000 | (mix(inner.into()) >> 50) as u16
}
