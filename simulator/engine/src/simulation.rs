//! A network in virtual time.

mod parallel;
mod read;
mod reroute;

pub use read::LinkState;
pub use reroute::RouteError;

use crate::address::NOBODY;
use crate::capture::{CaptureIndex, Captured};
use crate::encapsulation::{MOST_RELAYS, Stack, StackIndex};
use crate::fabric::{Fabric, LinkIndex, NO_STATION, NodeIndex, Place, Target, ends};
use crate::flow::{FlowIndex, FlowPlace, FlowSpec, Relays, Sink};
use crate::hash::mix;
use crate::host::{Host, HostIndex};
use crate::packet::{Packet, TTL, flag};
use crate::partition::{DirectionState, HostState, Partition, event, inner_hash};
use crate::routes::Routes;
use crate::selector::{Selector, SelectorIndex};
use crate::source::{Source, nanos};
use plait_model_link::Conditions;
use plait_model_wire::number::protocol;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// A network in virtual time.
///
/// Everything happens at an instant in nanoseconds from the simulation's beginning. [`run_until`](Self::run_until)
/// lets happen what is due before one; between its calls, flows and protocols are added, links and nodes fail and
/// recover, conditions change and counters are read. What is changed at an instant is in force for all that happens at
/// it.
///
/// The same calls give the same results on any machine and any number of threads.
pub struct Simulation {
    pub(crate) fabric: Fabric,
    pub(crate) partitions: Vec<Partition>,
    /// All before this instant has happened.
    pub(crate) done: u64,
    /// Nodes that failed.
    nodes_down: Vec<bool>,
    pub(crate) captures: Vec<(NodeIndex, usize)>,
    /// Lists of relays that have a place.
    lists: HashMap<Relays, StackIndex>,
    /// All nodes' routes, where they may change.
    routes: Option<Vec<Routes>>,
}

/// Why something cannot be added.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AddError {
    /// An address that no node has.
    #[error("no node has the address {0}: give it to one before the simulation is built")]
    NobodyHas(IpAddr),
    /// Addresses of two IP versions.
    #[error("{0} and {1} are of different IP versions: send from and to addresses of one")]
    Versions(IpAddr, IpAddr),
    /// A list of relays that is too long, or empty.
    #[error("a packet goes by 1 to 16 relays, not {0}")]
    Relays(usize),
    /// A port that another protocol listens on.
    #[error("{node} listens on port {port} already: choose another port")]
    Taken {
        /// The node.
        node: String,
        /// The port.
        port: u16,
    },
    /// A protocol of IP that another takes.
    #[error("{node} takes IP protocol {protocol} already: let one take it")]
    TakenProtocol {
        /// The node.
        node: String,
        /// The protocol's number.
        protocol: u8,
    },
    /// Too many of them.
    #[error("a simulation holds fewer than 2^30 flows")]
    TooMany,
}

impl Simulation {
    pub(crate) fn new(
        mut fabric: Fabric,
        conditions: Vec<[Arc<Conditions>; 2]>,
        seeds: Vec<[u64; 2]>,
        partitions: usize,
        routes: Option<Vec<Routes>>,
    ) -> Self {
        let mut parts: Vec<Partition> =
            (0..partitions).map(|index| Partition::new(index as u32, partitions)).collect();
        for node in &fabric.nodes {
            parts[node.place.partition as usize].nodes.push(Default::default());
        }
        for (link, (conditions, seeds)) in conditions.into_iter().zip(seeds).enumerate() {
            for (side, (conditions, seed)) in conditions.into_iter().zip(seeds).enumerate() {
                let number = (2 * link + side) as u32;
                let [_, to] = ends(&fabric.links, number);
                let part = &mut parts[fabric.nodes[to as usize].place.partition as usize];
                let place = Place { partition: part.index, local: part.directions.len() as u32 };
                fabric.directions.push(place);
                part.directions.push(DirectionState::new(conditions, seed, number, to));
            }
        }
        let nodes_down = vec![false; fabric.nodes.len()];
        Self {
            fabric,
            partitions: parts,
            done: 0,
            nodes_down,
            captures: Vec::new(),
            lists: HashMap::new(),
            routes,
        }
    }

