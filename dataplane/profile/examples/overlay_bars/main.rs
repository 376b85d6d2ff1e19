//! Measures overlays on this machine beside bare veth pairs, the kernel's VXLAN and the kernel's forwarding:
//!
//! ```text
//! make bench-overlay
//! ```
//!
//! All ways are measured in turn, round after round, so that what the machine does meanwhile meets all of them. Figures
//! are ratios of medians over the rounds, with their 90 % bootstrap interval. A bar holds when the ratio does and the
//! interval's worse end is within 5 % of it: `bar NAME VALUE UNIT >=|<= BOUND ok|short`. `goal` lines stand beside.
//!
//! TCP and rates depend on how fast cache lines get from one processor to the other, for which a virtual machine has two speeds. What
//! was measured at one of them is not put together with what was at the other; bars are of processors that are near each other,
//! for which is waited.
#![allow(clippy::print_stdout)]

mod card;
mod delays;
mod driver;
mod gateway;
mod measure;
mod node;
mod rates;
mod ratio;
mod sinks;
mod sizes;
mod speeds;
mod streams;

use delays::in_turn;
use plait_dataplane_profile::Tunnel;
use plait_dataplane_profile::lab::{Endpoints, Lab, Way};
use rates::rates;
use ratio::{Bound, Rounds};
use speeds::{Figures, Machine, counted, tables, tell_few};
use std::error::Error;
use std::io;
use streams::streams;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let small = arguments.iter().any(|argument| argument == "--small");
    let said = |option: &str| arguments.iter().skip_while(|argument| *argument != option).nth(1);
    let rounds = said("--rounds").map_or(Ok(if small { 3 } else { 15 }), |rounds| rounds.parse())?;
    let machine = Machine { is_patient: !small };
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease")?;
    let cpus = std::thread::available_parallelism()?;
    let congestion = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control")?;
    println!(
        "# Linux {}, {cpus} processors, {rounds} rounds, TCP by cubic, and by {} as it is set",
        kernel.trim(),
        congestion.trim()
    );
    let only = said("--only");
    let parts: [(&str, Part<'_>); 7] = [
        ("endpoints", &|| endpoints(machine, rounds)),
        ("relays", &|| relays(machine, rounds)),
        ("sink", &|| sizes::into_a_sink(rounds)),
        ("sizes", &|| {
            sizes::between_hosts(machine, rounds)?;
            sizes::through_a_host(machine, rounds)
        }),
        ("card", &|| card::rates(rounds)),
        ("drivers", &|| drivers(rounds, small)),
        ("gateway", &|| gateway::changes(if small { 20 } else { 100 })),
    ];
    if let Some(only) = only.filter(|only| !parts.iter().any(|(name, _)| name == only)) {
        return Err(format!(
            "--only takes one of {}, and not {only}",
            parts.map(|(name, _)| name).join(", ")
        )
        .into());
    }
    let asked = |name: &str| only.is_none_or(|only| only == name);
    parts.iter().filter(|(name, _)| asked(name)).try_for_each(|(_, part)| part())
}

/// A part of the bench.
type Part<'a> = &'a dyn Fn() -> Result<(), Box<dyn Error>>;

/// Ways whose packets come in by the device below.
const IN_PLACE: &str = "ovstack in place";
const IP_IN_PLACE: &str = "ovstack, IP in place";
/// A way whose packets come in by its own device, as they do by default.
const IP: &str = "ovstack, IP";

/// From host to host.
fn endpoints(machine: Machine, rounds: usize) -> Result<(), Box<dyn Error>> {
    let lab = Lab::endpoints(Endpoints { tunnels: &Tunnel::ALL, mtu: None, in_place: true })?;
    if !lab.absent.is_empty() {
        println!(
            "# without tunnels that this kernel lacks: {}",
            lab.absent.iter().map(|tunnel| tunnel.name()).collect::<Vec<_>>().join(", ")
        );
    }
    let mut figures = Rounds::default();
    for round in machine.rounds(rounds) {
        if figures.count("tcp") >= rounds {
            break;
        }
        for (way, taken) in lab.ways.iter().zip(in_turn(machine, &lab.ways, 64)?) {
            figures.note("one-way", &way.name, taken.one_way);
        }
        rates(machine, &lab.ways, 64)?.note(&mut figures, "rate", lab.ways.iter());
        note_tcp(machine, &mut figures, &lab.ways)?;
        eprintln!("round {} of {rounds} between hosts", round + 1);
    }
    figures.table("one-way", "us");
    tables(&figures, "rate", "packets/s");
    tables_of_tcp(&figures);
    tell_few(&figures, "tcp", rounds);

    let ratio = |what: &str, way: &str, other: &str| figures.ratio(&counted(&figures, what), way, other);
    ratio("tcp", "ovstack", "vxlan (kernel)").bar("tcp-over-vxlan", Bound::AtLeast(1.12), Some(1.20));
    ratio("tcp", "ovstack", "bare").bar("tcp-over-bare", Bound::AtLeast(0.84), Some(0.92));
    ratio("rate", "ovstack", "vxlan (kernel)").bar("rate-over-vxlan", Bound::AtLeast(1.40), Some(1.60));
    figures.added("one-way", "ovstack", "vxlan (kernel)", "bare").bar(
        "added-delay",
        Bound::AtMost(0.30),
        Some(0.20),
    );
    // Both of packets in place, which somebody has to ask for, as the prototype had it that these figures are from, and of what an
    // overlay does that nobody said more of.
    ratio("rate", IP_IN_PLACE, "bare").bar("ip-rate-over-bare", Bound::AtLeast(0.90), Some(0.97));
    ratio("tcp", IP_IN_PLACE, "bare").bar("ip-tcp-over-bare", Bound::AtLeast(0.86), None);
    ratio("rate", IP, "bare").bar("ip-by-default-rate-over-bare", Bound::AtLeast(0.90), Some(0.97));
    ratio("tcp", IP, "bare").bar("ip-by-default-tcp-over-bare", Bound::AtLeast(0.86), None);
    // Frames may, too.
    ratio("tcp", IN_PLACE, "vxlan (kernel)").bar("in-place-tcp-over-vxlan", Bound::AtLeast(1.12), Some(1.20));
    ratio("tcp", IN_PLACE, "bare").bar("in-place-tcp-over-bare", Bound::AtLeast(0.84), Some(0.92));
    ratio("rate", IN_PLACE, "vxlan (kernel)").bar(
        "in-place-rate-over-vxlan",
        Bound::AtLeast(1.40),
        Some(1.60),
    );
    figures.added("one-way", IN_PLACE, "vxlan (kernel)", "bare").bar(
        "in-place-added-delay",
        Bound::AtMost(0.30),
        Some(0.20),
    );
    Ok(())
}

