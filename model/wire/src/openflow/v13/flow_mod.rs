//! How a controller changes the flows of a switch of 1.3: section 7.3.4.2.

use super::flow_match::{self, Match};
use super::oxm::{Fields, Oxm};
use super::{GroupId, Instruction, NAME, PortNumber, TableId, VERSION, body_of};
use crate::Malformed;
use crate::layout::{U16, U32};
use crate::malformed::split;
use crate::openflow::codec::{Wire, Writer};
use crate::openflow::tables::{codes, flags, record};
use crate::openflow::{BufferId, Frame, Tags, TooLong};
use zerocopy::big_endian::U64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The number of its type.
pub const KIND: u8 = 14;

/// ```text
///  0         8             16      17        18             20
/// ┌────────┬─────────────┬───────┬─────────┬──────────────┬──────────────┐
/// │ cookie │ cookie mask │ table │ command │ idle timeout │ hard timeout │
/// ├────────┴─┬────────┬──┴───────┼─────────┴─┬───────┬───┬┴──────┬───────┴──────┐
/// │ priority │ buffer │ out port │ out group │ flags │ 0 │ match │ instructions │
/// └──────────┴────────┴──────────┴───────────┴───────┴───┴───────┴──────────────┘
///  22         24       28         32          36      38  40
/// ```
#[derive(Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Layout {
    cookie: U64,
    cookie_mask: U64,
    table: u8,
    command: u8,
    idle_timeout: U16,
    hard_timeout: U16,
    priority: U16,
    buffer: U32,
    out_port: U32,
    out_group: U32,
    flags: U16,
    reserved: U16,
}

codes! {
    /// What happens to flows.
    pub struct FlowModCommand(u8) {
        /// A flow is added.
        ADD = 0,
        /// All that match get other instructions.
        MODIFY = 1,
        /// The flow with exactly this match and priority gets other instructions.
        MODIFY_STRICT = 2,
        /// All that match are deleted.
        DELETE = 3,
        /// The flow with exactly this match and priority is deleted.
        DELETE_STRICT = 4,
    }
}

flags! {
    /// What else is asked for.
    pub struct FlowModFlags(u16) {
        /// A message when it is gone.
        SEND_FLOW_REM = 1,
        /// An error if it overlaps another of its priority.
        CHECK_OVERLAP = 1 << 1,
        /// Its counts begin anew.
        RESET_COUNTS = 1 << 2,
        /// Packets need not be counted.
        NO_PKT_COUNTS = 1 << 3,
        /// Bytes need not be counted.
        NO_BYT_COUNTS = 1 << 4,
    }
}

/// The priority of a flow without reason for another.
pub const DEFAULT_PRIORITY: u16 = 0x8000;

/// A change, where it lies.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    layout: &'a Layout,
    fields: Fields<'a>,
    instructions: Tags<'a>,
}

impl<'a> View<'a> {
    /// The change of a message. Of its match fields and instructions only the lengths are looked at.
    ///
    /// # Errors
    /// Another version or type; too short; match fields or instructions that do not fit; a match of another type.
    pub fn of(frame: &Frame<'a>) -> Result<Self, Malformed> {
        let (layout, rest) = split::<Layout>(body_of(frame, KIND, NAME)?, NAME)?;
        let (fields, instructions) = flow_match::split(rest)?;
        Ok(Self { layout, fields, instructions: Tags::parse(instructions, NAME)? })
    }

    /// The controller's mark.
    pub fn cookie(&self) -> u64 {
        self.layout.cookie.get()
    }

    /// Of flows to be changed or deleted: the bits of their mark that must be those of the cookie.
    pub fn cookie_mask(&self) -> u64 {
        self.layout.cookie_mask.get()
    }

    /// In which table.
    pub fn table(&self) -> TableId {
        TableId(self.layout.table)
    }

    /// What happens.
    pub fn command(&self) -> FlowModCommand {
        FlowModCommand(self.layout.command)
    }

    /// After how many seconds without a packet it goes; 0 is never.
    pub fn idle_timeout(&self) -> u16 {
        self.layout.idle_timeout.get()
    }

    /// After how many seconds it goes; 0 is never.
    pub fn hard_timeout(&self) -> u16 {
        self.layout.hard_timeout.get()
    }

    /// Its priority.
    pub fn priority(&self) -> u16 {
        self.layout.priority.get()
    }

    /// A packet that it is then applied to.
    pub fn buffer(&self) -> BufferId {
        BufferId(self.layout.buffer.get())
    }

    /// Of flows to be deleted: those whose packets leave by this port.
    pub fn out_port(&self) -> PortNumber {
        PortNumber(self.layout.out_port.get())
    }

    /// Of flows to be deleted: those whose packets go through this group.
    pub fn out_group(&self) -> GroupId {
        GroupId(self.layout.out_group.get())
    }

    /// What else is asked for.
    pub fn flags(&self) -> FlowModFlags {
        FlowModFlags(self.layout.flags.get())
    }

    /// Which packets it is for.
    pub fn fields(&self) -> Fields<'a> {
        self.fields
    }

    /// What is done with them.
    pub fn instructions(&self) -> Tags<'a> {
        self.instructions
    }
}

record! {
    /// A change.
    pub struct FlowMod {
        /// The controller's mark.
        pub cookie: u64,
        /// Of flows to be changed or deleted: the bits of their mark that must be those of the cookie.
        pub cookie_mask: u64,
        /// In which table; to delete, [`TableId::ALL`] is in all.
        pub table: TableId,
        /// What happens.
        pub command: FlowModCommand,
        /// After how many seconds without a packet it goes; 0 is never.
        pub idle_timeout: u16,
        /// After how many seconds it goes; 0 is never.
        pub hard_timeout: u16,
        /// Its priority.
        pub priority: u16,
        /// A packet that it is then applied to.
        pub buffer: BufferId,
        /// Of flows to be deleted: those whose packets leave by this port; [`PortNumber::ANY`] is any.
        pub out_port: PortNumber,
        /// Of flows to be deleted: those whose packets go through this group; [`GroupId::ANY`] is any.
        pub out_group: GroupId,
        /// What else is asked for.
        pub flags: FlowModFlags, (pad 2)
        /// Which packets it is for.
        pub flow_match: Match,
        /// What is done with them.
        pub instructions: Vec<Instruction>,
    }
}

impl FlowMod {
    /// A flow to be added to the first table.
    pub fn add(fields: Vec<Oxm>, priority: u16, instructions: Vec<Instruction>) -> Self {
        Self {
            cookie: 0,
            cookie_mask: 0,
            table: TableId(0),
            command: FlowModCommand::ADD,
            idle_timeout: 0,
            hard_timeout: 0,
            priority,
            buffer: BufferId::NO_BUFFER,
            out_port: PortNumber::ANY,
            out_group: GroupId::ANY,
            flags: FlowModFlags(0),
            flow_match: Match::Oxm(fields),
            instructions,
        }
    }

    /// Writes this as a message behind what `bytes` holds: as [`Message::emit_into`](super::Message::emit_into) does, for
    /// who keeps one and changes it.
    ///
    /// # Errors
    /// [`TooLong`]; `bytes` is as it was.
    pub fn emit_into(&self, xid: u32, bytes: &mut Vec<u8>) -> Result<(), TooLong> {
        Writer::message(bytes, VERSION, KIND, xid, |to| self.write(to))
    }
}
