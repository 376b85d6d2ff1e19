//! A simulation is put together here: nodes, links, addresses, routes. What cannot work is refused with its remedy.

mod shortest;
mod switches;

use crate::address::{AddressBook, NOBODY};
use crate::fabric::{
    DirectionNumber, Fabric, Hop, Kind, Link, LinkIndex, NO_STATION, Node, NodeIndex, ON_LINK, Place, Target,
    Way,
};
use crate::hash::switch_seed;
use crate::routes::{Routes, compile};
use crate::simulation::Simulation;
use ipnet::IpNet;
use plait_model_link::Conditions;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;
use thiserror::Error;

/// Collects what a [`Simulation`] is made of.
#[derive(Debug, Clone)]
pub struct Builder {
    pub(crate) seed: u64,
    nodes: Vec<NodeDraft>,
    links: Vec<LinkDraft>,
    addresses: AddressBook,
    /// The interface that an address is behind, by the direction out of it.
    interfaces: HashMap<IpAddr, DirectionNumber>,
    borders: HashSet<(DirectionNumber, IpAddr)>,
    keeps_routes: bool,
    fault: Option<BuildError>,
}

#[derive(Debug, Clone)]
struct NodeDraft {
    name: String,
    kind: Kind,
    hash_seed: Option<u64>,
    decapsulates: Vec<IpAddr>,
    addresses: Vec<IpAddr>,
    out: Vec<DirectionNumber>,
    routes: Vec<(IpNet, Vec<Via>)>,
}

#[derive(Debug, Clone)]
struct LinkDraft {
    name: String,
    ends: [u32; 2],
    conditions: [Arc<Conditions>; 2],
    seeds: [u64; 2],
    cost: u32,
    mtu: u32,
}

/// A next hop of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Via {
    /// The interface it leaves by, counted in the order in which links were added to the node.
    pub interface: usize,
    /// Who it is for there. It matters where a switch lies between; on a link that is whoever is at its other end.
    pub neighbour: Neighbour,
}

/// Who a packet is for on the segment that it leaves by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Neighbour {
    /// Whoever has the packet's own destination: a connected route.
    OnLink,
    /// Whoever has this address: a gateway.
    Address(IpAddr),
    /// A node's first interface on the segment.
    Node(NodeIndex),
}

/// A link to add.
#[derive(Debug, Clone)]
pub struct LinkSpec {
    /// Its name.
    pub name: String,
    /// Its ends.
    pub ends: [NodeIndex; 2],
    /// What happens to packets from end 0 to end 1, and back.
    pub conditions: [Arc<Conditions>; 2],
    /// What crossing it costs when shortest paths are sought.
    pub cost: u32,
    /// Bytes of the largest IP packet.
    pub mtu: u32,
}

impl LinkSpec {
    /// A link that treats both directions alike, of cost 1 and an MTU of 1500.
    pub fn symmetric(name: impl Into<String>, ends: [NodeIndex; 2], conditions: Arc<Conditions>) -> Self {
        Self {
            name: name.into(),
            ends,
            conditions: [Arc::clone(&conditions), conditions],
            cost: 1,
            mtu: 1500,
        }
    }
}

/// Why a simulation cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BuildError {
    /// An address that two nodes have.
    #[error("{address} is the address of both {first} and {second}: give one of them another")]
    Twice {
        /// The address.
        address: IpAddr,
        /// Who had it first.
        first: String,
        /// Who would have it too.
        second: String,
    },
    /// A route by an interface that is not there.
    #[error(
        "{node} has a route to {prefix} by its interface {interface}, of which it has {count}: add the link before the route"
    )]
    NoInterface {
        /// The node.
        node: String,
        /// The route.
        prefix: IpNet,
        /// The interface.
        interface: usize,
        /// How many interfaces there are.
        count: usize,
    },
    /// More of something than numbers can name.
    #[error(
        "a simulation holds fewer than 2^29 links and 2^30 nodes, and a node fewer than 65536 sets of next hops"
    )]
    TooMany,
}