    /// Lets everything happen that is due before an instant.
    pub fn run_until(&mut self, instant: Duration) {
        let end = nanos(instant);
        if end <= self.done {
            return;
        }
        match &mut self.partitions[..] {
            [only] => only.run(&self.fabric, end),
            _ => parallel::run(&self.fabric, &mut self.partitions, end),
        }
        self.done = end;
    }

    /// The instant before which everything has happened.
    pub fn now(&self) -> Duration {
        Duration::from_nanos(self.done)
    }

    /// How many threads work on it.
    pub fn threads(&self) -> usize {
        self.partitions.len()
    }

    /// Adds a flow. Of what it sends before now nothing is made up for.
    ///
    /// # Errors
    /// Addresses that nobody has; relays that are too many.
    pub fn add_flow(&mut self, spec: &FlowSpec) -> Result<FlowIndex, AddError> {
        let number = self.fabric.flows.len() as u32;
        if number >= event::SOURCE {
            return Err(AddError::TooMany);
        }
        if spec.source.is_ipv6() != spec.destination.is_ipv6() {
            return Err(AddError::Versions(spec.source, spec.destination));
        }
        let owned = |address: IpAddr| {
            let index = self.fabric.addresses.find(address)?;
            let owner = self.fabric.addresses.owner(index);
            (owner != NOBODY).then_some((index, owner))
        };
        let (source, from_node) = owned(spec.source).ok_or(AddError::NobodyHas(spec.source))?;
        let (destination, to_node) = owned(spec.destination).ok_or(AddError::NobodyHas(spec.destination))?;
        let stack = match &spec.relays {
            Some(relays) => self.add_relays(relays)?,
            None => StackIndex::NONE,
        };
        let is_ipv6 = spec.source.is_ipv6();
        let mut template = Packet {
            body: None,
            sent: 0,
            source,
            destination,
            ports: spec.ports,
            frame: 0,
            hash: 0,
            station: 0,
            stack,
            flow: number,
            number: 0,
            ttl: TTL,
            inner_ttl: TTL,
            position: 0,
            flags: if is_ipv6 { flag::IPV6 } else { 0 }
                | if spec.ecn_capable { flag::ECN_CAPABLE } else { 0 },
        };
        template.hash = inner_hash(&self.fabric, &template);
        let mut around = 0;
        if stack != StackIndex::NONE {
            let stack = &self.fabric.stacks[stack.0 as usize];
            template.hash = stack.hash(0, template.hash);
            around = stack.length();
        }
        let [from, to] = [from_node, to_node].map(|node| self.fabric.nodes[node as usize].place.partition);
        let sinks = &mut self.partitions[to as usize].sinks;
        let sink = Place { partition: to, local: sinks.len() as u32 };
        sinks.push(Sink::default());
        let part = &mut self.partitions[from as usize];
        let place = Place { partition: from, local: part.sources.len() as u32 };
        let seed = mix(self.fabric.seed ^ mix(u64::from(number) | 1 << 40));
        let mut source_state = Source::new(spec, template, from_node, around, seed);
        let start = spec.start.max(Duration::from_nanos(self.done));
        if let Some(at) = source_state.first(start) {
            part.queue.push(at, event::SOURCE | number);
        }
        part.sources.push(source_state);
        self.fabric.flows.push(FlowPlace { source: place, sink });
        Ok(FlowIndex(number))
    }

    /// Makes an address known that may be nobody's, so that protocols' packets can be from it and for it: they go as routes have it,
    /// as far as these lead.
    pub fn know(&mut self, address: IpAddr) {
        let fabric = &mut self.fabric;
        if fabric.addresses.find(address).is_none() {
            fabric.addresses.intern(address);
            let class = fabric.matcher.class(address);
            fabric.targets.push(Target { owner: NOBODY, class, station: NO_STATION });
        }
    }

    /// Names a list of relays, which is kept once.
    ///
    /// # Errors
    /// Relays that are too many, or that nobody is.
    pub fn add_relays(&mut self, relays: &Relays) -> Result<StackIndex, AddError> {
        if let Some(known) = self.lists.get(relays) {
            return Ok(*known);
        }
        if relays.relays.is_empty() || relays.relays.len() > MOST_RELAYS {
            return Err(AddError::Relays(relays.relays.len()));
        }
        let find = |address: &IpAddr| {
            if address.is_ipv6() != relays.source.is_ipv6() {
                return Err(AddError::Versions(relays.source, *address));
            }
            let index = self.fabric.addresses.find(*address).ok_or(AddError::NobodyHas(*address))?;
            Ok((index, *address))
        };
        let levels = relays.relays.iter().map(find).collect::<Result<Vec<_>, _>>()?;
        let place = StackIndex(self.fabric.stacks.len() as u32);
        self.fabric.stacks.push(Stack::new(relays.encapsulation, relays.source, &levels));
        self.lists.insert(relays.clone(), place);
        Ok(place)
    }

