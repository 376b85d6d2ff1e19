//! What OpenFlow nodes of a file shall be, and the LANs between controllers and their switches.

use super::INTERFACE;
use super::applications::KEY;
use crate::plan::{
    AddedComponent, InterfaceState, LinkState, NodeState, OpenFlowController, OpenFlowState, OpenFlowSwitch,
    Realisation, State, mac, switch,
};
use crate::section::{
    CONTROLLER, ControllerApp, ControllerChoice, FailMode, OPENFLOW_SWITCH, OpenFlowVersion,
};
use ipnet::{IpNet, Ipv4Net};
use plait_model_topology::address::Assignment;
use plait_model_topology::diagnostic::{Diagnostic, suggest};
use plait_model_topology::network::{Network, Node, NodeIndex};
use plait_model_topology::section as decode_section;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Choice: link-local addresses (RFC 3927), which nobody routes and no pool of a file is made of; the same in the LAN of
/// every controller, because none of them meets another. The first 256 are reserved (section 2.1), and so are the last.
const PREFIX: Ipv4Net = Ipv4Net::new_assert(Ipv4Addr::new(169, 254, 0, 0), 16);
/// The controller's address. That of a switch follows at the distance of its place among the file's switches.
const FIRST: u32 = 0xa9fe_0101;
/// How many switches have room.
const MOST: usize = 0xfdfe;
/// The port that IANA has given to OpenFlow.
const PORT: u16 = 6653;

/// Puts into a state what the file says of OpenFlow, and what its controllers run beside their own applications.
pub(crate) fn put_in(
    state: &mut State,
    network: &Network,
    assignment: &Assignment,
    applications: &BTreeMap<String, Vec<AddedComponent>>,
) -> Vec<Diagnostic> {
    let mut faults = misplaced(network);
    let is = |kind: &'static str| network.nodes.iter().enumerate().filter(move |(_, node)| node.kind == kind);
    let controllers: Vec<&str> = is(CONTROLLER).map(|(_, node)| node.name.as_str()).collect();
    let mut lans: BTreeMap<&str, Vec<(&str, IpAddr)>> = BTreeMap::new();
    for (index, node) in is(CONTROLLER) {
        let Some(app) = read::<ControllerApp>(node, "app", &mut faults) else { continue };
        faults.extend(clash(network, assignment, index));
        let added = applications.get(&node.name).cloned().unwrap_or_default();
        if let (Some(written), true) = (node.extra.get(KEY), !applications.contains_key(&node.name)) {
            faults.push(Diagnostic::new(written.span(), format!("`{KEY}` of `{}` were not read", node.name)));
        }
        let address = IpAddr::V4(Ipv4Addr::from(FIRST));
        lans.entry(&node.name).or_default().push((&node.name, address));
        if let Some(known) = state.nodes.get_mut(&node.name) {
            known.openflow = Some(OpenFlowState::Controller(OpenFlowController {
                app: app.unwrap_or_default().to_string(),
                listen: SocketAddr::new(address, PORT),
                applications: added,
            }));
        }
    }
    for (place, (index, node)) in is(OPENFLOW_SWITCH).enumerate() {
        if place >= MOST {
            faults.push(Diagnostic::new(
                node.span,
                format!("a file has at most {MOST} nodes of the kind `ovs`"),
            ));
            break;
        }
        let (Some(version), Some(fail)) = (
            read::<OpenFlowVersion>(node, "openflow", &mut faults),
            read::<FailMode>(node, "fail", &mut faults),
        ) else {
            continue;
        };
        let chosen = match chosen(node, &controllers) {
            Ok(chosen) => chosen,
            Err(fault) => {
                faults.push(*fault);
                continue;
            }
        };
        let controller = match chosen {
            ControllerChoice::None => None,
            ControllerChoice::Address(address) => Some(address),
            ControllerChoice::Node(name) => {
                faults.extend(clash(network, assignment, index));
                let Some(known) = controllers.iter().find(|known| **known == name) else { continue };
                let lan = lans.entry(known).or_default();
                lan.push((&node.name, IpAddr::V4(Ipv4Addr::from(FIRST + 1 + place as u32))));
                Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::from(FIRST)), PORT))
            }
        };
        let usual = if controller.is_some() { FailMode::Secure } else { FailMode::Standalone };
        if let Some(known) = state.nodes.get_mut(&node.name) {
            known.openflow = Some(OpenFlowState::Switch(OpenFlowSwitch {
                datapath: place as u64 + 1,
                ports: node.interfaces.iter().map(|interface| interface.name.clone()).collect(),
                protocol: version.unwrap_or_default().protocol().to_owned(),
                controller,
                fail: fail.unwrap_or(usual).to_string(),
            }));
        }
    }
    for (controller, members) in lans {
        add_lan(state, network.seed, controller, &members);
    }
    faults
}

