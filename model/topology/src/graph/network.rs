//! The graph that a network makes.

use super::{Graph, GraphBuilder};
use crate::network::Network;
use crate::vocabulary::Role;

impl Graph {
    /// The graph of a network as it is plugged together.
    ///
    /// Vertices are the nodes, by their index, then the LANs: LAN `i` is vertex `nodes.len() + i`. Edges are the links,
    /// by their index, then every LAN's members in order. Paths lead through routers, switches and LANs, never through
    /// hosts.
    ///
    /// As in OSPF (RFC 2328, section 2.1), a router pays the cost of the link or LAN it sends into, and what joins
    /// the members of a segment passes packets on for nothing. Two routers on a switch are therefore as near as two on
    /// one link.
    pub fn of_network(network: &Network) -> Self {
        let mut builder = GraphBuilder::new(network.nodes.len() + network.lans.len());
        let pays = |node: usize, cost: u32| match network.nodes[node].role {
            Role::Switch => 0,
            Role::Host | Role::Router => cost,
        };
        for (index, node) in network.nodes.iter().enumerate() {
            if node.role == Role::Host {
                builder.no_transit(index);
            }
        }
        for link in &network.links {
            let [a, b] = link.ends.map(|end| end.node);
            builder.edge_with(a, b, [Some(pays(a, link.cost)), Some(pays(b, link.cost))]);
        }
        for (index, lan) in network.lans.iter().enumerate() {
            for member in &lan.members {
                let costs = [Some(pays(member.node, lan.cost)), Some(0)];
                builder.edge_with(member.node, network.nodes.len() + index, costs);
            }
        }
        builder.build()
    }
}
