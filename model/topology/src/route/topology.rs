//! The network as one IP version sees it: nodes, and the subnets that join them.

use crate::address::Subnet;
use crate::graph::{Graph, GraphBuilder};
use crate::network::{Attachment, Network, NodeIndex, Port};
use crate::vocabulary::Role;
use std::net::IpAddr;

/// An interface in a subnet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    pub port: Port,
    pub address: IpAddr,
    /// What sending into the subnet costs.
    pub cost: u32,
}

/// The subnets of one IP version and the graph they make.
///
/// Vertices are the nodes, then a vertex for each subnet of three or more members, as OSPF draws transit networks.
#[derive(Debug)]
pub(super) struct Topology {
    pub graph: Graph,
    pub subnets: Vec<ipnet::IpNet>,
    pub members: Vec<Vec<Member>>,
    /// The subnets each node is in, and its position among their members.
    pub of_node: Vec<Vec<(usize, usize)>>,
    pub forwards: Vec<bool>,
}

impl Topology {
    pub fn new(network: &Network, subnets: impl IntoIterator<Item = Subnet>) -> Self {
        let cost = |port: Port| match network.nodes[port.node].interfaces[port.interface].attachment {
            Attachment::Link { link, .. } => network.links[link].cost,
            Attachment::Lan { lan, .. } => network.lans[lan].cost,
        };
        let (prefixes, members): (Vec<_>, Vec<Vec<Member>>) = subnets
            .into_iter()
            .map(|subnet| {
                let member = |&(port, address): &(Port, IpAddr)| Member { port, address, cost: cost(port) };
                (subnet.prefix, subnet.members.iter().map(member).collect())
            })
            .unzip();
        let shared = members.iter().filter(|members| members.len() > 2).count();
        let mut builder = GraphBuilder::new(network.nodes.len() + shared);
        let mut of_node = vec![Vec::new(); network.nodes.len()];
        let mut vertex = network.nodes.len();
        for (subnet, members) in members.iter().enumerate() {
            for (at, member) in members.iter().enumerate() {
                of_node[member.port.node].push((subnet, at));
            }
            match members[..] {
                [] | [_] => (),
                [a, b] => {
                    builder.edge_with(a.port.node, b.port.node, [Some(a.cost), Some(b.cost)]);
                }
                _ => {
                    for member in members {
                        builder.edge_with(member.port.node, vertex, [Some(member.cost), Some(0)]);
                    }
                    vertex += 1;
                }
            }
        }
        let forwards: Vec<bool> = network.nodes.iter().map(|node| node.role == Role::Router).collect();
        for (node, _) in forwards.iter().enumerate().filter(|(_, forwards)| !**forwards) {
            builder.no_transit(node);
        }
        for subnets in &mut of_node {
            // Next hops are numbered by this order: the node's first interface first.
            subnets.sort_by_key(|&(subnet, at)| (members[subnet][at].port.interface, subnet));
        }
        Self { graph: builder.build(), subnets: prefixes, members, of_node, forwards }
    }

    pub fn is_connected(&self, node: NodeIndex, subnet: usize) -> bool {
        self.of_node[node].iter().any(|&(own, _)| own == subnet)
    }

    /// Whether a packet for an address of the subnet is there when it has reached this member's node: routers deliver
    /// to all members, and an address without neighbours is its owner's alone.
    pub fn delivers(&self, subnet: usize, node: NodeIndex) -> bool {
        self.forwards[node] || self.members[subnet].len() == 1
    }

    /// Whether a shortest path may go on from a neighbour met in `subnet`. It may even lead back into a subnet of the
    /// node's own, where that is cheaper than its own way in.
    pub fn leads_on(&self, neighbour: NodeIndex, subnet: usize) -> bool {
        self.of_node[neighbour].iter().any(|&(other, _)| other != subnet && self.delivers(other, neighbour))
    }

    /// Whether `neighbour` leads anywhere that `node` is not itself plugged into.
    pub fn leads_beyond(&self, node: NodeIndex, neighbour: NodeIndex) -> bool {
        self.of_node[neighbour]
            .iter()
            .any(|&(subnet, _)| self.delivers(subnet, neighbour) && !self.is_connected(node, subnet))
    }
}
