//! Frames, found by whatever bits of them the device's configuration names (the overlay FIB's opaque identifiers).

use super::{Driver, Identified, Identifier, Payload, stations_hash, taken};
use crate::tables::{Device, Tenant};
use plait_model_wire::ethernet::Frame;

#[derive(Debug)]
pub(super) struct Bits;

impl Driver for Bits {
    fn takes(&self, payload: Payload) -> bool {
        payload == Payload::Ethernet
    }

    fn identify<'a>(&self, device: &Device, bytes: &'a [u8], flow: u32) -> Option<Identified<'a>> {
        Frame::parse(bytes).ok()?;
        let identifier = taken(bytes, (device.offset & 1023) as usize, &device.mask)?;
        Some(Identified { identifier, hash: flow, payload: Payload::Ethernet, carried: bytes })
    }

    fn find(&self, tenant: &Tenant, _: Payload, carried: &[u8]) -> Option<(Identifier, u32)> {
        let frame = Frame::parse(carried).ok()?;
        let identifier = taken(carried, (tenant.offset & 1023) as usize, &tenant.mask)?;
        Some((identifier, stations_hash(&frame)))
    }
}
