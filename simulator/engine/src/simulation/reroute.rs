//! Routes that change while time stands still.

use super::Simulation;
use crate::builder::{Neighbour, Via};
use crate::fabric::{Hop, Kind, NO_STATION, NodeIndex, ON_LINK};
use crate::routes::compile;
use ipnet::IpNet;
use thiserror::Error;

/// Why routes cannot change. All are as they were.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RouteError {
    /// Nobody asked for it when the simulation was built.
    #[error("routes are not kept: call `Builder::keep_routes` before the simulation is built")]
    NotKept,
    /// A route by an interface that is not there.
    #[error("{node} has a route to {prefix} by its interface {interface}, of which it has {count}")]
    NoInterface {
        /// The node.
        node: String,
        /// The route.
        prefix: IpNet,
        /// The interface.
        interface: usize,
        /// How many interfaces there are.
        count: usize,
    },
    /// More of something than numbers can name.
    #[error("a node has fewer than 65536 sets of next hops, and all tables fewer than 2^32 entries")]
    TooMany,
}

impl Simulation {
    /// Gives nodes other routes, from now on, for packets under way too: each in the place of the node's route to the same
    /// prefix, and without next hops none. All of them or, after an error, none. Cost: all tables are made anew.
    ///
    /// # Errors
    /// Routes that were not kept; interfaces that are not there.
    pub fn set_routes(
        &mut self,
        changes: impl IntoIterator<Item = (NodeIndex, IpNet, Vec<Via>)>,
    ) -> Result<(), RouteError> {
        let mut resolved = Vec::new();
        for (node, prefix, hops) in changes {
            let hops = hops.iter().map(|via| self.hop(node, prefix, via)).collect::<Result<Vec<_>, _>>()?;
            resolved.push((node.0 as usize, prefix.trunc(), hops));
        }
        let routes = self.routes.as_mut().ok_or(RouteError::NotKept)?;
        let mut before = Vec::new();
        for (node, prefix, hops) in resolved {
            let was = match hops.is_empty() {
                true => routes[node].remove(&prefix),
                false => routes[node].insert(prefix, hops),
            };
            before.push((node, prefix, was));
        }
        let Some(tables) = compile(routes, &self.fabric.addresses) else {
            for (node, prefix, was) in before.into_iter().rev() {
                match was {
                    Some(hops) => routes[node].insert(prefix, hops),
                    None => routes[node].remove(&prefix),
                };
            }
            return Err(RouteError::TooMany);
        };
        let fabric = &mut self.fabric;
        for (index, way) in fabric.ways.iter_mut().enumerate() {
            way.row = index as u32 * tables.row;
            way.groups = tables.first[index];
        }
        for (target, class) in fabric.targets.iter_mut().zip(tables.classes) {
            target.class = class;
        }
        fabric.matcher = tables.matcher;
        fabric.tables = tables.tables;
        fabric.groups = tables.groups;
        fabric.hops = tables.hops;
        Ok(())
    }

    /// A next hop as the direction that it leaves by and the interface that it is for.
    fn hop(&self, node: NodeIndex, prefix: IpNet, via: &Via) -> Result<Hop, RouteError> {
        let fabric = &self.fabric;
        let known = &fabric.nodes[node.0 as usize];
        let Some(&out) = known.out.get(via.interface) else {
            let (node, interface, count) = (known.name.clone(), via.interface, known.out.len());
            return Err(RouteError::NoInterface { node, prefix, interface, count });
        };
        let link = &fabric.links[(out / 2) as usize];
        let across = link.ends[(1 - out % 2) as usize] as usize;
        let station = match (fabric.ways[across].kind, via.neighbour) {
            (Kind::Host | Kind::Router, _) => out ^ 1,
            (Kind::Switch, Neighbour::OnLink) => ON_LINK,
            (Kind::Switch, Neighbour::Address(address)) => {
                let known = fabric.addresses.find(address);
                known.map_or(NO_STATION, |index| fabric.target(index).station)
            }
            (Kind::Switch, Neighbour::Node(node)) => {
                let stations = &fabric.nodes[across].stations;
                let of_node = |out: &&u32| stations.contains_key(out);
                fabric.nodes[node.0 as usize].out.iter().find(of_node).copied().unwrap_or(NO_STATION)
            }
        };
        Ok(Hop { out, station, largest: link.largest })
    }
}
