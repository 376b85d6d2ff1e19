//! Holds controllers against each other and against a null responder, under the same load on the same processors:
//!
//! ```text
//! cargo run --release -p plait-dataplane-load --example controller_bars -- [--seconds N] [--rounds N]
//!     [--switches N] [--openflow 1.0|1.3] [--controller 'NAME=COMMAND {port}']…
//! ```
//!
//! `{port}` is the port of 127.0.0.1 that the controller is to listen at. A null responder always runs, and
//! ovs-testcontroller where it is installed. Each is loaded as cbench does (as much as is taken; then one request at a
//! time), then by an open loop at 120 % of what it answered, skewed, with a probing switch, and by one at 80 % of what it
//! answered of that. All of it is done in rounds, each controller once in each, and what counts is the median of the
//! rounds; a figure beside another controller's is the median of what the rounds give. Lines that begin with `bar` hold the
//! load itself against its own bar, and a controller named `plait` against the others of this run.
//!
//! Before that, four hours' packets and switches come and go in a controller of this process, which may keep nothing of them.
//!
//! A bar that nothing was measured for, since a controller failed in a round, is short.
//!
//! os-ken is another `--controller`, which `make bench-controller` says, with a learning switch of
//! `studies/maestro/os_ken_switch.py`, since it has none of its own.
//! libfluid's responders are public and are another `--controller` each, where they have been built.
//!
//! Open loops have one switch less and the prober in its place, since ovs-testcontroller takes 16 connections.
#![allow(clippy::print_stdout)]

mod churn;
#[path = "../controller_scaling/tape.rs"]
mod tape;

use plait_control_openflow::Version;
use plait_dataplane_load::{Load, LoadError, NullResponder, Offer, Report, rates, run};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const NULL: &str = "null";
const TESTCONTROLLER: &str = "ovs-testcontroller";

struct Asked {
    seconds: u64,
    rounds: usize,
    switches: usize,
    version: Version,
    controllers: Vec<(String, String)>,
}

fn main() {
    let mut asked =
        Asked { seconds: 3, rounds: 3, switches: 16, version: Version::V10, controllers: Vec::new() };
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
            other => usage(&format!("what is {other}?")),
        }
    }
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    println!("# Linux {}, {cpus} processors, OpenFlow {:?}", kernel.trim(), asked.version);
    churn(asked.seconds > 1);
    let mut measured: Vec<(&str, Vec<Figures>)> =
        asked.controllers.iter().map(|(name, _)| (name.as_str(), Vec::new())).collect();
    for round in 1..=asked.rounds {
        println!("# round {round} of {}", asked.rounds);
        for ((name, command), (_, rounds)) in asked.controllers.iter().zip(&mut measured) {
            rounds.extend(figures(name, command, &asked));
        }
    }
    // One that failed in a round has no figures: its rounds would not be those of the others.
    let of = |name: &str| {
        let found = measured.iter().find(|(named, _)| *named == name).map(|(_, rounds)| &rounds[..]);
        found.filter(|rounds| rounds.len() == asked.rounds)
    };
    let is_asked = |name: &str| asked.controllers.iter().any(|(known, _)| known == name);
    let null = of(NULL).unwrap_or_default();
    at_least("load-null-throughput", median(null, |round| round.throughput) / 1e6, "M/s", 3.0);
    if !is_asked("plait") {
        return;
    }
    let plait = of("plait").unwrap_or_default();
    let beside = |other: &[Figures], figure: fn(&Figures) -> f64| {
        let ratios: Vec<f64> =
            plait.iter().zip(other).map(|(own, other)| figure(own) / figure(other)).collect();
        median(&ratios, |ratio| *ratio)
    };
    at_least("controller-of-null", beside(null, |round| round.throughput), "x", 0.7);
    if is_asked(TESTCONTROLLER) {
        let ovs = of(TESTCONTROLLER).unwrap_or_default();
        at_least("controller-of-ovs-testcontroller", beside(ovs, |round| round.throughput), "x", 20.0);
        let one = beside(ovs, |round| round.one);
        at_least("controller-latency-mode-of-ovs-testcontroller", one, "x", 1.0);
    }
    at_most("controller-deviation", median(plait, |round| round.deviation) * 100.0, "%", 1.0);
    at_most("controller-p99-at-80%", median(plait, |round| round.p99) / 1000.0, "ms", 5.0);
}