/// Connections by each way in a round, one after the other, whose median counts. Choice: three, so that the luck of one is not a
/// round's figure.
const CONNECTIONS: usize = 3;

/// Notes throughput by each way, and once more as the machine has it.
///
/// Choice: bars are of CUBIC, which is Linux's own default, and not of what a machine is set to: so they say the same everywhere.
/// BBR, for one, keeps to its own idea of the path, which on one of microseconds is two thirds to three quarters of what it carries.
fn note_tcp(machine: Machine, figures: &mut Rounds, ways: &[Way]) -> io::Result<()> {
    let several = (0..CONNECTIONS).map(|_| streams(machine, ways, Some("cubic")));
    Figures::of_several(&several.collect::<io::Result<Vec<_>>>()?).note(figures, "tcp", ways.iter());
    streams(machine, ways, None)?.note(figures, AS_SET, ways.iter());
    Ok(())
}
const AS_SET: &str = "tcp as this machine is set";

fn tables_of_tcp(figures: &Rounds) {
    tables(figures, "tcp", "Gbit/s");
    tables(figures, AS_SET, "Gbit/s");
}

/// Through a third host.
fn relays(machine: Machine, rounds: usize) -> Result<(), Box<dyn Error>> {
    let lab = Lab::relays(None)?;
    let mut figures = Rounds::default();
    for round in machine.rounds(rounds) {
        if figures.count("tcp") >= rounds {
            break;
        }
        for (way, taken) in lab.ways.iter().zip(in_turn(machine, &lab.ways, 64)?) {
            figures.note("one-way", &way.name, taken.one_way);
            figures.note("cpu", &way.name, taken.cpu);
        }
        note_tcp(machine, &mut figures, &lab.ways)?;
        eprintln!("round {} of {rounds} through a relay", round + 1);
    }
    figures.table("one-way", "us");
    figures.table("cpu", "us");
    tables_of_tcp(&figures);
    tell_few(&figures, "tcp", rounds);

    let hop =
        |what: &str| figures.hop(what, ("relay", "relay, direct"), ("forwarding", "forwarding, direct"));
    hop("one-way").bar("relay-hop-delay", Bound::AtMost(0.8), None);
    hop("cpu").bar("relay-hop-cpu", Bound::AtMost(0.6), None);
    let ratio = |what: &str, other: &str| figures.ratio(what, "relay", other);
    let tcp = counted(&figures, "tcp");
    ratio("cpu", "forwarding").goal("relay-cpu-over-forwarding", Bound::AtMost(1.0));
    ratio("one-way", "forwarding").bar("relay-delay-over-forwarding", Bound::AtMost(1.08), Some(1.0));
    ratio(&tcp, "forwarding").bar("relay-tcp-over-forwarding", Bound::AtLeast(0.85), Some(1.0));
    ratio("one-way", "vxlan bridge").bar("relay-delay-over-vxlan-bridge", Bound::AtMost(0.55), None);
    ratio(&tcp, "vxlan bridge").bar("relay-tcp-over-vxlan-bridge", Bound::AtLeast(1.15), None);
    Ok(())
}

/// In a device's driver, where the kernel makes no packet of it.
fn drivers(rounds: usize, small: bool) -> Result<(), Box<dyn Error>> {
    let mut figures = Rounds::default();
    for (relayed, reflected) in driver::rounds(rounds, if small { 100_000 } else { 1_000_000 })? {
        figures.note("driver", "sent back", reflected);
        figures.note("driver", "relay", relayed);
    }
    figures.table("driver", "ns");
    // Choice: no more than the packet costs whatever is done with it. A network card's own part is in neither.
    figures.ratio("driver", "relay", "sent back").bar("xdp-relay-over-xdp-tx", Bound::AtMost(2.0), None);
    Ok(())
}
