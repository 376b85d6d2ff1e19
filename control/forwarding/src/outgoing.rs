//! Commands that several applications give.

use plait_control_openflow::{
    Actions, Command, Commands, Fields, Flow, Packet, PacketIn, PacketIns, PacketOut, Port, Staged, Switches,
    Version,
};
use plait_control_runtime::Perhaps;
use plait_model_wire::openflow::{v10, v13};
use std::sync::Arc;

/// The priority of flows that forward what no access list speaks of: below those of access lists.
pub(crate) const FORWARDING: u16 = 0x1000;

/// Sends the packet of a packet-in onwards.
pub(crate) fn send(
    batch: &Arc<PacketIns>,
    place: usize,
    packet: &PacketIn<'_>,
    to: Port,
    commands: &mut Commands,
) {
    let packet_out =
        PacketOut { in_port: packet.in_port, actions: Actions::output(to), packet: Packet::of(batch, place) };
    let written =
        commands.write(packet.switch, packet.version, |bytes| packet_out.emit_into(packet.version, 0, bytes));
    if written.is_err() {
        // Who tells the switch says why it cannot be told.
        commands.push(packet.switch, Command::PacketOut(packet_out));
    }
}

/// Installs a flow.
pub(crate) fn add(switch: u64, version: Version, flow: Flow, commands: &mut Commands) {
    if commands.write(switch, version, |bytes| flow.emit_into(version, 0, bytes)).is_err() {
        commands.push(switch, Command::Flow(flow));
    }
}

/// Sends a packet of the controller's own, or of another switch.
pub(crate) fn send_bytes(bytes: Vec<u8>, to: Actions) -> Command {
    Command::PacketOut(PacketOut { in_port: Port::CONTROLLER, actions: to, packet: Packet::Bytes(bytes) })
}

/// Frees what a switch keeps of a packet that goes nowhere.
pub(crate) fn release(packet: &PacketIn<'_>, commands: &mut Commands) {
    if let Some(buffer) = packet.buffer {
        let packet_out =
            PacketOut { in_port: packet.in_port, actions: Actions::drop(), packet: Packet::Kept(buffer) };
        commands.push(packet.switch, Command::PacketOut(packet_out));
    }
}

/// Deletes the flows that `fields` include and whose packets leave by a port. Of flows without such an action, those
/// of access lists among them, none is deleted. Both versions can say it, but not in [`Flow`]'s words.
pub(crate) fn delete_leaving(version: Version, fields: Fields, port: Port) -> Option<Command> {
    let mut bytes = Vec::new();
    Flow::delete(fields).emit_into(version, 0, &mut bytes).ok()?;
    let bytes = match version {
        Version::V10 => {
            let mut message = v10::Message::parse(&bytes).ok()?;
            let v10::Body::FlowMod(flow) = &mut message.body else { return None };
            flow.out_port = port.v10()?;
            message.emit()
        }
        Version::V13 => {
            let mut message = v13::Message::parse(&bytes).ok()?;
            let v13::Body::FlowMod(flow) = &mut message.body else { return None };
            flow.out_port = port.into();
            message.emit()
        }
    };
    bytes.ok().map(Command::Raw)
}

/// Where flows are deleted, what was decided before and waits is not to add them again: its packets go without.
pub(crate) fn superseding(deletes: &Commands) -> Perhaps<Staged> {
    Perhaps((!deletes.is_empty()).then(|| Staged { supersedes: true, ..Staged::default() }))
}

/// Whether a switch is connected and its port up.
pub(crate) fn is_up(switches: &Switches, switch: u64, port: Port) -> bool {
    switches.known.get(&switch).is_some_and(|info| info.connected) && was_up(switches, switch, port)
}

/// Whether a port was up when its switch said something last: of one that is away it most likely still is.
pub(crate) fn was_up(switches: &Switches, switch: u64, port: Port) -> bool {
    let info = switches.known.get(&switch);
    info.and_then(|info| info.port(port)).is_some_and(|port| port.up)
}

/// Nothing is not written.
pub(crate) fn some(commands: Commands) -> Perhaps<Commands> {
    Perhaps((!commands.is_empty()).then_some(commands))
}
