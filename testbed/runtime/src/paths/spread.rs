//! By how much ways differ, where a file does not say it.

use plait_model_link::Conditions;
use plait_model_topology::Network;
use plait_model_topology::graph::{Graph, GraphBuilder};
use plait_model_topology::network::Port;
use std::time::Duration;

/// What processors, and queues that the file does not speak of, may add on one way and not on another.
const REST: Duration = Duration::from_millis(10);
/// The most that is assumed: for so long a flow that moves may be held.
const MOST: Duration = Duration::from_secs(1);

/// By how much a packet may be later by one way than by another, at most: what it is on the slowest links, of as many as a way
/// has, with their queues full, and 10 ms. Choice: a way has no more links than twice as many as lie between a node in the middle and
/// the one that is farthest from it, since who chooses among the shortest ways takes none that leads to and fro; where links cost
/// more than one, no more than all nodes have; and a second is enough for everybody.
pub fn usual(network: &Network) -> Duration {
    let both = |conditions: &[Conditions; 2]| conditions.each_ref().map(|one| one.longest().as_nanos());
    let links = network.links.iter().map(|link| both(&link.conditions)).map(|[there, back]| there.max(back));
    // Of a segment a packet goes the way in, and the way out.
    let lans =
        network.lans.iter().map(|lan| both(&lan.conditions)).map(|[way_in, out]| way_in.saturating_add(out));
    let mut times: Vec<u64> = links.chain(lans).collect();
    times.sort_unstable_by(|one, other| other.cmp(one));
    let along = times.into_iter().take(longest_way(network)).fold(0, u64::saturating_add);
    REST.saturating_add(Duration::from_nanos(along)).min(MOST)
}

/// How many links a way has at most.
fn longest_way(network: &Network) -> usize {
    let graph = neighbours(network);
    let mut costs = network.links.iter().map(|link| link.cost).chain(network.lans.iter().map(|lan| lan.cost));
    if costs.any(|cost| cost != 1) {
        return graph.vertices().saturating_sub(1);
    }
    let parts = graph.components().members();
    2 * parts.iter().map(|part| radius(&graph, part[0])).max().unwrap_or(0)
}

/// How many links lie between a node in the middle, of those that `first` reaches, and the one that is farthest from it.
fn radius(graph: &Graph, first: usize) -> usize {
    let first = graph.shortest_paths(first);
    // The middle of a way that is as long as any, or nearly.
    let from_end = graph.shortest_paths(first.reached().last().unwrap_or(first.source()));
    let from_other = graph.shortest_paths(from_end.reached().last().unwrap_or(first.source()));
    let length = from_end.eccentricity();
    let is_middle = |vertex: &usize| {
        from_end.distance(*vertex) == Some(length / 2)
            && from_other.distance(*vertex) == Some(length.div_ceil(2))
    };
    let middle = first.reached().find(is_middle).unwrap_or(first.source());
    graph.shortest_paths(middle).eccentricity().min(first.eccentricity()) as usize
}

/// Nodes, and between neighbours an edge. Of a segment the first member stands for all: one more link, at most, than there is.
fn neighbours(network: &Network) -> Graph {
    let mut builder = GraphBuilder::new(network.nodes.len());
    let mut join = |members: &[Port]| {
        for member in members.iter().skip(1) {
            builder.edge(members[0].node, member.node, 1);
        }
    };
    network.links.iter().for_each(|link| join(&link.ends));
    network.lans.iter().for_each(|lan| join(&lan.members));
    builder.build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plait_model_topology::document::Source;
    use plait_model_topology::{Vocabulary, parse_network};

    fn of(links: &str) -> Duration {
        let text = format!(
            "plait: 1\nname: n\nnodes:\n  a: host\n  r: router\n  s: router\n  b: host\nlinks:\n\
             - {{endpoints: [a, r]}}\n- {{endpoints: [s, b]}}\n{links}"
        );
        let source = Source::new("n.yaml", text);
        let read = |path: &str| Err(format!("no {path}"));
        usual(&parse_network(&source, &Vocabulary::core(), &read).unwrap())
    }

    #[test]
    fn ways_differ_by_what_links_delay_and_by_their_queues() {
        let ms = Duration::from_millis;
        assert_eq!(of("- {endpoints: [r, s]}"), ms(10));
        assert_eq!(of("- {endpoints: [r, s], delay: 5ms}"), ms(15));
        let two =
            "- {endpoints: [r, s], delay: 5ms}\n- {endpoints: [r, s], delay: 30ms, reverse: {delay: 40ms}}";
        assert_eq!(of(two), ms(55));
        assert_eq!(of("- {endpoints: [r, s], delay: 5s}"), ms(1000), "nobody is held for longer");
        assert_eq!(of("- {endpoints: [r, s], rate: 10Mbit}"), ms(60), "the usual queue is of 50 ms");
        assert_eq!(of("- {endpoints: [r, s], rate: 8Mbit, queue: 20kB, delay: 5ms}"), ms(35));
        assert_eq!(of("- {endpoints: [r, s], rate: 10Mbit}\n- {endpoints: [r, s], rate: 10Mbit}"), ms(110));
    }

    #[test]
    fn a_way_has_as_many_links_as_lie_between_two_nodes_at_most() {
        let line: String =
            (0..7).map(|at| format!("- {{endpoints: [n{at}, n{}], delay: 1ms}}\n", at + 1)).collect();
        let nodes: String = (0..8).map(|at| format!("  n{at}: router\n")).collect();
        let text = format!("plait: 1\nname: n\nnodes:\n{nodes}links:\n{line}");
        let source = Source::new("n.yaml", text);
        let read = |path: &str| Err(format!("no {path}"));
        let network = parse_network(&source, &Vocabulary::core(), &read).unwrap();
        assert_eq!(longest_way(&network), 8);
        assert_eq!(usual(&network), Duration::from_millis(17));
    }
}
