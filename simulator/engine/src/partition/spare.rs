//! Room of packets that are gone, for others.

use crate::packet::Packet;
use plait_model_link::Parcel;

/// Boxes that nobody uses any more: most packets that are sent find the room of one that has arrived.
#[derive(Debug, Default)]
pub(crate) struct Spare {
    #[expect(clippy::vec_box, reason = "what is kept is what packets stand in")]
    boxes: Vec<Box<Parcel<Packet>>>,
}

/// So many are kept. Choice: as many as a large network's flows send at once, 400 KB.
const MOST: usize = 4096;

impl Spare {
    /// A packet in its room.
    #[inline]
    pub fn house(&mut self, packet: Packet) -> Box<Parcel<Packet>> {
        match self.boxes.pop() {
            Some(mut parcel) => {
                **parcel = packet;
                parcel
            }
            None => Parcel::new(packet),
        }
    }

    /// A packet is where it was to go.
    #[inline]
    pub fn keep(&mut self, parcel: Box<Parcel<Packet>>) {
        if self.boxes.len() < MOST {
            self.boxes.push(parcel);
        }
    }
}
