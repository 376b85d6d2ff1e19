//! Routes: the smallest tables that follow shortest paths, and what long paths need.

use super::flag;
use crate::plan::{InterfaceState, RouteState};
use plait_model_topology::address::Assignment;
use plait_model_topology::graph::Graph;
use plait_model_topology::network::{Interface, Network, Node, Routing};
use plait_model_topology::route::TableBuilder;
use plait_model_topology::vocabulary::Role;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// The time to live that the kernel gives packets, in hops.
pub(super) const USUAL_TTL: usize = 64;

/// About how many hops the longest of the shortest paths has: two searches, the second from where the first ended.
///
/// Choice: where packets would die of their usual time to live, all nodes begin with 255, the most there is. Otherwise
/// a chain of a hundred routers would drop every answer to `ping -t 255`, for a reason that is hard to find.
pub(super) fn longest_path(network: &Network) -> usize {
    let edges = network.links.iter().map(|link| (link.ends[0].node, link.ends[1].node, 1));
    let lans = network.lans.iter().flat_map(|lan| {
        lan.members.windows(2).map(|pair| (pair[0].node, pair[1].node, 1)).collect::<Vec<_>>()
    });
    let graph = Graph::undirected(network.nodes.len(), edges.chain(lans));
    let farthest = |from: usize| {
        let paths = graph.shortest_paths(from);
        let reached = (0..network.nodes.len()).filter_map(|node| Some((paths.distance(node)?, node)));
        reached.max().unwrap_or((0, from))
    };
    if network.nodes.is_empty() {
        return 0;
    }
    let (_, end) = farthest(0);
    farthest(end).0 as usize
}

/// Routes of every node, none where daemons or nobody routes. With daemons, hosts still need a way to a router.
pub(super) fn static_routes(network: &Network, assignment: &Assignment) -> Vec<BTreeSet<RouteState>> {
    if network.routing == Routing::None {
        return vec![BTreeSet::new(); network.nodes.len()];
    }
    let daemons = matches!(network.routing, Routing::Frr(_));
    let builder = TableBuilder::new(network, assignment);
    let one = |index: usize| -> BTreeSet<RouteState> {
        let node = &network.nodes[index];
        if node.role == Role::Switch || (daemons && node.role == Role::Router) {
            return BTreeSet::new();
        }
        // The default route of a node with an uplink is the uplink's.
        let table = if flag(&node.extra, "uplink") {
            builder.table_without_default(index)
        } else {
            builder.table(index)
        };
        table
            .into_iter()
            .map(|route| RouteState {
                to: route.prefix,
                via: route.via,
                interface: Some(node.interfaces[route.interface].name.clone()),
                congestion_control: None,
            })
            .collect()
    };
    let count = network.nodes.len();
    let half = count.div_ceil(2).max(64);
    std::thread::scope(|scope| {
        let one = &one;
        let workers: Vec<_> = (0..count)
            .step_by(half)
            .map(|from| scope.spawn(move || (from..(from + half).min(count)).map(one).collect::<Vec<_>>()))
            .collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().expect("no panic while computing routes"))
            .collect()
    })
}

/// The interface a next hop is reached by: the one with its prefix.
pub(super) fn out_interface(
    node: &Node,
    interfaces: &BTreeMap<String, InterfaceState>,
    via: IpAddr,
) -> Option<String> {
    let reaches =
        |interface: &&Interface| interfaces[&interface.name].addresses.iter().any(|net| net.contains(&via));
    node.interfaces.iter().find(reaches).map(|interface| interface.name.clone())
}
