//! What applications have switches do: the stream `commands`, in words that both versions have.

mod commands;
mod read;
mod stations;

pub use commands::{Commands, Order};
pub use stations::{Between, StationFlows};

use crate::{Actions, Fields, PacketIns, Port, Version};
use plait_control_runtime::{Mismatch, Type, Value, Wit, wit};
use plait_model_wire::openflow::v10;
use plait_model_wire::openflow::v13::{self, GroupId, Instruction, TableId};
use plait_model_wire::openflow::{BufferId, TooLong};
use std::sync::Arc;

/// What a switch is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Change its flows.
    Flow(Flow),
    /// Send a packet.
    PacketOut(PacketOut),
    /// Say when all before is done; it is told as an event.
    Barrier,
    /// A message of the switch's version as it is on the wire, its transaction included.
    Raw(Vec<u8>),
}
wit!(variant Command { Flow(_), PacketOut(_), Barrier, Raw(_) });

impl Command {
    /// About how many bytes it takes.
    pub(crate) fn size(&self) -> usize {
        let beside = match self {
            Self::Raw(bytes) => bytes.len(),
            Self::Flow(flow) => size_of_val(flow.actions.as_slice()),
            Self::PacketOut(packet) => size_of_val(packet.actions.as_slice()) + packet.packet.bytes(),
            Self::Barrier => 0,
        };
        size_of::<Self>() + beside
    }
}

/// What happens to flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Change {
    /// One is added, in place of one with the same fields and priority.
    #[default]
    Add,
    /// All that the fields include get other actions.
    Modify,
    /// That of these fields and this priority gets other actions.
    ModifyStrict,
    /// All that the fields include are deleted.
    Delete,
    /// That of these fields and this priority is deleted.
    DeleteStrict,
}
wit!(
    enum Change {
        Add,
        Modify,
        ModifyStrict,
        Delete,
        DeleteStrict,
    }
);

/// A flow. [`Flow::add`] gives one without timeouts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    /// What happens.
    pub change: Change,
    /// In which table; 1.0 has one.
    pub table: u8,
    /// Its priority.
    pub priority: u16,
    /// The application's mark.
    pub cookie: u64,
    /// After how many seconds without a packet it goes; 0 is never.
    pub idle_timeout: u16,
    /// After how many seconds it goes; 0 is never.
    pub hard_timeout: u16,
    /// A packet that is kept and that it is then applied to.
    pub buffer: Option<u32>,
    /// Whether the switch tells when it is gone.
    pub tell_removal: bool,
    /// Which packets it is for.
    pub fields: Fields,
    /// What is done with them.
    pub actions: Actions,
}
wit!(struct Flow {
    change, table, priority, cookie, idle_timeout, hard_timeout, buffer, tell_removal, fields, actions
});

impl Flow {
    /// A flow to be added to the first table.
    pub fn add(priority: u16, fields: Fields, actions: Actions) -> Self {
        Self {
            change: Change::Add,
            table: 0,
            priority,
            cookie: 0,
            idle_timeout: 0,
            hard_timeout: 0,
            buffer: None,
            tell_removal: false,
            fields,
            actions,
        }
    }

    /// All flows that `fields` include are to go.
    pub fn delete(fields: Fields) -> Self {
        Self { change: Change::Delete, ..Self::add(0, fields, Actions::drop()) }
    }
}

/// A packet to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketOut {
    /// The port that it came by, or [`Port::CONTROLLER`].
    pub in_port: Port,
    /// What is done with it.
    pub actions: Actions,
    /// Where it is.
    pub packet: Packet,
}
wit!(struct PacketOut { in_port, actions, packet });

/// Where a packet is.
#[derive(Debug, Clone)]
pub enum Packet {
    /// The switch keeps it.
    Kept(u32),
    /// These bytes.
    Bytes(Vec<u8>),
    /// The frame of this one of a batch of packet-ins, which need not be copied.
    Of(Arc<PacketIns>, usize),
}

impl Packet {
    /// The packet of the packet-in at `place`: where the switch keeps it, or its frame.
    pub fn of(batch: &Arc<PacketIns>, place: usize) -> Self {
        match batch.get(place).and_then(|packet| packet.buffer) {
            Some(buffer) => Self::Kept(buffer),
            None => Self::Of(batch.clone(), place),
        }
    }

    /// Copies a batch's frame, which would keep all of the batch.
    pub(super) fn take_apart(&mut self) {
        if let Self::Of(batch, place) = self {
            *self = Self::Bytes(batch.get(*place).map_or_else(Vec::new, |packet| packet.frame.to_vec()));
        }
    }

    /// Bytes of it that are here.
    pub(super) fn bytes(&self) -> usize {
        self.place().1.len()
    }

