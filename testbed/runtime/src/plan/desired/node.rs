//! One node: its interfaces, parameters, files, limits and daemons.

use super::{flag, mac, routes};
use crate::frr;
use crate::plan::{FrrState, InterfaceState, Limits, NodeState, RouteState};
use crate::sandbox::OF_ALL_NAMESPACES;
use crate::section;
use plait_model_topology::address::Assignment;
use plait_model_topology::diagnostic::Diagnostic;
use plait_model_topology::network::{FileContent, Network, Node, Port, Routing};
use plait_model_topology::vocabulary::Role;
use plait_model_topology::{ReadFile, section as decode_section};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn node_state(
    network: &Network,
    assignment: &Assignment,
    index: usize,
    mut routes: BTreeSet<RouteState>,
    read: ReadFile<'_>,
) -> Result<NodeState, Diagnostic> {
    let node = &network.nodes[index];
    let mut interfaces = BTreeMap::new();
    for (position, interface) in node.interfaces.iter().enumerate() {
        let addresses = assignment.addresses(Port { node: index, interface: position }).to_vec();
        let mac = mac(&(node.name.clone(), interface.name.clone()));
        interfaces.insert(interface.name.clone(), InterfaceState { addresses, mac });
    }
    routes.extend(node.routes.iter().map(|route| RouteState {
        to: route.to,
        via: route.via,
        interface: routes::out_interface(node, &interfaces, route.via),
        congestion_control: None,
    }));
    let congestion_control = decode_section::<section::CongestionControl>(&node.extra, "congestion_control")?
        .map(|control| control.0);
    if congestion_control.is_some() {
        routes = routes
            .into_iter()
            .map(|route| RouteState { congestion_control: congestion_control.clone(), ..route })
            .collect();
    }
    let limits = decode_section::<section::Limits>(&node.extra, "limits")?.unwrap_or_default();
    let mut files = BTreeMap::new();
    for (path, content) in &node.files {
        let text = match &content.value {
            FileContent::Text(text) => text.clone(),
            FileContent::Source(source) => read(source)
                .map_err(|error| Diagnostic::new(content.span, error).help("paths start beside this file"))?,
        };
        files.insert(path.clone(), text);
    }
    Ok(NodeState {
        kind: node.kind.clone(),
        role: node.role,
        hidden: false,
        interfaces,
        routes,
        sysctls: sysctls(node)?,
        files,
        commands: node.commands.iter().map(|command| command.value.clone()).collect(),
        processors: decode_section::<section::Processors>(&node.extra, "processors")?.unwrap_or_default().0,
        limits: Limits {
            memory: limits.memory.map(|bytes| bytes.bytes()),
            processor_millis: limits.processor.map(|share| (share.value() * 1000.0).round() as u64),
            processes: limits.processes,
        },
        frr: daemons(network, assignment, index, read)?,
        openflow: None,
        uplink: flag(&node.extra, "uplink"),
        congestion_control,
        overlays: BTreeMap::new(),
        paths: None,
    })
}

fn sysctls(node: &Node) -> Result<BTreeMap<String, String>, Diagnostic> {
    for (name, value) in &node.sysctls {
        let machines = OF_ALL_NAMESPACES.contains(&name.as_str());
        if !name.starts_with("net.") || name.contains("..") || name.contains('/') || machines {
            return Err(Diagnostic::new(value.span, format!("`{name}` is not a parameter of the network"))
                .help(
                    "a node may set what begins with `net.`; everything else belongs to the whole machine",
                ));
        }
    }
    Ok(node.sysctls.iter().map(|(name, value)| (name.clone(), value.value.clone())).collect())
}

fn daemons(
    network: &Network,
    assignment: &Assignment,
    index: usize,
    read: ReadFile<'_>,
) -> Result<Option<FrrState>, Diagnostic> {
    let node = &network.nodes[index];
    let own = decode_section::<section::Frr>(&node.extra, "frr")?;
    let Routing::Frr(routing) = &network.routing else {
        return match own {
            None => Ok(None),
            Some(_) => {
                Err(Diagnostic::new(node.span, "`frr` needs `routing: frr`").help("add `routing: frr`"))
            }
        };
    };
    if node.role != Role::Router {
        return Ok(None);
    }
    let own = own.unwrap_or_default();
    let mut config = match &own.config {
        Some(path) => read(path).map_err(|error| Diagnostic::new(node.span, error))?,
        None => frr::config(network, assignment, index, routing),
    };
    if let Some(extra) = &own.extra {
        config.push_str(extra);
        config.push('\n');
    }
    Ok(Some(FrrState { daemons: frr::daemons(routing, network.pools.ipv6.is_some()), config }))
}

/// The hidden switch of a LAN.
pub(crate) fn switch(interfaces: BTreeMap<String, InterfaceState>) -> NodeState {
    NodeState {
        kind: "switch".to_owned(),
        role: Role::Switch,
        hidden: true,
        interfaces,
        routes: BTreeSet::new(),
        sysctls: BTreeMap::new(),
        files: BTreeMap::new(),
        commands: Vec::new(),
        processors: Vec::new(),
        limits: Limits::default(),
        frr: None,
        openflow: None,
        uplink: false,
        congestion_control: None,
        overlays: BTreeMap::new(),
        paths: None,
    }
}
