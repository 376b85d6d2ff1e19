//! Holds controllers against each other and against a null responder, under the same load on the same processors:
//!
//! ```text
//! cargo run --release -p plait-dataplane-load --example controller_bars -- [--seconds N] [--rounds N]
//!     [--switches N] [--openflow 1.0|1.3] [--controller 'NAME=COMMAND {port}']…
//!     [--cbench PATH --libfluid COMMAND] [--churn learning-switch,routing] [--only bound|churn|connections|rounds]
//! ```
//!
//! `{port}` is the port of 127.0.0.1 that the controller is to listen at; a command without one listens at 6653. A null
//! responder always runs, and ovs-testcontroller where it is installed. Each is loaded as cbench does (as much as is taken;
//! then one request at a time), then by an open loop at 120 % of what it answered, skewed, with a probing switch, and by one
//! at 80 % of what it answered of that, again while the host takes more than a hundredth of the processors or has them apart. All of it is
//! done in rounds, each controller once in each, and what counts is the median of the rounds; a figure beside another
//! controller's is the median of what the rounds give. Lines that begin with `bar` hold the load itself against its own bar,
//! and a controller named `plait` against the others of this run.
//!
//! How near a bound on latency comes to what it says is told of the controller named `plait`, too: by what it counts as late at
//! those 80 % with `--latency-bound 5ms`, and of a quiet switch beside 64 loud ones.
//!
//! Before that, hours' packets and switches come and go in a controller of this process, which may keep nothing of
//! them: a learning switch, or what `--churn` says. And the controller named `plait` is asked how much processor a request takes
//! where as many connections as the thesis's larger map has switches offer what those of its smaller map do.
//!
//! A bar that nothing was measured for, since a controller failed in a round, is short.
//!
//! os-ken is another `--controller`, which `make bench-controller` says, with a learning switch of
//! `studies/maestro/os_ken_switch.py`, since it has none of its own. cbench itself is told to load the null responder,
//! `plait` and libfluid's raw responder, which answers nothing but cbench; both are built by whoever has them, as
//! `studies/maestro/rivals` says.
//!
//! Open loops have one switch less and the prober in its place, since ovs-testcontroller takes 16 connections.
#![allow(clippy::print_stdout)]

mod bound;
mod cbench;
mod churn;
mod connections;
mod figures;
mod running;
#[path = "../controller_scaling/tape.rs"]
mod tape;

use churn::App;
use figures::Figures;
use plait_control_openflow::Version;
use plait_dataplane_load::NullResponder;
use std::net::SocketAddr;
use std::time::Duration;

const NULL: &str = "null";
const TESTCONTROLLER: &str = "ovs-testcontroller";
const PLAIT: &str = "plait";

/// Percent of answers that may be late by a bound: that one is a p99.
const LATE: f64 = 1.0;

struct Asked {
    seconds: u64,
    rounds: usize,
    switches: usize,
    version: Version,
    controllers: Vec<(String, String)>,
    cbench: Option<String>,
    libfluid: Option<String>,
    churn: Vec<App>,
    /// One part alone, if any is named.
    only: Option<String>,
}

