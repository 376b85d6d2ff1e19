//! How a device's packets are steered.

use crate::error::Error;
use crate::family::Sources;
use ipnet::IpNet;
use plait_control_paths::RelayList;
use plait_control_paths::select::Rearrangement;
use plait_dataplane_bpf::PathSizes;
use plait_dataplane_reference::paths::tables::{ListChoice, ListSet, Stack, selector, size};
use plait_dataplane_reference::paths::{Family, has_list, mapped};
use plait_dataplane_reference::tables::encapsulation;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// What stands between the IP headers of a stack, which have 20 bytes of IPv4 and 40 of IPv6; or behind the one header that
/// has all relays in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encapsulation {
    /// Nothing.
    Ipip,
    /// GRE: 4 bytes a relay.
    Gre,
    /// UDP and GUE: 12 bytes a relay, and switches see flows in the port.
    Gue,
    /// One IPv6 header, and a segment routing header (RFC 8754) of 8 bytes and 16 a relay but the first.
    Srv6,
    /// One IP header with UDP, ovstack and a list: 32 bytes, and an address a relay but the first.
    Ovstack,
}

impl Encapsulation {
    /// All there are.
    pub const ALL: [Self; 5] = [Self::Ipip, Self::Gre, Self::Gue, Self::Srv6, Self::Ovstack];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ipip => "ipip",
            Self::Gre => "gre",
            Self::Gue => "gue",
            Self::Srv6 => "srv6",
            Self::Ovstack => "ovstack",
        }
    }

    pub(crate) fn number(self) -> u32 {
        match self {
            Self::Ipip => encapsulation::IPIP,
            Self::Gre => encapsulation::GRE,
            Self::Gue => encapsulation::GUE,
            Self::Srv6 => encapsulation::SRV6,
            Self::Ovstack => encapsulation::OVSTACK,
        }
    }

    /// How many IP headers a list of so many relays has.
    pub fn headers(self, relays: usize) -> usize {
        if has_list(self.number()) { relays.min(1) } else { relays }
    }
}

impl fmt::Display for Encapsulation {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.name())
    }
}

impl FromStr for Encapsulation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == text)
            .ok_or_else(|| "expected `gre`, `ipip`, `gue`, `srv6` or `ovstack`".to_owned())
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
    fn number(&self) -> u32 {
        match self {
            Self::Hash | Self::Weighted(_) => selector::HASH,
            Self::RoundRobin => selector::ROUND_ROBIN,
            Self::FlowBased => selector::FLOW_BASED,
        }
    }

    /// The weights of so many lists.
    fn weights(&self, lists: usize) -> Vec<u32> {
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

/// How much later than asked a holder may let packets go, until nobody waits for it any more. Choice: what a busy machine does
/// to a thread; while an agent is dead, a flow that moves loses what it sends for so long.
const LATE: Duration = Duration::from_millis(250);

/// For how long packets of a flow that moves are held at most, where paths differ by so much.
pub(crate) fn longest_hold(spread: Duration) -> Duration {
    spread.saturating_add(LATE)
}

/// For how long nothing may be heard of a flow while it moves, where paths differ by so much. [`Options::idle`] is longer.
pub fn longest_silence(spread: Duration) -> Duration {
    spread.saturating_add(longest_hold(spread))
}

/// Packets of many segments, which the sender's kernel leaves to the device to cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Superpackets {
    /// Senders make none for this device while a list has two headers or more: after cutting, headers in the middle of a
    /// stack would say a wrong length. What comes all the same under more than one header is cut before.
    Cut,
    /// They stay whole under any stack: for relays of Plait alone.
    Whole,
}

/// By which ways packets to a prefix go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ways {
    /// Relay lists, the best first.
    pub lists: Vec<RelayList>,
    /// What stands between their headers.
    pub encapsulation: Encapsulation,
    /// Which list a flow goes by.
    pub selector: Selector,
}

