//! How the controller scales when nobody shares its processors: recorded requests fed from memory, through the same driver
//! as sockets' are, to one worker, two, and as many as there are processors, each with one of its own; and a model in virtual
//! time of the four designs, fed with the costs that workers were measured to have, for as many workers as this machine
//! has not.
//!
//! ```text
//! cargo run --release -p plait-dataplane-load --example controller_scaling -- [--seconds N] [--rounds N]
//!     [--switches N,N] [--app NAME,NAME] [--most N] [--gains yes]
//! ```
//!
//! Prints Markdown. A row says whether it is `measured` or of the `model`; the row below says how far the model is off where
//! both are known, and three bars how far it may be: where a measurement fed it, and where it tells one of one worker and of two.
//! With `--gains yes` it tells instead what parts gain that can be switched off.
#![allow(clippy::print_stdout)]

mod fed;
mod gains;
mod measure;
mod model;
mod tape;

use fed::Fed;
use measure::{BATCH, Measured, measure};
use model::Cut;
use plait_control_openflow::{Batching, Design};
use plait_dataplane_openflow::Config;

const DESIGNS: [(&str, Design); 4] = [
    ("round robin", Design::RoundRobin),
    ("shared queue", Design::SharedQueue),
    ("static partition", Design::StaticPartition),
    ("dynamic partition", Design::DynamicPartition),
];

/// Up to how many workers the model is held to what was measured, and how far it may be off, in hundredths. Choice: a twentieth where
/// the measurement itself fed it, since only locks and hand-overs are the model's own there; a fifth where it predicts, as far as three
/// runs of a second of the same differ on two shared processors. One worker does the same by partitions as round robin: three
/// measurements of one thing, of which the median is what the model is held to.
const HELD: usize = 2;
const MOST_FED: f64 = 5.0;
const MOST_TOLD: f64 = 20.0;

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
    /// Whether it is asked what parts gain, and not how workers scale.
    gains: bool,
}

fn main() {
    let mut asked = Asked {
        seconds: 1.0,
        rounds: 3,
        switches: vec![79, 1347],
        apps: ["learning-switch", "routing"].map(str::to_owned).into(),
        most: 8,
        gains: false,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().unwrap_or_default();
        let known = match argument.as_str() {
            "--seconds" => set(&mut asked.seconds, &value),
            "--rounds" => set(&mut asked.rounds, &value),
            "--most" => set(&mut asked.most, &value),
            "--switches" => all(&value).is_some_and(|all| set_to(&mut asked.switches, all)),
            "--gains" => set_to(&mut asked.gains, value == "yes"),
            "--app" => all(&value).is_some_and(|all| set_to(&mut asked.apps, all)),
            _ => false,
        };
        if !known {
            eprintln!(
                "controller_scaling [--seconds N] [--rounds N] [--switches N,N] [--app NAME,NAME] [--most N] [--gains yes]"
            );
            std::process::exit(2);
        }
    }
    for app in &asked.apps {
        for switches in &asked.switches {
            let told = if asked.gains { gains::tell } else { tell };
            told(app, *switches, &asked);
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
    // The largest errors: where it was fed, and of one worker and two beside that; and those of designs that are one with one worker.
    let (mut fed_off, mut one_off, mut two_off) = (0.0f64, 0.0f64, 0.0f64);
    let mut alike = Vec::new();
    for ((name, design), measured) in DESIGNS.into_iter().zip(&by_workers) {
        let modelled: Vec<f64> = (1..=asked.most)
            .map(|workers| model::throughput(design, workers, &cut, &fed.costs(design, workers)))
            .collect();
        row(name, "measured", rates(measured));
        row(name, "`model`", modelled.iter().map(|rate| format!("{:.2}", rate / 1e6)).collect());
        let off = |(model, of): (&f64, &Measured)| (model / of.rate - 1.0) * 100.0;
        let off: Vec<f64> = modelled.iter().zip(*measured).map(off).collect();
        row(name, "model's error", off.iter().map(|off| format!("{off:+.0} %")).collect());
        if design == Design::SharedQueue {
            one_off = off[0].abs();
        } else {
            alike.push(off[0]);
        }
        for (workers, off) in (1..=HELD).zip(off) {
            if Fed::is_of(design, workers) {
                fed_off = fed_off.max(off.abs());
            } else if workers > 1 {
                two_off = two_off.max(off.abs());
            }
        }
    }
    for ((name, _), measured) in PRESETS.into_iter().zip(&by_workers[DESIGNS.len()..]) {
        row(name, "measured", rates(measured));
    }
    println!("\n```text");
    alike.sort_by(f64::total_cmp);
    one_off = one_off.max(alike[alike.len() / 2].abs());
    let of = format!("{app}-{switches}");
    bar(&format!("controller-scaling-model-error-fed-{of}"), fed_off, MOST_FED);
    bar(&format!("controller-scaling-model-error-1-{of}"), one_off, MOST_TOLD);
    if numbers.len() >= HELD {
        bar(&format!("controller-scaling-model-error-2-{of}"), two_off, MOST_TOLD);
    }
    println!("```\n");
}

fn bar(name: &str, off: f64, most: f64) {
    let verdict = if off <= most { "ok" } else { "short" };
    println!("bar {name} {off:.1} % <= {most} {verdict}");
}
