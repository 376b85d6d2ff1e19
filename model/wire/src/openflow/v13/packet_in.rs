//! A packet that a switch of 1.3 sends to the controller: section 7.4.1.

use super::flow_match::{self, Match};
use super::oxm::{Fields, Oxm};
use super::{NAME, PortNumber, TableId, VERSION, body_of};
use crate::Malformed;
use crate::layout::{U16, U32};
use crate::malformed::split;
use crate::openflow::codec::{Reader, Wire, Writer};
use crate::openflow::tables::codes;
use crate::openflow::{BufferId, Frame, TooLong};
use zerocopy::big_endian::U64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The number of its type.
pub const KIND: u8 = 10;

/// ```text
///  0        4              6        7       8        16
/// ┌────────┬──────────────┬────────┬───────┬────────┬───────┬───┬──────┐
/// │ buffer │ total length │ reason │ table │ cookie │ match │ 0 │ data │
/// └────────┴──────────────┴────────┴───────┴────────┴───────┴───┴──────┘
/// ```
/// Two reserved bytes between match and data bring an IP header behind Ethernet's to a multiple of four.
#[derive(Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Layout {
    buffer: U32,
    total_length: U16,
    reason: u8,
    table: u8,
    cookie: U64,
}

codes! {
    /// Why a packet was sent.
    pub struct PacketInReason(u8) {
        /// No flow but that for packets without one is for it.
        NO_MATCH = 0,
        /// A flow's or group's action says so.
        ACTION = 1,
        /// Its TTL is used up.
        INVALID_TTL = 2,
    }
}

/// A packet, where it lies.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    layout: &'a Layout,
    fields: Fields<'a>,
    data: &'a [u8],
}

impl<'a> View<'a> {
    /// The packet of a message. Of its match fields only the lengths are looked at.
    ///
    /// # Errors
    /// Another version or type; too short; match fields that do not fit, or a match of another type.
    #[inline]
    pub fn of(frame: &Frame<'a>) -> Result<Self, Malformed> {
        let (layout, rest) = split::<Layout>(body_of(frame, KIND, NAME)?, NAME)?;
        let (fields, rest) = flow_match::split(rest)?;
        let (_, data) = crate::malformed::take(rest, 2, NAME)?;
        Ok(Self { layout, fields, data })
    }

    /// Where the switch keeps it.
    pub fn buffer(&self) -> BufferId {
        BufferId(self.layout.buffer.get())
    }

    /// Bytes of the whole packet.
    pub fn total_length(&self) -> u16 {
        self.layout.total_length.get()
    }

    /// Why it was sent.
    pub fn reason(&self) -> PacketInReason {
        PacketInReason(self.layout.reason)
    }

    /// The table that it was looked up in.
    pub fn table(&self) -> TableId {
        TableId(self.layout.table)
    }

    /// The mark of the flow that was found.
    pub fn cookie(&self) -> u64 {
        self.layout.cookie.get()
    }

    /// What came with it: the port, metadata, the tunnel.
    pub fn fields(&self) -> Fields<'a> {
        self.fields
    }

    /// The port that it came by; a message without is faulty, which is for its reader to say.
    pub fn in_port(&self) -> Option<PortNumber> {
        self.fields.in_port()
    }

    /// Its beginning, or all of it.
    pub fn data(&self) -> &'a [u8] {
        self.data
    }
}

/// A packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketIn {
    /// Where the switch keeps it.
    pub buffer: BufferId,
    /// Bytes of the whole packet.
    pub total_length: u16,
    /// Why it was sent.
    pub reason: PacketInReason,
    /// The table that it was looked up in.
    pub table: TableId,
    /// The mark of the flow that was found.
    pub cookie: u64,
    /// What came with it: the port, metadata, the tunnel.
    pub flow_match: Match,
    /// Its beginning, or all of it.
    pub data: Vec<u8>,
}

impl Wire for PacketIn {
    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (buffer, total_length) = (BufferId::read(from)?, u16::read(from)?);
        let (reason, table) = (PacketInReason::read(from)?, TableId::read(from)?);
        let (cookie, flow_match) = (u64::read(from)?, Match::read(from)?);
        from.pad(2)?;
        Ok(Self { buffer, total_length, reason, table, cookie, flow_match, data: from.rest().to_vec() })
    }

    fn write(&self, to: &mut Writer<'_>) {
        self.buffer.write(to);
        self.total_length.write(to);
        self.reason.write(to);
        self.table.write(to);
        self.cookie.write(to);
        self.flow_match.write(to);
        to.pad(2);
        to.put(&self.data);
    }
}

/// A packet whose fields and bytes are borrowed, to be emitted.
#[derive(Debug, Clone, Copy)]
pub struct Parts<'a> {
    /// Where the switch keeps it.
    pub buffer: BufferId,
    /// Bytes of the whole packet.
    pub total_length: u16,
    /// Why it is sent.
    pub reason: PacketInReason,
    /// The table that it was looked up in.
    pub table: TableId,
    /// The mark of the flow that was found.
    pub cookie: u64,
    /// What comes with it: the port, metadata, the tunnel.
    pub fields: &'a [Oxm],
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
            reason: self.reason.0,
            table: self.table.0,
            cookie: self.cookie.into(),
        };
        Writer::message(bytes, VERSION, KIND, xid, |to| {
            to.put(layout.as_bytes());
            flow_match::write(self.fields, to);
            to.pad(2);
            to.put(self.data);
        })
    }
}
