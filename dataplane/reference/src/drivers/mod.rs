//! Drivers above the overlay: what a tenant's device carries, and what of it names where it goes.
//!
//! A [`Driver`] is all that the walk knows of that. The eBPF programs have the same four as headers
//! (`dataplane/bpf/programs/include/driver.h`), and who adds one adds it on both sides.

mod bits;
mod ethernet;
mod ip;
mod payload;

pub use payload::Payload;

use crate::tables::{Device, Tenant, driver, size};
use plait_model_wire::ethernet::Frame;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

/// The bytes of an identifier, then nought.
pub type Identifier = [u8; size::IDENTIFIER as usize];

/// What a driver sees in a frame on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identified<'a> {
    /// What names where it goes.
    pub identifier: Identifier,
    /// What must not overtake each other has the same.
    pub hash: u32,
    /// What travels.
    pub payload: Payload,
    /// The bytes of that.
    pub carried: &'a [u8],
}

/// What a tenant's device carries, and what of it names where it goes.
pub trait Driver: Debug + Send + Sync {
    /// Whether a packet is for such a device.
    fn takes(&self, payload: Payload) -> bool;

    /// A frame on a device. `flow` is the kernel's hash of it. None for what the driver does not carry.
    fn identify<'a>(&self, device: &Device, frame: &'a [u8], flow: u32) -> Option<Identified<'a>>;

    /// Identifier and hash once more, of a packet that came in a header which names no nodes. None for what is cut short.
    fn find(&self, tenant: &Tenant, payload: Payload, carried: &[u8]) -> Option<(Identifier, u32)>;

    /// Whether it is learned where stations are.
    fn learns(&self) -> bool {
        false
    }
}

/// The drivers that there are.
#[derive(Debug, Clone, Default)]
pub struct Drivers {
    more: BTreeMap<u32, Arc<dyn Driver>>,
}

impl Drivers {
    /// One more, by its number in the tables.
    pub fn add(&mut self, number: u32, driver: Arc<dyn Driver>) {
        self.more.insert(number, driver);
    }

    pub(crate) fn get(&self, number: u32) -> Option<&dyn Driver> {
        Some(match number {
            driver::ETHERNET => &ethernet::Ethernet,
            driver::IP => &ip::Ip,
            driver::BITS => &bits::Bits,
            driver::PAYLOAD => &payload::Payloads,
            other => &**self.more.get(&other)?,
        })
    }
}

/// The last step of Bob Jenkins' lookup3, which mixes three words into one.
pub(crate) fn mixed(mut a: u32, mut b: u32, mut c: u32) -> u32 {
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}

/// What must not overtake each other: frames of one type between two stations.
fn stations_hash(frame: &Frame<'_>) -> u32 {
    let ([a, b, c, d, e, f], [g, h, i, j, k, l]) = (frame.destination().0, frame.source().0);
    let word = u32::from_ne_bytes;
    // As they lie in memory.
    let ether_type = u32::from(frame.ether_type().to_be());
    mixed(word([a, b, c, d]), word([e, f, g, h]), word([i, j, k, l]) ^ ether_type)
}

/// Four bytes as they lie in memory.
fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// The bits from a byte on that a mask leaves; where it leaves none, none.
fn taken(bytes: &[u8], from: usize, mask: &Identifier) -> Option<Identifier> {
    let mut identifier = Identifier::default();
    if mask[0] != 0 {
        let bits = bytes.get(from..from + identifier.len())?;
        for ((byte, bits), mask) in identifier.iter_mut().zip(bits).zip(mask) {
            *byte = bits & mask;
        }
    }
    Some(identifier)
}
