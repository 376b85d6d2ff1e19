//! From a network to the state that realises it.

mod hosts;
mod link;
mod node;
mod routes;

pub use link::{auxiliary, choose};
pub(crate) use node::switch;

use super::{AddedComponent, Deciding, InterfaceState, LinkState, STATE_VERSION, State};
use crate::{openflow, overlay, paths, routing};
use plait_model_topology::address::Assignment;
use plait_model_topology::diagnostic::Diagnostic;
use plait_model_topology::document::Map;
use plait_model_topology::network::{Attachment, Network, Port, Routing};
use plait_model_topology::vocabulary::Role;
use plait_model_topology::{ReadFile, section as decode_section};
use std::collections::{BTreeMap, HashSet};

/// What is asked for beyond the file.
#[derive(Clone, Default)]
pub struct Wishes {
    /// Every link may change while it is up.
    pub live: bool,
    /// It is to run in virtual time, so that nothing need be known of kernels.
    pub in_virtual_time: bool,
    /// Links that a timed event changes, by name.
    pub dynamic: HashSet<String>,
    /// The applications that decide routes, where the file has a section `control`: what
    /// [`decided`](crate::routing::decided) gives.
    pub control: Vec<Deciding>,
    /// What controllers run beside their own applications, where the file says so: what
    /// [`controller_applications`](crate::openflow::controller_applications) gives.
    pub applications: BTreeMap<String, Vec<AddedComponent>>,
}

/// The state that realises a network. Routes of half the nodes each are computed on two threads.
///
/// # Errors
/// What this room cannot make: parameters outside `net.`, conditions the kernel cannot keep, files that cannot be read.
pub fn desired(
    network: &Network,
    assignment: &Assignment,
    wishes: &Wishes,
    read: ReadFile<'_>,
) -> Result<State, Vec<Diagnostic>> {
    let mut faults = Vec::new();
    let mut state = State { version: STATE_VERSION, ..State::default() };
    let routes = routes::static_routes(network, assignment);
    for (index, (node, routes)) in network.nodes.iter().zip(routes).enumerate() {
        match node::node_state(network, assignment, index, routes, read) {
            Ok(made) => {
                state.nodes.insert(node.name.clone(), made);
            }
            Err(fault) => faults.push(fault),
        }
    }
    let is_decided = network.routing == Routing::Static || !wishes.control.is_empty();
    if is_decided && routes::longest_path(network) >= routes::USUAL_TTL {
        for node in state.nodes.values_mut().filter(|node| node.role != Role::Switch) {
            node.sysctls.entry("net.ipv4.ip_default_ttl".to_owned()).or_insert("255".to_owned());
        }
    }
    let verify_all = flag(&network.sections, "verify");
    for link in &network.links {
        match link::link_state(network, link, wishes, verify_all) {
            Ok(made) => {
                state.nodes.extend(made.auxiliary);
                state.links.extend(made.links);
            }
            Err(fault) => faults.push(fault),
        }
    }
    for lan in &network.lans {
        let hub = format!("lan:{}", lan.name);
        let mut interfaces = BTreeMap::new();
        for (at, port) in lan.members.iter().enumerate() {
            let port_name = port_of(network, *port);
            let own = (hub.clone(), format!("port{at}"));
            interfaces.insert(own.1.clone(), InterfaceState { addresses: Vec::new(), mac: mac(&own) });
            let name = format!("{}/{}:{}", lan.name, port_name.0, port_name.1);
            let realisation =
                match choose(&lan.conditions, None, wishes.live || wishes.dynamic.contains(&lan.name)) {
                    Ok(realisation) => realisation,
                    Err(message) => {
                        faults.push(Diagnostic::new(lan.span, message));
                        continue;
                    }
                };
            state.links.insert(
                name.clone(),
                LinkState {
                    ends: [port_name, own],
                    mtu: lan.mtu,
                    conditions: lan.conditions.clone().map(|conditions| link::framed(conditions, lan.mtu)),
                    specs: lan.specs.clone(),
                    realisation,
                    seed: network.seed,
                    verify: false,
                    hidden: true,
                },
            );
        }
        state.nodes.insert(hub, node::switch(interfaces));
    }
    state.hosts = hosts::hosts(network, assignment);
    faults.extend(overlay::put_in(&mut state, network, assignment).err().unwrap_or_default());
    faults.extend(
        paths::put_in(&mut state, network, assignment, wishes.in_virtual_time).err().unwrap_or_default(),
    );
    faults.extend(openflow::put_in(&mut state, network, assignment, &wishes.applications));
    let control = routing::put_in(&mut state, network, assignment, &wishes.control);
    faults.extend(control.err().unwrap_or_default());
    state.assignment = serde_json::to_value(assignment).ok();
    if faults.is_empty() { Ok(state) } else { Err(faults) }
}

fn flag(map: &Map, key: &str) -> bool {
    decode_section::<bool>(map, key).ok().flatten().unwrap_or(false)
}

fn port_of(network: &Network, port: Port) -> (String, String) {
    let node = &network.nodes[port.node];
    let interface = &node.interfaces[port.interface];
    debug_assert!(!matches!(interface.attachment, Attachment::Link { link: usize::MAX, .. }));
    (node.name.clone(), interface.name.clone())
}

/// The hardware address of an interface: locally administered (IEEE 802, bit 1 of the first byte), and the same in
/// every run, because it is a hash (FNV-1a) of the interface's name.
pub fn mac(end: &(String, String)) -> [u8; 6] {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in end.0.bytes().chain([b':']).chain(end.1.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    let bytes = hash.to_be_bytes();
    [0x02, bytes[1], bytes[2], bytes[3], bytes[4], bytes[5]]
}
