//! IP packets, found by a prefix of the address they are for.

use super::{Driver, Identified, Identifier, Payload, mixed, word};
use crate::tables::{Device, Tenant};
use plait_model_wire::ethernet::Frame;
use plait_model_wire::{ipv4, ipv6};
use std::net::Ipv4Addr;

#[derive(Debug)]
pub(super) struct Ip;

/// The first bits of an address.
fn masked(address: [u8; 16], bits: u32) -> Identifier {
    let kept = u128::MAX.checked_shl(128 - bits.min(128)).unwrap_or(0);
    (u128::from_be_bytes(address) & kept).to_be_bytes()
}

/// A prefix of the address that a packet is for, by the prefixes' lengths of both families.
fn prefix(payload: Payload, packet: &[u8], bits: [u32; 2]) -> Option<Identifier> {
    match payload {
        Payload::Ipv4 => {
            let header = packet.get(..ipv4::Header::LENGTH)?;
            let address: [u8; 4] = header[16..].try_into().expect("four bytes");
            Some(masked(Ipv4Addr::from(address).to_ipv6_mapped().octets(), 96 + bits[0]))
        }
        Payload::Ipv6 => {
            let header = packet.get(..ipv6::Header::LENGTH)?;
            Some(masked(header[24..].try_into().expect("sixteen bytes"), bits[1]))
        }
        _ => None,
    }
}

/// What must not overtake each other: packets of one protocol, or of one flow label, between two hosts. None of what is no IP
/// or has no whole header.
pub(super) fn hosts_hash(payload: Payload, packet: &[u8]) -> Option<u32> {
    match payload {
        Payload::Ipv4 => {
            let header = packet.get(..ipv4::Header::LENGTH)?;
            let protocol = word(header, 8) & 0x00ff_0000u32.to_be();
            Some(mixed(word(header, 12), word(header, 16), protocol))
        }
        Payload::Ipv6 => {
            let header = packet.get(..ipv6::Header::LENGTH)?;
            let all = |from: usize| (0..4).fold(0, |sum, step| sum ^ word(header, from + step * 4));
            let label = word(header, 0) & 0x000f_ffffu32.to_be();
            Some(mixed(all(8), all(24), label))
        }
        _ => None,
    }
}

impl Driver for Ip {
    fn takes(&self, payload: Payload) -> bool {
        payload.is_ip()
    }

    fn identify<'a>(&self, device: &Device, bytes: &'a [u8], flow: u32) -> Option<Identified<'a>> {
        let frame = Frame::parse(bytes).ok()?;
        let payload = Payload::of_ether_type(frame.ether_type())?;
        let carried = frame.payload();
        Some(Identified {
            identifier: prefix(payload, carried, device.prefix)?,
            hash: flow,
            payload,
            carried,
        })
    }

    fn find(&self, tenant: &Tenant, payload: Payload, carried: &[u8]) -> Option<(Identifier, u32)> {
        Some((prefix(payload, carried, tenant.prefix.map(u32::from))?, hosts_hash(payload, carried)?))
    }
}
