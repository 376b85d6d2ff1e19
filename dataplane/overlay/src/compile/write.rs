//! Writes to the tables.

use plait_dataplane_reference::tables::{
    Adjacency, EndpointKey, Group, Hop, LocatorKey, NodeKey, Peer, PeerKey, Wire,
};

/// A write to the tables, to be done in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// An application's own identity, TTL and kind.
    Application(u32, plait_dataplane_reference::tables::Application),
    /// A node's or group's path.
    Node(NodeKey, Option<u32>),
    /// What a path leads to.
    Path(u32, u64),
    /// A next hop.
    Hop(u32, Hop),
    /// A group.
    Group(u32, Box<Group>),
    /// An outer header.
    Wire(u32, Wire),
    /// The slot of an adjacency.
    Adjacency(u32, u64),
    /// A neighbour.
    AdjacencySlot(u32, Adjacency),
    /// A known pair of locators.
    Peer(PeerKey, Option<Peer>),
    /// An own locator.
    Endpoint(EndpointKey, bool),
    /// Whose a locator is.
    Locator(LocatorKey, Option<u32>),
    /// A node is no next hop any more: what is counted by its path begins anew.
    UncountHop(u32),
    /// A wire is another's: what is counted by it begins anew.
    UncountWire(u32),
    /// Identifiers that lead to a node are to be forgotten, because its path is another's soon.
    Forget(NodeKey),
}
