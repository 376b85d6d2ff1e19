//! What headers of relay lists cost from end to end, on this machine (E11 of the thesis):
//!
//! ```text
//! make bench-paths
//! ```
//!
//! All ways are measured in turn, round after round, as `make bench-overlay` does it, and bars are of the same kind: ratios of
//! medians in one run.
#![allow(clippy::print_stdout)]

mod connection;
#[path = "../overlay_bars/delays.rs"]
#[allow(dead_code, reason = "overlays are asked for more")]
mod delays;
#[path = "../overlay_bars/measure.rs"]
mod measure;
#[path = "../overlay_bars/rates.rs"]
mod rates;
#[path = "../overlay_bars/ratio.rs"]
#[allow(dead_code, reason = "overlays are asked for more")]
mod ratio;
#[path = "../overlay_bars/speeds.rs"]
#[allow(dead_code, reason = "overlays are asked for more")]
mod speeds;
#[path = "../overlay_bars/streams.rs"]
mod streams;

use connection::tcp_for;
use delays::in_turn;
use plait_dataplane_paths::{Encapsulation, Superpackets};
use plait_dataplane_profile::Tunnel;
use plait_dataplane_profile::lab::Kind;
use plait_dataplane_profile::line::{Devices, Headers, Line};
use plait_model_quantity::Bandwidth;
use rates::rates;
use ratio::{Bound, Rounds};
use speeds::{Machine, counted, tables};
use std::error::Error;
use std::time::Duration;
use streams::streams;

/// The thesis's.
const MTU: u32 = 9216;

const KINDS: [(&str, Encapsulation); 3] =
    [("ipip", Encapsulation::Ipip), ("gre", Encapsulation::Gre), ("gue", Encapsulation::Gue)];

fn main() -> Result<(), Box<dyn Error>> {
    let small = std::env::args().any(|argument| argument == "--small");
    let rounds = if small { 3 } else { 15 };
    let machine = Machine { is_patient: !small };
    let read = |path: &str| std::fs::read_to_string(path).map(|text| text.trim().to_owned());
    let kernel = read("/proc/sys/kernel/osrelease")?;
    let cpus = std::thread::available_parallelism()?;
    println!("# Linux {kernel}, {cpus} processors, {rounds} rounds, TCP by cubic");
    on_a_line(rounds, small)?;
    by_processors(machine, rounds)
}

/// Lines of the thesis's rates. Headers take what they take of the rate, and the rest is the processors'.
fn on_a_line(rounds: usize, small: bool) -> Result<(), Box<dyn Error>> {
    let (warm, time) = (Duration::from_millis(300), Duration::from_millis(if small { 500 } else { 1000 }));
    // The thesis: 989.6 to 987 Mbit/s by GRE, which is what its bytes take of 9216; and 8929 to 8925, which filled no line,
    // with a standard deviation of 1.2 %. Choice: others' bars are what their bytes take, rounded down; those where no line is
    // full are the thesis's ratio less that deviation.
    for (name, rate, bounds) in [("1g", 1, [0.997, 0.997, 0.996]), ("10g", 10, [0.988; 3])] {
        let rate = Bandwidth::from_bits_per_second(rate * 1_000_000_000);
        // Single packets are counted as on a wire. Ten gigabits of them are more than these processors forward.
        let devices = Devices { mtu: MTU, are_cut_for: name == "1g", rate: Some(rate) };
        let mut lines = Vec::new();
        let stacks = KINDS.map(|(name, kind)| (name, Headers::Stack(kind, 1, Superpackets::Cut)));
        for (name, headers) in [("none", Headers::None)].into_iter().chain(stacks) {
            lines.extend(Line::new(name, headers, devices)?);
        }
        let mut figures = Rounds::default();
        for round in 0..rounds {
            for line in &lines {
                figures.note("tcp", &line.way.name, tcp_for(&line.way, warm, time)?);
            }
            eprintln!("round {} of {rounds} on a line of {name}", round + 1);
        }
        println!("# a line of {name}, MTU {MTU}, TCP by cubic");
        figures.table("tcp", "Gbit/s");
        for ((kind, _), bound) in KINDS.into_iter().zip(bounds) {
            let name = format!("tcp-{name}-{kind}");
            figures.ratio("tcp", kind, "none").bar(&name, Bound::AtLeast(bound), None);
        }
        refused_nothing(&lines)?;
    }
    Ok(())
}

