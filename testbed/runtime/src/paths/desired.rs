//! From paths to what each node does about them.

use super::lists::{policies, size, statics};
use super::resolve::{Learn, Resolved, resolve};
use crate::plan::{PathLearning, PathsState, RouteState, State};
use crate::section::{MethodWord, Paths};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use plait_model_topology::address::{Assignment, segments};
use plait_model_topology::diagnostic::Diagnostic;
use plait_model_topology::network::{Network, NodeIndex, Port, Routing};
use plait_model_topology::route::TableBuilder;
use plait_model_topology::section as decode_section;
use plait_model_topology::vocabulary::Role;
use std::sync::Arc;

/// Puts the paths of a network into the state that realises it, or would if it did not run `in_virtual_time`.
///
/// # Errors
/// What is wrong with them.
pub(crate) fn put_in(
    state: &mut State,
    network: &Network,
    assignment: &Assignment,
    in_virtual_time: bool,
) -> Result<(), Vec<Diagnostic>> {
    let written = decode_section::<Paths>(&network.sections, "paths").map_err(|fault| vec![fault])?;
    let Some(written) = written else { return Ok(()) };
    let paths = resolve(&written, network)?;
    if !in_virtual_time {
        foretold(&written).map_or(Ok(()), |fault| Err(vec![fault]))?;
    }
    overlapping(&written, &paths, network, assignment).map_or(Ok(()), |fault| Err(vec![fault]))?;
    let mut all = statics(&paths, network, assignment)?;
    let mut chosen = policies(&paths);
    let fabric = size(&paths, network, assignment);
    for (index, node) in network.nodes.iter().enumerate() {
        let is_host = paths.hosts.contains(&index);
        let relay = paths.relays.get(&index).copied();
        let borders = paths.borders.get(&index).cloned().unwrap_or_default();
        if !is_host && relay.is_none() && borders.is_empty() {
            continue;
        }
        let made = PathsState {
            devices: if is_host { devices(network, assignment, index, |_| true) } else { Vec::new() },
            source: paths.source,
            encapsulation: paths.encapsulation,
            policy: paths.policy,
            spread_micros: paths.spread.as_micros() as u64,
            idle_millis: paths.idle.map(|idle| idle.as_millis() as u64),
            relay,
            borders,
            learning: learning(&paths, network, assignment, index, fabric).filter(|_| is_host),
            statics: all.remove(&index).map(Arc::unwrap_or_clone).unwrap_or_default(),
            policies: chosen.remove(&index).unwrap_or_default(),
        };
        if let Some(known) = state.nodes.get_mut(&node.name) {
            known.paths = Some(made);
        }
    }
    for node in state.nodes.values_mut().filter(|node| node.role != Role::Switch) {
        // What comes with the headers' source comes from nowhere, and what was inside by another way than the host's own.
        for of in ["all", "default"] {
            node.sysctls.entry(format!("net.ipv4.conf.{of}.rp_filter")).or_insert("0".to_owned());
        }
    }
    if network.routing == Routing::Static {
        routes(state, &paths, network, assignment);
    }
    for (relay, address) in &paths.relays {
        state.hosts.push((*address, format!("{}-relay", network.nodes[*relay].name)));
    }
    Ok(())
}

/// A method that takes routers to be known. Choice: they are so in virtual time alone. A kernel hashes what
/// `net.ipv4.fib_multipath_hash_policy` says with a seed that it draws when it starts, and anybody may change the routes of a node.
fn foretold(written: &Paths) -> Option<Diagnostic> {
    let method = written.method.filter(|method| method.value == MethodWord::Known)?;
    let text = "which way kernels send headers is not known: of equally short ones, by a hash with a seed of its own";
    let help = "write `method: sure`, or run the file in virtual time with `--world simulated`";
    Some(Diagnostic::new(method.span, text).help(help))
}

