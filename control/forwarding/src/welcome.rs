//! What a switch is told when it connects, so that it tells what the applications need to know.

use crate::Set;
use crate::outgoing::some;
use crate::waiting::of_switches;
use plait_control_openflow::{
    Action, Command, Commands, Fields, Flow, SwitchEvent, SwitchEvents, Switches, Version,
};
use plait_control_runtime::{Dag, Failure, Manifest, Perhaps, native};
use plait_model_wire::number::ether_type;
use plait_model_wire::openflow::{v10, v13};
use std::sync::Arc;

/// The application that tells switches, when they connect, to send packets without a flow to the controller, and
/// `length` bytes of each; 0xffff is all of it, with which a switch keeps none. LLDP always goes there.
///
/// Choice: flows that are there stay, so that a controller that starts again breaks nothing that is established.
pub fn welcome(length: u16) -> Set {
    Set::default()
        .with(
            Manifest::new("welcome").reads("~switch-events@1").reads("switches@1").writes("~commands@1?"),
            native(move |(events, switches)| greet(length, events, switches)),
        )
        .dag(Dag::chain("welcome", &["welcome"]).on("switch-events@1").policy(of_switches()))
}

fn greet(
    length: u16,
    events: Arc<SwitchEvents>,
    switches: Arc<Switches>,
) -> Result<(Perhaps<Commands>,), Failure> {
    let mut commands = Commands::default();
    for (switch, event) in &events.list {
        let version = switches.known.get(switch).and_then(|info| Version::of(info.version));
        let (SwitchEvent::Connected, Some(version)) = (event, version) else { continue };
        commands.extend(set(version, length).map(|bytes| (*switch, Command::Raw(bytes))));
        for mut flow in flows(version) {
            if flow.priority == 0 {
                flow.actions = [Action::Controller(length)].into_iter().collect();
            }
            commands.push(*switch, Command::Flow(flow));
        }
    }
    Ok((some(commands),))
}

/// How many bytes of a packet without a flow 1.0 sends, and 1.3 of one that it decides itself to send.
fn set(version: Version, length: u16) -> Option<Vec<u8>> {
    let bytes = match version {
        Version::V10 => {
            let config =
                v10::switch::Config { fragments: v10::switch::Fragments::NORMAL, miss_send_length: length };
            v10::Message { xid: 0, body: v10::Body::SetConfig(config) }.emit()
        }
        Version::V13 => {
            let config =
                v13::switch::Config { fragments: v13::switch::Fragments::NORMAL, miss_send_length: length };
            v13::Message { xid: 0, body: v13::Body::SetConfig(config) }.emit()
        }
    };
    bytes.ok()
}

/// The flows that every switch has: LLDP goes to the controller, above all else; in 1.3, which drops it otherwise, so
/// does what has no flow (1.3.5 section 5.4).
pub(crate) fn flows(version: Version) -> impl Iterator<Item = Flow> {
    let to_controller = || [Action::Controller(0xffff)].into_iter().collect();
    let lldp = Fields { eth_type: Some(ether_type::LLDP), ..Fields::ANY };
    let miss = (version == Version::V13).then(|| Flow::add(0, Fields::ANY, to_controller()));
    [Flow::add(u16::MAX, lldp, to_controller())].into_iter().chain(miss)
}
