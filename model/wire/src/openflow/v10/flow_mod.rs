//! How a controller changes the flows of a switch of 1.0: section 5.3.3.

use super::{Action, Match, NAME, PortNumber, VERSION, body_of};
use crate::Malformed;
use crate::layout::{U16, U32};
use crate::malformed::split;
use crate::openflow::codec::{Reader, Wire, Writer};
use crate::openflow::tables::{codes, flags, record};
use crate::openflow::{BufferId, Frame, Tags, TooLong};
use zerocopy::big_endian::U64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The number of its type.
pub const KIND: u8 = 14;

/// ```text
///  0       40       48        50             52
/// ┌───────┬────────┬─────────┬──────────────┬──────────────┐
/// │ match │ cookie │ command │ idle timeout │ hard timeout │
/// ├───────┴──┬─────┴──┬──────┴───┬───────┬──┴──────────────┤
/// │ priority │ buffer │ out port │ flags │     actions     │
/// └──────────┴────────┴──────────┴───────┴─────────────────┘
///  54         56       60         62      64
/// ```
#[derive(Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Layout {
    flow_match: [u8; Match::LENGTH],
    cookie: U64,
    command: U16,
    idle_timeout: U16,
    hard_timeout: U16,
    priority: U16,
    buffer: U32,
    out_port: U16,
    flags: U16,
}

codes! {
    /// What happens to flows.
    pub struct FlowModCommand(u16) {
        /// A flow is added.
        ADD = 0,
        /// All that match get other actions.
        MODIFY = 1,
        /// The flow with exactly this match and priority gets other actions.
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
        /// It is for when the controller is gone.
        EMERG = 1 << 2,
    }
}

/// The priority of a flow without reason for another.
pub const DEFAULT_PRIORITY: u16 = 0x8000;

/// A change, where it lies.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    layout: &'a Layout,
    actions: Tags<'a>,
}

impl<'a> View<'a> {
    /// The change of a message. Of its actions only the lengths are looked at.
    ///
    /// # Errors
    /// Another version or type; too short; actions that do not fit.
    pub fn of(frame: &Frame<'a>) -> Result<Self, Malformed> {
        let (layout, actions) = split::<Layout>(body_of(frame, KIND, NAME)?, NAME)?;
        Ok(Self { layout, actions: Tags::parse(actions, NAME)? })
    }

    /// Which packets it is for.
    pub fn flow_match(&self) -> Match {
        // Whatever forty bytes there are, they are a match.
        Match::read(&mut Reader::new(&self.layout.flow_match, NAME)).unwrap_or(Match::ANY)
    }

    /// The controller's mark.
    pub fn cookie(&self) -> u64 {
        self.layout.cookie.get()
    }

    /// What happens.
    pub fn command(&self) -> FlowModCommand {
        FlowModCommand(self.layout.command.get())
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

    /// What else is asked for.
    pub fn flags(&self) -> FlowModFlags {
        FlowModFlags(self.layout.flags.get())
    }

    /// What is done with its packets.
    pub fn actions(&self) -> Tags<'a> {
        self.actions
    }
}

record! {
    /// A change.
    pub struct FlowMod {
        /// Which packets it is for.
        pub flow_match: Match,
        /// The controller's mark.
        pub cookie: u64,
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
        /// Of flows to be deleted: those whose packets leave by this port; [`PortNumber::NONE`] is any.
        pub out_port: PortNumber,
        /// What else is asked for.
        pub flags: FlowModFlags,
        /// What is done with its packets.
        pub actions: Vec<Action>,
    }
}

impl FlowMod {
    /// A flow to be added.
    pub fn add(flow_match: Match, priority: u16, actions: Vec<Action>) -> Self {
        Self {
            flow_match,
            cookie: 0,
            command: FlowModCommand::ADD,
            idle_timeout: 0,
            hard_timeout: 0,
            priority,
            buffer: BufferId::NO_BUFFER,
            out_port: PortNumber::NONE,
            flags: FlowModFlags(0),
            actions,
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

    /// The same with further actions, which are borrowed: a change without any needs no allocation.
    ///
    /// # Errors
    /// [`TooLong`]; `bytes` is as it was.
    pub fn emit_with(&self, actions: &[Action], xid: u32, bytes: &mut Vec<u8>) -> Result<(), TooLong> {
        Writer::message(bytes, VERSION, KIND, xid, |to| {
            self.write(to);
            Action::write_all(actions, to);
        })
    }
}
