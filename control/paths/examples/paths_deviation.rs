//! Counts how many of the thesis's relay lists lead elsewhere than meant, and how many headers lists take (E10):
//! `paths_deviation [--pairs N] [--seed S]`. Prints Markdown.
//!
//! Random regular graphs of the sizes of Table 5.5: of p-port switches 5p²/4, with ⌊4p/5⌋ ports to other switches (one fewer
//! where that is an odd number of ports), as p³/4 hosts take the rest. Choice: the thesis's graphs are not regular where hosts
//! are no multiple of switches, and it does not say which switches have more.

use plait_control_paths::{AnyHash, Forwarding, PathTree, fewest_relays};
use plait_model_topology::generate::random_regular_links;
use plait_model_topology::graph::{Arc, Graph, PathFinder, ShortestPaths};
use plait_model_topology::random::SplitMix64;
use std::collections::HashMap;

/// Bytes of a header of GRE over IPv4, without key.
const GRE: f64 = 24.0;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str, default: u64| match arguments.iter().position(|argument| argument == name) {
        Some(at) => arguments.get(at + 1).and_then(|value| value.parse().ok()).unwrap_or_else(|| {
            eprintln!("{name} takes a number");
            std::process::exit(2)
        }),
        None => default,
    };
    let (pairs, seed) = (number("--pairs", 150) as usize, number("--seed", 1));
    println!("k = 8, {pairs} pairs of switches a graph, seed {seed}; relays are mean / most");
    for (costs, most) in [("all links cost the same", 1), ("links cost 1 to 10, drawn by lot", MOST_COST)] {
        println!("\n{costs}:\n");
        println!(
            "| ports | switches | lists | faithful: deviate | may deviate | relays | sure: deviate | relays | none |"
        );
        println!("|---|---|---|---|---|---|---|---|---|");
        for ports in [4, 6, 8, 10, 12, 16, 24] {
            let (graph, switches) = graph(ports, seed, most);
            let counts = count(&graph, 8, pairs, seed);
            let Counts { lists, deviate, may_deviate, faithful, sure_deviate, sure, none } = counts;
            let share = |count: usize| format!("{:.1} %", 100.0 * count as f64 / lists as f64);
            println!(
                "| {ports} | {switches} | {lists} | {} | {} | {faithful} | {} | {sure} | {none} |",
                share(deviate),
                share(may_deviate),
                share(sure_deviate)
            );
        }
    }
    println!("\n16 ports, by k:\n\n| k | faithful: relays | sure: relays |\n|---|---|---|");
    let (graph, _) = graph(16, seed, 1);
    let by_k = [1, 2, 4, 8, 12, 16, 20].map(|k| (k, count(&graph, k, pairs, seed)));
    for (k, Counts { faithful, sure, .. }) in &by_k {
        println!("| {k} | {faithful} | {sure} |");
    }
    println!("\nOf a packet of the MTU, GRE:\n\n| headers | bytes | of 1500 | of 9000 |\n|---|---|---|---|");
    let Counts { faithful, sure, .. } = &by_k[3].1;
    let lists = [
        ("1".to_owned(), 1.0),
        ("2".to_owned(), 2.0),
        ("4".to_owned(), 4.0),
        ("16".to_owned(), 16.0),
        (format!("{:.2}, the mean of faithful lists above, k = 8", faithful.mean()), faithful.mean()),
        (format!("{:.2}, the mean of sure ones", sure.mean()), sure.mean()),
    ];
    for (what, headers) in lists {
        let bytes = headers * GRE;
        println!(
            "| {what} | {bytes:.0} | {:.1} % | {:.1} % |",
            100.0 * bytes / 1500.0,
            100.0 * bytes / 9000.0
        );
    }
}

/// Where links cost differently, each costs up to so much.
const MOST_COST: usize = 10;