/// Lines as fast as the processors.
fn by_processors(machine: Machine, rounds: usize) -> Result<(), Box<dyn Error>> {
    for mtu in [MTU, 1500] {
        let lines = lines(mtu)?;
        let mut figures = Rounds::default();
        for round in 0..rounds {
            let ways = || lines.iter().map(|line| &line.way);
            streams(machine, ways(), Some("cubic"))?.note(&mut figures, "tcp", ways());
            if mtu == MTU {
                rates(machine, ways(), 64)?.note(&mut figures, "rate", ways());
                for (way, taken) in ways().zip(in_turn(machine, ways(), 64)?) {
                    figures.note("cpu", &way.name, taken.cpu);
                }
            }
            eprintln!("round {} of {rounds} with an MTU of {mtu}", round + 1);
        }
        println!("# as fast as the processors, MTU {mtu}");
        tables(&figures, "tcp", "Gbit/s");
        let ratio = |what: &str, way: &str, other: &str| figures.ratio(&counted(&figures, what), way, other);
        let bar = |way: &str, other: &str, bound: f64, name: &str| {
            ratio("tcp", way, other).bar(&format!("tcp-{mtu}-{name}"), Bound::AtLeast(bound), None);
        };
        for (kind, _) in KINDS {
            // Choice: what an overlay may cost beside bare devices (`make bench-overlay`).
            bar(kind, "none", 0.84, kind);
            // One header keeps superpackets whole: it is not as slow as segments are.
            bar(kind, "none, segments", 1.5, &format!("{kind}-over-segments"));
        }
        // A list of relays within one header keeps them whole, too, which a header for each does not.
        bar("ovstack, list of 2", "gre x 2, cut", 1.5, "list-over-2-cut");
        bar("ovstack, list of 2", "none", 0.80, "list");
        // Two are fed segments, and it is these that cost, not the second header: where packets stay whole, or where the kernel
        // cuts all alike, two are as good as one.
        bar("gre x 2, cut", "none, segments", 0.84, "2-cut-over-segments");
        bar("gre x 2, whole", "none", 0.84, "2-whole");
        bar("ipip x 2, cut by the kernel", "none, cut by the kernel", 0.84, "2-over-kernel-cut");
        if mtu == MTU {
            tables(&figures, "rate", "packets/s");
            figures.table("cpu", "us");
            for (kind, _) in KINDS {
                ratio("rate", kind, "none").bar(&format!("rate-{kind}"), Bound::AtLeast(0.90), None);
                // Choice: half of what the kernel's own tunnel adds.
                figures.added("cpu", kind, "vxlan (kernel)", "none").bar(
                    &format!("added-cpu-{kind}"),
                    Bound::AtMost(0.5),
                    None,
                );
            }
        }
        refused_nothing(&lines)?;
    }
    Ok(())
}

/// A line of each kind that there is.
fn lines(mtu: u32) -> Result<Vec<Line>, Box<dyn Error>> {
    let mut known =
        vec![("none".to_owned(), Headers::None), ("none, segments".to_owned(), Headers::Segments)];
    for tunnel in [Tunnel::Ipip, Tunnel::Gre, Tunnel::Vxlan] {
        known.push((format!("{} (kernel)", tunnel.name()), Headers::Kernel(tunnel)));
    }
    for (name, kind) in KINDS {
        known.push((name.to_owned(), Headers::Stack(kind, 1, Superpackets::Cut)));
    }
    // Two relays in one header.
    known.push(("ovstack, list of 2".into(), Headers::Stack(Encapsulation::Ovstack, 2, Superpackets::Cut)));
    // The thesis's encapsulation.
    known.push(("gre x 2, cut".into(), Headers::Stack(Encapsulation::Gre, 2, Superpackets::Cut)));
    known.push(("gre x 2, whole".into(), Headers::Stack(Encapsulation::Gre, 2, Superpackets::Whole)));
    let mut known: Vec<_> = known.into_iter().map(|(name, headers)| (name, headers, false)).collect();
    // Of IP in IP the kernel corrects all headers when it cuts for a device that does not.
    let stack = Headers::Stack(Encapsulation::Ipip, 2, Superpackets::Whole);
    known.push(("none, cut by the kernel".into(), Headers::None, true));
    known.push(("ipip x 2, cut by the kernel".into(), stack, true));
    let mut lines = Vec::new();
    for (name, headers, are_cut_for) in known {
        match Line::new(&name, headers, Devices { mtu, are_cut_for, rate: None })? {
            Some(line) => lines.push(line),
            None => println!("# {name}: this kernel has no such tunnel"),
        }
    }
    Ok(lines)
}

/// Figures are of nothing where packets went without their headers, or relays took them for broken.
fn refused_nothing(lines: &[Line]) -> Result<(), Box<dyn Error>> {
    for line in lines {
        let (packets, refused) = line.counts()?;
        if refused > 0 || (line.way.kind == Kind::Overlay) != (packets > 0) {
            let name = &line.way.name;
            return Err(
                format!("{name}: {packets} packets under a stack, {refused} refused by relays").into()
            );
        }
    }
    Ok(())
}
