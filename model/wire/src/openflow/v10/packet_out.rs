//! A packet that the controller has a switch of 1.0 send: section 5.3.6.

use super::{Action, NAME, PortNumber, VERSION, body_of};
use crate::Malformed;
use crate::layout::{U16, U32};
use crate::malformed::{split, take};
use crate::openflow::codec::{Reader, Wire, Writer};
use crate::openflow::{BufferId, Frame, Tags, TooLong};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The number of its type.
pub const KIND: u8 = 13;

/// ```text
///  0        4         6                8
/// ┌────────┬─────────┬────────────────┬─────────┬──────┐
/// │ buffer │ in port │ actions' bytes │ actions │ data │
/// └────────┴─────────┴────────────────┴─────────┴──────┘
/// ```
#[derive(Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Layout {
    buffer: U32,
    in_port: U16,
    actions_length: U16,
}

/// A packet and its actions, where they lie.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    layout: &'a Layout,
    actions: Tags<'a>,
    data: &'a [u8],
}

impl<'a> View<'a> {
    /// The packet of a message. Of its actions only the lengths are looked at.
    ///
    /// # Errors
    /// Another version or type; too short; actions that do not fit.
    pub fn of(frame: &Frame<'a>) -> Result<Self, Malformed> {
        let (layout, rest) = split::<Layout>(body_of(frame, KIND, NAME)?, NAME)?;
        let (actions, data) = take(rest, layout.actions_length.get().into(), NAME)?;
        Ok(Self { layout, actions: Tags::parse(actions, NAME)?, data })
    }

    /// Where the switch keeps it.
    pub fn buffer(&self) -> BufferId {
        BufferId(self.layout.buffer.get())
    }

    /// The port that it came by.
    pub fn in_port(&self) -> PortNumber {
        PortNumber(self.layout.in_port.get())
    }

    /// What is done with it.
    pub fn actions(&self) -> Tags<'a> {
        self.actions
    }

    /// The packet, unless the switch keeps it.
    pub fn data(&self) -> &'a [u8] {
        self.data
    }
}

/// A packet and its actions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketOut {
    /// Where the switch keeps it.
    pub buffer: BufferId,
    /// The port that it came by, or [`PortNumber::NONE`].
    pub in_port: PortNumber,
    /// What is done with it.
    pub actions: Vec<Action>,
    /// The packet, unless the switch keeps it.
    pub data: Vec<u8>,
}

impl PacketOut {
    /// The same, borrowed.
    pub fn parts(&self) -> Parts<'_> {
        let Self { buffer, in_port, ref actions, ref data } = *self;
        Parts { buffer, in_port, actions, data }
    }
}

impl Wire for PacketOut {
    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let buffer = BufferId::read(from)?;
        let in_port = PortNumber::read(from)?;
        let length = u16::read(from)?;
        let actions = Vec::read(&mut from.part(length.into())?)?;
        Ok(Self { buffer, in_port, actions, data: from.rest().to_vec() })
    }

    fn write(&self, to: &mut Writer<'_>) {
        self.parts().write(to);
    }
}

/// A packet whose actions and bytes are borrowed, to be emitted.
#[derive(Debug, Clone, Copy)]
pub struct Parts<'a> {
    /// Where the switch keeps it.
    pub buffer: BufferId,
    /// The port that it came by, or [`PortNumber::NONE`].
    pub in_port: PortNumber,
    /// What is done with it.
    pub actions: &'a [Action],
    /// The packet, unless the switch keeps it.
    pub data: &'a [u8],
}

impl Parts<'_> {
    /// Writes the message behind what `bytes` holds.
    ///
    /// # Errors
    /// [`TooLong`]; `bytes` is as it was.
    pub fn emit_into(&self, xid: u32, bytes: &mut Vec<u8>) -> Result<(), TooLong> {
        Writer::message(bytes, VERSION, KIND, xid, |to| self.write(to))
    }

    fn write(&self, to: &mut Writer<'_>) {
        self.buffer.write(to);
        self.in_port.write(to);
        let place = to.place();
        to.pad(2);
        Action::write_all(self.actions, to);
        to.length(place, place + 2, 0);
        to.put(self.data);
    }
}
