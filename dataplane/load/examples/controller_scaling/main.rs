//! How the controller scales when nobody shares its processors: recorded requests fed from memory, through the same driver
//! as sockets' are, to one worker and to two that own a processor each; and a model in virtual time of the four
//! designs, fed with the costs that one worker was measured to have, for as many workers as this machine has not.
//!
//! ```text
//! cargo run --release -p plait-dataplane-load --example controller_scaling -- [--seconds N] [--switches N]
//! ```
//!
//! Prints Markdown. What the model says is marked `model`; beside it stands how far it is off where both are known.
#![allow(clippy::print_stdout)]

mod model;
mod tape;

use model::{Costs, Cut};
use plait_control_forwarding::{LearningSwitch, Routing, learning_switch, routing};
use plait_control_openflow::{Batching, Design};
use plait_control_runtime::Runtime;
use plait_dataplane_openflow::{Config, Controller, Statistics};
use std::time::{Duration, Instant};
use tape::Tape;

const DESIGNS: [(&str, Design); 4] = [
    ("round robin", Design::RoundRobin),
    ("shared queue", Design::SharedQueue),
    ("static partition", Design::StaticPartition),
    ("dynamic partition", Design::DynamicPartition),
];
/// Stations of each switch.
const STATIONS: u16 = 1000;
/// As many requests in a batch as keep a worker's memory in its cache; fixed, so that a batch's cost is known.
const BATCH: usize = 400;
/// Measurements of each, of which the median counts.
const ROUNDS: usize = 3;
/// Workers that the model has.
const MODELLED: [usize; 5] = [1, 2, 4, 6, 8];

struct Asked {
    seconds: f64,
    switches: usize,
}

fn main() {
    let mut asked = Asked { seconds: 1.0, switches: 79 };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().and_then(|value| value.parse::<f64>().ok());
        match (argument.as_str(), value) {
            ("--seconds", Some(seconds)) => asked.seconds = seconds,
            ("--switches", Some(switches)) => asked.switches = switches as usize,
            _ => {
                eprintln!("controller_scaling [--seconds N] [--switches N]");
                std::process::exit(2);
            }
        }
    }
    for app in ["learning-switch", "routing"] {
        tell(app, &asked);
    }
}

fn tell(app: &str, asked: &Asked) {
    // In turn, so that all of them meet the machine's better and worse moments.
    let mut rounds: Vec<Vec<Measured>> = Vec::new();
    for _ in 0..ROUNDS {
        let fine = measure(app, asked, Design::RoundRobin, 1, BATCH / 10, 1 << 10);
        let all = DESIGNS.iter().flat_map(|(_, design)| [(*design, 1), (*design, 2)]);
        let all = all.map(|(design, workers)| measure(app, asked, design, workers, BATCH, 16 << 10));
        rounds.push(std::iter::once(fine).chain(all).collect());
    }
    let measured: Vec<Measured> = (0..rounds[0].len())
        .map(|place| {
            let mut of: Vec<Measured> = rounds.iter().map(|round| round[place]).collect();
            of.sort_by(|one, other| one.rate.total_cmp(&other.rate));
            of[of.len() / 2]
        })
        .collect();
    // Two ways to cut the same work tell what a piece costs, and what a request.
    let (fine, coarse) = (&measured[0], &measured[1]);
    let costs = Costs::between(&coarse.counted, &fine.counted);
    println!("{app}, {} switches from memory, batches of {BATCH}:\n", asked.switches);
    println!("| stage | nanoseconds a piece | a request |\n| --- | ---: | ---: |");
    println!("| read, cut, parse; a piece is a visit | {:.0} | {:.0} |", costs.visit, costs.parse);
    println!("| control runtime and application; a batch | {:.0} | {:.0} |", costs.batch, costs.decide);
    println!("| output; a batch's part for a switch | {:.0} | {:.0} |", costs.output, costs.answer);
    println!();
    let heads: Vec<String> = MODELLED.iter().map(|workers| format!("{workers}, model")).collect();
    println!("| M/s by workers | 1 | 2 | {} | model's error at 1, 2 |", heads.join(" | "));
    println!("| --- | ---: | ---: | {} ---: |", "---: | ".repeat(MODELLED.len()));
    for ((name, design), both) in DESIGNS.into_iter().zip(measured[1..].chunks(2)) {
        let (one, two) = (&both[0], &both[1]);
        let cut = Cut { switches: asked.switches, visit: coarse.a_visit(), batch: BATCH };
        let modelled: Vec<f64> =
            MODELLED.iter().map(|workers| model::throughput(design, *workers, &cut, &costs)).collect();
        let shown: Vec<String> = modelled.iter().map(|rate| format!("{:.2}", rate / 1e6)).collect();
        let off = |modelled: f64, measured: f64| (modelled / measured - 1.0) * 100.0;
        println!(
            "| {name} | {:.2} | {:.2} | {} | {:+.0} %, {:+.0} % |",
            one.rate / 1e6,
            two.rate / 1e6,
            shown.join(" | "),
            off(modelled[0], one.rate),
            off(modelled[1], two.rate)
        );
    }
    println!();
}

/// What was measured.
#[derive(Clone, Copy)]
struct Measured {
    /// Requests a second.
    rate: f64,
    /// What workers counted meanwhile.
    counted: Statistics,
}

impl Measured {
    /// Requests of a visit.
    fn a_visit(&self) -> usize {
        (self.counted.requests as usize).div_ceil(self.counted.reads.max(1) as usize)
    }
}

fn measure(app: &str, asked: &Asked, design: Design, workers: usize, batch: usize, read: usize) -> Measured {
    let mut runtime = Runtime::new(Default::default());
    let set = match app {
        "routing" => routing(&Routing { instances: workers, ..Routing::new([7; 32]) }),
        _ => learning_switch(&LearningSwitch { instances: workers, ..LearningSwitch::default() }),
    };
    set.add_to(&mut runtime, Duration::ZERO).expect("the applications are this project's own");
    let batching = Batching::Static(batch);
    let config = Config { design, workers, batching, read, ..Config::default() };
    let controller = Controller::start(([127, 0, 0, 1], 0).into(), config, runtime).expect("a port is free");
    for switch in 0..asked.switches {
        let tape = Tape::new(switch as u16, STATIONS).expect("a packet-in is short");
        assert!(controller.admit(Box::new(tape), "memory"), "there is room");
    }
    let total = || {
        let mut total = Statistics::default();
        controller.statistics().into_iter().for_each(|worker| total += worker);
        total
    };
    // Until stations are known, which routing asks some rounds of probes for.
    std::thread::sleep(Duration::from_secs(if app == "routing" { 6 } else { 1 }));
    let (began, before) = (Instant::now(), total());
    std::thread::sleep(Duration::from_secs_f64(asked.seconds));
    let (took, after) = (began.elapsed(), total());
    assert_eq!(controller.connections().0, asked.switches, "a switch was let go: {after:?}");
    let counted = Statistics {
        requests: after.requests - before.requests,
        reads: after.reads - before.reads,
        batches: after.batches - before.batches,
        writes: after.writes - before.writes,
        messages: after.messages - before.messages,
        reading: after.reading - before.reading,
        writing: after.writing - before.writing,
        processing: after.processing - before.processing,
        ..after
    };
    Measured { rate: counted.requests as f64 / took.as_secs_f64(), counted }
}
