//! Routes: shortest paths written as the smallest tables that follow them.
//!
//! [`TableBuilder`] computes one node's table at a time, from `&self`, so that threads can share the work;
//! [`static_routes`] does all of them. Tables hold what the kernel does not know by itself: the prefixes of a node's
//! own interfaces are connected routes and appear in none.
//!
//! A path costs the sum of the costs of the links and LANs it sends into (RFC 2328, section 2.1). Paths never lead
//! through hosts. A prefix is reached when a packet reaches a router with an interface in it.
//!
//! [`TableBuilder::full_table`] has a route for each prefix with all equally short next hops. [`TableBuilder::table`]
//! has the fewest routes that send every address to one of those next hops, by ORTC (`trie.rs`), under these rules:
//!
//! - Choice: addresses in the testbed's address space that nobody has may go anywhere. Routes would have to be longer and
//!   more to leave them out; a packet to one dies of its TTL, or of no neighbour answering.
//! - Choice: routes lie within what is assigned, never reaching 0/0: a node's uplink may have a default route beside them.
//! - Choice: a node whose only way out is one neighbour has a default route to it and nothing else, as people set up
//!   hosts. Where two routers are each other's only way out, neither has, since they would toss packets to and fro.
//! - Choice: no route covers a prefix that cannot be reached, so that a packet to it is answered with "unreachable" rather
//!   than wandering.
//! - Choice: of equally short next hops the first interface's is taken, so that paths can be foretold from the file.

mod builder;
mod hop_set;
mod topology;
mod trie;

pub use builder::{FullRoute, NextHop, Route, TableBuilder};

use crate::address::Assignment;
use crate::network::Network;

/// The routes of each node, by [`crate::network::NodeIndex`].
pub type Tables = Vec<Vec<Route>>;

/// The smallest tables of all nodes. Switches have none.
pub fn static_routes(network: &Network, assignment: &Assignment) -> Tables {
    let builder = TableBuilder::new(network, assignment);
    (0..network.nodes.len()).map(|node| builder.table(node)).collect()
}

/// The full tables of all nodes. They grow with the square of the network: 5,000 nodes have 50 million routes, so ask
/// [`TableBuilder::full_table`] for one node at a time there.
pub fn full_tables(network: &Network, assignment: &Assignment) -> Vec<Vec<FullRoute>> {
    let builder = TableBuilder::new(network, assignment);
    (0..network.nodes.len()).map(|node| builder.full_table(node)).collect()
}
