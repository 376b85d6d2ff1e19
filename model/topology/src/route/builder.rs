//! One node's table.

use super::hop_set::HopSet;
use super::topology::Topology;
use super::trie::{Demand, Trie};
use crate::address::{Assignment, Family, subnets};
use crate::graph::ShortestPaths;
use crate::network::{Network, NodeIndex};
use ipnet::IpNet;
use std::net::IpAddr;

/// A route of the smallest table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Route {
    /// Where it leads.
    pub prefix: IpNet,
    /// The neighbour's address.
    pub via: IpAddr,
    /// The interface it leaves by: position in [`crate::network::Node::interfaces`].
    pub interface: usize,
}

/// A neighbour that a packet can be handed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NextHop {
    /// The neighbour's address.
    pub via: IpAddr,
    /// The interface to it: position in [`crate::network::Node::interfaces`].
    pub interface: usize,
}

/// A route of the full table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FullRoute {
    /// Where it leads.
    pub prefix: IpNet,
    /// All neighbours on shortest paths, the first interface's first.
    pub next_hops: Vec<NextHop>,
}

/// What the tables of all nodes have in common: the graph and the trie of each IP version.
#[derive(Debug)]
pub struct TableBuilder {
    planes: Vec<Plane>,
}

#[derive(Debug)]
struct Plane {
    topology: Topology,
    trie: Trie,
    everywhere: IpNet,
}

/// A next hop with what the search needs to know of it.
struct Hop {
    next: NextHop,
    neighbour: NodeIndex,
    cost: u32,
}

impl TableBuilder {
    /// Prepares the tables of a network under the assignment that [`crate::address::assign`] gave it.
    pub fn new(network: &Network, assignment: &Assignment) -> Self {
        let (v4, v6): (Vec<_>, Vec<_>) = subnets(network, assignment)
            .into_iter()
            .partition(|subnet| Family::of(&subnet.prefix) == Family::V4);
        let pools = [network.pools.ipv4.map(IpNet::V4), network.pools.ipv6.map(IpNet::V6)];
        let plane = |(family, subnets, pool): (Family, Vec<_>, Option<IpNet>)| {
            let topology = Topology::new(network, subnets);
            let trie = Trie::new(&topology.subnets, pool.as_slice());
            Plane { topology, trie, everywhere: family.net(0, 0) }
        };
        let planes = [(Family::V4, v4, pools[0]), (Family::V6, v6, pools[1])];
        Self { planes: planes.into_iter().filter(|(_, subnets, _)| !subnets.is_empty()).map(plane).collect() }
    }

    /// The smallest table of a node, IPv4 before IPv6.
    pub fn table(&self, node: NodeIndex) -> Vec<Route> {
        self.planes.iter().flat_map(|plane| plane.table(node, true)).collect()
    }

    /// The smallest table of a node that gets its default route elsewhere, such as from an uplink.
    pub fn table_without_default(&self, node: NodeIndex) -> Vec<Route> {
        self.planes.iter().flat_map(|plane| plane.table(node, false)).collect()
    }

    /// The first neighbours on shortest paths of a prefix's IP version from a node to all others, by their indices; none to
    /// itself and to what cannot be reached. Of several the first interface's.
    pub fn first_hops(&self, node: NodeIndex, of: &IpNet) -> Vec<Option<NextHop>> {
        self.hops_to_all(node, of, |hops| hops.next())
    }

    /// All neighbours on shortest paths, likewise; the first interface's first.
    pub fn all_hops(&self, node: NodeIndex, of: &IpNet) -> Vec<Vec<NextHop>> {
        self.hops_to_all(node, of, |hops| hops.collect())
    }

    fn hops_to_all<T>(
        &self,
        node: NodeIndex,
        of: &IpNet,
        take: impl Fn(&mut dyn Iterator<Item = NextHop>) -> T,
    ) -> Vec<T> {
        let plane = self.planes.iter().find(|plane| Family::of(&plane.everywhere) == Family::of(of));
        let Some(plane) = plane else { return Vec::new() };
        let hops = plane.hops(node);
        let first = plane.first::<Box<[u64]>>(node, &hops, &plane.topology.graph.shortest_paths(node));
        let nodes = first.iter().take(plane.topology.of_node.len());
        nodes.map(|set| take(&mut HopSet::iter(set).map(|hop| hops[hop].next))).collect()
    }

    /// The full table of a node, IPv4 before IPv6, in the order of the file: every prefix that can be reached and is
    /// not its own.
    pub fn full_table(&self, node: NodeIndex) -> Vec<FullRoute> {
        self.planes.iter().flat_map(|plane| plane.full_table(node)).collect()
    }
}