    /// Makes a flow's next packets go by other relays, or by none. Packets under way keep theirs.
    ///
    /// # Errors
    /// Relays that are too many, or that nobody is.
    pub fn set_relays(&mut self, flow: FlowIndex, relays: Option<&Relays>) -> Result<(), AddError> {
        let stack = match relays {
            Some(relays) => self.add_relays(relays)?,
            None => StackIndex::NONE,
        };
        let place = self.fabric.flows[flow.0 as usize].source;
        let source = &mut self.partitions[place.partition as usize].sources[place.local as usize];
        let inner = inner_hash(&self.fabric, &source.template);
        let known = self.fabric.stacks.get(stack.0 as usize);
        source.template.stack = stack;
        source.template.hash = known.map_or(inner, |stack| stack.hash(0, inner));
        source.set_stack_length(known.map_or(0, Stack::length));
        Ok(())
    }

    /// Puts a protocol on a node, where it listens on a UDP port. It is woken at once.
    ///
    /// # Errors
    /// A port that is taken.
    pub fn add_host(
        &mut self,
        node: NodeIndex,
        port: u16,
        host: Box<dyn Host>,
    ) -> Result<HostIndex, AddError> {
        let known = &self.fabric.nodes[node.0 as usize];
        let place = self.fabric.hosts.len() as u32;
        match self.fabric.listeners.entry((node.0, protocol::UDP, port)) {
            Entry::Occupied(_) => return Err(AddError::Taken { node: known.name.clone(), port }),
            Entry::Vacant(entry) => entry.insert(place),
        };
        let part = &mut self.partitions[known.place.partition as usize];
        let local = part.hosts.len() as u32;
        self.fabric.hosts.push(Place { partition: part.index, local });
        part.hosts.push(HostState { host, node: node.0, port, scheduled: self.done });
        part.queue.push(self.done, event::HOST | place);
        Ok(HostIndex(place))
    }

    /// Makes a protocol listen on another port of its node too.
    ///
    /// # Errors
    /// A port that is taken.
    pub fn listen(&mut self, host: HostIndex, port: u16) -> Result<(), AddError> {
        self.take(host, protocol::UDP, port).map_err(|node| AddError::Taken { node, port })
    }

    /// Makes a protocol take all of its node's packets of an IP protocol other than UDP.
    ///
    /// # Errors
    /// One that is taken.
    pub fn listen_to(&mut self, host: HostIndex, protocol: u8) -> Result<(), AddError> {
        self.take(host, protocol, 0).map_err(|node| AddError::TakenProtocol { node, protocol })
    }

    /// Has a protocol take what it takes already, or nobody does; else the node's name.
    fn take(&mut self, host: HostIndex, protocol: u8, port: u16) -> Result<(), String> {
        let place = self.fabric.hosts[host.0 as usize];
        let node = self.partitions[place.partition as usize].hosts[place.local as usize].node;
        let taker = *self.fabric.listeners.entry((node, protocol, port)).or_insert(host.0);
        if taker == host.0 { Ok(()) } else { Err(self.fabric.nodes[node as usize].name.clone()) }
    }

    /// Has the relays of all that a node sends by one of its interfaces chosen by a selector, in the place of the one that
    /// was there. Interfaces count in the order in which links were added.
    ///
    /// # Panics
    /// When the node has no such interface.
    pub fn add_selector(
        &mut self,
        node: NodeIndex,
        interface: usize,
        selector: Box<dyn Selector>,
    ) -> SelectorIndex {
        let known = &self.fabric.nodes[node.0 as usize];
        let (partition, out) = (known.place.partition, known.out[interface]);
        self.partitions[partition as usize].selectors.insert(out, selector);
        self.fabric.selectors.push((partition, out));
        SelectorIndex(self.fabric.selectors.len() as u32 - 1)
    }

