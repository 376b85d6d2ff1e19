//! Applications that are compiled in.

use crate::views::{Links, Nodes, PricedLinks, Route, Routes};
use plait_control_runtime::{Application, Failure, Manifest, native};
use plait_model_topology::graph::GraphBuilder;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The names of all that there are.
pub const NATIVE: [&str; 2] = ["least-cost", "least-delay"];

/// One of them by its name.
pub fn native_application(name: &str) -> Option<(Manifest, Arc<dyn Application>)> {
    match name {
        "least-cost" => Some((
            Manifest::new(name).reads("links@2").reads("nodes@1").writes("routes@1"),
            native(|(links, nodes): (Arc<PricedLinks>, Arc<Nodes>)| {
                let edges = links.up.iter().map(|link| (link.source, link.target, link.delay, link.cost));
                Ok((best(&nodes, edges)?,))
            }),
        )),
        "least-delay" => Some((
            Manifest::new(name).reads("links@1").reads("nodes@1").writes("routes@1"),
            native(|(links, nodes): (Arc<Links>, Arc<Nodes>)| {
                let edges = links
                    .up
                    .iter()
                    .map(|link| (link.source, link.target, link.delay, microseconds(link.delay)));
                Ok((best(&nodes, edges)?,))
            }),
        )),
        _ => None,
    }
}

/// Choice: what counts of a delay are its microseconds, the next whole one, up to an hour.
fn microseconds(delay: Duration) -> u32 {
    u32::try_from(delay.as_nanos().div_ceil(1000)).unwrap_or(u32::MAX)
}

/// The cheapest way from each node to each other, through nodes that forward. Of several as cheap the one whose first link
/// stands first. Cost: a search for each node.
fn best(nodes: &Nodes, links: impl Iterator<Item = (u32, u32, Duration, u32)>) -> Result<Routes, Failure> {
    let places: BTreeMap<u32, usize> =
        nodes.all.iter().enumerate().map(|(place, node)| (node.id, place)).collect();
    let mut graph = GraphBuilder::new(nodes.all.len());
    for (place, node) in nodes.all.iter().enumerate() {
        if !node.forwards {
            graph.no_transit(place);
        }
    }
    let mut delays = Vec::new();
    for (source, target, delay, cost) in links {
        let place = |node| {
            let unknown = || Failure::Failed(format!("a link ends at {node}, which is no node"));
            places.get(&node).copied().ok_or_else(unknown)
        };
        // Choice: what costs nothing costs one, or two nodes could each be on a cheapest way of the other.
        graph.directed_edge(place(source)?, place(target)?, cost.max(1));
        delays.push(delay);
    }
    let graph = graph.build();
    let next: Vec<_> =
        (0..nodes.all.len()).map(|from| graph.next_hops(&graph.shortest_paths(from))).collect();
    let step = |at: usize, to: usize| graph.next_hop_arcs(at, &next[at], to).next();
    let mut routes = Routes::default();
    for (from, source) in nodes.all.iter().enumerate() {
        for (to, destination) in nodes.all.iter().enumerate().filter(|(to, _)| *to != from) {
            let Some(first) = step(from, to) else { continue };
            let (mut at, mut delay) = (from, Duration::ZERO);
            while at != to {
                let Some(arc) = step(at, to) else { break };
                delay += delays[arc.edge as usize];
                at = arc.to as usize;
            }
            let next_hop = nodes.all[first.to as usize].id;
            routes.best.push(Route { source: source.id, destination: destination.id, next_hop, delay });
        }
    }
    Ok(routes)
}