impl Plane {
    fn table(&self, node: NodeIndex, with_default: bool) -> Vec<Route> {
        let hops = self.hops(node);
        if with_default && let Some(only) = self.only_way_out(node, &hops) {
            return vec![Route { prefix: self.everywhere, via: only.via, interface: only.interface }];
        }
        let routes = match hops.len() {
            0 => Vec::new(),
            1..=64 => self.smallest::<u64>(node, &hops),
            _ => self.smallest::<Box<[u64]>>(node, &hops),
        };
        let route = |(prefix, hop): (IpNet, usize)| {
            let next = hops[hop].next;
            Route { prefix, via: next.via, interface: next.interface }
        };
        routes.into_iter().map(route).collect()
    }

    fn full_table(&self, node: NodeIndex) -> Vec<FullRoute> {
        let hops = self.hops(node);
        let sets = self.sets::<Box<[u64]>>(node, &hops);
        let reached = sets
            .into_iter()
            .enumerate()
            .filter(|(subnet, set)| !HopSet::is_empty(set) && !self.topology.is_connected(node, *subnet));
        reached
            .map(|(subnet, set)| FullRoute {
                prefix: self.topology.subnets[subnet],
                next_hops: HopSet::iter(&set).map(|hop| hops[hop].next).collect(),
            })
            .collect()
    }

    /// The neighbours that lead anywhere, in the order of the node's interfaces.
    fn hops(&self, node: NodeIndex) -> Vec<Hop> {
        let topology = &self.topology;
        let mut hops = Vec::new();
        for &(subnet, own) in &topology.of_node[node] {
            let members = &topology.members[subnet];
            let own = members[own];
            for member in members {
                let neighbour = member.port.node;
                if neighbour != node && topology.leads_on(neighbour, subnet) {
                    let next = NextHop { via: member.address, interface: own.port.interface };
                    hops.push(Hop { next, neighbour, cost: own.cost });
                }
            }
        }
        hops
    }

    /// The nearest hop to the one neighbour that leads anywhere, unless that neighbour has no other way out either.
    fn only_way_out(&self, node: NodeIndex, hops: &[Hop]) -> Option<NextHop> {
        let neighbour = hops.first()?.neighbour;
        if hops.iter().any(|hop| hop.neighbour != neighbour) {
            return None;
        }
        let back = self.hops(neighbour);
        let tossed_back = !back.is_empty() && back.iter().all(|hop| hop.neighbour == node);
        let nearest = hops.iter().min_by_key(|hop| hop.cost)?;
        (!tossed_back && self.topology.leads_beyond(node, neighbour)).then_some(nearest.next)
    }

    fn smallest<H: HopSet>(&self, node: NodeIndex, hops: &[Hop]) -> Vec<(IpNet, usize)> {
        let mut sets: Vec<Demand<H>> = self
            .sets::<H>(node, hops)
            .into_iter()
            .map(|set| if set.is_empty() { Demand::Barred } else { Demand::OneOf(set) })
            .collect();
        // The kernel's own routes to connected prefixes are longer than any that covers them.
        for &(subnet, _) in &self.topology.of_node[node] {
            sets[subnet] = Demand::Any;
        }
        self.trie.smallest(|leaf| sets[leaf].clone())
    }

    /// For each subnet, the hops that begin a shortest path to it; none where there is no path.
    fn sets<H: HopSet>(&self, node: NodeIndex, hops: &[Hop]) -> Vec<H> {
        let topology = &self.topology;
        let paths = topology.graph.shortest_paths(node);
        let first = self.first::<H>(node, hops, &paths);
        let reach = |(subnet, members): (usize, &Vec<super::topology::Member>)| {
            let mut set = H::empty(hops.len());
            let mut nearest = u64::MAX;
            for member in members.iter().filter(|member| topology.delivers(subnet, member.port.node)) {
                let Some(distance) = paths.distance(member.port.node) else { continue };
                let distance = distance + u64::from(member.cost);
                if distance < nearest {
                    nearest = distance;
                    set = first[member.port.node].clone();
                } else if distance == nearest {
                    set.join(&first[member.port.node]);
                }
            }
            set
        };
        topology.members.iter().enumerate().map(reach).collect()
    }

    /// For each vertex, the hops that begin a shortest path to it.
    fn first<H: HopSet>(&self, node: NodeIndex, hops: &[Hop], paths: &ShortestPaths) -> Vec<H> {
        let graph = &self.topology.graph;
        let mut first: Vec<H> = vec![H::empty(hops.len()); graph.vertices()];
        for (at, hop) in hops.iter().enumerate() {
            if paths.distance(hop.neighbour) == Some(hop.cost.into()) {
                first[hop.neighbour].insert(at);
            }
        }
        // What leads to a vertex leads to all behind it; nearest first, every set is whole before it is handed on.
        for vertex in paths.reached().filter(|&vertex| vertex != node) {
            if first[vertex].is_empty() {
                continue;
            }
            let set = first[vertex].clone();
            for &arc in graph.arcs(vertex) {
                let to = arc.to as usize;
                if to != node && paths.is_tight(graph, vertex, arc) {
                    first[to].join(&set);
                }
            }
        }
        first
    }
}
