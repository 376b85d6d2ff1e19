//! A fat-tree under load, by what chooses the paths (thesis section 5.4.2.2, Figure 5.7): a line of JSON a run.
//!
//! ```text
//! fabric_study [--k 4] [--repeats 30] [--seconds 40] [--from 20] [--patterns random,permutation,...]
//!     [--rates same,random,power_law] [--methods tree,ecmp,hash,flow-based] [--threads 1]
//!     [--period 1] [--candidates fullest|all] [--window period|ever] [--redraw yes|no]
//! ```
//!
//! Hosts send until `--seconds`, and what they send after `--from` counts: until then flow-based hosts have moved flows. `--redraw yes`
//! shares each host's rate anew among its flows at `--from`, so that what counts is how soon flows are moved.
//!
//! `--period` are seconds between two rearrangements; with all flows of a prefix as `--candidates` and counters of all time as
//! `--window` Algorithm 1 is as printed.
#![allow(clippy::print_stdout)]

mod fabric;

use fabric::{Known, Plan};
use plait_control_paths::select::{Candidates, Reading, Rearrangement, Window};
use plait_dataplane_paths::{Encapsulation, Selector, Ways};
use plait_model_quantity::Bandwidth;
use plait_model_topology::random::SplitMix64;
use plait_model_traffic::{Pattern, Rates};
use plait_simulator_world::engine::{FlowSpec, Size, sweep};
use plait_simulator_world::{SteeredInterface, SteeredPrefix, SteeredWays};
use std::sync::Arc;
use std::time::Duration;

/// Bytes of UDP payload, as the thesis has them.
const PAYLOAD: u32 = 1024;
/// Bytes of the frame around them: the headers of UDP, IP and Ethernet.
const FRAME: u64 = PAYLOAD as u64 + 8 + 20 + 14;
/// Bytes of IP and GRE that one relay takes.
const GRE: u32 = 24;
/// Flows of a host, as the thesis has them.
const FLOWS: usize = 20;
/// What a host sends: as much as its link carries with one GRE header around each packet.
const RATE: u64 = 8_000_000 * FRAME / (FRAME + GRE as u64);
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

    fn selector(self) -> Option<Selector> {
        match self {
            Self::Tree | Self::Ecmp => None,
            Self::Hash => Some(Selector::Hash),
            Self::FlowBased => Some(Selector::FlowBased),
        }
    }
}

const RATES: [(Rates, &str); 3] =
    [(Rates::Same, "same"), (Rates::Random, "random"), (Rates::PowerLaw, "power_law")];

/// What all runs have.
struct Study {
    /// From when on what hosts send counts, and until when they send.
    times: [Duration; 2],
    /// Whether rates are drawn anew when they begin to count.
    redraw: bool,
    /// How flow-based hosts move flows.
    rearrangement: Rearrangement,
}

struct Cell {
    method: Method,
    pattern: Pattern,
    rates: Rates,
    seed: u64,
}

/// What counts.
#[derive(Default)]
struct Counted {
    sent: u64,
    received: u64,
    /// Datagrams that came after one that was sent later.
    reordered: u64,
    /// Flows that were moved.
    moved: u64,
}

