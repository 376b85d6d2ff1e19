//! How long eight paths and their relays take to each switch of a random graph (E12): `paths_times [--graphs N]`. Prints a line of
//! JSON for each size and law of costs, with the microseconds of every destination of all graphs.

use plait_control_paths::{AnyHash, fewest_relays};
use plait_model_topology::generate::random_regular_links;
use plait_model_topology::graph::{Graph, GraphBuilder, PathFinder};
use plait_model_topology::random::SplitMix64;
use std::time::Instant;

/// Ports of a switch, switches, and ports to other switches.
const SIZES: [(usize, usize, usize); 4] = [(8, 80, 6), (16, 320, 12), (24, 720, 19), (36, 1620, 28)];

/// What a link costs at most where each costs something else.
const MOST_COST: usize = 10;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let graphs = match arguments.iter().position(|argument| argument == "--graphs") {
        // The thesis's ten runs.
        None => 10,
        Some(at) => arguments.get(at + 1).and_then(|value| value.parse().ok()).unwrap_or_else(|| {
            eprintln!("--graphs takes a number");
            std::process::exit(2)
        }),
    };
    for (ports, switches, degree) in SIZES {
        for (costs, most) in [("alike", 1), ("drawn", MOST_COST)] {
            let of = |seed| timed(&graph(switches, degree, most, seed));
            let micros: Vec<f64> = (1..=graphs).flat_map(of).collect();
            let line = serde_json::json!({
                "ports": ports, "switches": switches, "costs": costs, "graphs": graphs, "micros": micros,
            });
            println!("{line}");
        }
    }
}

fn graph(switches: usize, degree: usize, most: usize, seed: u64) -> Graph {
    let mut lot = SplitMix64::new(seed);
    let mut builder = GraphBuilder::new(switches);
    for (a, b) in random_regular_links(switches, degree, seed).expect("such graphs there are") {
        builder.edge(a, b, 1 + lot.below(most) as u32);
    }
    builder.build()
}

/// Microseconds that each destination takes from the first switch, in their order. What all share is made when the first one needs
/// it, which pays for it.
fn timed(graph: &Graph) -> Vec<f64> {
    let (mut finder, mut forwarding) = (PathFinder::new(graph), AnyHash::new(graph));
    let time = |to| {
        let started = Instant::now();
        let paths = finder.k_shortest_paths(0, to, 8);
        for path in paths {
            std::hint::black_box(fewest_relays(&path.vertices, |_| true, &mut forwarding));
        }
        (started.elapsed().as_secs_f64() * 1e9).round() / 1e3
    };
    (1..graph.vertices()).map(time).collect()
}
