//! From messages back to the words that they were written from.

use super::{Change, Command, Flow, Packet, PacketOut};
use crate::{Actions, Fields, Port, Version};
use plait_model_wire::openflow::{BufferId, Frame, v10, v13};

impl Command {
    /// What a message says in words. One whose words would not be the same message again is [`Command::Raw`]: so nothing
    /// that it says is lost.
    pub(super) fn read(version: Version, bytes: &[u8], frame: &Frame<'_>) -> Self {
        let command = match version {
            Version::V10 => v10::Message::parse(bytes).ok().and_then(|message| of_v10(message.body)),
            Version::V13 => v13::Message::parse(bytes).ok().and_then(|message| of_v13(message.body)),
        };
        let mut again = Vec::with_capacity(bytes.len());
        let same = command.filter(|command| {
            let written = match command {
                Self::Flow(flow) => flow.emit_into(version, frame.xid(), &mut again),
                Self::PacketOut(packet) => packet.emit_into(version, frame.xid(), &mut again),
                Self::Barrier | Self::Raw(_) => return false,
            };
            written.is_ok() && again == bytes
        });
        same.unwrap_or_else(|| Self::Raw(bytes.to_vec()))
    }
}

fn change(number: u16) -> Option<Change> {
    [Change::Add, Change::Modify, Change::ModifyStrict, Change::Delete, Change::DeleteStrict]
        .into_iter()
        .find(|change| *change as u16 == number)
}

fn kept(buffer: BufferId) -> Option<u32> {
    (buffer != BufferId::NO_BUFFER).then_some(buffer.0)
}

fn packet(buffer: BufferId, data: Vec<u8>) -> Packet {
    kept(buffer).map_or(Packet::Bytes(data), Packet::Kept)
}

fn of_v10(body: v10::Body) -> Option<Command> {
    Some(match body {
        v10::Body::FlowMod(flow) => Command::Flow(Flow {
            change: change(flow.command.0)?,
            table: 0,
            priority: flow.priority,
            cookie: flow.cookie,
            idle_timeout: flow.idle_timeout,
            hard_timeout: flow.hard_timeout,
            buffer: kept(flow.buffer),
            tell_removal: flow.flags.contains(v10::flow_mod::FlowModFlags::SEND_FLOW_REM),
            fields: Fields::of_v10(&flow.flow_match),
            actions: Actions::of_v10(&flow.actions)?,
        }),
        v10::Body::PacketOut(out) => Command::PacketOut(PacketOut {
            in_port: if out.in_port == v10::PortNumber::NONE { Port::CONTROLLER } else { out.in_port.into() },
            actions: Actions::of_v10(&out.actions)?,
            packet: packet(out.buffer, out.data),
        }),
        _ => return None,
    })
}

fn of_v13(body: v13::Body) -> Option<Command> {
    Some(match body {
        v13::Body::FlowMod(flow) => Command::Flow(Flow {
            change: change(flow.command.0.into())?,
            table: flow.table.0,
            priority: flow.priority,
            cookie: flow.cookie,
            idle_timeout: flow.idle_timeout,
            hard_timeout: flow.hard_timeout,
            buffer: kept(flow.buffer),
            tell_removal: flow.flags.contains(v13::flow_mod::FlowModFlags::SEND_FLOW_REM),
            fields: match &flow.flow_match {
                v13::Match::Oxm(fields) => Fields::of_v13(fields)?,
                _ => return None,
            },
            actions: match flow.instructions.as_slice() {
                [] => Actions::drop(),
                [v13::Instruction::ApplyActions(actions)] => Actions::of_v13(actions)?,
                _ => return None,
            },
        }),
        v13::Body::PacketOut(out) => Command::PacketOut(PacketOut {
            in_port: Port::from(out.in_port),
            actions: Actions::of_v13(&out.actions)?,
            packet: packet(out.buffer, out.data),
        }),
        _ => return None,
    })
}
