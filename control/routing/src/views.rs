//! What applications read and write. Nodes are known by numbers, so that any language can do with it.

use plait_control_runtime::{View, wit};
use std::time::Duration;

/// One direction of a link that is up, between two nodes that are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// The node that sends.
    pub source: u32,
    /// The node that receives.
    pub target: u32,
    /// How long it takes, jitter and queue left aside. Choice: a microsecond at least, so that of links without a delay
    /// fewer are better.
    pub delay: Duration,
}
wit!(struct Link { source, target, delay });

/// All links that are up, in the order of their sources: the state `links@1`.
///
/// Choice: a LAN, and whatever switches join, is a link from each of its hosts and routers to each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Links {
    /// Both directions of each; of several between two nodes, all.
    pub up: Vec<Link>,
}
wit!(struct Links { up });

impl View for Links {
    const NAME: &'static str = "links";
}

/// The same with what the file says that it costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PricedLink {
    /// The node that sends.
    pub source: u32,
    /// The node that receives.
    pub target: u32,
    /// As of [`Link::delay`].
    pub delay: Duration,
    /// What sending into it costs.
    pub cost: u32,
}
wit!(struct PricedLink { source, target, delay, cost });

/// All links that are up, with their costs: the state `links@2`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PricedLinks {
    /// As of [`Links::up`].
    pub up: Vec<PricedLink>,
}
wit!(struct PricedLinks { up });

impl View for PricedLinks {
    const NAME: &'static str = "links";
    const VERSION: u32 = 2;
}

/// A host or router.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its number: its place among the nodes of the file, the first one 0.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Whether it passes on what is not for itself. No way should lead through one that does not.
    pub forwards: bool,
}
wit!(struct Node { id, name, forwards });

/// Hosts and routers, whether they are up or not: the state `nodes@1`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Nodes {
    /// In the order of their numbers.
    pub all: Vec<Node>,
}
wit!(struct Nodes { all });

impl View for Nodes {
    const NAME: &'static str = "nodes";
}

/// What a node does with packets for another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// The node.
    pub source: u32,
    /// The other one.
    pub destination: u32,
    /// The neighbour that it gives them to.
    pub next_hop: u32,
    /// How long they take, for people.
    pub delay: Duration,
}
wit!(struct Route { source, destination, next_hop, delay });

/// All routes: the state `routes@1`. Where there is none, packets go nowhere.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Routes {
    /// One at most of each pair of nodes.
    pub best: Vec<Route>,
}
wit!(struct Routes { best });

impl View for Routes {
    const NAME: &'static str = "routes";
}