fn run(plan: &Plan, study: &Study, cell: &Cell) -> Counted {
    // The same seed draws the same pairs, ports, rates and phases for every method. Ports are drawn since hashes are of them:
    // with the same ones a pair of hosts would meet the same hashes in every run.
    let mut random = SplitMix64::new(cell.seed);
    let pairs = cell.pattern.round(plan.hosts(), &mut random).expect("a pattern");
    let (mut simulation, nodes) = plan.build(cell.seed, cell.method);
    let mut known = Known::new();
    let (mut before, mut counted, mut selectors) = (Vec::new(), Vec::new(), Vec::new());
    for (host, node) in nodes.iter().enumerate() {
        let peer = pairs.iter().find(|pair| pair.0 == host).map_or(host, |pair| pair.1);
        let [address, far] = [host, peer].map(|host| plan.address(host));
        let port = 10_000 + random.below(40_000) as u16;
        let mut share = || cell.rates.share(Bandwidth::from_bits_per_second(RATE), FLOWS, &mut random);
        let rates = share();
        let later = if study.redraw { share() } else { rates.clone() };
        for (number, (rate, later)) in (port..).zip(rates.into_iter().zip(later)) {
            // What counts is a flow of its own: to the network it is the same.
            let begin = study.times[0].as_nanos() as u64;
            let phase = random.draw() % gap(rate);
            let first = match study.redraw {
                true => begin + random.draw() % gap(later),
                false => phase + begin.saturating_sub(phase).next_multiple_of(gap(rate)),
            };
            let [start, from] = [phase, first].map(Duration::from_nanos);
            for (rate, start, stop, list) in
                [(rate, start, from, &mut before), (later, from, study.times[1], &mut counted)]
            {
                let flow = FlowSpec {
                    size: Size::Constant(PAYLOAD),
                    start,
                    stop: Some(stop),
                    ..FlowSpec::constant(address, far, [number, 5000], rate)
                };
                list.push(simulation.add_flow(&flow).expect("every host has its address"));
            }
        }
        let (lists, stacks) = plan.lists(&mut simulation, host, peer, &mut known);
        if let Some(selector) = cell.method.selector()
            && !lists.is_empty()
        {
            let stacks = stacks.into_iter().map(|stack| (stack, GRE)).collect();
            let ways = Ways { lists, encapsulation: Encapsulation::Gre, selector };
            let ways = Arc::new(SteeredWays::new(vec![SteeredPrefix { prefix: far.into(), ways, stacks }]));
            let steered = SteeredInterface::new(ways, SPREAD, Duration::ZERO)
                .rearranges(study.rearrangement, Duration::ZERO);
            selectors.push(simulation.add_selector(*node, 0, Box::new(steered)));
        }
    }
    simulation.run_until(study.times[1] + Duration::from_secs(3));
    let mut sum = Counted::default();
    for flow in &counted {
        let seen = simulation.flow_counters(*flow);
        sum.sent += seen.sent;
        sum.received += seen.received;
    }
    sum.reordered = before.iter().chain(&counted).map(|flow| simulation.flow_counters(*flow).reordered).sum();
    let moved =
        |selector| simulation.selector::<SteeredInterface>(selector).map_or(0, SteeredInterface::moved);
    sum.moved = selectors.into_iter().map(moved).sum();
    sum
}

/// Nanoseconds from one datagram of a flow to the next.
fn gap(rate: Bandwidth) -> u64 {
    (FRAME * 8 * 1_000_000_000 / rate.bits_per_second().max(1)).max(1)
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
    let methods: Vec<Method> = names("--methods", "tree,ecmp,hash,flow-based")
        .into_iter()
        .map(|name| Method::ALL.iter().find(|(_, known)| *known == name).expect("a method").0)
        .collect();
    let is = |name: &str, usual: &'static str, other: &str| {
        let said = word(name).unwrap_or(usual);
        assert!([usual, other].contains(&said), "{name} is {usual} or {other}, not {said}");
        said == other
    };
    let (k, repeats) = (number("--k", 4), number("--repeats", 30));
    let times =
        [number("--from", 20), number("--seconds", 40)].map(|seconds| Duration::from_secs(seconds as u64));
    let usual = Rearrangement::default();
    let period = word("--period")
        .map_or(usual.period, |value| Duration::from_secs_f64(value.parse().expect("seconds")));
    let reading = Reading {
        candidates: if is("--candidates", "fullest", "all") {
            Candidates::All
        } else {
            Candidates::OfFullest
        },
        window: if is("--window", "period", "ever") { Window::Ever } else { Window::Period },
    };
    let rearrangement = Rearrangement { period, reading, ..usual };
    let study = Study { times, redraw: is("--redraw", "no", "yes"), rearrangement };
    let plan = Plan::new(k);
    let mut cells = Vec::new();
    for pattern in names("--patterns", "random,permutation,stride(1),stride(2),stride(4)") {
        let pattern: Pattern = pattern.parse().expect("a pattern");
        for &rates in &rates {
            for &method in &methods {
                let seeds = 1..=repeats as u64;
                cells.extend(seeds.map(|seed| Cell { method, pattern, rates, seed }));
            }
        }
    }
    let results = sweep(&cells, number("--threads", 1), |cell| run(&plan, &study, cell));
    for (cell, of) in cells.iter().zip(results) {
        let method =
            Method::ALL.iter().find(|(method, _)| *method == cell.method).map_or("", |(_, name)| name);
        let rates = RATES.iter().find(|(rates, _)| *rates == cell.rates).map_or("", |(_, name)| name);
        println!(
            "{{\"k\": {k}, \"pattern\": \"{}\", \"rates\": \"{rates}\", \"method\": \"{method}\", \"seed\": {}, \"sent\": {}, \
             \"received\": {}, \"reordered\": {}, \"moved\": {}}}",
            cell.pattern, cell.seed, of.sent, of.received, of.reordered, of.moved,
        );
    }
}