/// Addresses of relays that are those of somebody else, too; and a source that is.
fn overlapping(
    written: &Paths,
    paths: &Resolved,
    network: &Network,
    assignment: &Assignment,
) -> Option<Diagnostic> {
    let entry = network.sections.entries.iter().find(|entry| entry.key == "paths");
    let section = entry.map_or(network.sections.span, |entry| entry.key_span);
    let all = || (0..network.nodes.len()).flat_map(|node| assignment.all(node));
    let source = paths.source;
    if let Some(other) = all().find(|net| net.contains(&source)) {
        let span = written.source.map_or(section, |source| source.span);
        let text = format!("{source}, the source of headers, is of {} of the network", other.trunc());
        return Some(Diagnostic::new(span, text).help("choose a `source` that nobody has"));
    }
    let pool = paths.network;
    let other = all().find(|net| pool.contains(&net.addr()) || net.contains(&pool.network()))?;
    let span = written.network.map_or(section, |pool| pool.span);
    let text = format!("{pool} meets {} of the network", other.trunc());
    Some(Diagnostic::new(span, text).help("choose a `network` for relays that nothing else has"))
}

/// A node's interfaces that have such addresses.
fn devices(
    network: &Network,
    assignment: &Assignment,
    node: NodeIndex,
    such: impl Fn(&IpNet) -> bool,
) -> Vec<String> {
    let has_any =
        |interface: &usize| assignment.addresses(Port { node, interface: *interface }).iter().any(&such);
    let interfaces = &network.nodes[node].interfaces;
    (0..interfaces.len()).filter(has_any).map(|interface| interfaces[interface].name.clone()).collect()
}

fn learning(
    paths: &Resolved,
    network: &Network,
    assignment: &Assignment,
    node: NodeIndex,
    fabric: (usize, usize),
) -> Option<PathLearning> {
    let Routing::Frr(routing) = &network.routing else { return None };
    if paths.learn != Learn::Ospf {
        return None;
    }
    let devices = devices(network, assignment, node, |net| matches!(net, IpNet::V4(_)));
    let seconds = |span: plait_model_quantity::TimeSpan| span.as_nanos() / 1_000_000_000;
    let of = &network.nodes[node].interfaces;
    let is_alone = |name: &String| {
        let interface = of.iter().position(|interface| interface.name == *name);
        interface.is_some_and(|interface| is_point_to_point(network, Port { node, interface }))
    };
    Some(PathLearning {
        point_to_point: devices.iter().all(is_alone),
        interfaces: devices,
        hello: seconds(routing.hello) as u16,
        dead: seconds(routing.dead) as u32,
        k: paths.settings.k as u8,
        method: match paths.method {
            MethodWord::Sure => "sure",
            MethodWord::Faithful => "faithful",
            MethodWord::FatTree => "fat-tree",
            MethodWord::Known => "known",
        }
        .to_owned(),
        fabric,
    })
}

/// Whether two alone are on the segment of a port.
pub fn is_point_to_point(network: &Network, port: Port) -> bool {
    segments(network).iter().any(|segment| segment.ports.contains(&port) && segment.ports.len() == 2)
}

/// Static routes to relays' own addresses. Who sends everything one way needs none.
fn routes(state: &mut State, paths: &Resolved, network: &Network, assignment: &Assignment) {
    let builder = TableBuilder::new(network, assignment);
    let everywhere = match paths.network {
        IpNet::V4(_) => IpNet::from(Ipv4Net::default()),
        IpNet::V6(_) => Ipv6Net::default().into(),
    };
    for (index, node) in network.nodes.iter().enumerate().filter(|(_, node)| node.role != Role::Switch) {
        let Some(known) = state.nodes.get_mut(&node.name) else { continue };
        if known.routes.iter().any(|route| route.to == everywhere) {
            continue;
        }
        let hops = builder.first_hops(index, &paths.network);
        for (relay, address) in paths.relays.iter().filter(|(relay, _)| **relay != index) {
            let Some(hop) = hops[*relay] else { continue };
            known.routes.insert(RouteState {
                to: IpNet::from(*address),
                via: hop.via,
                interface: Some(node.interfaces[hop.interface].name.clone()),
                congestion_control: None,
            });
        }
    }
}
