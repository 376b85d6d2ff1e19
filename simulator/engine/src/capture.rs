//! Packets as they pass an interface.

mod frame;
mod pcapng;

use crate::fabric::{DirectionNumber, Fabric};
use crate::packet::Packet;
use std::collections::HashMap;

pub use pcapng::write as write_pcapng;

/// An interface whose packets are kept, by the order in which captures were asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CaptureIndex(pub u32);

/// A packet that passed an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// When, in nanoseconds.
    pub at: u64,
    /// Which interface.
    pub capture: CaptureIndex,
    /// Bytes of the frame.
    pub length: u32,
    /// Its headers, and what a protocol's datagram says. The payload of traffic is nought all through and not kept.
    pub bytes: Vec<u8>,
}

/// What one partition captured.
#[derive(Debug, Default)]
pub(crate) struct CaptureLog {
    /// By the direction out of the interface.
    pub wanted: HashMap<DirectionNumber, CaptureIndex>,
    pub packets: Vec<Captured>,
}

impl CaptureLog {
    /// Keeps a packet, if its interface is asked for. `interface` is the direction out of it.
    pub fn note(&mut self, fabric: &Fabric, at: u64, interface: DirectionNumber, packet: &Packet) {
        if let Some(&capture) = self.wanted.get(&interface) {
            let bytes = frame::emit(fabric, packet, interface);
            self.packets.push(Captured { at, capture, length: packet.frame, bytes });
        }
    }
}