/// A key of a node; the outer none where it was at fault.
fn read<T: serde::de::DeserializeOwned>(
    node: &Node,
    key: &str,
    faults: &mut Vec<Diagnostic>,
) -> Option<Option<T>> {
    decode_section::<T>(&node.extra, key).map_err(|fault| faults.push(fault)).ok()
}

/// Keys on nodes that have no use for them.
fn misplaced(network: &Network) -> Vec<Diagnostic> {
    let keys = [
        ("app", CONTROLLER),
        (KEY, CONTROLLER),
        ("controller", OPENFLOW_SWITCH),
        ("openflow", OPENFLOW_SWITCH),
        ("fail", OPENFLOW_SWITCH),
    ];
    let mut faults = Vec::new();
    for node in &network.nodes {
        for (key, kind) in keys.into_iter().filter(|(_, kind)| node.kind != *kind) {
            let Some(value) = node.extra.get(key) else { continue };
            let what = format!(
                "`{key}` belongs to nodes of the kind `{kind}`, and `{}` is of the kind `{}`",
                node.name, node.kind
            );
            faults.push(
                Diagnostic::new(value.span(), what).help(format!("remove it, or write `kind: {kind}`")),
            );
        }
    }
    faults
}

/// Who controls a switch.
fn chosen(node: &Node, controllers: &[&str]) -> Result<ControllerChoice, Box<Diagnostic>> {
    let written = decode_section::<ControllerChoice>(&node.extra, "controller").map_err(Box::new)?;
    let span = node.extra.get("controller").map_or(node.span, |value| value.span());
    match (written, controllers) {
        (Some(ControllerChoice::Node(name)), _) if !controllers.contains(&name.as_str()) => {
            let what = format!("`{name}` is no node of the kind `controller`");
            let help = match controllers {
                [] => format!("add `{name}: controller` to `nodes`, or write `tcp:ADDRESS:PORT` or `none`"),
                _ => suggest(&name, controllers.iter().copied()),
            };
            Err(Box::new(Diagnostic::new(span, what).help(help)))
        }
        (Some(choice), _) => Ok(choice),
        (None, []) => Ok(ControllerChoice::None),
        (None, [only]) => Ok(ControllerChoice::Node((*only).to_owned())),
        (None, several) => {
            let what = format!("`{}` has {} controllers to choose from", node.name, several.len());
            let help = format!("write `controller: {}`, or `controller: none`", several[0]);
            Err(Box::new(Diagnostic::new(span, what).help(help)))
        }
    }
}

/// What stands in the way of a node's interface to the LAN of its controller.
fn clash(network: &Network, assignment: &Assignment, index: NodeIndex) -> Option<Diagnostic> {
    let node = &network.nodes[index];
    if node.interfaces.iter().any(|interface| interface.name == INTERFACE) {
        let what =
            format!("`{}:{INTERFACE}` is the interface between a controller and its switches", node.name);
        return Some(Diagnostic::new(node.span, what).help("give the interface another name"));
    }
    let prefix = IpNet::V4(PREFIX);
    let meets = |net: &&IpNet| prefix.contains(*net) || net.contains(&prefix);
    let net = assignment.all(index).find(|net| meets(&net))?;
    let what = format!("{net} of `{}` is in {PREFIX}, where controllers and switches meet", node.name);
    Some(Diagnostic::new(node.span, what).help("take addresses of another prefix"))
}

/// The LAN of a controller.
fn add_lan(state: &mut State, seed: u64, controller: &str, members: &[(&str, IpAddr)]) {
    let hub = format!("control:{controller}");
    let mut ports = BTreeMap::new();
    for (at, (node, address)) in members.iter().enumerate() {
        let own = (hub.clone(), format!("port{at}"));
        ports.insert(own.1.clone(), InterfaceState { addresses: Vec::new(), mac: mac(&own) });
        let end = ((*node).to_owned(), INTERFACE.to_owned());
        if let Some(known) = state.nodes.get_mut(*node) {
            put_interface(known, &end, *address);
        }
        let link = LinkState {
            ends: [end, own],
            mtu: None,
            conditions: Default::default(),
            specs: Default::default(),
            realisation: Realisation::Direct,
            seed,
            verify: false,
            hidden: true,
        };
        state.links.insert(format!("{hub}/{node}:{INTERFACE}"), link);
    }
    state.nodes.insert(hub, switch(ports));
}

fn put_interface(node: &mut NodeState, end: &(String, String), address: IpAddr) {
    let net = IpNet::new(address, PREFIX.prefix_len()).expect("a length of IPv4");
    node.interfaces.insert(end.1.clone(), InterfaceState { addresses: vec![net], mac: mac(end) });
}