    fn place(&self) -> (BufferId, &[u8]) {
        match self {
            Self::Kept(buffer) => (BufferId(*buffer), &[]),
            Self::Bytes(bytes) => (BufferId::NO_BUFFER, bytes),
            Self::Of(batch, place) => {
                (BufferId::NO_BUFFER, batch.get(*place).map_or(&[], |packet| packet.frame))
            }
        }
    }
}

/// By what it is, not by where it lies.
impl PartialEq for Packet {
    fn eq(&self, other: &Self) -> bool {
        self.place() == other.place()
    }
}

impl Eq for Packet {}

/// `variant { kept(u32), bytes(list<u8>) }`.
impl Wit for Packet {
    fn schema() -> Type {
        Plain::schema()
    }
    fn to_value(&self) -> Value {
        match self.place() {
            (BufferId::NO_BUFFER, bytes) => Plain::Bytes(bytes.to_vec()),
            (buffer, _) => Plain::Kept(buffer.0),
        }
        .to_value()
    }
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        Ok(match Plain::from_value(value)? {
            Plain::Kept(buffer) => Self::Kept(buffer),
            Plain::Bytes(bytes) => Self::Bytes(bytes),
        })
    }
}

enum Plain {
    Kept(u32),
    Bytes(Vec<u8>),
}
wit!(variant Plain { Kept(_), Bytes(_) });

/// Why a command was not said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotSaid {
    /// The version has no words for it.
    #[error("OpenFlow 1.0 cannot say it")]
    Version,
    /// No length field can.
    #[error(transparent)]
    TooLong(#[from] TooLong),
    /// What was written is no message of the version, or more than one.
    #[error("what was written is not one message of the switch's version")]
    Message,
}

impl Flow {
    /// Writes the message behind what `bytes` holds.
    ///
    /// # Errors
    /// [`NotSaid`]; `bytes` is as it was.
    pub fn emit_into(&self, version: Version, xid: u32, bytes: &mut Vec<u8>) -> Result<(), NotSaid> {
        let buffer = self.buffer.map_or(BufferId::NO_BUFFER, BufferId);
        let command = self.change as u8;
        match version {
            Version::V10 => {
                let flow_match = self.fields.v10().ok_or(NotSaid::Version)?;
                let actions = self.actions.v10().ok_or(NotSaid::Version)?;
                let mut flow = v10::FlowMod::add(flow_match, self.priority, Vec::new());
                flow.command = v10::flow_mod::FlowModCommand(command.into());
                (flow.cookie, flow.buffer) = (self.cookie, buffer);
                (flow.idle_timeout, flow.hard_timeout) = (self.idle_timeout, self.hard_timeout);
                if self.tell_removal {
                    flow.flags = v10::flow_mod::FlowModFlags::SEND_FLOW_REM;
                }
                flow.emit_with(&actions, xid, bytes)?;
            }
            Version::V13 => {
                let actions = self.actions.v13();
                let instructions =
                    if actions.is_empty() { Vec::new() } else { vec![Instruction::ApplyActions(actions)] };
                let mut flow = v13::FlowMod::add(self.fields.v13(), self.priority, instructions);
                flow.command = v13::flow_mod::FlowModCommand(command);
                flow.table = TableId(self.table);
                (flow.cookie, flow.buffer) = (self.cookie, buffer);
                (flow.idle_timeout, flow.hard_timeout) = (self.idle_timeout, self.hard_timeout);
                (flow.out_port, flow.out_group) = (v13::PortNumber::ANY, GroupId::ANY);
                if self.tell_removal {
                    flow.flags = v13::flow_mod::FlowModFlags::SEND_FLOW_REM;
                }
                flow.emit_into(xid, bytes)?;
            }
        }
        Ok(())
    }
}

impl PacketOut {
    /// Writes the message behind what `bytes` holds.
    ///
    /// # Errors
    /// [`NotSaid`]; `bytes` is as it was.
    pub fn emit_into(&self, version: Version, xid: u32, bytes: &mut Vec<u8>) -> Result<(), NotSaid> {
        let (buffer, data) = self.packet.place();
        match version {
            Version::V10 => {
                let in_port = match self.in_port {
                    Port::CONTROLLER => v10::PortNumber::NONE,
                    port => port.v10().ok_or(NotSaid::Version)?,
                };
                let actions = self.actions.v10().ok_or(NotSaid::Version)?;
                v10::packet_out::Parts { buffer, in_port, actions: &actions, data }.emit_into(xid, bytes)?;
            }
            Version::V13 => {
                let actions = self.actions.v13();
                let in_port = self.in_port.into();
                v13::packet_out::Parts { buffer, in_port, actions: &actions, data }.emit_into(xid, bytes)?;
            }
        }
        Ok(())
    }
}
