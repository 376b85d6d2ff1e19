//! What does not change between two events of the whole network: who is where, and which way packets go. All threads
//! read it.

use crate::address::{AddressBook, AddressIndex};
use crate::encapsulation::Stack;
use crate::flow::FlowPlace;
use crate::routes::Matcher;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

/// A node by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeIndex(pub u32);

/// A link by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkIndex(pub u32);

/// What a node does with packets that are not for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Drops them.
    Host,
    /// Routes them by IP address.
    Router,
    /// Bridges them by link-layer address, with no address of its own: a switch of a LAN.
    Switch,
}

/// The station of what is behind no interface: switches drop what is for it.
pub(crate) const NO_STATION: u32 = u32::MAX;

/// The station of a next hop that is the packet's own destination.
pub(crate) const ON_LINK: u32 = u32::MAX - 1;

/// One direction of a link by its number: twice the link's, and one more from end 1 to end 0.
pub(crate) type DirectionNumber = u32;

#[derive(Debug)]
pub(crate) struct Fabric {
    pub seed: u64,
    pub nodes: Vec<Node>,
    /// What every packet's walk asks of its node, side by side.
    pub ways: Vec<Way>,
    /// All nodes' tables: by row and class, the place among the node's groups; 0 is no route.
    pub tables: Vec<u16>,
    pub groups: Vec<Group>,
    pub hops: Vec<Hop>,
    pub links: Vec<Link>,
    /// What tells the classes of addresses.
    pub matcher: Matcher,
    pub addresses: AddressBook,
    /// What every packet's walk asks of each address.
    pub targets: Vec<Target>,
    pub stacks: Vec<Stack>,
    pub flows: Vec<FlowPlace>,
    /// Where each application is, by node, IP protocol and UDP port; nought is the port of other protocols.
    pub listeners: HashMap<(u32, u8, u16), u32>,
    /// Where each application's state is.
    pub hosts: Vec<Place>,
    /// Where each direction's state is: with the node it leads to.
    pub directions: Vec<Place>,
    /// Where each selector is: its partition, and the direction out of its interface.
    pub selectors: Vec<(u32, DirectionNumber)>,
    /// Outer sources that may not come in, by the direction that they would come by.
    pub borders: HashSet<(DirectionNumber, IpAddr)>,
    /// Whether anything is captured.
    pub captures: bool,
}

/// Where a piece of state is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub partition: u32,
    /// Its place in that partition.
    pub local: u32,
}

#[derive(Debug)]
pub(crate) struct Node {
    pub name: String,
    /// Its first address of each IP version.
    pub first: [Option<AddressIndex>; 2],
    /// Outer sources whose headers it takes off.
    pub decapsulates: Vec<IpAddr>,
    pub place: Place,
    /// The directions out of its interfaces, in their order.
    pub out: Vec<DirectionNumber>,
    /// Of a switch: the direction that leads to each station, by number.
    pub stations: HashMap<u32, DirectionNumber>,
}

/// What a packet's walk asks of its node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way {
    pub hash_seed: u64,
    /// Where its table begins.
    pub row: u32,
    /// Where its groups begin.
    pub groups: u32,
    /// Its place in its partition.
    pub local: u32,
    pub kind: Kind,
}

/// What a packet's walk asks of an address that it is for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    /// Who has it, as the address book says: [`NOBODY`](crate::address::NOBODY), or a node.
    pub owner: u32,
    /// Two addresses that every table treats alike have the same.
    pub class: u32,
    /// The interface that it is behind, by the direction out of it.
    pub station: u32,
}

/// Equally good next hops: a span of [`Fabric::hops`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Group {
    pub first: u32,
    pub count: u32,
}

/// A next hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Hop {
    pub out: DirectionNumber,
    pub station: u32,
    /// Bytes of the largest frame that fits.
    pub largest: u32,
}

#[derive(Debug)]
pub(crate) struct Link {
    pub name: String,
    pub ends: [u32; 2],
    /// Bytes of the largest frame.
    pub largest: u32,
}

impl Fabric {
    /// What is asked of an address.
    #[inline]
    pub fn target(&self, address: AddressIndex) -> Target {
        self.targets[address.0 as usize]
    }

    /// The next hops of a node towards an address.
    #[inline]
    pub fn hops(&self, way: &Way, to: Target) -> &[Hop] {
        let group = self.tables[(way.row + to.class) as usize];
        let group = self.groups[way.groups as usize + usize::from(group)];
        &self.hops[group.first as usize..(group.first + group.count) as usize]
    }
}

/// The node that a direction leads to, and the one it comes from.
pub(crate) fn ends(links: &[Link], direction: DirectionNumber) -> [u32; 2] {
    let [a, b] = links[(direction / 2) as usize].ends;
    if direction.is_multiple_of(2) { [a, b] } else { [b, a] }
}
