//! From a network to the state that realises it.

use super::{
    Backend, FrrState, InterfaceState, Limits, LinkState, NodeState, Realisation, RouteState, STATE_VERSION,
    State,
};
use crate::frr;
use crate::section;
use plait_model_link::Conditions;
use plait_model_topology::address::Assignment;
use plait_model_topology::diagnostic::{Diagnostic, suggest};
use plait_model_topology::document::{Map, decode};
use plait_model_topology::graph::Graph;
use plait_model_topology::network::{Attachment, FileContent, Interface, Link, Network, Node, Port, Routing};
use plait_model_topology::route::TableBuilder;
use plait_model_topology::vocabulary::Role;
use plait_model_topology::{ReadFile, section as decode_section};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::net::IpAddr;

/// What is asked for beyond the file.
#[derive(Default)]
pub struct Wishes {
    /// Every link may change while it is up.
    pub live: bool,
    /// Links that a timed event changes, by name.
    pub dynamic: HashSet<String>,
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
    let routes = static_routes(network, assignment);
    for (index, (node, routes)) in network.nodes.iter().zip(routes).enumerate() {
        match node_state(network, assignment, index, routes, read) {
            Ok(made) => {
                state.nodes.insert(node.name.clone(), made);
            }
            Err(fault) => faults.push(fault),
        }
    }
    if network.routing == Routing::Static && longest_path(network) >= USUAL_TTL {
        for node in state.nodes.values_mut().filter(|node| node.role != Role::Switch) {
            node.sysctls.entry("net.ipv4.ip_default_ttl".to_owned()).or_insert("255".to_owned());
        }
    }
    let verify_all = flag(&network.sections, "verify");
    for link in &network.links {
        match link_state(network, link, wishes, verify_all) {
            Ok(made) => {
                state.links.insert(link.name.clone(), made);
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
                    conditions: lan.conditions.clone(),
                    specs: lan.specs.clone(),
                    realisation,
                    seed: network.seed,
                    verify: false,
                    hidden: true,
                },
            );
        }
        state.nodes.insert(hub, switch(interfaces));
    }
    state.hosts = hosts(network, assignment);
    state.assignment = serde_json::to_value(assignment).ok();
    if faults.is_empty() { Ok(state) } else { Err(faults) }
}

/// The time to live that the kernel gives packets, in hops.
const USUAL_TTL: usize = 64;

/// About how many hops the longest of the shortest paths has: two searches, the second from where the first ended.
///
/// Choice: where packets would die of their usual time to live, all nodes begin with 255, the most there is. Otherwise
/// a chain of a hundred routers would drop every answer to `ping -t 255`, for a reason that is hard to find.
fn longest_path(network: &Network) -> usize {
    let edges = network.links.iter().map(|link| (link.ends[0].node, link.ends[1].node, 1));
    let lans = network.lans.iter().flat_map(|lan| {
        lan.members.windows(2).map(|pair| (pair[0].node, pair[1].node, 1)).collect::<Vec<_>>()
    });
    let graph = Graph::undirected(network.nodes.len(), edges.chain(lans));
    let farthest = |from: usize| {
        let paths = graph.shortest_paths(from);
        let reached = (0..network.nodes.len()).filter_map(|node| Some((paths.distance(node)?, node)));
        reached.max().unwrap_or((0, from))
    };
    if network.nodes.is_empty() {
        return 0;
    }
    let (_, end) = farthest(0);
    farthest(end).0 as usize
}

/// Every node by its name, and every address of a node that has several as `NODE-INTERFACE`.
fn hosts(network: &Network, assignment: &Assignment) -> Vec<(IpAddr, String)> {
    let mut hosts = Vec::new();
    for (index, node) in network.nodes.iter().enumerate() {
        // A name has one address of each version, so that `ping -6` finds one too.
        for ipv6 in [false, true] {
            let first = assignment.all(index).find(|net| net.addr().is_ipv6() == ipv6);
            hosts.extend(first.map(|net| (net.addr(), node.name.clone())));
        }
        if node.interfaces.len() < 2 {
            continue;
        }
        for (position, interface) in node.interfaces.iter().enumerate() {
            for net in assignment.addresses(Port { node: index, interface: position }) {
                hosts.push((net.addr(), format!("{}-{}", node.name, interface.name)));
            }
        }
    }
    hosts
}

/// The hidden switch of a LAN.
fn switch(interfaces: BTreeMap<String, InterfaceState>) -> NodeState {
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
        uplink: false,
        congestion_control: None,
    }
}

/// Routes of every node, none where daemons or nobody routes. With daemons, hosts still need a way to a router.
fn static_routes(network: &Network, assignment: &Assignment) -> Vec<BTreeSet<RouteState>> {
    if network.routing == Routing::None {
        return vec![BTreeSet::new(); network.nodes.len()];
    }
    let daemons = matches!(network.routing, Routing::Frr(_));
    let builder = TableBuilder::new(network, assignment);
    let one = |index: usize| -> BTreeSet<RouteState> {
        let node = &network.nodes[index];
        if node.role == Role::Switch || (daemons && node.role == Role::Router) {
            return BTreeSet::new();
        }
        // The default route of a node with an uplink is the uplink's.
        let table = if flag(&node.extra, "uplink") {
            builder.table_without_default(index)
        } else {
            builder.table(index)
        };
        table
            .into_iter()
            .map(|route| RouteState {
                to: route.prefix,
                via: route.via,
                interface: Some(node.interfaces[route.interface].name.clone()),
                congestion_control: None,
            })
            .collect()
    };
    let count = network.nodes.len();
    let half = count.div_ceil(2).max(64);
    std::thread::scope(|scope| {
        let one = &one;
        let workers: Vec<_> = (0..count)
            .step_by(half)
            .map(|from| scope.spawn(move || (from..(from + half).min(count)).map(one).collect::<Vec<_>>()))
            .collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().expect("no panic while computing routes"))
            .collect()
    })
}

