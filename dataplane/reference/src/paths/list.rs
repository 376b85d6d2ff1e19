//! Relay lists inside one header: of SRv6 the segment routing header, of ovstack the list behind it.
//!
//! The first relay stands in the outer header alone, as RFC 8986 section 5.2 has it for what it calls reduced.

use super::family::Family;
use crate::tables::encapsulation;
use plait_model_wire::number::protocol;
use plait_model_wire::ovstack::{DEFAULT_TTL, NodeId};
use plait_model_wire::{ovstack, push, relay_list, segment_routing};
use std::net::IpAddr;

/// What stands between the outer IP header and the packet that it carries.
pub(super) struct Between {
    /// The IP protocol of the first of it; that of the packet where nothing is.
    pub protocol: u8,
    /// With nought for what follows from the packet, but for its family.
    pub bytes: Vec<u8>,
}

/// What stands between the outer header to the first relay and a packet of a family and a flow. None of an encapsulation
/// that has no list inside, and of segments that are no addresses of IPv6.
///
/// Choice: of ovstack, neither tenant nor identities are said: relays are named by their addresses, and nobody between them
/// knows identities.
pub(super) fn between(relays: &[IpAddr], kind: u32, carried: Family, hash: u32) -> Option<Between> {
    let rest = relays.get(1..)?;
    let (left, next) = (rest.len() as u8, carried.protocol());
    let mut bytes = Vec::new();
    match kind {
        encapsulation::SRV6 => {
            let segment = |relay: &IpAddr| match relay {
                IpAddr::V6(segment) => Some(*segment),
                IpAddr::V4(_) => None,
            };
            let segments = relays.iter().map(segment).collect::<Option<Vec<_>>>()?.split_off(1);
            if segments.is_empty() {
                return Some(Between { protocol: next, bytes });
            }
            push(&mut bytes, &segment_routing::Repr { next, left, segments });
            Some(Between { protocol: protocol::ROUTING, bytes })
        }
        encapsulation::OVSTACK => {
            push(&mut bytes, &relay_list::Repr { left, relays: rest.to_vec(), next });
            let none = NodeId(0);
            let header = ovstack::Repr {
                ttl: DEFAULT_TTL,
                application: relay_list::APPLICATION,
                is_control: false,
                vni: 0,
                hash,
                destination: none,
                source: none,
            };
            push(&mut bytes, &header);
            Some(Between { protocol: protocol::UDP, bytes })
        }
        _ => None,
    }
}
