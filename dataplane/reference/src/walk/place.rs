//! Who a packet is from and for, of encapsulations that do not say it.

use super::Walk;
use super::parcel::{Parcel, Payload, flow_port, mixed, stations_hash};
use crate::tables::*;
use plait_model_wire::ethernet::Frame;
use plait_model_wire::ovstack::NodeId;
use plait_model_wire::{ipv4, ipv6};
use std::net::Ipv4Addr;

/// The first bits of an address.
pub(super) fn masked(address: [u8; 16], bits: u32) -> [u8; 16] {
    let kept = u128::MAX.checked_shl(128 - bits.min(128)).unwrap_or(0);
    (u128::from_be_bytes(address) & kept).to_be_bytes()
}

impl Walk {
    /// The node that a packet was sent here by.
    pub(super) fn came_from(&self, parcel: &Parcel) -> u32 {
        let key = LocatorKey { application: parcel.overlay.application.into(), address: parcel.from };
        self.locators.get(&key).unwrap_or_default()
    }

    /// Fills in what the header left open. The path is that of another node, if the packet is for one.
    pub(super) fn place(&self, parcel: &mut Parcel, application: &Application) -> Result<u32, Drop> {
        let source = self.came_from(parcel);
        let key = VniKey { application: parcel.overlay.application.into(), vni: parcel.overlay.vni };
        let number = self.vnis.get(&key).ok_or(Drop::UnknownTenant)?;
        let tenant = self.tenants.get(&number).ok_or(Drop::UnknownTenant)?;
        let (identifier, hash) = identifier(parcel, &tenant).ok_or(Drop::Malformed)?;
        parcel.overlay.hash = hash;
        if parcel.port == 0 {
            parcel.port = flow_port(hash);
        }
        let entry = self.fib.get(&FibKey { tenant: number, identifier });
        let is_group =
            |path: u32| self.paths.get(&path).is_none_or(|word| (word >> 32) as u32 == path::GROUP);
        let elsewhere = entry.filter(|entry| entry.node != source && !is_group(entry.path));
        parcel.overlay.source = NodeId(source);
        parcel.overlay.destination = NodeId(elsewhere.map_or(application.own, |entry| entry.node));
        Ok(elsewhere.map_or(0, |entry| entry.path))
    }
}

/// The identifier of what a packet carries, and the hash of its flow.
fn identifier(parcel: &Parcel, tenant: &Tenant) -> Option<([u8; size::IDENTIFIER as usize], u32)> {
    let bytes = &parcel.carried;
    let word = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    match parcel.payload {
        Payload::Ethernet | Payload::Unsaid | Payload::Control => {
            let frame = Frame::parse(bytes).ok()?;
            let mut identifier = [0; size::IDENTIFIER as usize];
            identifier[..6].copy_from_slice(&frame.destination().0);
            Some((identifier, stations_hash(&frame)))
        }
        Payload::Ipv4 => {
            let header = bytes.get(..ipv4::Header::LENGTH)?;
            let address: [u8; 4] = header[16..].try_into().expect("four bytes");
            let address = Ipv4Addr::from(address).to_ipv6_mapped().octets();
            let protocol = word(8) & 0x00ff_0000u32.to_be();
            Some((masked(address, 96 + u32::from(tenant.prefix[0])), mixed(word(12), word(16), protocol)))
        }
        Payload::Ipv6 => {
            let header = bytes.get(..ipv6::Header::LENGTH)?;
            let address: [u8; 16] = header[24..].try_into().expect("sixteen bytes");
            let all = |from: usize| (0..4).fold(0, |sum, step| sum ^ word(from + step * 4));
            let label = word(0) & 0x000f_ffffu32.to_be();
            Some((masked(address, u32::from(tenant.prefix[1])), mixed(all(8), all(24), label)))
        }
    }
}
