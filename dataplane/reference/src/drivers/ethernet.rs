//! Frames, found by the hardware address they are for; where stations are is learned (ovstack's oveth).

use super::{Driver, Identified, Identifier, Payload, stations_hash};
use crate::tables::{Device, Tenant};
use plait_model_wire::ethernet::Frame;

#[derive(Debug)]
pub(super) struct Ethernet;

fn station(frame: &Frame<'_>) -> Identifier {
    let mut identifier = Identifier::default();
    identifier[..6].copy_from_slice(&frame.destination().0);
    identifier
}

impl Driver for Ethernet {
    fn takes(&self, payload: Payload) -> bool {
        payload == Payload::Ethernet
    }

    fn identify<'a>(&self, _: &Device, bytes: &'a [u8], _: u32) -> Option<Identified<'a>> {
        let frame = Frame::parse(bytes).ok()?;
        let (identifier, hash) = (station(&frame), stations_hash(&frame));
        Some(Identified { identifier, hash, payload: Payload::Ethernet, carried: bytes })
    }

    fn find(&self, _: &Tenant, _: Payload, carried: &[u8]) -> Option<(Identifier, u32)> {
        let frame = Frame::parse(carried).ok()?;
        Some((station(&frame), stations_hash(&frame)))
    }

    fn learns(&self) -> bool {
        true
    }
}
