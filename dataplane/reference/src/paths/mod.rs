//! What path control does with a packet, without a kernel: which of a set's lists a flow goes by, and what stands before
//! its packets then. [`Steer`] is the whole walk of a packet that leaves, and remembers what the programs do; the simulator
//! sends by it.

mod flows;
mod stack;
mod steer;
pub mod tables;

pub use flows::Flows;
pub use stack::{pushed, stride};
pub use steer::{Prefixes, Steer, SteerTables};

use crate::walk::mixed;
use plait_model_wire::ipv4;
use plait_model_wire::number::protocol;
use tables::{FlowKey, ListSet};

/// The flow of an IPv4 packet; none of what is no such packet.
pub fn flow_of(packet: &[u8]) -> Option<FlowKey> {
    let ip = ipv4::Packet::parse(packet).ok()?;
    let has_ports =
        [protocol::TCP, protocol::UDP, protocol::SCTP].contains(&ip.protocol()) && !ip.is_fragment();
    let ports = ip.payload().first_chunk().filter(|_| has_ports).copied().unwrap_or_default();
    let (source, destination) = (ip.source().octets(), ip.destination().octets());
    Some(FlowKey { source, destination, ports, protocol: ip.protocol().into() })
}

/// A flow's hash.
pub fn hash_of(flow: &FlowKey) -> u32 {
    let word = u32::from_ne_bytes;
    mixed(word(flow.source), word(flow.destination), word(flow.ports) ^ flow.protocol)
}

/// The UDP port that a flow's stack has as its source, in which a switch's hash sees the flow.
pub fn source_port(hash: u32) -> u16 {
    0xc000 | (hash & 0x3fff) as u16
}

/// The list that a hash names in a set, counted from nought.
pub fn chosen(set: &ListSet, hash: u32) -> usize {
    let point = (u64::from(hash) * u64::from(set.weights)) >> 32;
    let all = &set.choices[..set.count as usize];
    all.iter().position(|choice| point < choice.below.into()).unwrap_or(0)
}
