//! The steps a plan is made of.

use super::{
    ControlState, FrrState, LinkState, NodeState, OpenFlowState, OverlayState, PathsState, RouteState, State,
};
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

/// One change to a testbed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Make a link and its devices.
    AddLink {
        /// Its name.
        name: String,
        /// What it is.
        link: Box<LinkState>,
    },
    /// Make a node's namespaces; its interfaces, routes, daemons and commands follow in steps of their own.
    AddNode {
        /// Its name.
        name: String,
        /// What it is.
        node: Box<NodeState>,
    },
    /// Change what an interface is called by IP.
    Addresses {
        /// The node.
        node: String,
        /// The interface.
        interface: String,
        /// Addresses that go.
        remove: Vec<IpNet>,
        /// Addresses that come.
        add: Vec<IpNet>,
    },
    /// Run commands that were not run before.
    Commands {
        /// The node.
        node: String,
        /// The commands to run now, in order.
        run: Vec<String>,
        /// All commands of the node from here on; what a forgotten one did stays.
        all: Vec<String>,
    },
    /// Change the conditions of a link, without touching its devices.
    Condition {
        /// The link.
        name: String,
        /// What it becomes.
        link: Box<LinkState>,
    },
    /// Have control applications decide all routes, or nobody any more.
    Control(Option<Box<ControlState>>),
    /// Start, restart or stop routing daemons.
    Daemons {
        /// The node.
        node: String,
        /// What shall run.
        frr: Option<FrrState>,
    },
    /// Change files.
    Files {
        /// The node.
        node: String,
        /// New text by path; none removes the file.
        files: BTreeMap<String, Option<String>>,
    },
    /// Write `/etc/hosts`, and remember the addresses it came from.
    Hosts(Vec<(IpAddr, String)>, Option<serde_json::Value>),
    /// Lead a node's OpenFlow switch or controller to what it shall be.
    OpenFlow {
        /// The node.
        node: String,
        /// What it is from here on.
        openflow: Option<OpenFlowState>,
    },
    /// Lead a node's overlay agent to what it shall be to overlays, or stop it.
    Overlays {
        /// The node.
        node: String,
        /// The overlays it is a member of from here on.
        overlays: BTreeMap<String, OverlayState>,
    },
    /// Lead a node's path agent to what it shall do about paths, or stop it.
    Paths {
        /// The node.
        node: String,
        /// What it does from here on.
        paths: Option<PathsState>,
    },
    /// Unplug a link and remove its devices.
    RemoveLink {
        /// Its name.
        name: String,
    },
    /// Stop a node's programs and remove its namespaces.
    RemoveNode {
        /// Its name.
        name: String,
    },
    /// Change routes.
    Routes {
        /// The node.
        node: String,
        /// Routes that go.
        remove: Vec<RouteState>,
        /// Routes that come.
        add: Vec<RouteState>,
    },
    /// Set kernel parameters.
    Sysctls {
        /// The node.
        node: String,
        /// Values by dotted name.
        set: BTreeMap<String, String>,
    },
}

