//! A network as everything above sees it: every default applied, every name resolved, every link with two ends.

use crate::document::{Map, Span, Spanned};
use crate::vocabulary::Role;
use indexmap::IndexMap;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use plait_model_link::{Conditions, ConditionsSpec};
use plait_model_quantity::TimeSpan;
use std::net::IpAddr;

/// Position of a node in [`Network::nodes`].
pub type NodeIndex = usize;

/// A network: what its file says, with nothing left to look up.
#[derive(Debug, Clone)]
pub struct Network {
    /// The testbed's name unless the user gives another.
    pub name: String,
    /// Nodes in the order of the file.
    pub nodes: Vec<Node>,
    /// Point-to-point links in the order of the file.
    pub links: Vec<Link>,
    /// Shared segments in the order of the file.
    pub lans: Vec<Lan>,
    /// Who fills the routing tables.
    pub routing: Routing,
    /// Where addresses come from when the file gives none.
    pub pools: AddressPools,
    /// Seed of every random choice; the same file and seed meet the same fates.
    pub seed: u64,
    /// Top-level keys that other rooms give meaning to.
    pub sections: Map,
}

/// A node.
#[derive(Debug, Clone)]
pub struct Node {
    /// Its name, which is its hostname.
    pub name: String,
    /// Its kind as written, for the room that builds it.
    pub kind: String,
    /// What the kind means for addressing and routing.
    pub role: Role,
    /// Its interfaces, in the order links and LANs attach to it.
    pub interfaces: Vec<Interface>,
    /// Shell commands run in order when the node is up.
    pub commands: Vec<Spanned<String>>,
    /// Files the node sees, by absolute path.
    pub files: IndexMap<String, Spanned<FileContent>>,
    /// Kernel parameters of its namespace, by dotted name.
    pub sysctls: IndexMap<String, Spanned<String>>,
    /// Routes given by hand.
    pub routes: Vec<Spanned<StaticRoute>>,
    /// Keys that other rooms give meaning to.
    pub extra: Map,
    /// Where its name stands in the file.
    pub span: Span,
}

/// What a file holds.
#[derive(Debug, Clone, PartialEq)]
pub enum FileContent {
    /// The text itself.
    Text(String),
    /// A file beside the network file, by path.
    Source(String),
}

/// A route given by hand.
#[derive(Debug, Clone, PartialEq)]
pub struct StaticRoute {
    /// Where it leads.
    pub to: IpNet,
    /// The next hop.
    pub via: IpAddr,
}

/// An interface of a node.
#[derive(Debug, Clone)]
pub struct Interface {
    /// Its name inside the node.
    pub name: String,
    /// Addresses given in the file; those assigned are in [`crate::address`].
    pub addresses: Vec<IpNet>,
    /// What it is plugged into.
    pub attachment: Attachment,
}

/// What an interface is plugged into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Attachment {
    /// An end of a link: position in [`Network::links`], and which end.
    Link {
        /// Position in [`Network::links`].
        link: usize,
        /// 0 or 1.
        end: usize,
    },
    /// A port of a LAN.
    Lan {
        /// Position in [`Network::lans`].
        lan: usize,
        /// Position in [`Lan::members`].
        member: usize,
    },
}

/// One interface of one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Port {
    /// Position in [`Network::nodes`].
    pub node: NodeIndex,
    /// Position in [`Node::interfaces`].
    pub interface: usize,
}

/// A point-to-point link.
#[derive(Debug, Clone)]
pub struct Link {
    /// Unique among links and LANs: `a-b`, the second between the same nodes `a-b.2`, or the name given.
    pub name: String,
    /// Its two ends.
    pub ends: [Port; 2],
    /// What happens to packets from end 0 to end 1, and back.
    pub conditions: [Conditions; 2],
    /// The same as written, over which live changes are laid.
    pub specs: [ConditionsSpec; 2],
    /// Routing cost of each direction.
    pub cost: u32,
    /// MTU of both devices; the kernel's 1500 when not given.
    pub mtu: Option<u32>,
    /// Prefix to number the link from.
    pub prefix: Option<IpNet>,
    /// Keys that other rooms give meaning to.
    pub extra: Map,
    /// Where it stands in the file.
    pub span: Span,
}

/// A shared segment: every member hears every other.
#[derive(Debug, Clone)]
pub struct Lan {
    /// Unique among links and LANs.
    pub name: String,
    /// The interfaces plugged into it.
    pub members: Vec<Port>,
    /// What happens to packets of each member on the way into the segment (0) and out of it to the member (1).
    pub conditions: [Conditions; 2],
    /// The same as written.
    pub specs: [ConditionsSpec; 2],
    /// Routing cost of crossing it.
    pub cost: u32,
    /// MTU of its devices.
    pub mtu: Option<u32>,
    /// Prefix to number the segment from.
    pub prefix: Option<IpNet>,
    /// Keys that other rooms give meaning to.
    pub extra: Map,
    /// Where its name stands in the file.
    pub span: Span,
}

/// Where assigned addresses come from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AddressPools {
    /// IPv4 pool; none turns IPv4 off.
    pub ipv4: Option<Ipv4Net>,
    /// IPv6 pool; none leaves the interfaces without IPv6, link-local addresses included.
    pub ipv6: Option<Ipv6Net>,
}

/// Who fills the routing tables.
#[derive(Debug, Clone, PartialEq)]
pub enum Routing {
    /// Nobody: only connected routes and those given by hand.
    None,
    /// Plait: shortest paths, written once.
    Static,
    /// Routing daemons of FRR in every router.
    Frr(FrrRouting),
}

/// How FRR's daemons are set up.
#[derive(Debug, Clone, PartialEq)]
pub struct FrrRouting {
    /// OSPF (version 2 for IPv4, 3 for IPv6) in one area.
    pub ospf: bool,
    /// BGP, each router an autonomous system of its own.
    pub bgp: bool,
    /// OSPF hello interval, BGP keepalive.
    pub hello: TimeSpan,
    /// OSPF dead interval, BGP hold time.
    pub dead: TimeSpan,
}

impl Network {
    /// A node by name.
    pub fn node(&self, name: &str) -> Option<NodeIndex> {
        self.nodes.iter().position(|node| node.name == name)
    }

    /// A link by name; `b-a` finds `a-b`.
    pub fn link(&self, name: &str) -> Option<usize> {
        self.links.iter().position(|link| link.name == name).or_else(|| {
            self.links.iter().position(|link| {
                let [a, b] = link.ends.map(|end| &self.nodes[end.node].name);
                name.strip_prefix(b.as_str()).and_then(|rest| rest.strip_prefix('-')) == Some(a)
            })
        })
    }

    /// A LAN by name.
    pub fn lan(&self, name: &str) -> Option<usize> {
        self.lans.iter().position(|lan| lan.name == name)
    }

    /// `node:interface`, as people write a port.
    pub fn port_name(&self, port: Port) -> String {
        let node = &self.nodes[port.node];
        format!("{}:{}", node.name, node.interfaces[port.interface].name)
    }
}
