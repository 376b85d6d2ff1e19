//! Paths that hosts choose, in virtual time: the relay lists of a testbed, by the walk of its programs.
//!
//! Relays have addresses of their own, which all nodes have routes to, and take headers off; each interface of a host that
//! chooses has a [`SteeredInterface`]. As in a testbed whose routes are static, lists of a file do not follow failures; those that
//! hosts learn do, as its routes do where they follow links ([`Detection`](crate::Detection)).

mod known;
mod learning;
mod steered;

pub use known::KnownRoutes;
pub(crate) use learning::Learning;
pub use learning::LearningSpec;
pub use steered::{SteeredInterface, SteeredPrefix, SteeredWays};

use crate::world::{World, WorldError};
use ipnet::IpNet;
use plait_dataplane_paths::protocol::{Policies, Static};
use plait_dataplane_paths::{Encapsulation, Ways};
use plait_model_topology::Network;
use plait_model_topology::network::{NodeIndex as Place, Port};
use plait_simulator_engine::{
    Builder, Encapsulation as Headers, NodeIndex, Relays, SelectorIndex, StackIndex,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr};
use std::ptr;
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
    /// Hosts that learn which paths there are; what is said to them goes before it.
    pub learning: Option<LearningSpec>,
    /// Interfaces of routers that lead outside: nothing comes in by them with the headers' source.
    pub borders: BTreeMap<Place, Vec<String>>,
}

/// Hosts that choose, and what they go by.
pub(crate) struct Steering {
    pub spec: PathsSpec,
    /// None where nobody learns.
    pub learning: Option<Learning>,
    hosts: BTreeMap<Place, SteeredHost>,
}

struct SteeredHost {
    ways: Arc<SteeredWays>,
    /// Of each interface.
    selectors: Vec<SelectorIndex>,
}

/// What a host's ways follow from: those before, the switch that it is behind where it learns, and what is said to it, of lists and
/// of policies. Hosts of which all of that is the same share their tables.
type Reason = (Option<*const SteeredWays>, Option<Ipv4Addr>, Option<*const Said>, Option<*const Policies>);

/// What is said of prefixes to a host.
type Said = BTreeMap<IpNet, Static>;

/// Makes relays of routers: their addresses, what they take off and keep out.
pub(crate) fn lay(builder: &mut Builder, paths: &PathsSpec, network: &Network, interfaces: &[Vec<usize>]) {
    for (node, address) in &paths.relays {
        let index = NodeIndex(*node as u32);
        builder.address(index, *address);
        builder.decapsulate(index, paths.source);
    }
    for (node, names) in &paths.borders {
        for (at, interface) in network.nodes[*node].interfaces.iter().enumerate() {
            if names.contains(&interface.name) {
                builder.border(NodeIndex(*node as u32), interfaces[*node][at], paths.source);
            }
        }
    }
}

/// What a type's headers are in the simulation.
fn headers(encapsulation: Encapsulation) -> Headers {
    match encapsulation {
        Encapsulation::Gre => Headers::Gre,
        Encapsulation::Ipip => Headers::Ipip,
        Encapsulation::Gue => Headers::Gue,
        Encapsulation::Srv6 => Headers::Srv6,
        Encapsulation::Ovstack => Headers::Ovstack,
    }
}

impl Steering {
    pub fn new(spec: PathsSpec) -> Self {
        Self { learning: spec.learning.clone().map(Learning::new), spec, hosts: BTreeMap::new() }
    }

    fn learns(&self, host: Place) -> bool {
        self.learning.as_ref().is_some_and(|learning| learning.hosts().contains(&host))
    }

    /// Hosts that may choose.
    fn choosing(&self) -> BTreeSet<Place> {
        let learning = self.learning.iter().flat_map(|learning| learning.hosts());
        self.spec.hosts.keys().chain(learning).copied().collect()
    }
}

impl World {
    /// Has hosts go by what is said to them, and by what those who learn have learnt of all else.
    pub(crate) fn steer(&mut self) -> Result<(), WorldError> {
        let Some(mut steering) = self.steering.take() else { return Ok(()) };
        let steered = self.steer_all(&mut steering);
        self.steering = Some(steering);
        steered
    }

