//! Flows that lead to ports which are down.

use crate::Set;
use crate::outgoing::{delete_leaving, some, was_up};
use crate::waiting::of_switches;
use plait_control_openflow::{Commands, Fields, Port, SwitchEvent, SwitchEvents, Switches, Version};
use plait_control_runtime::{Dag, Failure, Manifest, Perhaps, native};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The application that has switches delete the flows which leave by a port that is down, when it goes down and when they connect.
///
/// Choice: by any such port, whether a link was known there or not. A controller that has just started finds links after its
/// switches; flows of the one before it would lead to where nothing is for as long as packets come, since these keep them alive.
pub(crate) fn dead_ports() -> Set {
    Set::default()
        .with(
            Manifest::new("dead-ports").reads("~switch-events@1").reads("switches@1").writes("~commands@1?"),
            native(|(events, switches)| end(events, switches)),
        )
        .dag(Dag::chain("dead-ports", &["dead-ports"]).on("switch-events@1").policy(of_switches()))
}

fn end(events: Arc<SwitchEvents>, switches: Arc<Switches>) -> Result<(Perhaps<Commands>,), Failure> {
    let mut down = BTreeSet::new();
    for (switch, event) in &events.list {
        let Some(info) = switches.known.get(switch).filter(|info| info.connected) else { continue };
        let ports: Vec<Port> = match event {
            SwitchEvent::Connected => info.ports.iter().map(|port| port.number).collect(),
            SwitchEvent::Port(port) => vec![*port],
            _ => continue,
        };
        let is_down = |port: &Port| port.is_physical() && !was_up(&switches, *switch, *port);
        down.extend(ports.into_iter().filter(is_down).map(|port| (*switch, port)));
    }
    let mut commands = Commands::default();
    for (switch, port) in down {
        let version = switches.known.get(&switch).and_then(|info| Version::of(info.version));
        let delete = version.and_then(|version| delete_leaving(version, Fields::ANY, port));
        commands.extend(delete.map(|command| (switch, command)));
    }
    Ok((some(commands),))
}
