//! How the controller scales when nobody shares its processors: recorded requests fed from memory, through the same driver
//! as sockets' are, to one worker, two, and as many as there are processors, each with one of its own; and a model in virtual
//! time of the four designs, fed with the costs that workers were measured to have, for as many workers as this machine
//! has not.
//!
//! ```text
//! cargo run --release -p plait-dataplane-load --example controller_scaling -- [--seconds N] [--rounds N]
//!     [--switches N,N] [--app NAME,NAME] [--most N]
//! ```
//!
//! Prints Markdown. A row says whether it is `measured` or of the `model`; the row below says how far the model is off where
//! both are known.
#![allow(clippy::print_stdout)]

mod measure;
mod model;
mod tape;

use measure::{BATCH, Measured, measure};
use model::{Costs, Cut};
use plait_control_openflow::{Batching, Design};
use plait_dataplane_openflow::Config;

const DESIGNS: [(&str, Design); 4] = [
    ("round robin", Design::RoundRobin),
    ("shared queue", Design::SharedQueue),
    ("static partition", Design::StaticPartition),
    ("dynamic partition", Design::DynamicPartition),
];

type Preset = (&'static str, fn() -> Config);

/// Beside them, as they read, batch and share switches among workers; measured alone.
const PRESETS: [Preset; 2] = [("NOX", Config::nox), ("Beacon", Config::beacon)];

struct Asked {
    seconds: f64,
    /// Measurements of each, of which the median counts.
    rounds: usize,
    switches: Vec<usize>,
    apps: Vec<String>,
    /// The most workers that are told of.
    most: usize,
}

fn main() {
    let mut asked = Asked {
        seconds: 1.0,
        rounds: 3,
        switches: vec![79, 1347],
        apps: ["learning-switch", "routing"].map(str::to_owned).into(),
        most: 8,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().unwrap_or_default();
        let known = match argument.as_str() {
            "--seconds" => set(&mut asked.seconds, &value),
            "--rounds" => set(&mut asked.rounds, &value),
            "--most" => set(&mut asked.most, &value),
            "--switches" => all(&value).is_some_and(|all| set_to(&mut asked.switches, all)),
            "--app" => all(&value).is_some_and(|all| set_to(&mut asked.apps, all)),
            _ => false,
        };
        if !known {
            eprintln!(
                "controller_scaling [--seconds N] [--rounds N] [--switches N,N] [--app NAME,NAME] [--most N]"
            );
            std::process::exit(2);
        }
    }
    for app in &asked.apps {
        for switches in &asked.switches {
            tell(app, *switches, &asked);
        }
    }
}

fn set<T: std::str::FromStr>(to: &mut T, value: &str) -> bool {
    value.parse().is_ok_and(|value| set_to(to, value))
}

fn set_to<T>(to: &mut T, value: T) -> bool {
    *to = value;
    true
}

fn all<T: std::str::FromStr>(value: &str) -> Option<Vec<T>> {
    value.split(',').map(|part| part.parse().ok()).collect()
}

fn tell(app: &str, switches: usize, asked: &Asked) {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let numbers: Vec<usize> = (1..=asked.most.min(processors)).collect();
    // In turn, so that all of them meet the machine's better and worse moments.
    let mut rounds: Vec<Vec<Measured>> = Vec::new();
    for _ in 0..asked.rounds.max(1) {
        let of = |config| measure(app, switches, asked.seconds, config);
        let own = |design, workers, batch, read| Config {
            design,
            workers,
            batching: Batching::Static(batch),
            read,
            ..Config::default()
        };
        let fine = of(own(Design::RoundRobin, 1, BATCH / 10, 1 << 10));
        let each = |config: &dyn Fn(usize) -> Config| -> Vec<_> {
            numbers.iter().map(|workers| of(config(*workers))).collect()
        };
        let all =
            DESIGNS.iter().flat_map(|(_, design)| each(&|workers| own(*design, workers, BATCH, 16 << 10)));
        let presets = PRESETS.iter().flat_map(|(_, preset)| each(&|workers| Config { workers, ..preset() }));
        rounds.push(std::iter::once(fine).chain(all).chain(presets).collect());
    }
    let measured: Vec<Measured> = (0..rounds[0].len())
        .map(|place| {
            let mut of: Vec<Measured> = rounds.iter().map(|round| round[place]).collect();
            of.sort_by(|one, other| one.rate.total_cmp(&other.rate));
            of[of.len() / 2]
        })
        .collect();
    let by_workers: Vec<&[Measured]> = measured[1..].chunks(numbers.len()).collect();
    let fed = Fed::new(&measured[0], &by_workers);
    println!("{app}, {switches} switches from memory, batches of {BATCH}:\n");
    fed.tell();
    let heads: Vec<String> = (1..=asked.most).map(|workers| workers.to_string()).collect();
    println!("| M/s by workers | | {} |", heads.join(" | "));
    println!("| --- | --- | {}", "---: | ".repeat(asked.most).trim_end());
    let row = |name: &str, what: &str, cells: Vec<String>| {
        let rest = vec![String::new(); asked.most - cells.len()];
        println!("| {name} | {what} | {} |", [cells, rest].concat().join(" | "));
    };
    let rates = |measured: &[Measured]| measured.iter().map(|of| format!("{:.2}", of.rate / 1e6)).collect();
    let cut = Cut { switches, visit: by_workers[0][0].a_visit(), batch: BATCH };
    for ((name, design), measured) in DESIGNS.into_iter().zip(&by_workers) {
        let modelled: Vec<f64> = (1..=asked.most)
            .map(|workers| model::throughput(design, workers, &cut, &fed.costs(design, workers)))
            .collect();
        row(name, "measured", rates(measured));
        row(name, "`model`", modelled.iter().map(|rate| format!("{:.2}", rate / 1e6)).collect());
        let off = |(model, of): (&f64, &Measured)| format!("{:+.0} %", (model / of.rate - 1.0) * 100.0);
        row(name, "model's error", modelled.iter().zip(*measured).map(off).collect());
    }
    for ((name, _), measured) in PRESETS.into_iter().zip(&by_workers[DESIGNS.len()..]) {
        row(name, "measured", rates(measured));
    }
    println!();
}

/// What the model is fed with.
struct Fed {
    /// By workers: of those that all serve all switches, and of those that have switches of their own.
    all: Vec<Costs>,
    own: Vec<Costs>,
    /// Nanoseconds by which a request of the shared queue costs more than one of round robin, with one worker.
    queue: f64,
}

impl Fed {
    /// From one worker that cuts the same work into smaller pieces, and of each design by workers.
    fn new(fine: &Measured, by_workers: &[&[Measured]]) -> Self {
        let [all, queue, own] =
            [Design::RoundRobin, Design::SharedQueue, Design::StaticPartition].map(|design| {
                let place = DESIGNS.iter().position(|(_, of)| *of == design);
                by_workers[place.expect("each is there")]
            });
        // Two ways to cut the same work tell what a piece costs, and what a request.
        let alone = Costs::between(&all[0].counted, &fine.counted);
        let beside = |of: &[Measured]| {
            let others = of[1..].iter().map(|of| alone.beside(&all[0].counted, &of.counted));
            std::iter::once(alone).chain(others).collect()
        };
        let queue = (1e9 / queue[0].rate - 1e9 / all[0].rate).max(0.0);
        Self { all: beside(all), own: beside(own), queue }
    }

    /// Of a number of workers; what was measured of the most, where there are more.
    fn costs(&self, design: Design, workers: usize) -> Costs {
        let of = match design {
            Design::RoundRobin | Design::SharedQueue => &self.all,
            Design::StaticPartition | Design::DynamicPartition => &self.own,
        };
        let costs = of[workers.min(of.len()) - 1];
        let queue = if design == Design::SharedQueue { self.queue } else { 0.0 };
        Costs { decide: costs.decide + queue, ..costs }
    }

    fn tell(&self) {
        let mut columns = vec![("alone".to_owned(), self.all[0])];
        for (place, (all, own)) in self.all.iter().zip(&self.own).enumerate().skip(1) {
            columns.push((format!("{} that serve all", place + 1), *all));
            columns.push((format!("{} that have their own", place + 1), *own));
        }
        let heads: Vec<&str> = columns.iter().map(|(head, _)| &**head).collect();
        println!("| ns a piece + a request | {} |", heads.join(" | "));
        println!("| --- {}|", "| ---: ".repeat(columns.len()));
        let row = |name: &str, of: &dyn Fn(&Costs) -> (f64, f64)| {
            let cells = columns.iter().map(|(_, costs)| of(costs));
            let cells: Vec<String> = cells.map(|(piece, each)| format!("{piece:.0} + {each:.0}")).collect();
            println!("| {name} | {} |", cells.join(" | "));
        };
        row("read, cut, parse; a piece is a visit", &|of| (of.visit, of.parse));
        row("control runtime and application; a batch", &|of| (of.batch, of.decide));
        row("output; a batch's part for a switch", &|of| (of.output, of.answer));
        println!("\nOf the shared queue a request takes {:.0} ns more.\n", self.queue);
    }
}