fn node_state(
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
        interface: out_interface(node, &interfaces, route.via),
        congestion_control: None,
    }));
    let congestion_control: Option<String> = decode_section(&node.extra, "congestion_control")?;
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
        processors: decode_section(&node.extra, "processors")?.unwrap_or_default(),
        limits: Limits {
            memory: limits.memory.map(|bytes| bytes.bytes()),
            processor_millis: limits.processor.map(|share| (share.value() * 1000.0).round() as u64),
            processes: limits.processes,
        },
        frr: daemons(network, assignment, index, read)?,
        uplink: flag(&node.extra, "uplink"),
        congestion_control,
    })
}

/// The interface a next hop is reached by: the one with its prefix.
fn out_interface(node: &Node, interfaces: &BTreeMap<String, InterfaceState>, via: IpAddr) -> Option<String> {
    let reaches =
        |interface: &&Interface| interfaces[&interface.name].addresses.iter().any(|net| net.contains(&via));
    node.interfaces.iter().find(reaches).map(|interface| interface.name.clone())
}

fn sysctls(node: &Node) -> Result<BTreeMap<String, String>, Diagnostic> {
    for (name, value) in &node.sysctls {
        if !name.starts_with("net.") || name.contains("..") || name.contains('/') {
            return Err(Diagnostic::new(value.span, format!("`{name}` is not a parameter of the network"))
                .help(
                    "a node may set what begins with `net.`; everything else belongs to the whole machine",
                ));
        }
        if name == "net.ipv4.tcp_congestion_control" {
            let present = congestion_controls();
            if !present.contains(&value.value) {
                return Err(Diagnostic::new(
                    value.span,
                    format!("this kernel has no congestion control `{}` for a node", value.value),
                )
                .help(suggest(&value.value, present.iter().map(String::as_str))));
            }
        }
    }
    Ok(node.sysctls.iter().map(|(name, value)| (name.clone(), value.value.clone())).collect())
}

/// Congestion controls a namespace may choose.
fn congestion_controls() -> Vec<String> {
    std::fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
        .unwrap_or_default()
        .split_whitespace()
        .map(str::to_owned)
        .collect()
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

fn flag(map: &Map, key: &str) -> bool {
    decode_section::<bool>(map, key).ok().flatten().unwrap_or(false)
}

fn link_state(
    network: &Network,
    link: &Link,
    wishes: &Wishes,
    verify_all: bool,
) -> Result<LinkState, Diagnostic> {
    let (via, span) = match link.extra.get("via") {
        Some(value) => (Some(decode::<section::Via>(value)?), value.span()),
        None => (None, link.span),
    };
    let dynamic = wishes.live || wishes.dynamic.contains(&link.name) || flag(&link.extra, "dynamic");
    let realisation =
        choose(&link.conditions, via, dynamic).map_err(|message| Diagnostic::new(span, message))?;
    Ok(LinkState {
        ends: link.ends.map(|port| port_of(network, port)),
        mtu: link.mtu,
        conditions: link.conditions.clone(),
        specs: link.specs.clone(),
        realisation,
        seed: network.seed,
        verify: verify_all || flag(&link.extra, "verify"),
        hidden: false,
    })
}

/// How a link is made: as little as keeps its word.
///
/// Nothing asked: a bare veth pair. Rate alone: the kernel's token bucket, which is exact and costs no context switch
/// (never HTB, which starves under BBR). Anything else, or a link that may change: the engine.
pub fn choose(
    conditions: &[Conditions; 2],
    via: Option<section::Via>,
    dynamic: bool,
) -> Result<Realisation, String> {
    let nothing = conditions.iter().all(Conditions::is_unimpaired);
    let rate_only =
        conditions.iter().all(|conditions| conditions.is_unimpaired() || conditions.is_rate_only());
    match via {
        Some(section::Via::Kernel) if dynamic => {
            Err("a link that may change cannot be shaped by the kernel: remove `via: kernel`, or what changes it".into())
        }
        Some(section::Via::Kernel) if rate_only => Ok(Realisation::Kernel),
        Some(section::Via::Kernel) => {
            Err("the kernel shapes rate alone here: remove `via: kernel`, or every condition but `rate` and `queue`".into())
        }
        Some(section::Via::Tap) => Ok(Realisation::Engine([Backend::Tap; 2])),
        Some(section::Via::Engine) => Ok(Realisation::Engine([Backend::Packet; 2])),
        None if dynamic => Ok(Realisation::Engine([Backend::Packet; 2])),
        None if nothing => Ok(Realisation::Direct),
        None if rate_only => Ok(Realisation::Kernel),
        None => Ok(Realisation::Engine([Backend::Packet; 2])),
    }
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
