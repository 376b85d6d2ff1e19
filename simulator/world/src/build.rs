//! From a network to a simulation.

use crate::overlay::Overlays;
use crate::paths::{PathsSpec, Steered, lay};
use crate::world::{Options, World, WorldLink};
use plait_model_link::Conditions;
use plait_model_quantity::ByteCount;
use plait_model_topology::Network;
use plait_model_topology::address::Assignment;
use plait_model_topology::diagnostic::Diagnostic;
use plait_model_topology::document::Span;
use plait_model_topology::network::{Port, Routing};
use plait_model_topology::route::TableBuilder;
use plait_model_topology::vocabulary::Role;
use plait_simulator_engine::{Builder, Kind, LinkSpec, Neighbour, NodeIndex, Via};
use std::sync::Arc;

/// The MTU of a link that says none.
const MTU: u32 = 1500;

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
        cables.links.push(WorldLink { name, lan: None, index, specs, conditions });
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
            cables.links.push(WorldLink { name, lan: Some(at), index, specs, conditions });
        }
    }
    addresses(&mut builder, network, &assignment, &cables);
    routes(&mut builder, network, &assignment, &cables, options);
    if let Some(paths) = paths {
        lay(&mut builder, paths, network, &assignment, &cables);
    }
    if network.routing == Routing::None {
        // What nobody decides beforehand may be decided later; of routes that are only connected there are few to keep.
        builder.keep_routes();
    }
    let fault = |error: String| vec![Diagnostic::new(Span { start: 0, end: 1 }, error)];
    let simulation = builder.build_parallel(options.threads).map_err(|error| fault(error.to_string()))?;
    let mut world = World {
        network: network.clone(),
        assignment,
        simulation,
        links: cables.links,
        interfaces: cables.interfaces,
        overlays: Overlays::default(),
        steered: Steered::default(),
        control: None,
    };
    if let Some(paths) = paths {
        world.steer(paths).map_err(|error| fault(error.to_string()))?;
    }
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

/// Gives interfaces their addresses, and every node the routes to what it is plugged into.
fn addresses(builder: &mut Builder, network: &Network, assignment: &Assignment, cables: &Cables) {
    for (node, known) in network.nodes.iter().enumerate() {
        let index = NodeIndex(node as u32);
        for interface in 0..known.interfaces.len() {
            let own = cables.interfaces[node][interface];
            for net in assignment.addresses(Port { node, interface }) {
                builder.interface_address(index, own, net.addr());
                let via = Via { interface: own, neighbour: Neighbour::OnLink };
                builder.route(index, net.trunc(), vec![via]);
            }
        }
    }
}

fn routes(
    builder: &mut Builder,
    network: &Network,
    assignment: &Assignment,
    cables: &Cables,
    options: Options,
) {
    if network.routing != Routing::None {
        let tables = TableBuilder::new(network, assignment);
        for node in (0..network.nodes.len()).filter(|node| network.nodes[*node].role != Role::Switch) {
            let own = |interface: usize| cables.interfaces[node][interface];
            let index = NodeIndex(node as u32);
            if options.multipath {
                for route in tables.full_table(node) {
                    let via = route.next_hops.iter().map(|hop| Via {
                        interface: own(hop.interface),
                        neighbour: Neighbour::Address(hop.via),
                    });
                    builder.route(index, route.prefix, via.collect());
                }
            } else {
                for route in tables.table(node) {
                    let neighbour = Neighbour::Address(route.via);
                    builder.route(
                        index,
                        route.prefix,
                        vec![Via { interface: own(route.interface), neighbour }],
                    );
                }
            }
        }
    }
    // Those by hand come last: they take the place of others to the same prefix.
    for (node, known) in network.nodes.iter().enumerate() {
        for route in &known.routes {
            let reaches = |interface: &usize| {
                let nets = assignment.addresses(Port { node, interface: *interface });
                nets.iter().any(|net| net.contains(&route.value.via))
            };
            if let Some(interface) = (0..known.interfaces.len()).find(reaches) {
                let via = Via {
                    interface: cables.interfaces[node][interface],
                    neighbour: Neighbour::Address(route.value.via),
                };
                builder.route(NodeIndex(node as u32), route.value.to, vec![via]);
            }
        }
    }
}
