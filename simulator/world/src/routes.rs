//! The routes of nodes that a file decides.

use crate::paths::PathsSpec;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use plait_model_topology::Network;
use plait_model_topology::address::Assignment;
use plait_model_topology::network::{Port, Routing};
use plait_model_topology::route::TableBuilder;
use plait_model_topology::vocabulary::Role;
use plait_simulator_engine::{Neighbour, Via};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// A node's routes: prefixes and their equally good next hops.
pub(crate) type Table = BTreeMap<IpNet, Vec<Via>>;

/// What the tables of all nodes follow from. Interfaces without an address lead nowhere.
pub(crate) struct Routes<'a> {
    pub network: &'a Network,
    pub assignment: &'a Assignment,
    pub paths: Option<&'a PathsSpec>,
    /// By node and interface of the network, the interface of the simulation.
    pub interfaces: &'a [Vec<usize>],
    /// Whether all shortest paths count, and not the first alone.
    pub multipath: bool,
}

impl Routes<'_> {
    /// The tables of all nodes, in their order.
    pub fn tables(&self) -> impl Iterator<Item = Table> + '_ {
        let is_decided = self.network.routing != Routing::None;
        let shortest = is_decided.then(|| TableBuilder::new(self.network, self.assignment));
        (0..self.network.nodes.len()).map(move |node| self.table(node, shortest.as_ref()))
    }

    /// What a node is plugged into, shortest paths and the ways to relays; and what was given by hand in the place of these.
    fn table(&self, node: usize, shortest: Option<&TableBuilder>) -> Table {
        let mut table = self.connected(node);
        let by_hand = self.by_hand(node);
        if let Some(shortest) = shortest.filter(|_| self.network.nodes[node].role != Role::Switch) {
            self.shortest(node, shortest, &mut table);
            self.to_relays(node, shortest, &by_hand, &mut table);
        }
        table.extend(by_hand);
        table
    }

    fn connected(&self, node: usize) -> Table {
        let mut table = Table::new();
        for (interface, own) in self.interfaces[node].iter().enumerate() {
            for net in self.assignment.addresses(Port { node, interface }) {
                let via = Via { interface: *own, neighbour: Neighbour::OnLink };
                table.insert(net.trunc(), vec![via]);
            }
        }
        table
    }

    fn by_hand(&self, node: usize) -> Table {
        let mut table = Table::new();
        for route in &self.network.nodes[node].routes {
            let reaches = |interface: &usize| {
                let nets = self.assignment.addresses(Port { node, interface: *interface });
                nets.iter().any(|net| net.contains(&route.value.via))
            };
            if let Some(interface) = (0..self.interfaces[node].len()).find(reaches) {
                table.insert(route.value.to, vec![self.via(node, interface, route.value.via)]);
            }
        }
        table
    }

    fn shortest(&self, node: usize, shortest: &TableBuilder, table: &mut Table) {
        if self.multipath {
            table.extend(shortest.full_table(node).into_iter().map(|route| {
                let via = route.next_hops.iter().map(|hop| self.via(node, hop.interface, hop.via));
                (route.prefix, via.collect())
            }));
        } else {
            table.extend(shortest.table(node).into_iter().map(|route| {
                let via = self.via(node, route.interface, route.via);
                (route.prefix, vec![via])
            }));
        }
    }

    /// The ways to a relay's own address; of a host the first alone, where its lists begin. Who sends everything one way needs none.
    fn to_relays(&self, node: usize, shortest: &TableBuilder, by_hand: &Table, table: &mut Table) {
        let Some(paths) = self.paths else { return };
        // The address of a relay is of the headers' family.
        let everywhere = match paths.source {
            IpAddr::V4(_) => IpNet::V4(Ipv4Net::default()),
            IpAddr::V6(_) => IpNet::V6(Ipv6Net::default()),
        };
        if table.contains_key(&everywhere) || by_hand.contains_key(&everywhere) {
            return;
        }
        let is_router = self.network.nodes[node].role == Role::Router;
        let most = if self.multipath && is_router { usize::MAX } else { 1 };
        let hops = shortest.all_hops(node, &everywhere);
        for (relay, address) in paths.relays.iter().filter(|(relay, _)| **relay != node) {
            let hops = hops.get(*relay).into_iter().flatten().take(most);
            let ways: Vec<Via> = hops.map(|hop| self.via(node, hop.interface, hop.via)).collect();
            if !ways.is_empty() {
                table.insert(IpNet::from(*address), ways);
            }
        }
    }

    fn via(&self, node: usize, interface: usize, neighbour: IpAddr) -> Via {
        Via { interface: self.interfaces[node][interface], neighbour: Neighbour::Address(neighbour) }
    }
}