impl Step {
    /// What kind of step it is, in a word.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::AddLink { .. } => "add_link",
            Self::AddNode { .. } => "add_node",
            Self::Addresses { .. } => "addresses",
            Self::Commands { .. } => "commands",
            Self::Condition { .. } => "condition",
            Self::Control(..) => "control",
            Self::Daemons { .. } => "daemons",
            Self::Files { .. } => "files",
            Self::Hosts(..) => "hosts",
            Self::OpenFlow { .. } => "openflow",
            Self::Overlays { .. } => "overlays",
            Self::Paths { .. } => "paths",
            Self::RemoveLink { .. } => "remove_link",
            Self::RemoveNode { .. } => "remove_node",
            Self::Routes { .. } => "routes",
            Self::Sysctls { .. } => "sysctls",
        }
    }

    /// What the step changes, on a state.
    pub fn effect(&self, state: &mut State) {
        match self {
            Self::AddLink { name, link } => {
                for (end, (node, interface)) in link.ends.iter().enumerate() {
                    if let Some(node) = state.nodes.get_mut(node) {
                        let mac = super::mac(&link.ends[end]);
                        node.interfaces
                            .insert(interface.clone(), super::InterfaceState { addresses: Vec::new(), mac });
                    }
                }
                state.links.insert(name.clone(), (**link).clone());
            }
            Self::AddNode { name, node } => {
                let node = NodeState {
                    interfaces: BTreeMap::new(),
                    routes: Default::default(),
                    commands: Vec::new(),
                    frr: None,
                    openflow: None,
                    overlays: BTreeMap::new(),
                    paths: None,
                    ..(**node).clone()
                };
                state.nodes.insert(name.clone(), node);
            }
            Self::Addresses { node, interface: name, remove, add } => {
                let Some(node) = state.nodes.get_mut(node) else { return };
                let Some(interface) = node.interfaces.get_mut(name) else { return };
                let ipv4 = |nets: &[IpNet]| nets.iter().any(|net| net.addr().is_ipv4());
                let had = ipv4(&interface.addresses);
                interface.addresses.retain(|address| !remove.contains(address));
                // The kernel forgets the IPv4 routes of a device that has no IPv4 address any more, be it for a moment.
                if had && !ipv4(&interface.addresses) {
                    node.routes
                        .retain(|route| route.to.addr().is_ipv6() || route.interface.as_ref() != Some(name));
                }
                interface.addresses.extend(add);
            }
            Self::Commands { node, all, .. } => {
                if let Some(node) = state.nodes.get_mut(node) {
                    node.commands.clone_from(all);
                }
            }
            Self::Condition { name, link } => {
                if let Some(known) = state.links.get_mut(name) {
                    *known = (**link).clone();
                }
            }
            Self::Control(control) => state.control = control.as_deref().cloned(),
            Self::Daemons { node, frr } => {
                if let Some(node) = state.nodes.get_mut(node) {
                    node.frr = frr.clone();
                }
            }
            Self::Files { node, files } => {
                if let Some(node) = state.nodes.get_mut(node) {
                    for (path, text) in files {
                        match text {
                            Some(text) => node.files.insert(path.clone(), text.clone()),
                            None => node.files.remove(path),
                        };
                    }
                }
            }
            Self::Hosts(hosts, assignment) => {
                state.hosts.clone_from(hosts);
                state.assignment.clone_from(assignment);
            }
            Self::OpenFlow { node, openflow } => {
                if let Some(node) = state.nodes.get_mut(node) {
                    node.openflow.clone_from(openflow);
                }
            }
            Self::Overlays { node, overlays } => {
                if let Some(node) = state.nodes.get_mut(node) {
                    node.overlays.clone_from(overlays);
                }
            }
            Self::Paths { node, paths } => {
                if let Some(node) = state.nodes.get_mut(node) {
                    node.paths.clone_from(paths);
                }
            }
            Self::RemoveLink { name } => {
                let Some(link) = state.links.shift_remove(name) else { return };
                for (node, interface) in &link.ends {
                    if let Some(node) = state.nodes.get_mut(node) {
                        node.interfaces.remove(interface);
                        // The kernel forgets the routes of a device that goes.
                        node.routes.retain(|route| route.interface.as_ref() != Some(interface));
                    }
                }
            }
            Self::RemoveNode { name } => {
                state.nodes.shift_remove(name);
            }
            Self::Routes { node, remove, add } => {
                if let Some(node) = state.nodes.get_mut(node) {
                    node.routes.retain(|route| !remove.contains(route));
                    node.routes.extend(add.iter().cloned());
                }
            }
            Self::Sysctls { node, set } => {
                if let Some(node) = state.nodes.get_mut(node) {
                    node.sysctls.extend(set.clone());
                }
            }
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn list<T: ToString>(sign: char, items: &[T]) -> String {
            items.iter().map(|item| format!(" {sign}{}", item.to_string())).collect()
        }
        match self {
            Self::AddLink { name, link } => {
                let [a, b] = &link.ends;
                write!(f, "+ link {name}  {}:{} <-> {}:{}", a.0, a.1, b.0, b.1)?;
                if !link.conditions[0].is_unimpaired() || !link.conditions[1].is_unimpaired() {
                    write!(f, "  {} | {}", link.conditions[0], link.conditions[1])?;
                }
                Ok(())
            }
            Self::AddNode { name, node } => write!(f, "+ node {name}  {}", node.kind),
            Self::Addresses { node, interface, remove, add } => {
                write!(f, "~ address {node}:{interface} {}{}", list('-', remove), list('+', add))
            }
            Self::Commands { node, run, .. } => write!(f, "~ run on {node}  {} commands", run.len()),
            Self::Condition { name, link } => {
                write!(f, "~ link {name}  {} | {}", link.conditions[0], link.conditions[1])
            }
            Self::Control(None) => write!(f, "~ control  nobody"),
            Self::Control(Some(control)) => {
                write!(f, "~ control ")?;
                control.applications.iter().try_for_each(|known| write!(f, " {}", known.manifest.name))
            }
            Self::Daemons { node, frr: Some(frr) } => {
                write!(f, "~ daemons {node}  {}", frr.daemons.join(" "))
            }
            Self::Daemons { node, frr: None } => write!(f, "~ daemons {node}  stop"),
            Self::Files { node, files } => {
                write!(f, "~ files {node}  {}", files.keys().cloned().collect::<Vec<_>>().join(" "))
            }
            Self::Hosts(hosts, _) => write!(f, "~ hosts  {} names", hosts.len()),
            Self::OpenFlow { node, openflow: Some(OpenFlowState::Switch(switch)) } => {
                write!(f, "~ openflow {node}  switch {:x}, {} ports", switch.datapath, switch.ports.len())?;
                switch.controller.map_or(Ok(()), |address| write!(f, ", controller {address}"))
            }
            Self::OpenFlow { node, openflow: Some(OpenFlowState::Controller(controller)) } => {
                write!(f, "~ openflow {node}  controller {} at {}", controller.app, controller.listen)?;
                let mut added = controller.applications.iter();
                added.try_for_each(|added| write!(f, ", {}", added.manifest.name))
            }
            Self::OpenFlow { node, openflow: None } => write!(f, "~ openflow {node}  stop"),
            Self::Paths { node, paths: None } => write!(f, "~ paths {node}  none"),
            Self::Paths { node, paths: Some(paths) } => {
                let role = match (&paths.relay, paths.learning.is_some()) {
                    (Some(relay), _) => format!("relay {relay}"),
                    (None, true) => "learnt".to_owned(),
                    (None, false) => format!("to {} prefixes", paths.statics.len()),
                };
                write!(f, "~ paths {node}  {role}")
            }
            Self::Overlays { node, overlays } if overlays.is_empty() => write!(f, "~ overlays {node}  leave"),
            Self::Overlays { node, overlays } => {
                write!(f, "~ overlays {node}  {}", overlays.keys().cloned().collect::<Vec<_>>().join(" "))
            }
            Self::RemoveLink { name } => write!(f, "- link {name}"),
            Self::RemoveNode { name } => write!(f, "- node {name}"),
            Self::Routes { node, remove, add } => {
                let show = |route: &RouteState| format!("{} via {}", route.to, route.via);
                let remove: Vec<_> = remove.iter().map(show).collect();
                let add: Vec<_> = add.iter().map(show).collect();
                write!(f, "~ routes {node} {}{}", list('-', &remove), list('+', &add))
            }
            Self::Sysctls { node, set } => {
                write!(f, "~ sysctl {node} ")?;
                set.iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))
            }
        }
    }
}
