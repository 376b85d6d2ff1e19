//! A packet that a switch of 1.0 sends to the controller: section 5.4.1.

use super::{NAME, PortNumber, VERSION, body_of};
use crate::Malformed;
use crate::layout::{U16, U32};
use crate::malformed::split;
use crate::openflow::codec::Writer;
use crate::openflow::tables::{codes, record};
use crate::openflow::{BufferId, Frame, TooLong};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The number of its type.
pub const KIND: u8 = 10;

/// ```text
///  0        4              6         8        9   10
/// ┌────────┬──────────────┬─────────┬────────┬───┬──────┐
/// │ buffer │ total length │ in port │ reason │ 0 │ data │
/// └────────┴──────────────┴─────────┴────────┴───┴──────┘
/// ```
#[derive(Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Layout {
    buffer: U32,
    total_length: U16,
    in_port: U16,
    reason: u8,
    reserved: u8,
}

codes! {
    /// Why a packet was sent.
    pub struct PacketInReason(u8) {
        /// No flow is for it.
        NO_MATCH = 0,
        /// A flow's action says so.
        ACTION = 1,
    }
}

/// A packet, where it lies.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    layout: &'a Layout,
    data: &'a [u8],
}

impl<'a> View<'a> {
    /// The packet of a message.
    ///
    /// # Errors
    /// Another version or type; too short.
    #[inline]
    pub fn of(frame: &Frame<'a>) -> Result<Self, Malformed> {
        let (layout, data) = split::<Layout>(body_of(frame, KIND, NAME)?, NAME)?;
        Ok(Self { layout, data })
    }

    /// Where the switch keeps it.
    pub fn buffer(&self) -> BufferId {
        BufferId(self.layout.buffer.get())
    }

    /// Bytes of the whole packet.
    pub fn total_length(&self) -> u16 {
        self.layout.total_length.get()
    }

    /// The port that it came by.
    pub fn in_port(&self) -> PortNumber {
        PortNumber(self.layout.in_port.get())
    }

    /// Why it was sent.
    pub fn reason(&self) -> PacketInReason {
        PacketInReason(self.layout.reason)
    }

    /// Its beginning, or all of it.
    pub fn data(&self) -> &'a [u8] {
        self.data
    }
}

record! {
    /// A packet.
    pub struct PacketIn {
        /// Where the switch keeps it.
        pub buffer: BufferId,
        /// Bytes of the whole packet.
        pub total_length: u16,
        /// The port that it came by.
        pub in_port: PortNumber,
        /// Why it was sent.
        pub reason: PacketInReason, (pad 1)
        /// Its beginning, or all of it.
        pub data: Vec<u8>,
    }
}

/// A packet whose bytes are borrowed, to be emitted.
#[derive(Debug, Clone, Copy)]
pub struct Parts<'a> {
    /// Where the switch keeps it.
    pub buffer: BufferId,
    /// Bytes of the whole packet.
    pub total_length: u16,
    /// The port that it came by.
    pub in_port: PortNumber,
    /// Why it is sent.
    pub reason: PacketInReason,
    /// Its beginning, or all of it.
    pub data: &'a [u8],
}

impl Parts<'_> {
    /// Writes the message behind what `bytes` holds.
    ///
    /// # Errors
    /// [`TooLong`]; `bytes` is as it was.
    pub fn emit_into(&self, xid: u32, bytes: &mut Vec<u8>) -> Result<(), TooLong> {
        let layout = Layout {
            buffer: self.buffer.0.into(),
            total_length: self.total_length.into(),
            in_port: self.in_port.0.into(),
            reason: self.reason.0,
            reserved: 0,
        };
        Writer::message(bytes, VERSION, KIND, xid, |to| {
            to.put(layout.as_bytes());
            to.put(self.data);
        })
    }
}
