//! Packet-ins of a switch that is not known yet.
//!
//! A switch sends what it has no flow for as soon as it has said hello, which may be before it has said who it is, and is before
//! anybody has met it. Such packets wait, in their order, until applications have heard of the switch.

use crate::connection::Hot;
use crate::{PacketIn, PacketIns};

/// Bytes of packets, and 64 more for each, with which no more are kept but what is read at once. Choice: 16 KiB: what comes in the
/// same read as that which makes a switch known is whole, and whoever never gets to be known holds little.
const MOST: usize = 16 << 10;
const EACH: usize = 64;

/// Packet-ins that wait for their switch to be known.
#[derive(Debug, Default)]
pub(crate) struct EarlyPackets {
    packets: PacketIns,
    bytes: usize,
    lost: u64,
}

impl EarlyPackets {
    /// Whether what is read next is kept.
    pub fn has_room(&self) -> bool {
        self.bytes < MOST
    }

    /// One came, and is kept if there `is_room`.
    pub fn take(&mut self, hot: &Hot<'_>, is_room: bool) {
        // Whose it is is said when they are handed on.
        match PacketIn::of(0, hot) {
            Ok(packet) if is_room => {
                self.bytes += EACH + packet.frame.len();
                self.packets.push(&packet);
            }
            _ => self.lost += 1,
        }
    }

    /// Gives all to the switch that it turned out to be, in the order in which they came, and says how many were lost.
    pub fn hand_on(&mut self, switch: u64, mut each: impl FnMut(PacketIn<'_>)) -> u64 {
        let Self { packets, lost, .. } = std::mem::take(self);
        packets.iter().for_each(|packet| each(PacketIn { switch, ..packet }));
        lost
    }
}
