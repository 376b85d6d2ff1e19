//! Static routes: every shortest path to every address.

use super::{Builder, Kind, Neighbour, NodeIndex, Via};
use ipnet::IpNet;
use plait_model_topology::graph::GraphBuilder;
use std::collections::HashSet;

/// Adds a route of full length for each address of each node, to all other nodes that can reach it.
///
/// Choice: as in OSPF a router pays for the link that it sends into, and switches pass on for nothing.
pub(super) fn fill(builder: &mut Builder) {
    let nodes = builder.nodes.len();
    let mut graph = GraphBuilder::new(nodes);
    for link in &builder.links {
        let [a, b] = link.ends.map(|end| end as usize);
        let pays = |node: usize| match builder.nodes[node].kind {
            Kind::Switch => 0,
            Kind::Host | Kind::Router => link.cost,
        };
        graph.edge_with(a, b, [Some(pays(a)), Some(pays(b))]);
    }
    for (node, draft) in builder.nodes.iter().enumerate() {
        if draft.kind == Kind::Host {
            graph.no_transit(node);
        }
    }
    let graph = graph.build();
    for source in 0..nodes {
        if builder.nodes[source].kind == Kind::Switch {
            continue;
        }
        let paths = graph.shortest_paths(source);
        let hops = graph.next_hops(&paths);
        let has: HashSet<IpNet> = builder.nodes[source].routes.iter().map(|(prefix, _)| *prefix).collect();
        let mut routes = Vec::new();
        for to in (0..nodes).filter(|&to| to != source && paths.distance(to).is_some()) {
            let mut via: Vec<Via> = Vec::new();
            for arc in graph.next_hop_arcs(source, &hops, to) {
                let out =
                    2 * arc.edge + u32::from(builder.links[arc.edge as usize].ends[0] as usize != source);
                let interface = builder.nodes[source].out.iter().position(|known| *known == out);
                let neighbours = match builder.nodes[arc.to as usize].kind {
                    Kind::Switch => beyond(builder, &graph, &paths, source, arc.to as usize, to),
                    Kind::Host | Kind::Router => vec![arc.to],
                };
                let interface = interface.expect("an arc of the graph is an interface of the node");
                let each = |node| Via { interface, neighbour: Neighbour::Node(NodeIndex(node)) };
                via.extend(neighbours.into_iter().map(each));
            }
            for address in &builder.nodes[to].addresses {
                let prefix = IpNet::from(*address);
                if !has.contains(&prefix) {
                    routes.push((prefix, via.clone()));
                }
            }
        }
        builder.nodes[source].routes.extend(routes);
    }
}

/// The nodes behind a switch that come next on shortest paths to `to`.
fn beyond(
    builder: &Builder,
    graph: &plait_model_topology::graph::Graph,
    paths: &plait_model_topology::graph::ShortestPaths,
    source: usize,
    switch: usize,
    to: usize,
) -> Vec<u32> {
    let mut seen = HashSet::from([switch]);
    let mut waiting = vec![switch];
    let mut found = Vec::new();
    while let Some(at) = waiting.pop() {
        for arc in graph.arcs(at) {
            let next = arc.to as usize;
            if next == source || !seen.insert(next) {
                continue;
            }
            if builder.nodes[next].kind == Kind::Switch {
                waiting.push(next);
            } else if next == to || (graph.is_transit(next) && leads(graph, paths, next, to)) {
                found.push(arc.to);
            }
        }
    }
    found.sort_unstable();
    found
}

/// Whether a shortest path from the source leads through `by`.
fn leads(
    graph: &plait_model_topology::graph::Graph,
    paths: &plait_model_topology::graph::ShortestPaths,
    by: usize,
    to: usize,
) -> bool {
    let rest = graph.shortest_paths(by);
    match (paths.distance(by), rest.distance(to), paths.distance(to)) {
        (Some(before), Some(after), Some(all)) => before + after == all,
        _ => false,
    }
}