/// Four hours of packets and switches that come and go, ten thousand packets a second; or too few for a bar. Choice: memory
/// after the first hour is what the end is held against, since until then rooms are made that are used again.
fn churn(is_whole: bool) {
    match churn::run(if is_whole { 144_000_000 } else { 360_000 }) {
        Ok(churn) => {
            let (early, late) = churn.resident;
            let (seconds, mebibytes) =
                (churn.took.as_secs_f64(), |bytes: u64| bytes as f64 / f64::from(1 << 20));
            println!(
                "# churn: {} packets and {} switches in {seconds:.1} s; {:.1} MiB after a quarter of it, {:.1} MiB at its end",
                churn.requests,
                churn.switches,
                mebibytes(early),
                mebibytes(late),
            );
            // Choice: a tenth more is what an allocator has in its pages.
            if is_whole {
                at_most("controller-memory-after-an-hour", late as f64 / early.max(1) as f64, "x", 1.1);
            }
        }
        Err(why) => {
            println!("# churn: {why}");
            at_most("controller-memory-after-an-hour", f64::NAN, "x", 1.1);
        }
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

struct Figures {
    throughput: f64,
    one: f64,
    deviation: f64,
    p99: f64,
}

fn figures(name: &str, command: &str, asked: &Asked) -> Option<Figures> {
    let base = |offers: Vec<Offer>| Load {
        versions: vec![asked.version],
        duration: Duration::from_secs(asked.seconds),
        ..Load::new(([127, 0, 0, 1], 0).into(), offers)
    };
    let measure = |what: &str, load: Load| -> Result<Report, LoadError> {
        // A new one each time: what the last load has left is no load of this one.
        let controller = Running::start(command)?;
        let began = controller.processor();
        let measured = run(&Load { controller: controller.address, ..load })?;
        let used = controller.processor() - began;
        let (report, answers) = (measured.report(), measured.latency.count().max(1) as f64);
        let show = |value: Option<f64>| value.map_or("never".to_owned(), |value| format!("{value:.0}"));
        println!(
            "# {name} {what}: {:.0} answered/s of {:.0} sent/s, {} unanswered, {} untold, \
             {} disconnected, p50 {} p99 {} us, made {} us late, worst deviation {:.2} %, \
             {:.0} ns of processor an answer, steal {:.1} %",
            report.answered,
            report.sent,
            report.unanswered,
            report.untold,
            report.disconnects,
            show(report.latency.p50),
            show(report.latency.p99),
            report.lag.p99.map_or(0.0, f64::round),
            report.worst_deviation * 100.0,
            used.as_nanos() as f64 / answers,
            report.hosts.first().map_or(0.0, |host| host.steal * 100.0),
        );
        if let Some(why) = measured.switches.iter().find_map(|switch| switch.disconnected.as_ref()) {
            println!("# {name} {what}: disconnected: {why}");
        }
        if let Some(probe) = &report.probe {
            println!("# {name} {what}: probing switch p50 {} us", show(probe.latency.p50));
        }
        Ok(report)
    };
    let all = || {
        let flood = measure("as much as it takes", base(vec![Offer::Flood; asked.switches]))?;
        let window = measure("windows of 64", base(vec![Offer::Window(64); asked.switches]))?;
        let one = measure("one at a time", base(vec![Offer::Window(1)]))?;
        let capacity = flood.answered.max(window.answered);
        let offers = |factor| {
            rates::skewed(asked.switches.max(2) - 1, capacity * factor, 1.0, 1)
                .into_iter()
                .map(Offer::Open)
                .collect()
        };
        // Choice: shares are taken of what comes after a second. Until their buffers are full, greedy switches get more.
        let long = Duration::from_secs(asked.seconds + 1);
        let over = Load { probe: Some(5.0), settle: 1, duration: long, ..base(offers(1.2)) };
        let over = measure("at 120 %, skewed", over)?;
        // Choice: 80 % of what was answered of such a load. Requests that are due at times of their own cost the load and the
        // kernel more than a flood does, so that a flood's capacity would be more than both processors have.
        let share = 0.8 * (over.answered / capacity).min(1.0);
        let busy = measure("at 80 %, skewed", Load { probe: Some(5.0), ..base(offers(share)) })?;
        Ok(Figures {
            throughput: capacity,
            one: one.answered,
            deviation: over.worst_deviation,
            p99: busy.latency_of_all.p99.unwrap_or(f64::INFINITY),
        })
    };
    all().map_err(|why: LoadError| println!("# {name}: {why}")).ok()
}

/// A controller's process, ended with the value.
struct Running {
    child: Child,
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Running {
    fn start(command: &str) -> std::io::Result<Self> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let folder = tempfile::tempdir()?;
        let child = Command::new("sh")
            .arg("-c")
            .arg(format!("exec {}", command.replace("{port}", &address.port().to_string())))
            .env("OVS_RUNDIR", folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let mut running = Self { child, address, _folder: folder };
        let until = Instant::now() + Duration::from_secs(10);
        while !listens(address.port()) {
            if let Some(status) = running.child.try_wait()? {
                return Err(std::io::Error::other(format!("it ended: {status}")));
            }
            if Instant::now() > until {
                return Err(std::io::Error::other("it does not listen"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        // Who listens may not be done with starting.
        std::thread::sleep(Duration::from_secs(1));
        Ok(running)
    }

    /// Processor time that it has used (proc(5), in ticks of 10 ms).
    fn processor(&self) -> Duration {
        let path = format!("/proc/{}/stat", self.child.id());
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let after = text.rsplit(')').next().unwrap_or_default();
        let ticks: u64 = after.split_whitespace().skip(11).take(2).flat_map(str::parse::<u64>).sum();
        Duration::from_millis(ticks * 10)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether somebody listens at a port. Nobody is knocked at for it: ovs-testcontroller takes a connection that ends at once
/// for a fault of its listener, and closes that.
fn listens(port: u16) -> bool {
    let port = format!(":{port:04X}");
    let is_listener = |line: &str| {
        let fields: Vec<_> = line.split_whitespace().collect();
        matches!(fields[..], [_, local, _, "0A", ..] if local.ends_with(&port))
    };
    ["tcp", "tcp6"].iter().any(|kind| {
        let path = format!("/proc/thread-self/net/{kind}");
        std::fs::read_to_string(path).unwrap_or_default().lines().any(is_listener)
    })
}

fn at_most(name: &str, value: f64, unit: &str, bound: f64) {
    let verdict = if value <= bound { "ok" } else { "short" };
    println!("bar {name} {value:.3} {unit} <= {bound} {verdict}");
}

fn at_least(name: &str, value: f64, unit: &str, bound: f64) {
    let verdict = if value >= bound { "ok" } else { "short" };
    println!("bar {name} {value:.3} {unit} >= {bound} {verdict}");
}
