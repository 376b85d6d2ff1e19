//! What the underlay says of congestion, told to who is inside: RFC 6040 section 4.2.

use super::parcel::Parcel;
use crate::drivers::Payload;
use plait_model_wire::number::ether_type;
use plait_model_wire::{checksum, ethernet, ipv4};

const ECT_1: u8 = 1;
const ECT_0: u8 = 2;
const CE: u8 = 3;

/// The marks of a packet inside after a way with those marks outside; none where it must be dropped.
fn merged(inside: u8, outside: u8) -> Option<u8> {
    match (inside, outside) {
        (0, CE) => None,
        (_, CE) => Some(CE),
        (ECT_0, ECT_1) => Some(ECT_1),
        _ => Some(inside),
    }
}

impl Parcel {
    /// Marks what the packet carries as its outer header was marked. Whether it may go on.
    pub fn tell_congestion(&mut self) -> bool {
        if self.ecn != CE && self.ecn != ECT_1 {
            return true;
        }
        let (at, ether_type) = match (self.payload, self.carried.as_slice()) {
            (Payload::Ipv4, _) => (0, ether_type::IPV4),
            (Payload::Ipv6, _) => (0, ether_type::IPV6),
            (Payload::Mpls | Payload::Nsh, _) => return true,
            (_, [_, _, _, _, _, _, _, _, _, _, _, _, a, b, ..]) => {
                (ethernet::Header::LENGTH, u16::from_be_bytes([*a, *b]))
            }
            _ => return true,
        };
        let Some(packet) = self.carried.get_mut(at..).filter(|packet| packet.len() >= ipv4::Header::LENGTH)
        else {
            return true;
        };
        let shift = match ether_type {
            ether_type::IPV4 => 0,
            ether_type::IPV6 => 4,
            _ => return true,
        };
        let Some(marks) = merged(packet[1] >> shift & 3, self.ecn) else { return false };
        let old = u16::from_be_bytes([packet[0], packet[1]]);
        packet[1] = packet[1] & !(3 << shift) | marks << shift;
        if ether_type == ether_type::IPV4 {
            let sum = u16::from_be_bytes([packet[10], packet[11]]);
            let new = u16::from_be_bytes([packet[0], packet[1]]);
            if new != old {
                packet[10..12].copy_from_slice(&checksum::updated(sum, old, new).to_be_bytes());
            }
        }
        true
    }
}
