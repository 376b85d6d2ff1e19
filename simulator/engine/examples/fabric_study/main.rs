//! A fat-tree under load, by what chooses the paths (thesis section 5.4.2.2, Figure 5.7): a line of JSON a run.
//!
//! ```text
//! fabric_study [--k 4] [--repeats 30] [--seconds 40] [--from 20] [--patterns random,permutation,...]
//!     [--rates same,random,power_law] [--threads 1]
//! ```
//!
//! Hosts send until `--seconds`, and what they send after `--from` counts: until then flow-based hosts have moved flows.
#![allow(clippy::print_stdout)]

mod fabric;
mod hosts;

use fabric::{Known, Plan};
use hosts::{Counted, FRAME, Flow, PORT, Station};
use plait_control_paths::select::{Policy, Rearrangement, Selector, SelectorConfig};
use plait_model_quantity::Bandwidth;
use plait_model_topology::random::SplitMix64;
use plait_model_traffic::{Pattern, Rates};
use plait_simulator_engine::sweep;
use std::time::Duration;

/// Flows of a host, as the thesis has them.
const FLOWS: usize = 20;
/// What a host sends: as much as its link carries with one GRE header around each packet.
const RATE: u64 = 8_000_000 * FRAME as u64 / (FRAME as u64 + 24);
/// What queues on a path can differ in: five full ones, and some.
const SPREAD: Duration = Duration::from_millis(550);

/// What chooses paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Nothing: there is one tree.
    Tree,
    /// The switches, by a hash of each flow.
    Ecmp,
    /// The hosts, by a hash of each flow.
    Hash,
    /// The hosts, and they move flows.
    FlowBased,
}

impl Method {
    const ALL: [(Self, &str); 4] =
        [(Self::Tree, "tree"), (Self::Ecmp, "ecmp"), (Self::Hash, "hash"), (Self::FlowBased, "flow-based")];

    fn policy(self) -> Option<Policy> {
        match self {
            Self::Tree | Self::Ecmp => None,
            Self::Hash => Some(Policy::Hash),
            Self::FlowBased => Some(Policy::FlowBased(Rearrangement::default())),
        }
    }
}

const RATES: [(Rates, &str); 3] =
    [(Rates::Same, "same"), (Rates::Random, "random"), (Rates::PowerLaw, "power_law")];

struct Cell {
    method: Method,
    pattern: Pattern,
    rates: Rates,
    seed: u64,
    times: [Duration; 2],
}

fn run(plan: &Plan, cell: &Cell) -> Counted {
    // The same seed draws the same pairs, rates and phases for every method.
    let mut random = SplitMix64::new(cell.seed);
    let pairs = cell.pattern.round(plan.hosts(), &mut random).expect("a pattern");
    let (mut simulation, nodes) = plan.build(cell.seed, cell.method);
    let mut known = Known::new();
    let mut indices = Vec::new();
    for (host, node) in nodes.iter().enumerate() {
        let peer = pairs.iter().find(|pair| pair.0 == host).map_or(host, |pair| pair.1);
        let rates = cell.rates.share(Bandwidth::from_bits_per_second(RATE), FLOWS, &mut random);
        let flow = |(number, rate): (usize, Bandwidth)| {
            let gap = FRAME as u64 * 8 * 1_000_000_000 / rate.bits_per_second().max(1);
            let next = Duration::from_nanos(random.draw() % gap.max(1));
            Flow { port: 10_000 + number as u16, gap: Duration::from_nanos(gap), next, sent: 0 }
        };
        let flows = rates.into_iter().enumerate().map(flow).collect();
        let mut station = Station::new([plan.address(host), plan.address(peer)], flows, cell.times);
        let lists = plan.lists(&mut simulation, host, peer, &mut known);
        if let Some(policy) = cell.method.policy()
            && !lists.is_empty()
        {
            let salt = random.draw();
            let config = SelectorConfig { spread: SPREAD, salt, ..SelectorConfig::new(policy) };
            station.selector = Some(Selector::new(config, lists.len(), Duration::ZERO));
            station.lists = lists;
        }
        indices.push(simulation.add_host(*node, PORT, Box::new(station)).expect("a free port"));
    }
    simulation.run_until(cell.times[1] + Duration::from_secs(3));
    let mut sum = Counted::default();
    for index in indices {
        let of = simulation.host::<Station>(index).expect("a station").counted;
        sum.sent += of.sent;
        sum.received += of.received;
        sum.reordered += of.reordered;
        sum.moved += of.moved;
        sum.held += of.held;
    }
    sum
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let word = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).map(String::as_str)
    };
    let number =
        |name: &str, usual: usize| word(name).map_or(usual, |value| value.parse().expect("a number"));
    let names = |name: &str, usual: &'static str| word(name).unwrap_or(usual).split(',').collect::<Vec<_>>();
    let rates: Vec<Rates> = names("--rates", "same,random,power_law")
        .into_iter()
        .map(|name| RATES.iter().find(|(_, known)| *known == name).expect("same, random or power_law").0)
        .collect();
    let (k, repeats) = (number("--k", 4), number("--repeats", 30));
    let times =
        [number("--from", 20), number("--seconds", 40)].map(|seconds| Duration::from_secs(seconds as u64));
    let plan = Plan::new(k);
    let mut cells = Vec::new();
    for pattern in names("--patterns", "random,permutation,stride(1),stride(2),stride(4)") {
        let pattern: Pattern = pattern.parse().expect("a pattern");
        for &rates in &rates {
            for (method, _) in Method::ALL {
                let seeds = 1..=repeats as u64;
                cells.extend(seeds.map(|seed| Cell { method, pattern, rates, seed, times }));
            }
        }
    }
    let results = sweep(&cells, number("--threads", 1), |cell| run(&plan, cell));
    for (cell, of) in cells.iter().zip(results) {
        let method =
            Method::ALL.iter().find(|(method, _)| *method == cell.method).map_or("", |(_, name)| name);
        let rates = RATES.iter().find(|(rates, _)| *rates == cell.rates).map_or("", |(_, name)| name);
        println!(
            "{{\"k\": {k}, \"pattern\": \"{}\", \"rates\": \"{rates}\", \"method\": \"{method}\", \"seed\": {}, \"sent\": {}, \
             \"received\": {}, \"reordered\": {}, \"moved\": {}, \"held\": {}}}",
            cell.pattern, cell.seed, of.sent, of.received, of.reordered, of.moved, of.held,
        );
    }
}
