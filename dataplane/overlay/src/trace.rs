//! A flow's way, hop by hop, as [`Request::Trace`](crate::protocol::Request::Trace) is answered.

use crate::{Encapsulation, Identifier};
use plait_model_overlay::NodeId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The largest packet whose way may be asked for: what any device carries.
pub const LARGEST_PACKET: u16 = 65_000;

/// Whose way is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceRequest {
    /// The device that the packet leaves by.
    pub device: String,
    /// Where it goes: what the device finds packets by, or, of frames, an IP address whose hardware address the host knows.
    pub destination: Identifier,
    /// Who sends it: a hardware address of frames, an IP address of packets; without it the host itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Identifier>,
    /// Which of the flows that have the same addresses. It stands for the kernel's hash, which nobody can foretell.
    #[serde(default)]
    pub flow: u32,
    /// Bytes of the IP packet, which the MTU bounds.
    pub size: u16,
}

/// What would become of a packet: every node that it or a copy of it comes to, each after the one that sends it there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// The nodes, the first the one that was asked.
    pub hops: Vec<TraceHop>,
}

/// What a node does with a packet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceHop {
    /// The node.
    pub node: NodeId,
    /// The place in [`Trace::hops`] of the node that sends it there; none of the first.
    pub after: Option<usize>,
    /// What the FIB said, where the packet begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<TraceEntry>,
    /// The next hops, each with the header that it gets.
    pub sent: Vec<TraceCopy>,
    /// Next hops beyond those, which were not followed.
    pub left_out: u16,
    /// The device by which it comes out of the overlay.
    pub delivered: Option<String>,
    /// Why it, or a copy of it, goes no further.
    pub dropped: Vec<String>,
    /// Why nothing is known beyond, if it was neither sent nor delivered nor dropped.
    pub ends: Option<String>,
    /// What the tables counted of the same path; of packets that come out of the overlay, what the device got.
    pub count: TraceCount,
    /// The same from one look to the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<TraceCount>,
}

/// What the FIB says of an identifier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceEntry {
    /// What was looked for.
    pub identifier: Identifier,
    /// Whether it was there; else what is for the unknown follows.
    pub is_known: bool,
    /// The node or group; none drops it.
    pub node: Option<NodeId>,
    /// Seconds since it was heard; none of one that was configured.
    pub heard: Option<u32>,
    /// Packets sent there.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// A packet as it leaves for a next hop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceCopy {
    /// To whom.
    pub next_hop: NodeId,
    /// The weight of the pair of locators that the flow keeps to.
    pub weight: u32,
    /// The sum of all pairs' weights.
    pub weights: u32,
    /// The device it leaves by.
    pub device: String,
    /// That device's MTU.
    pub mtu: u32,
    /// Bytes on the wire, those of the Ethernet header among them.
    pub bytes: usize,
    /// The outer header.
    pub outer: TraceOuter,
}

/// An outer header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceOuter {
    /// Hardware addresses, from and to.
    pub hardware: [String; 2],
    /// Locators, from and to.
    pub locators: [IpAddr; 2],
    /// UDP ports, from and to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<[u16; 2]>,
    /// The IP header's hops.
    pub ttl: u8,
    /// What stands behind it.
    pub encapsulation: Encapsulation,
    /// The virtual network, if that is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vni: Option<u32>,
    /// The overlay's hops, if those are told apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hops: Option<u8>,
}

/// What a node counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceCount {
    /// Packets of the path, whoever's.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets of the node that went no further, by reason.
    pub drops: BTreeMap<String, u64>,
}

impl Trace {
    /// Whether the packet arrives: somewhere, and every copy of it.
    pub fn is_delivered(&self) -> bool {
        let is_lost = |hop: &TraceHop| !hop.dropped.is_empty() || hop.ends.is_some() || hop.left_out > 0;
        self.hops.iter().any(|hop| hop.delivered.is_some()) && !self.hops.iter().any(is_lost)
    }

    /// Says what each node counted since an earlier look; nothing of nodes that were not on the way then.
    pub fn since(&mut self, earlier: &Self) {
        for hop in &mut self.hops {
            let before = earlier.hops.iter().find(|before| before.node == hop.node && before.ends.is_none());
            hop.since = before.filter(|_| hop.ends.is_none()).map(|before| hop.count.since(&before.count));
        }
    }
}

impl TraceCount {
    /// What was counted since; nothing, if the counters began anew.
    fn since(&self, earlier: &Self) -> Self {
        let drops = self.drops.iter().map(|(reason, count)| {
            (reason.clone(), count.saturating_sub(earlier.drops.get(reason).copied().unwrap_or(0)))
        });
        Self {
            packets: self.packets.saturating_sub(earlier.packets),
            bytes: self.bytes.saturating_sub(earlier.bytes),
            drops: drops.filter(|(_, count)| *count > 0).collect(),
        }
    }
}