impl Ways {
    /// The headers of all lists.
    ///
    /// # Errors
    /// More lists than a set holds, more relays than a stack, relays of two families or of one that the type has not.
    pub fn stacks(&self, prefix: IpNet, sources: Sources) -> Result<Vec<Stack>, Error> {
        if self.lists.len() > size::LISTS as usize {
            return Err(Error::Lists(prefix, self.lists.len()));
        }
        let stack = |list: &RelayList| {
            let family = list.first().map_or(Family::Ipv4, |first| Family::of(*first));
            if list.iter().any(|relay| Family::of(*relay) != family) {
                return Err(Error::Family(prefix));
            }
            if self.encapsulation == Encapsulation::Srv6 && family == Family::Ipv4 && !list.is_empty() {
                return Err(Error::Segments(prefix));
            }
            Stack::new(sources.of(family), list, self.encapsulation.number())
                .ok_or(Error::Relays(prefix, list.len()))
        };
        self.lists.iter().map(stack).collect()
    }

    /// The set of all lists, from the places at which their stacks stand and the bytes of each.
    pub fn set(&self, stacks: &[(u32, u32)]) -> ListSet {
        let mut choices = [ListChoice { below: 0, stack: 0, name: 0 }; size::LISTS as usize];
        let mut weights = 0;
        let lists = stacks.iter().zip(&self.lists).zip(self.selector.weights(stacks.len()));
        for (((&(stack, _), list), weight), choice) in lists.zip(&mut choices) {
            weights += weight;
            *choice = ListChoice { below: weights, stack, name: self.name(list) };
        }
        let count = stacks.len() as u32;
        let tallest = stacks.iter().map(|(_, bytes)| *bytes).max().unwrap_or_default();
        ListSet { count, selector: self.selector.number(), weights, turns: 0, tallest, choices }
    }

    /// What one of the lists is known by: FNV-1a of its type and relays. Plain routing has no type.
    pub(crate) fn name(&self, list: &RelayList) -> u32 {
        let kind = (!list.is_empty()).then(|| self.encapsulation.number() as u8);
        let relays = list.iter().flat_map(|relay| mapped(*relay));
        kind.into_iter()
            .chain(relays)
            .fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
    }
}

/// How a device's packets are steered.
#[derive(Debug, Clone)]
pub struct Options {
    /// The sources of all stacks.
    pub sources: Sources,
    /// What stands between their headers, where an operation does not say.
    pub encapsulation: Encapsulation,
    /// Which list a flow goes by, likewise.
    pub selector: Selector,
    /// What becomes of superpackets.
    pub superpackets: Superpackets,
    /// By how much a packet may be later by one list than by another: a flow is moved when it sent nothing for longer, so
    /// that nothing of it is overtaken.
    pub spread: Duration,
    /// How long a flow that is to move waits for that, before its packets are [held](crate::Paths::hold).
    pub patience: Duration,
    /// A flow that was silent for longer is forgotten: what comes then is another one. It is more than [`longest_silence`]. Without
    /// it flows are known until others need their places.
    pub idle: Option<Duration>,
    /// What the narrowest link takes on the way to the last relay of any list, where the device takes more.
    pub mtu: Option<u32>,
    /// How large the tables are.
    pub sizes: PathSizes,
}

impl Options {
    /// By hash, superpackets cut, paths that differ by 10 ms at most, with tables of the usual sizes.
    pub fn new(sources: impl Into<Sources>, encapsulation: Encapsulation) -> Self {
        let (selector, superpackets) = (Selector::Hash, Superpackets::Cut);
        let spread = Duration::from_millis(10);
        let sources = sources.into();
        let patience = Rearrangement::default().patience;
        Self {
            sources,
            encapsulation,
            selector,
            superpackets,
            spread,
            patience,
            idle: None,
            mtu: None,
            sizes: PathSizes::default(),
        }
    }

    /// The ways of lists, as these options have them.
    pub(crate) fn ways(&self, lists: Vec<RelayList>) -> Ways {
        Ways { lists, encapsulation: self.encapsulation, selector: self.selector.clone() }
    }
}