fn graph(ports: usize, seed: u64, most_cost: usize) -> (Graph, usize) {
    let switches = 5 * ports * ports / 4;
    let degree = 4 * ports / 5;
    let degree = if switches * degree % 2 == 1 { degree - 1 } else { degree };
    let links = random_regular_links(switches, degree, seed).expect("such graphs there are");
    let mut lot = SplitMix64::new(seed);
    let links = links.into_iter().map(|(a, b)| (a, b, 1 + lot.below(most_cost) as u32));
    (Graph::undirected(switches, links), switches)
}

#[derive(Default)]
struct Counts {
    lists: usize,
    /// Of the faithful ones those that lead elsewhere when each switch has one next hop to each other, drawn by lot.
    deviate: usize,
    /// And those that might, by whichever next hops.
    may_deviate: usize,
    faithful: Length,
    sure_deviate: usize,
    sure: Length,
    /// Paths that no list is sure to lead along.
    none: usize,
}

#[derive(Default)]
struct Length {
    sum: usize,
    count: usize,
    most: usize,
}

impl Length {
    fn add(&mut self, relays: usize) {
        self.sum += relays;
        self.count += 1;
        self.most = self.most.max(relays);
    }

    fn mean(&self) -> f64 {
        self.sum as f64 / self.count.max(1) as f64
    }
}

impl std::fmt::Display for Length {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.2} / {}", self.mean(), self.most)
    }
}

fn count(graph: &Graph, k: usize, pairs: usize, seed: u64) -> Counts {
    let mut counts = Counts::default();
    let mut random = SplitMix64::new(seed);
    let mut finder = PathFinder::new(graph);
    let mut sure = AnyHash::new(graph);
    let mut routes = Routes { graph, seed, to: HashMap::new() };
    for _ in 0..pairs {
        let from = random.below(graph.vertices());
        let to = (from + 1 + random.below(graph.vertices() - 1)) % graph.vertices();
        let paths: Vec<_> =
            finder.k_shortest_paths(from, to, k).into_iter().map(|path| path.vertices).collect();
        for (path, relays) in paths.iter().zip(PathTree::new(&paths).relays()) {
            counts.lists += 1;
            counts.faithful.add(relays.len());
            counts.deviate += usize::from(routes.way(from, &relays, to) != *path);
            let stops: Vec<_> = [from].into_iter().chain(relays).chain([to]).collect();
            let place = |switch: usize| path.iter().position(|&other| other == switch);
            let is_sure = stops.windows(2).all(|part| match (place(part[0]), place(part[1])) {
                (Some(a), Some(b)) => sure.leads_along(&path[a..=b]),
                _ => false,
            });
            counts.may_deviate += usize::from(!is_sure);
            match fewest_relays(path, |_| true, &mut sure) {
                Some(relays) => {
                    counts.sure.add(relays.len());
                    let relays: Vec<_> = relays.iter().map(|&relay| relay as usize).collect();
                    counts.sure_deviate += usize::from(routes.way(from, &relays, to) != *path);
                }
                None => counts.none += 1,
            }
        }
    }
    counts
}

/// Switches that send what is for one other by one of the equally short ways, always the same.
struct Routes<'a> {
    graph: &'a Graph,
    seed: u64,
    to: HashMap<usize, ShortestPaths>,
}

impl Routes<'_> {
    fn way(&mut self, from: usize, relays: &[usize], to: usize) -> Vec<usize> {
        let mut way = vec![from];
        for &stop in relays.iter().chain([&to]) {
            // Links cost the same both ways.
            let distances = self.to.entry(stop).or_insert_with(|| self.graph.shortest_paths(stop));
            let mut at = way[way.len() - 1];
            while at != stop {
                let leads = |arc: &&Arc| {
                    let rest = distances.distance(arc.to as usize);
                    rest.is_some_and(|rest| Some(rest + u64::from(arc.cost)) == distances.distance(at))
                };
                let arcs = self.graph.arcs(at).iter().filter(leads);
                let hops: Vec<_> = arcs.map(|arc| arc.to as usize).collect();
                let salt = self.seed ^ (at as u64) << 32 ^ (stop as u64) << 8;
                at = hops[SplitMix64::new(salt).below(hops.len())];
                way.push(at);
            }
        }
        way
    }
}