    /// Changes what a protocol is, and wakes it. None if it is no `H`.
    pub fn with_host<H: Host, R>(&mut self, host: HostIndex, change: impl FnOnce(&mut H) -> R) -> Option<R> {
        let place = self.fabric.hosts[host.0 as usize];
        let part = &mut self.partitions[place.partition as usize];
        let known: &mut dyn std::any::Any = &mut *part.hosts[place.local as usize].host;
        let result = change(known.downcast_mut()?);
        part.hosts[place.local as usize].scheduled = self.done;
        part.queue.push(self.done, event::HOST | host.0);
        Some(result)
    }

    /// Lays other conditions on one direction of a link (0 from its end 0, 1 towards it), from now on. What is under
    /// way keeps its delay and its place.
    pub fn set_conditions(&mut self, link: LinkIndex, side: usize, conditions: impl Into<Arc<Conditions>>) {
        let now = self.done;
        self.on_direction(link, side, |state| state.at_work().direction.set(conditions, now));
    }

    /// Makes one direction of a link fail, with all that is on it, or recover.
    pub fn set_link_up(&mut self, link: LinkIndex, side: usize, up: bool) {
        self.on_direction(link, side, |state| state.set_failed(!up));
        self.refresh(link, side);
    }

    /// Makes a node fail, whose links then pass nothing, or recover. Its protocols go on. A link that failed itself
    /// stays down.
    pub fn set_node_up(&mut self, node: NodeIndex, up: bool) {
        self.nodes_down[node.0 as usize] = !up;
        let out = self.fabric.nodes[node.0 as usize].out.clone();
        for direction in out {
            self.refresh(LinkIndex(direction / 2), 0);
            self.refresh(LinkIndex(direction / 2), 1);
        }
    }

    /// Takes a direction up or down as it and its ends are.
    fn refresh(&mut self, link: LinkIndex, side: usize) {
        let ends = self.fabric.links[link.0 as usize].ends;
        let is_cut = ends.iter().any(|end| self.nodes_down[*end as usize]);
        let change = |state: &mut DirectionState| {
            let down = is_cut || state.has_failed();
            let direction = &mut state.at_work().direction;
            match down {
                true if !direction.is_down() => direction.fail(),
                false if direction.is_down() => direction.recover(),
                _ => {}
            }
        };
        self.on_direction(link, side, change);
    }

    /// Changes a direction, after all that was due has happened on it.
    fn on_direction<R>(
        &mut self,
        link: LinkIndex,
        side: usize,
        change: impl FnOnce(&mut DirectionState) -> R,
    ) -> R {
        let place = self.fabric.directions[2 * link.0 as usize + side];
        let part = &mut self.partitions[place.partition as usize];
        let state = &mut part.directions[place.local as usize];
        // What has left was taken at its instant; this only moves packets from the delay into the queue.
        if let Some(state) = state.busy_mut() {
            let left = state.direction.depart(self.done.saturating_sub(1));
            debug_assert!(left.is_none(), "a packet left at an instant that is over");
        }
        let result = change(state);
        part.plan(place.local as usize, self.done);
        result
    }

    /// Keeps every packet that passes an interface of a node from now on: see [`capture`](Self::capture).
    pub fn add_capture(&mut self, node: NodeIndex, interface: usize) -> CaptureIndex {
        let index = CaptureIndex(self.captures.len() as u32);
        let known = &self.fabric.nodes[node.0 as usize];
        let part = &mut self.partitions[known.place.partition as usize];
        part.log.wanted.insert(known.out[interface], index);
        self.captures.push((node, interface));
        self.fabric.captures = true;
        index
    }

    /// Ends a capture, and gives its packets in the order in which they passed; none of one that ended before.
    pub fn end_capture(&mut self, capture: CaptureIndex) -> Vec<Captured> {
        let mut ended = Vec::new();
        for part in &mut self.partitions {
            part.log.wanted.retain(|_, wanted| *wanted != capture);
            // All are of one partition, the capture's node's.
            let packets = std::mem::take(&mut part.log.packets);
            let (own, others) = packets.into_iter().partition(|packet| packet.capture == capture);
            part.log.packets = others;
            ended.extend::<Vec<Captured>>(own);
        }
        self.fabric.captures = self.partitions.iter().any(|part| !part.log.wanted.is_empty());
        ended
    }
}
