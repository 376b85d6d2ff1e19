//! Paths that hosts choose, in virtual time: the relay lists of a testbed, by the walk of its programs.
//!
//! Relays have addresses of their own, which all nodes have routes to, and take headers off; each interface of a host that
//! chooses has a [`SteeredInterface`]. As in a testbed whose routes are static, lists do not follow failures.

mod steered;

pub use steered::{SteeredInterface, SteeredPrefix, SteeredWays};

use crate::build::Cables;
use crate::world::{World, WorldError};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use plait_dataplane_paths::protocol::Static;
use plait_dataplane_paths::{Encapsulation, Ways};
use plait_model_topology::Network;
use plait_model_topology::address::Assignment;
use plait_model_topology::network::{NodeIndex as Place, Port, Routing};
use plait_model_topology::route::TableBuilder;
use plait_model_topology::vocabulary::Role;
use plait_simulator_engine::{
    Builder, Encapsulation as Headers, Neighbour, NodeIndex, Relays, SelectorIndex, StackIndex, Via,
};
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// Paths that hosts of a network choose, by the places of its nodes.
#[derive(Debug, Clone)]
pub struct PathsSpec {
    /// The source of all headers, nobody's address.
    pub source: IpAddr,
    /// How long a flow that moves must have been silent.
    pub spread: Duration,
    /// A flow that was silent for longer is another one.
    pub idle: Option<Duration>,
    /// The routers that take headers off, and the addresses that headers name them by.
    pub relays: BTreeMap<Place, IpAddr>,
    /// Of each host that chooses: prefixes, and by which ways what is for them goes.
    pub hosts: BTreeMap<Place, Arc<BTreeMap<IpNet, Static>>>,
    /// Interfaces of routers that lead outside: nothing comes in by them with the headers' source.
    pub borders: BTreeMap<Place, Vec<String>>,
}

/// Interfaces whose packets are steered, by their nodes.
pub(crate) type Steered = BTreeMap<Place, Vec<SelectorIndex>>;

/// Makes relays of routers: their addresses, the way to them, what they take off and keep out.
///
/// The way to a relay is the first of those that are equally short, as a testbed's static routes have it, with ECMP too.
pub(crate) fn lay(
    builder: &mut Builder,
    paths: &PathsSpec,
    network: &Network,
    assignment: &Assignment,
    cables: &Cables,
) {
    for (node, address) in &paths.relays {
        let index = NodeIndex(*node as u32);
        builder.address(index, *address);
        builder.decapsulate(index, paths.source);
    }
    for (node, names) in &paths.borders {
        for (at, interface) in network.nodes[*node].interfaces.iter().enumerate() {
            if names.contains(&interface.name) {
                let own = cables.interfaces[*node][at];
                builder.border(NodeIndex(*node as u32), own, paths.source);
            }
        }
    }
    if network.routing == Routing::None {
        return;
    }
    let tables = TableBuilder::new(network, assignment);
    // The address of a relay is of the headers' family.
    let everywhere = match paths.source {
        IpAddr::V4(_) => IpNet::V4(Ipv4Net::default()),
        IpAddr::V6(_) => IpNet::V6(Ipv6Net::default()),
    };
    for (node, known) in network.nodes.iter().enumerate().filter(|(_, node)| node.role != Role::Switch) {
        // Who sends everything one way needs no routes to relays.
        let is_default = |prefix: IpNet| prefix == everywhere;
        if known.routes.iter().any(|route| is_default(route.value.to))
            || tables.table(node).iter().any(|route| is_default(route.prefix))
        {
            continue;
        }
        let hops = tables.first_hops(node, &everywhere);
        for (relay, address) in paths.relays.iter().filter(|(relay, _)| **relay != node) {
            let Some(hop) = hops.get(*relay).copied().flatten() else { continue };
            let via = Via {
                interface: cables.interfaces[node][hop.interface],
                neighbour: Neighbour::Address(hop.via),
            };
            builder.route(NodeIndex(node as u32), IpNet::from(*address), vec![via]);
        }
    }
}

impl World {
    /// Steers what hosts send.
    pub(crate) fn steer(&mut self, paths: &PathsSpec) -> Result<(), WorldError> {
        // Hosts that share what is said to them share their tables.
        let mut known: HashMap<*const BTreeMap<IpNet, Static>, Arc<SteeredWays>> = HashMap::new();
        for (&node, prefixes) in &paths.hosts {
            let ways = match known.get(&Arc::as_ptr(prefixes)) {
                Some(ways) => Arc::clone(ways),
                None => Arc::new(self.ways(prefixes, paths.source)?),
            };
            known.insert(Arc::as_ptr(prefixes), Arc::clone(&ways));
            if ways.is_empty() {
                continue;
            }
            for interface in 0..self.network.nodes[node].interfaces.len() {
                let port = Port { node, interface };
                if self.assignment.addresses(port).is_empty() {
                    continue;
                }
                let steered =
                    SteeredInterface::new(Arc::clone(&ways), paths.spread, self.now()).forgets(paths.idle);
                let own = self.interfaces[node][interface];
                let index = self.simulation.add_selector(NodeIndex(node as u32), own, Box::new(steered));
                self.steered.entry(node).or_default().push(index);
            }
        }
        Ok(())
    }

    /// The ways of prefixes, with their relays' places in the simulation.
    fn ways(
        &mut self,
        prefixes: &BTreeMap<IpNet, Static>,
        source: IpAddr,
    ) -> Result<SteeredWays, WorldError> {
        let mut all = Vec::new();
        for (prefix, said) in prefixes {
            let ways = said.ways();
            // No way at all is plain routing.
            if !ways.lists.is_empty() {
                let stacks = self.stacks(*prefix, &ways, source)?;
                all.push(SteeredPrefix { prefix: *prefix, ways, stacks });
            }
        }
        Ok(SteeredWays::new(all))
    }

    /// The stacks of a prefix's lists, and how long each is.
    /// Of each list its relays in the simulation, and the bytes of their headers.
    fn stacks(
        &mut self,
        prefix: IpNet,
        ways: &Ways,
        source: IpAddr,
    ) -> Result<Vec<(StackIndex, u32)>, WorldError> {
        let lengths =
            ways.stacks(prefix, source.into()).map_err(|error| WorldError::new(error.to_string()))?;
        let mut stacks = Vec::with_capacity(lengths.len());
        for (list, stack) in ways.lists.iter().zip(lengths) {
            let relays = Relays {
                encapsulation: match ways.encapsulation {
                    Encapsulation::Gre => Headers::Gre,
                    Encapsulation::Ipip => Headers::Ipip,
                    Encapsulation::Gue => Headers::Gue,
                    Encapsulation::Srv6 | Encapsulation::Ovstack => {
                        let text = format!("headers of type `{}` are not simulated", ways.encapsulation);
                        return Err(WorldError::new(text));
                    }
                },
                source,
                relays: list.clone(),
            };
            let index =
                if list.is_empty() { StackIndex::NONE } else { self.simulation.add_relays(&relays)? };
            stacks.push((index, stack.length));
        }
        Ok(stacks)
    }

    /// The interfaces of a node whose packets are steered.
    ///
    /// # Errors
    /// There is no such node.
    pub fn steered(&self, node: &str) -> Result<Vec<&SteeredInterface>, WorldError> {
        let place = self.node(node)?.0 as usize;
        let indices = self.steered.get(&place).into_iter().flatten();
        Ok(indices.filter_map(|index| self.simulation.selector(*index)).collect())
    }
}
