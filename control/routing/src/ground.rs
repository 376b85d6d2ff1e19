//! What of a network does not change while it is up: who meets whom, over which links, under which addresses.

use ipnet::IpNet;
use plait_model_topology::address::Assignment;
use plait_model_topology::network::{Attachment, Network, NodeIndex, Port};
use plait_model_topology::vocabulary::Role;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};
use std::net::IpAddr;

/// Hosts and routers, and from whom to whom packets get without another one between.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ground {
    /// Hosts and routers, in the order of the file.
    pub nodes: Vec<GroundNode>,
    /// In the order of the nodes that send, and of their interfaces.
    pub hops: Vec<Hop>,
}

/// A host or router.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroundNode {
    /// Its place among all nodes of the file.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Whether it forwards.
    pub forwards: bool,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
    /// Where the file has a route of its own from here. One to an address counts before what applications decide for it;
    /// one to a prefix leads where they decide nothing.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub by_hand: BTreeSet<IpNet>,
}

/// From one node to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hop {
    /// The node that sends: its place in [`Ground::nodes`].
    pub from: usize,
    /// The one that receives, likewise.
    pub to: usize,
    /// The sender's interface.
    pub interface: String,
    /// The receiver's addresses on it, one of each family at most.
    pub gateways: Vec<IpAddr>,
    /// What sending into it costs.
    pub cost: u32,
    /// The links that it leads over.
    pub over: Vec<Crossing>,
}

/// One direction of a link, or of a LAN's member.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Crossing {
    /// The link's name; `LAN/NODE:INTERFACE` of a LAN's member.
    pub link: String,
    /// From its end 0, or the other way.
    pub side: usize,
}

impl Ground {
    /// That of a network with these addresses. Cost: with the square of what one LAN or its like joins.
    pub fn of(network: &Network, assignment: &Assignment) -> Self {
        let mut places = vec![None; network.nodes.len()];
        let mut nodes = Vec::new();
        for (index, node) in network.nodes.iter().enumerate().filter(|(_, node)| node.role != Role::Switch) {
            places[index] = Some(nodes.len());
            nodes.push(GroundNode {
                id: index as u32,
                name: node.name.clone(),
                forwards: node.role == Role::Router,
                addresses: assignment.all(index).map(|net| net.addr()).collect(),
                by_hand: node.routes.iter().map(|route| route.value.to.trunc()).collect(),
            });
        }
        let mut hops = Vec::new();
        for (index, node) in network.nodes.iter().enumerate() {
            let Some(from) = places[index] else { continue };
            for (interface, known) in node.interfaces.iter().enumerate() {
                let port = Port { node: index, interface };
                for (other, over) in across(network, port) {
                    let Some(to) = places[other.node].filter(|to| *to != from) else { continue };
                    hops.push(Hop {
                        from,
                        to,
                        interface: known.name.clone(),
                        gateways: gateways(assignment, port, other),
                        cost: cost(network, known.attachment),
                        over,
                    });
                }
            }
        }
        Self { nodes, hops }
    }
}

fn cost(network: &Network, attachment: Attachment) -> u32 {
    match attachment {
        Attachment::Link { link, .. } => network.links[link].cost,
        Attachment::Lan { lan, .. } => network.lans[lan].cost,
    }
}

/// The addresses by which a port reaches another one on its segment.
fn gateways(assignment: &Assignment, own: Port, other: Port) -> Vec<IpAddr> {
    let nets = assignment.addresses(own);
    let is_near = |address: &IpAddr| nets.iter().any(|net| net.contains(address));
    let all: Vec<IpAddr> = assignment.addresses(other).iter().map(IpNet::addr).filter(is_near).collect();
    let first = |is_ipv6: bool| all.iter().copied().find(|address| address.is_ipv6() == is_ipv6);
    first(false).into_iter().chain(first(true)).collect()
}

/// The ports of hosts and routers that a port meets, and over which links; over the fewest where switches leave a choice.
fn across(network: &Network, from: Port) -> Vec<(Port, Vec<Crossing>)> {
    let mut found = Vec::new();
    let mut passed: BTreeSet<NodeIndex> = BTreeSet::new();
    let mut met: BTreeSet<Port> = [from].into();
    let mut open: VecDeque<(Port, Vec<Crossing>)> = [(from, Vec::new())].into();
    while let Some((at, over)) = open.pop_front() {
        for (other, more) in wire(network, at) {
            if !met.insert(other) {
                continue;
            }
            let over: Vec<Crossing> = over.iter().cloned().chain(more).collect();
            let node = &network.nodes[other.node];
            if node.role != Role::Switch {
                found.push((other, over));
            } else if passed.insert(other.node) {
                let ports = (0..node.interfaces.len()).map(|interface| Port { node: other.node, interface });
                open.extend(ports.filter(|port| *port != other).map(|port| (port, over.clone())));
            }
        }
    }
    found
}

/// The ports at the other end of what a port is plugged into.
fn wire(network: &Network, at: Port) -> Vec<(Port, Vec<Crossing>)> {
    match network.nodes[at.node].interfaces[at.interface].attachment {
        Attachment::Link { link, end } => {
            let link = &network.links[link];
            vec![(link.ends[1 - end], vec![Crossing { link: link.name.clone(), side: end }])]
        }
        Attachment::Lan { lan, .. } => {
            let lan = &network.lans[lan];
            let cable = |port: Port, side| Crossing {
                link: format!("{}/{}", lan.name, network.port_name(port)),
                side,
            };
            let others = lan.members.iter().filter(|other| **other != at);
            others.map(|other| (*other, vec![cable(at, 0), cable(*other, 1)])).collect()
        }
    }
}
