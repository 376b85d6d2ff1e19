//! By how much ways differ, where a file does not say it.

use plait_model_link::Conditions;
use plait_model_topology::Network;
use plait_model_topology::graph::GraphBuilder;
use plait_model_topology::network::Port;
use std::time::Duration;

/// What queues and processors may add on one way and not on another.
const QUEUES: Duration = Duration::from_millis(10);
/// The most that is assumed: for so long a flow that moves may be held.
const MOST: Duration = Duration::from_secs(1);

/// By how much a packet may be later by one way than by another, at most: the longest delays of as many links as a way has, and
/// 10 ms. Choice: a way has no more links than twice as many as lie between a node and the one that is farthest from it, since
/// who chooses among the shortest ways takes none that leads to and fro; a second is enough for everybody; and of fuller queues
/// than 10 ms the file tells.
pub fn usual(network: &Network) -> Duration {
    let both = |conditions: &[Conditions; 2]| conditions.each_ref().map(|one| one.delay.as_nanos());
    let links = network.links.iter().map(|link| both(&link.conditions)).map(|[there, back]| there.max(back));
    // Of a segment a packet goes the way in, and the way out.
    let lans =
        network.lans.iter().map(|lan| both(&lan.conditions)).map(|[way_in, out]| way_in.saturating_add(out));
    let mut delays: Vec<u64> = links.chain(lans).collect();
    delays.sort_unstable_by(|one, other| other.cmp(one));
    let along = delays.into_iter().take(2 * farthest(network)).fold(0, u64::saturating_add);
    QUEUES.saturating_add(Duration::from_nanos(along)).min(MOST)
}

/// How many links lie between the first node and the one that is farthest from it.
fn farthest(network: &Network) -> usize {
    let mut builder = GraphBuilder::new(network.nodes.len());
    let mut join = |members: &[Port]| {
        // Of a segment the first member stands for all: one more link, at most, than there is.
        for member in members.iter().skip(1) {
            builder.edge(members[0].node, member.node, 1);
        }
    };
    network.links.iter().for_each(|link| join(&link.ends));
    network.lans.iter().for_each(|lan| join(&lan.members));
    if network.nodes.is_empty() { 0 } else { builder.build().shortest_paths(0).eccentricity() as usize }
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
    }
}
