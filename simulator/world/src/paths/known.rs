//! How switches are known to forward in virtual time: by their routes, and by their hash.

use super::{PathsSpec, headers};
use crate::routes::{Routes, Table};
use ipnet::IpNet;
use plait_control_paths::{Fabric, NextHop, Survey, Switch, Towards};
use plait_dataplane_paths::Encapsulation;
use plait_model_topology::Network;
use plait_model_topology::address::Assignment;
use plait_model_topology::network::{Node, NodeIndex as Place};
use plait_model_topology::vocabulary::Role;
use plait_simulator_engine::hash::{choose, switch_seed};
use plait_simulator_engine::{Neighbour, Via};
use std::collections::HashMap;
use std::net::IpAddr;

/// Next hops of a network's routers, of one state of its routes. Which of several a header takes follows from its hash, which is
/// one for all that goes to a relay; a packet without any takes one that depends on its flow, so that it is known where there is
/// but one.
#[derive(Debug)]
pub struct KnownRoutes {
    /// By the router that sends, then by the relay.
    relays: Vec<Vec<Option<usize>>>,
    /// By the router that sends, then by the one that hosts are behind.
    behind: Vec<Vec<Option<usize>>>,
}

impl NextHop for KnownRoutes {
    fn next_hop(&self, _: &Fabric, at: usize, towards: Towards) -> Option<usize> {
        match towards {
            Towards::Relay(to) => self.relays[at][to],
            Towards::Behind(to) => self.behind[at][to],
        }
    }
}

impl KnownRoutes {
    /// Of the routes that a world gives a network: with the relays and the headers' source of these paths, headers of this type,
    /// and [`multipath`](crate::Options::multipath) or not.
    pub fn of(
        network: &Network,
        assignment: &Assignment,
        paths: &PathsSpec,
        encapsulation: Encapsulation,
        multipath: bool,
    ) -> Self {
        let own = |node: &Node| (0..node.interfaces.len()).collect();
        let interfaces: Vec<Vec<usize>> = network.nodes.iter().map(own).collect();
        let routes = Routes { network, assignment, paths: Some(paths), interfaces: &interfaces, multipath };
        let is_router = |place: &Place| network.nodes[*place].role == Role::Router;
        let routers: Vec<Place> = (0..network.nodes.len()).filter(is_router).collect();
        let owners = owners(&routers, assignment);
        let fabric = Survey::of(network, assignment, &paths.relays).fabric;
        let headers = headers(encapsulation);
        let (mut relays, mut behind) = (Vec::new(), Vec::new());
        for (place, table) in routes.tables().enumerate().filter(|(place, _)| is_router(place)) {
            let seed = switch_seed(network.seed, place as u32);
            let relay = |to: &Place| {
                let address = *paths.relays.get(to)?;
                let ways = ways(&table, address.into());
                match headers.hash(paths.source, address) {
                    Some(hash) => next(&owners, ways.get(choose(hash, seed, ways.len() as u32) as usize)?),
                    None => only_next(&owners, ways),
                }
            };
            relays.push(routers.iter().map(relay).collect());
            let by_hand: Vec<IpNet> =
                network.nodes[place].routes.iter().map(|route| route.value.to).collect();
            let all = |switch: &Switch| {
                let mut nexts = switch.prefixes.iter().map(|prefix| {
                    // A part of it may go elsewhere.
                    let is_whole = !by_hand.iter().any(|part| part != prefix && prefix.contains(part));
                    only_next(&owners, ways(&table, *prefix)).filter(|_| is_whole)
                });
                let first = nexts.next()??;
                nexts.all(|next| next == Some(first)).then_some(first)
            };
            behind.push(fabric.switches().iter().map(all).collect());
        }
        Self { relays, behind }
    }
}

/// The routers' addresses, and the places of their owners among routers.
fn owners(routers: &[Place], assignment: &Assignment) -> HashMap<IpAddr, usize> {
    let of = |(at, place): (usize, &Place)| {
        assignment.all(*place).map(move |net| (net.addr(), at)).collect::<Vec<_>>()
    };
    routers.iter().enumerate().flat_map(of).collect()
}

/// The ways of the longest route that covers a prefix.
fn ways(table: &Table, prefix: IpNet) -> &[Via] {
    let covering = |length: u8| {
        let shorter = IpNet::new(prefix.addr(), length).ok()?;
        table.get(&shorter.trunc())
    };
    (0..=prefix.prefix_len()).rev().find_map(covering).map_or(&[], Vec::as_slice)
}

fn next(owners: &HashMap<IpAddr, usize>, via: &Via) -> Option<usize> {
    match via.neighbour {
        Neighbour::Address(address) => owners.get(&address).copied(),
        Neighbour::OnLink | Neighbour::Node(_) => None,
    }
}

/// The router that all these ways lead to.
fn only_next(owners: &HashMap<IpAddr, usize>, ways: &[Via]) -> Option<usize> {
    let first = next(owners, ways.first()?)?;
    ways.iter().all(|via| next(owners, via) == Some(first)).then_some(first)
}
