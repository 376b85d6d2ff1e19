//! A network file as path control sees it.

use crate::fabric::{Fabric, Link, Switch};
use ipnet::IpNet;
use plait_model_topology::Network;
use plait_model_topology::address::{Assignment, subnets};
use plait_model_topology::network::{Attachment, NodeIndex, Port};
use plait_model_topology::vocabulary::Role;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

/// The fabric of a network, and which of its switches each host is behind.
#[derive(Debug, Clone)]
pub struct Survey {
    /// Routers are its switches, by their places in the file as IDs from 1 on; behind one lies each prefix that it is the only
    /// router of.
    pub fabric: Fabric,
    access: BTreeMap<NodeIndex, Ipv4Addr>,
}

impl Survey {
    /// Of a network whose routers take headers off for these addresses, all of them of one family (without any, IPv4). Interfaces
    /// without an address lead nowhere.
    pub fn of(network: &Network, assignment: &Assignment, relays: &BTreeMap<NodeIndex, IpAddr>) -> Self {
        let is_router = |node: NodeIndex| network.nodes[node].role == Role::Router;
        let routers: Vec<NodeIndex> = (0..network.nodes.len()).filter(|node| is_router(*node)).collect();
        let place: BTreeMap<NodeIndex, usize> =
            routers.iter().enumerate().map(|(at, node)| (*node, at)).collect();
        let is_ipv4 = relays.values().next().is_none_or(IpAddr::is_ipv4);
        let mut prefixes = vec![Vec::new(); routers.len()];
        let (mut links, mut nearest) = (Vec::new(), BTreeMap::new());
        for subnet in subnets(network, assignment) {
            let ports: Vec<Port> = subnet.members.iter().map(|(port, _)| *port).collect();
            let here: Vec<Port> = ports.iter().copied().filter(|port| is_router(port.node)).collect();
            let others: BTreeSet<NodeIndex> = here.iter().map(|port| port.node).collect();
            if let (1, Some(router)) = (others.len(), here.first()) {
                prefixes[place[&router.node]].push(subnet.prefix);
            }
            // Packets may be of either family; their headers go where those of the relays' do.
            if matches!(subnet.prefix, IpNet::V4(_)) != is_ipv4 {
                continue;
            }
            for from in &here {
                for to in here.iter().filter(|to| to.node != from.node) {
                    let (a, b) = (place[&from.node] as u32, place[&to.node] as u32);
                    links.push(Link { from: a, to: b, cost: cost(network, *from) });
                }
            }
            for host in ports.iter().filter(|port| network.nodes[port.node].role == Role::Host) {
                if let Some(router) = here.first() {
                    let near = (host.interface, place[&router.node]);
                    let known = nearest.entry(host.node).or_insert(near);
                    *known = (*known).min(near);
                }
            }
        }
        let id = |at: usize| Ipv4Addr::from(at as u32 + 1);
        let switch = |(at, node): (usize, &NodeIndex)| Switch {
            id: id(at),
            relay: relays.get(node).copied(),
            prefixes: std::mem::take(&mut prefixes[at]),
        };
        let switches = routers.iter().enumerate().map(switch).collect();
        let access = nearest.into_iter().map(|(host, (_, router))| (host, id(router))).collect();
        Self { fabric: Fabric::new(switches, links), access }
    }

    /// The same with what OSPF version 2 tells of prefixes: those of IPv4.
    pub fn of_ospf(self) -> Self {
        let is_told = |prefix: &&IpNet| matches!(prefix, IpNet::V4(_));
        let told = |switch: &Switch| Switch {
            prefixes: switch.prefixes.iter().filter(is_told).copied().collect(),
            ..switch.clone()
        };
        let switches = self.fabric.switches().iter().map(told).collect();
        Self { fabric: Fabric::new(switches, self.fabric.links().to_vec()), ..self }
    }

    /// The switch that a host is behind: the first router on its links.
    pub fn access(&self, host: NodeIndex) -> Option<Ipv4Addr> {
        self.access.get(&host).copied()
    }
}

/// What sending by a port costs.
fn cost(network: &Network, port: Port) -> u32 {
    match network.nodes[port.node].interfaces[port.interface].attachment {
        Attachment::Link { link, .. } => network.links[link].cost,
        Attachment::Lan { lan, .. } => network.lans[lan].cost,
    }
}