fn main() {
    let mut asked = Asked {
        seconds: 3,
        rounds: 5,
        switches: 16,
        version: Version::V10,
        controllers: Vec::new(),
        cbench: None,
        libfluid: None,
        churn: vec![App::LearningSwitch],
        only: None,
    };
    let own = std::env::current_exe().map_or_else(|_| String::new(), |path| path.display().to_string());
    asked.controllers.push((NULL.to_owned(), format!("{own} --null {{port}}")));
    let testcontroller = "/usr/bin/ovs-testcontroller";
    if std::path::Path::new(testcontroller).exists() {
        asked.controllers.push((TESTCONTROLLER.to_owned(), format!("{testcontroller} ptcp:{{port}}")));
    } else {
        println!("# ovs-testcontroller is not installed: apt-get install openvswitch-testcontroller");
    }
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().unwrap_or_default();
        match argument.as_str() {
            running::CHILD => running::become_child(&value, &arguments.next().unwrap_or_default()),
            "--null" => null(value.parse().unwrap_or_else(|_| usage("--null takes a port"))),
            "--seconds" => {
                asked.seconds = value.parse().unwrap_or_else(|_| usage("--seconds takes a number"))
            }
            "--rounds" => asked.rounds = value.parse().unwrap_or_else(|_| usage("--rounds takes a number")),
            "--switches" => {
                asked.switches = value.parse().unwrap_or_else(|_| usage("--switches takes a number"))
            }
            "--openflow" => asked.version = if value == "1.3" { Version::V13 } else { Version::V10 },
            "--controller" => match value.split_once('=') {
                Some((name, command)) => asked.controllers.push((name.to_owned(), command.to_owned())),
                None => usage("--controller takes 'NAME=COMMAND {port}'"),
            },
            "--cbench" => asked.cbench = Some(value),
            "--libfluid" => asked.libfluid = Some(value),
            "--churn" => asked.churn = value.split(',').map(app).collect(),
            "--only" if ["bound", "churn", "connections", "rounds"].contains(&value.as_str()) => {
                asked.only = Some(value)
            }
            "--only" => usage("--only takes bound, churn, connections or rounds"),
            other => usage(&format!("what is {other}?")),
        }
    }
    if asked.cbench.is_none() || asked.libfluid.is_none() {
        println!("# cbench and libfluid are not given: studies/maestro/rivals says how they are built");
    }
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    println!("# Linux {}, {cpus} processors, OpenFlow {:?}", kernel.trim(), asked.version);
    let is_asked = |part: &str| asked.only.as_ref().is_none_or(|only| only == part);
    if is_asked("churn") {
        asked.churn.iter().for_each(|app| churn(*app, asked.seconds > 1));
    }
    let plait = asked.controllers.iter().find(|(name, _)| name == PLAIT).map(|(_, command)| command);
    if is_asked("bound")
        && let Some(command) = plait
    {
        at_most("controller-late-of-5ms-beside-64-loud", bound::late(command, &asked), "%", LATE);
    }
    if is_asked("connections")
        && let Some(command) = plait
    {
        let ratios: Vec<f64> =
            (0..asked.rounds).filter_map(|_| connections::ratio(command, &asked)).collect();
        let whole: &[f64] = if ratios.len() == asked.rounds { &ratios } else { &[] };
        at_most("cpu_1347_over_79", median(whole, |ratio| *ratio), "x", 1.15);
    }
    if !is_asked("rounds") {
        return;
    }
    let mut measured: Vec<(&str, Vec<Figures>)> =
        asked.controllers.iter().map(|(name, _)| (name.as_str(), Vec::new())).collect();
    let mut over_libfluid = Vec::new();
    for round in 1..=asked.rounds {
        println!("# round {round} of {}", asked.rounds);
        for ((name, command), (_, rounds)) in asked.controllers.iter().zip(&mut measured) {
            rounds.extend(figures::figures(name, command, &asked));
        }
        over_libfluid.extend(cbench::over_libfluid(&asked));
    }
    // One that failed in a round has no figures: its rounds would not be those of the others.
    let of = |name: &str| {
        let found = measured.iter().find(|(named, _)| *named == name).map(|(_, rounds)| &rounds[..]);
        found.filter(|rounds| rounds.len() == asked.rounds)
    };
    let is_there = |name: &str| asked.controllers.iter().any(|(known, _)| known == name);
    let null = of(NULL).unwrap_or_default();
    at_least("load-null-throughput", median(null, |round| round.throughput) / 1e6, "M/s", 3.0);
    if !is_there(PLAIT) {
        return;
    }
    let plait = of(PLAIT).unwrap_or_default();
    let beside = |other: &[Figures], figure: fn(&Figures) -> f64| {
        let ratios: Vec<f64> =
            plait.iter().zip(other).map(|(own, other)| figure(own) / figure(other)).collect();
        median(&ratios, |ratio| *ratio)
    };
    at_least("controller-of-null", beside(null, |round| round.throughput), "x", 0.7);
    if is_there(TESTCONTROLLER) {
        let ovs = of(TESTCONTROLLER).unwrap_or_default();
        at_least("controller-of-ovs-testcontroller", beside(ovs, |round| round.throughput), "x", 20.0);
        let one = beside(ovs, |round| round.one);
        at_least("controller-latency-mode-of-ovs-testcontroller", one, "x", 1.0);
    }
    if asked.cbench.is_some() && asked.libfluid.is_some() {
        let whole: &[f64] = if over_libfluid.len() == asked.rounds { &over_libfluid } else { &[] };
        at_least("controller-of-libfluid-under-cbench", median(whole, |ratio| *ratio), "x", 1.3);
    }
    at_most("controller-deviation", median(plait, |round| round.deviation) * 100.0, "%", 1.0);
    at_most("controller-p99-at-80%", median(plait, |round| round.p99) / 1000.0, "ms", 5.0);
    let late: Vec<f64> = plait.iter().filter_map(|round| round.late).collect();
    at_most("controller-late-of-5ms-at-80%", median(&late, |late| *late) * 100.0, "%", LATE);
}