impl Builder {
    /// An empty network. The seed stands for everything drawn by lot.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            nodes: Vec::new(),
            links: Vec::new(),
            addresses: AddressBook::default(),
            interfaces: HashMap::new(),
            borders: HashSet::new(),
            keeps_routes: false,
            fault: None,
        }
    }

    /// Adds a node.
    pub fn node(&mut self, name: impl Into<String>, kind: Kind) -> NodeIndex {
        self.nodes.push(NodeDraft {
            name: name.into(),
            kind,
            hash_seed: None,
            decapsulates: Vec::new(),
            addresses: Vec::new(),
            out: Vec::new(),
            routes: Vec::new(),
        });
        NodeIndex((self.nodes.len() - 1) as u32)
    }

    /// Gives a node an address. Its first of each IP version is the one its protocols send from. Where routes of others
    /// lead to it through a switch, [`interface_address`](Self::interface_address) says behind which interface it is.
    pub fn address(&mut self, node: NodeIndex, address: IpAddr) {
        if self.addresses.own(address, node.0) {
            let addresses = &mut self.nodes[node.0 as usize].addresses;
            if !addresses.contains(&address) {
                addresses.push(address);
            }
            return;
        }
        let name = |node: u32| self.nodes[node as usize].name.clone();
        let owner = self.addresses.find(address).map_or(NOBODY, |index| self.addresses.owner(index));
        let twice = BuildError::Twice { address, first: name(owner), second: name(node.0) };
        self.fault.get_or_insert(twice);
    }

    /// Gives an interface of a node an address.
    pub fn interface_address(&mut self, node: NodeIndex, interface: usize, address: IpAddr) {
        self.address(node, address);
        if let Some(out) = self.nodes[node.0 as usize].out.get(interface) {
            self.interfaces.entry(address).or_insert(*out);
        }
    }

    /// Adds a link. Its directions' chances are those of the link engine for the same seed and name.
    pub fn link(&mut self, link: LinkSpec) -> LinkIndex {
        let index = self.links.len() as u32;
        for (end, node) in link.ends.iter().enumerate() {
            self.nodes[node.0 as usize].out.push(2 * index + end as u32);
        }
        let seed = |side| plait_model_link::direction_seed(self.seed, &link.name, side);
        self.links.push(LinkDraft {
            seeds: [seed(0), seed(1)],
            name: link.name,
            ends: link.ends.map(|end| end.0),
            conditions: link.conditions,
            cost: link.cost,
            mtu: link.mtu,
        });
        LinkIndex(index)
    }

    /// Gives a node a route; several next hops are equally good. Another route to the same prefix takes its place.
    pub fn route(&mut self, node: NodeIndex, prefix: IpNet, hops: Vec<Via>) {
        let draft = &mut self.nodes[node.0 as usize];
        for via in &hops {
            if via.interface >= draft.out.len() {
                let (node, interface, count) = (draft.name.clone(), via.interface, draft.out.len());
                self.fault.get_or_insert(BuildError::NoInterface { node, prefix, interface, count });
                return;
            }
        }
        draft.routes.push((prefix, hops));
    }

    /// Keeps all routes beside the tables that are made of them, so that
    /// [`Simulation::set_routes`](crate::Simulation::set_routes) can change them. It costs their memory once more.
    pub fn keep_routes(&mut self) {
        self.keeps_routes = true;
    }

    /// Makes a node take off tunnel headers from an outer source.
    pub fn decapsulate(&mut self, node: NodeIndex, source: IpAddr) {
        self.nodes[node.0 as usize].decapsulates.push(source);
    }

    /// Makes a node drop what comes by one of its interfaces under a tunnel header of this outer source.
    pub fn border(&mut self, node: NodeIndex, interface: usize, source: IpAddr) {
        if let Some(out) = self.nodes[node.0 as usize].out.get(interface) {
            self.borders.insert((out ^ 1, source));
        }
    }

    /// Gives a node another seed for its choices among next hops than its own.
    pub fn hash_seed(&mut self, node: NodeIndex, seed: u64) {
        self.nodes[node.0 as usize].hash_seed = Some(seed);
    }

    /// Gives every node a route to every address by all shortest paths, beside those it has. Costs are those of the
    /// links; paths lead through routers and switches, never through hosts. Call it when all links and addresses are
    /// there.
    pub fn shortest_path_routes(&mut self) {
        shortest::fill(self);
    }

    /// The simulation, worked on by one thread.
    ///
    /// # Errors
    /// What cannot be built, and why.
    pub fn build(self) -> Result<Simulation, BuildError> {
        self.build_parallel(1)
    }

    /// The simulation, worked on by as many threads as are given, or fewer where the network cannot be cut into so
    /// many parts. Results are the same whatever the number.
    ///
    /// # Errors
    /// What cannot be built, and why.
    pub fn build_parallel(mut self, threads: usize) -> Result<Simulation, BuildError> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        if self.links.len() >= 1 << 29 || self.nodes.len() >= 1 << 30 {
            return Err(BuildError::TooMany);
        }
        let ends: Vec<[u32; 2]> = self.links.iter().map(|link| link.ends).collect();
        let conditions: Vec<[Arc<Conditions>; 2]> =
            self.links.iter().map(|link| link.conditions.clone()).collect();
        let parts = crate::cut::parts(self.nodes.len(), &ends, &conditions, threads.max(1));
        let stations = switches::tables(&self);
        let routes: Vec<Routes> = self.nodes.iter().map(|node| self.resolve(node, &stations)).collect();
        let mut sizes = vec![0u32; parts.iter().max().map_or(1, |last| *last as usize + 1)];
        let tables = compile(&routes, &self.addresses).ok_or(BuildError::TooMany)?;
        let mut nodes: Vec<Node> = Vec::with_capacity(self.nodes.len());
        let mut ways: Vec<Way> = Vec::with_capacity(self.nodes.len());
        for (index, draft) in self.nodes.into_iter().enumerate() {
            let partition = parts[index];
            let local = sizes[partition as usize];
            sizes[partition as usize] += 1;
            let first = |is_ipv6: bool| {
                let first = draft.addresses.iter().find(|address| address.is_ipv6() == is_ipv6);
                first.and_then(|address| self.addresses.find(*address))
            };
            ways.push(Way {
                hash_seed: draft.hash_seed.unwrap_or_else(|| switch_seed(self.seed, index as u32)),
                row: index as u32 * tables.row,
                groups: tables.first[index],
                local,
                kind: draft.kind,
            });
            nodes.push(Node {
                first: [first(false), first(true)],
                decapsulates: draft.decapsulates,
                place: Place { partition, local },
                name: draft.name,
                out: draft.out,
                stations: stations[index].clone(),
            });
        }
        let largest = |link: &LinkDraft| link.mtu.saturating_add(ETHERNET);
        let links = self.links.iter().map(|link| Link {
            name: link.name.clone(),
            ends: link.ends,
            largest: largest(link),
        });
        let targets = self.addresses.all().zip(tables.classes).map(|((index, address), class)| Target {
            owner: self.addresses.owner(index),
            class,
            station: self.interfaces.get(&address).copied().unwrap_or(NO_STATION),
        });
        let fabric = Fabric {
            targets: targets.collect(),
            seed: self.seed,
            links: links.collect(),
            nodes,
            ways,
            tables: tables.tables,
            groups: tables.groups,
            hops: tables.hops,
            matcher: tables.matcher,
            addresses: self.addresses,
            stacks: Vec::new(),
            flows: Vec::new(),
            listeners: HashMap::new(),
            hosts: Vec::new(),
            directions: Vec::new(),
            selectors: Vec::new(),
            borders: self.borders,
            captures: false,
        };
        let seeds = self.links.iter().map(|link| link.seeds);
        let kept = self.keeps_routes.then_some(routes);
        Ok(Simulation::new(fabric, conditions, seeds.collect(), sizes.len(), kept))
    }

    /// A node's routes as directions and stations.
    fn resolve(&self, node: &NodeDraft, stations: &[HashMap<u32, DirectionNumber>]) -> Routes {
        let mut routes = Routes::new();
        for (prefix, hops) in &node.routes {
            let hop = |via: &Via| {
                let out = node.out[via.interface];
                let largest = self.links[(out / 2) as usize].mtu.saturating_add(ETHERNET);
                Hop { out, station: self.station(out, via.neighbour, stations), largest }
            };
            routes.insert(prefix.trunc(), hops.iter().map(hop).collect());
        }
        routes
    }

    /// The interface that a packet is for when it leaves by `out`: the link's other end, or one behind a switch.
    fn station(
        &self,
        out: DirectionNumber,
        neighbour: Neighbour,
        stations: &[HashMap<u32, DirectionNumber>],
    ) -> u32 {
        let across = self.links[(out / 2) as usize].ends[(1 - out % 2) as usize];
        if self.nodes[across as usize].kind != Kind::Switch {
            return out ^ 1;
        }
        match neighbour {
            Neighbour::OnLink => ON_LINK,
            Neighbour::Address(address) => self.interfaces.get(&address).copied().unwrap_or(NO_STATION),
            Neighbour::Node(node) => {
                let known = &stations[across as usize];
                let of_node = |out: &&DirectionNumber| known.contains_key(out);
                self.nodes[node.0 as usize].out.iter().find(of_node).copied().unwrap_or(NO_STATION)
            }
        }
    }
}

/// Bytes of an Ethernet header.
const ETHERNET: u32 = 14;
