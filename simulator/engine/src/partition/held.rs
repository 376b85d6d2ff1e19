//! Packets that a selector holds.

use super::{Partition, event};
use crate::fabric::{DirectionNumber, Fabric};
use crate::packet::Packet;
use plait_model_link::Parcel;
use std::collections::BTreeMap;

/// The direction that a packet leaves by, and the packet.
type Waiting = (DirectionNumber, Box<Parcel<Packet>>);

/// Packets that leave later, by when and by their order.
#[derive(Default)]
pub(crate) struct Held {
    packets: BTreeMap<(u64, u64), Waiting>,
    /// How many were ever held.
    number: u64,
}

impl Held {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Holds a packet until an instant; whether nothing else was held until then.
    fn add(&mut self, until: u64, out: DirectionNumber, packet: Box<Parcel<Packet>>) -> bool {
        let is_first = self.packets.range((until, 0)..=(until, u64::MAX)).next().is_none();
        self.packets.insert((until, self.number), (out, packet));
        self.number += 1;
        is_first
    }

    /// The next packet that was held until `now`.
    fn take(&mut self, now: u64) -> Option<Waiting> {
        let first = self.packets.first_entry().filter(|first| first.key().0 <= now)?;
        Some(first.remove())
    }
}

impl Partition {
    pub(super) fn hold(&mut self, until: u64, out: DirectionNumber, packet: Box<Parcel<Packet>>) {
        if self.held.add(until, out, packet) {
            self.queue.push(until, event::HELD);
        }
    }

    pub(super) fn held_event(&mut self, fabric: &Fabric, now: u64) {
        self.let_go(fabric, now);
    }

    /// Lets those go that were held until now.
    pub(super) fn let_go(&mut self, fabric: &Fabric, now: u64) {
        while let Some((out, packet)) = self.held.take(now) {
            self.leave(fabric, now, out, packet);
        }
    }
}