    /// All hosts or, after an error, none.
    fn steer_all(&mut self, steering: &mut Steering) -> Result<(), WorldError> {
        let now = self.now();
        for (node, ways) in self.all_ways(steering)? {
            let learns = steering.learns(node);
            match steering.hosts.get_mut(&node) {
                Some(host) => {
                    for index in &host.selectors {
                        if let Some(steered) = self.simulation.selector_mut::<SteeredInterface>(*index) {
                            steered.set_ways(Arc::clone(&ways), now);
                        }
                    }
                    host.ways = ways;
                }
                None if ways.is_empty() && !learns => {}
                None => {
                    let selectors = self.steer_host(node, &ways, &steering.spec);
                    steering.hosts.insert(node, SteeredHost { ways, selectors });
                }
            }
        }
        Ok(())
    }

    /// The ways of each host that may choose.
    fn all_ways(&mut self, steering: &Steering) -> Result<Vec<(Place, Arc<SteeredWays>)>, WorldError> {
        let mut known: HashMap<Reason, Arc<SteeredWays>> = HashMap::new();
        let mut all = Vec::new();
        for node in steering.choosing() {
            let learns = steering.learning.as_ref().filter(|_| steering.learns(node));
            let access = learns.and_then(|learning| learning.access(node));
            let said = steering.spec.hosts.get(&node);
            let before = steering.hosts.get(&node).map(|host| &host.ways);
            let policies = learns.and_then(|learning| learning.policies(node));
            let reason =
                (before.map(Arc::as_ptr), access, said.map(Arc::as_ptr), policies.map(ptr::from_ref));
            if let Some(ways) = known.get(&reason) {
                all.push((node, Arc::clone(ways)));
                continue;
            }
            let learnt = learns.zip(access).map(|(learning, access)| learning.learnt(access, policies));
            let mut prefixes = learnt.unwrap_or_default();
            prefixes.extend(said.iter().flat_map(|said| said.iter()).map(|(to, said)| (*to, said.clone())));
            let ways = self.ways(&prefixes, steering.spec.source)?;
            let ways = Arc::new(match before {
                Some(before) => before.then(ways),
                None => SteeredWays::new(ways),
            });
            known.insert(reason, Arc::clone(&ways));
            all.push((node, ways));
        }
        Ok(all)
    }

    /// Steers what a host sends by its interfaces.
    fn steer_host(&mut self, node: Place, ways: &Arc<SteeredWays>, paths: &PathsSpec) -> Vec<SelectorIndex> {
        let now = self.now();
        let has_any =
            |interface: &usize| !self.assignment.addresses(Port { node, interface: *interface }).is_empty();
        let interfaces = (0..self.network.nodes[node].interfaces.len()).filter(has_any).collect::<Vec<_>>();
        let steer = |interface: usize| {
            let steered = SteeredInterface::new(Arc::clone(ways), paths.spread, now).forgets(paths.idle);
            let own = self.interfaces[node][interface];
            self.simulation.add_selector(NodeIndex(node as u32), own, Box::new(steered))
        };
        interfaces.into_iter().map(steer).collect()
    }

    /// The ways of prefixes, with their relays' places in the simulation.
    fn ways(
        &mut self,
        prefixes: &BTreeMap<IpNet, Static>,
        source: IpAddr,
    ) -> Result<Vec<SteeredPrefix>, WorldError> {
        let mut all = Vec::new();
        for (prefix, said) in prefixes {
            let ways = said.ways();
            // No way at all is plain routing.
            if !ways.lists.is_empty() {
                let stacks = self.stacks(*prefix, &ways, source)?;
                all.push(SteeredPrefix { prefix: *prefix, ways, stacks });
            }
        }
        Ok(all)
    }

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
            let relays = Relays { encapsulation: headers(ways.encapsulation), source, relays: list.clone() };
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
        let host = self.steering.as_ref().and_then(|steering| steering.hosts.get(&place));
        let indices = host.into_iter().flat_map(|host| &host.selectors);
        Ok(indices.filter_map(|index| self.simulation.selector(*index)).collect())
    }
}