/// Hours of packets and switches that come and go, ten thousand packets a second; or too few for a bar. Choice: memory in the second
/// quarter is what the last one's is held against, since until then rooms are made that are used again. Sixteen hours of a learning
/// switch, since it keeps the stations of switches that are away, and learns so many in a moment: four on a fast machine do not fill
/// all tables. Four of routing, which decides about a tenth as many packets in a second.
fn churn(app: App, is_whole: bool) {
    let (name, bar, hours, minutes) = match app {
        App::LearningSwitch => ("learning-switch", "controller-memory-over-hours", 16, 60),
        App::Routing => ("routing", "controller-memory-of-routing-over-hours", 4, 90),
    };
    let (requests, patience) = if is_whole { (hours * 36_000_000, minutes * 60) } else { (360_000, 120) };
    match churn::run(app, requests, Duration::from_secs(patience)) {
        Ok(churn) => {
            let [_, early, _, late] = churn.resident;
            println!(
                "# churn, {name}: {} packets, {} messages and {} switches in {:.1} s; MiB in each quarter: {:.1?}",
                churn.requests,
                churn.messages,
                churn.switches,
                churn.took.as_secs_f64(),
                churn.resident.map(|bytes| bytes as f64 / f64::from(1 << 20)),
            );
            // Choice: a tenth more is what an allocator has in its pages.
            if is_whole {
                at_most(bar, late as f64 / early.max(1) as f64, "x", 1.1);
            }
        }
        Err(why) => {
            println!("# churn, {name}: {why}");
            at_most(bar, f64::NAN, "x", 1.1);
        }
    }
}

fn app(name: &str) -> App {
    match name {
        "learning-switch" => App::LearningSwitch,
        "routing" => App::Routing,
        _ => usage("--churn takes learning-switch, routing, or both with a comma"),
    }
}

fn median<T>(rounds: &[T], figure: impl Fn(&T) -> f64) -> f64 {
    let mut figures: Vec<f64> = rounds.iter().map(figure).collect();
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

fn usage(why: &str) -> ! {
    eprintln!("{why}");
    std::process::exit(2)
}

fn null(port: u16) -> ! {
    match NullResponder::start(SocketAddr::from(([127, 0, 0, 1], port)), 1) {
        Ok(_running) => loop {
            std::thread::park();
        },
        Err(why) => usage(&why.to_string()),
    }
}

fn at_most(name: &str, value: f64, unit: &str, bound: f64) {
    let verdict = if value <= bound { "ok" } else { "short" };
    println!("bar {name} {value:.3} {unit} <= {bound} {verdict}");
}

fn at_least(name: &str, value: f64, unit: &str, bound: f64) {
    let verdict = if value >= bound { "ok" } else { "short" };
    println!("bar {name} {value:.3} {unit} >= {bound} {verdict}");
}
