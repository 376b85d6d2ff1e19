//! From a network to a simulation.

use crate::follow::Following;
use crate::overlay::Overlays;
use crate::paths::{PathsSpec, Steering, lay};
use crate::routes::Routes;
use crate::world::{Options, World, WorldLink};
use plait_model_link::Conditions;
use plait_model_quantity::ByteCount;
use plait_model_topology::Network;
use plait_model_topology::address::Assignment;
use plait_model_topology::diagnostic::Diagnostic;
use plait_model_topology::document::{Scalar, Span, Value};
use plait_model_topology::network::{Link, Port, Routing};
use plait_model_topology::vocabulary::Role;
use plait_simulator_engine::{Builder, Kind, LinkSpec, NodeIndex};
use std::sync::Arc;

/// The MTU of a link that says none.
pub(crate) const MTU: u32 = 1500;

/// Bytes of an Ethernet header.
const ETHERNET: u64 = 14;

pub(crate) fn build(
    network: &Network,
    assignment: Assignment,
    options: Options,
    paths: Option<&PathsSpec>,
) -> Result<World, Vec<Diagnostic>> {
    let mut builder = Builder::new(network.seed);
    for node in &network.nodes {
        let kind = match node.role {
            Role::Host => Kind::Host,
            Role::Router => Kind::Router,
            Role::Switch => Kind::Switch,
        };
        builder.node(node.name.as_str(), kind);
    }
    let mut cables = Cables { interfaces: vec![Vec::new(); network.nodes.len()], links: Vec::new() };
    cables.interfaces = network.nodes.iter().map(|node| vec![usize::MAX; node.interfaces.len()]).collect();
    let mut used = vec![0; network.nodes.len()];
    for link in &network.links {
        let conditions = link.conditions.clone().map(|conditions| Arc::new(framed(conditions, link.mtu)));
        let spec = LinkSpec {
            name: link.name.clone(),
            ends: link.ends.map(node_of),
            conditions: conditions.clone(),
            cost: link.cost,
            mtu: link.mtu.unwrap_or(MTU),
        };
        let index = builder.link(spec);
        link.ends.iter().for_each(|port| cables.plug(*port, &mut used));
        let (name, specs) = (link.name.clone(), link.specs.clone());
        let is_seen = is_seen(network, link);
        let ports = link.ends.to_vec();
        cables.links.push(WorldLink { name, lan: None, index, ports, is_seen, specs, conditions });
    }
    for (at, lan) in network.lans.iter().enumerate() {
        let hub = builder.node(format!("lan:{}", lan.name), Kind::Switch);
        let conditions = lan.conditions.clone().map(|conditions| Arc::new(framed(conditions, lan.mtu)));
        for port in &lan.members {
            let name = format!("{}/{}", lan.name, network.port_name(*port));
            let index = builder.link(LinkSpec {
                name: name.clone(),
                ends: [node_of(*port), hub],
                conditions: conditions.clone(),
                cost: lan.cost,
                mtu: lan.mtu.unwrap_or(MTU),
            });
            cables.plug(*port, &mut used);
            let (specs, conditions) = (lan.specs.clone(), conditions.clone());
            // Its neighbours' devices are joined to the segment's, and not to its own.
            let (ports, is_seen) = (vec![*port], false);
            cables.links.push(WorldLink { name, lan: Some(at), index, ports, is_seen, specs, conditions });
        }
    }
    addresses(&mut builder, network, &assignment, &cables);
    if let Some(paths) = paths {
        lay(&mut builder, paths, network, &cables.interfaces);
    }
    let routes = Routes {
        network,
        assignment: &assignment,
        paths,
        interfaces: &cables.interfaces,
        multipath: options.multipath,
    };
    let mut tables = Vec::new();
    for (node, table) in routes.tables().enumerate() {
        for (prefix, via) in &table {
            builder.route(NodeIndex(node as u32), *prefix, via.clone());
        }
        if options.detection.is_some() {
            tables.push(table);
        }
    }
    if network.routing == Routing::None || options.detection.is_some() {
        // What is decided later takes the place of these; of routes that are only connected there are few to keep.
        builder.keep_routes();
    }
    let fault = |error: String| vec![Diagnostic::new(Span { start: 0, end: 1 }, error)];
    let simulation = builder.build_parallel(options.threads).map_err(|error| fault(error.to_string()))?;
    let following =
        options.detection.map(|how| Following::new(how, options.multipath, cables.links.len(), tables));
    let mut world = World {
        network: network.clone(),
        assignment,
        simulation,
        links: cables.links,
        interfaces: cables.interfaces,
        overlays: Overlays::default(),
        steering: paths.cloned().map(Steering::new),
        following,
        control: None,
    };
    world.begin_to_learn(options.multipath);
    world.steer().map_err(|error| fault(error.to_string()))?;
    Ok(world)
}

/// What is plugged in where.
pub(crate) struct Cables {
    /// By node and interface of the network, the interface of the simulation: there they count in the order of links.
    pub interfaces: Vec<Vec<usize>>,
    links: Vec<WorldLink>,
}

impl Cables {
    fn plug(&mut self, port: Port, used: &mut [usize]) {
        self.interfaces[port.node][port.interface] = used[port.node];
        used[port.node] += 1;
    }
}

/// Whether a testbed's link joins devices of two neighbours to each other, so that either sees when it fails: nothing stands
/// between them, or a rate alone, its conditions never change, and neither is a switch, behind which there are others.
fn is_seen(network: &Network, link: &Link) -> bool {
    let is_dynamic = matches!(link.extra.get("dynamic"), Some(Value::Scalar(Scalar::Bool(true), _)));
    let is_bare = |conditions: &Conditions| conditions.is_unimpaired() || conditions.is_rate_only();
    let is_switch = |port: &Port| network.nodes[port.node].role == Role::Switch;
    !is_dynamic && link.conditions.iter().all(is_bare) && !link.ends.iter().any(is_switch)
}

fn node_of(port: Port) -> NodeIndex {
    NodeIndex(port.node as u32)
}

/// Conditions that let the largest frame of the link pass, as a testbed has them.
fn framed(mut conditions: Conditions, mtu: Option<u32>) -> Conditions {
    if let Some(mtu) = mtu {
        let frame = ByteCount::new(u64::from(mtu) + ETHERNET);
        conditions.queue.frame = conditions.queue.frame.max(frame);
    }
    conditions
}

/// Gives interfaces their addresses.
fn addresses(builder: &mut Builder, network: &Network, assignment: &Assignment, cables: &Cables) {
    for (node, known) in network.nodes.iter().enumerate() {
        let index = NodeIndex(node as u32);
        for interface in 0..known.interfaces.len() {
            let own = cables.interfaces[node][interface];
            for net in assignment.addresses(Port { node, interface }) {
                builder.interface_address(index, own, net.addr());
            }
        }
    }
}
