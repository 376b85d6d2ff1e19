//! What the size of packets changes: the first experiment of ovstack's paper, and the third and sixth of the overlay FIB's
//! thesis, which end packets where their device has sent them.

use crate::delays::in_turn;
use crate::rates::rates;
use crate::ratio::{Bound, Rounds};
use crate::sinks::rate_into;
use crate::speeds::{Machine, counted, tables};
use plait_dataplane_bpf::Mirror;
use plait_dataplane_profile::Tunnel;
use plait_dataplane_profile::device::index;
use plait_dataplane_profile::lab::{Endpoints, Lab};
use std::io::Error;

/// Of the paper. Choice: whole Ethernet frames, as they are inside tunnels.
const FRAMES: [usize; 8] = [64, 128, 256, 512, 1024, 1500, 2048, 4096];
/// Of the thesis: 64 and 1500 into a sink, 64 and 1024 to the wire.
const SUNK: [usize; 3] = [64, 1024, 1500];
/// Room for the longest frame in the longest header.
const MTU: u32 = 9000;
/// Of the paper: what fits a time stamp in VXLAN.
const TIMED: usize = 128;
const DELAY: &str = "delay at 128 bytes";
/// The median of what a delay differs by from the one before it.
const JITTER: &str = "jitter at 128 bytes";
/// The paper's jitter, the variance of that difference. Choice: both, since of ten thousand packets a dozen interrupts make most of
/// the variance, whichever way they fell on.
const VARIANCE: &str = "variance of jitter at 128 bytes";

/// Datagrams a second from host to host, by each way.
pub fn between_hosts(machine: Machine, rounds: usize) -> Result<(), Box<dyn std::error::Error>> {
    let lab = Lab::endpoints(Endpoints { tunnels: &Tunnel::ALL, mtu: Some(MTU), in_place: true })?;
    let mut figures = Rounds::default();
    for round in 0..rounds {
        for frame in FRAMES {
            let what = format!("{frame} bytes between hosts");
            rates(machine, &lab.ways, frame)?.note(&mut figures, &what, lab.ways.iter());
        }
        eprintln!("round {} of {rounds} of sizes between hosts", round + 1);
    }
    for frame in FRAMES {
        tables(&figures, &format!("{frame} bytes between hosts"), "packets/s");
    }
    Ok(())
}

/// Datagrams a second, and their delay, through a third host.
pub fn through_a_host(machine: Machine, rounds: usize) -> Result<(), Box<dyn std::error::Error>> {
    let lab = Lab::relays(Some(MTU))?;
    let ways = || lab.ways.iter().filter(|way| !way.name.ends_with("direct"));
    let mut figures = Rounds::default();
    for round in 0..rounds {
        for frame in FRAMES {
            rates(machine, ways(), frame)?.note(&mut figures, &format!("{frame} bytes"), ways());
        }
        let taken = in_turn(machine, ways(), TIMED)?;
        for (way, taken) in ways().zip(taken) {
            figures.note(DELAY, &way.name, taken.one_way);
            figures.note(JITTER, &way.name, taken.jitter);
            figures.note(VARIANCE, &way.name, taken.variance);
        }
        eprintln!("round {} of {rounds} of sizes through a host", round + 1);
    }
    for frame in FRAMES {
        tables(&figures, &format!("{frame} bytes"), "packets/s");
    }
    figures.table(DELAY, "us");
    figures.table(JITTER, "us");
    figures.table(VARIANCE, "us^2");

    let ratio = |what: &str, other: &str| figures.ratio(what, "relay", other);
    for frame in FRAMES {
        let name = format!("relay-rate-{frame}-over-forwarding");
        ratio(&counted(&figures, &format!("{frame} bytes")), "forwarding").goal(&name, Bound::AtLeast(1.0));
    }
    for (what, name) in [(DELAY, "delay"), (JITTER, "jitter"), (VARIANCE, "jitter-variance")] {
        ratio(what, "forwarding").goal(&format!("relay-{name}-{TIMED}-over-forwarding"), Bound::AtMost(1.0));
    }
    for (what, name, papers) in
        [(DELAY, "delay", 0.88), (JITTER, "jitter", 0.92), (VARIANCE, "jitter-variance", 0.92)]
    {
        ratio(what, "vxlan bridge")
            .goal(&format!("relay-{name}-{TIMED}-over-vxlan-bridge"), Bound::AtMost(papers));
    }
    Ok(())
}

/// Datagrams a second of one thread whose packets end at the other host's door.
pub fn into_a_sink(rounds: usize) -> Result<(), Box<dyn std::error::Error>> {
    let lab = Lab::endpoints(Endpoints { tunnels: &Tunnel::ALL, mtu: Some(MTU), in_place: false })?;
    let mut figures = Rounds::default();
    let mirror = Mirror::load(&[0; _])?;
    for round in 0..rounds {
        for frame in SUNK {
            for way in &lab.ways {
                let door = index(&way.to.namespace, &way.to.below)?;
                let sink = || mirror.swallow_on(door).map_err(|why| why.to_string());
                let sink = || way.to.namespace.run(sink)?.map_err(Error::other);
                let swallowed = || mirror.swallowed().map_err(|why| Error::other(why.to_string()));
                let taken = rate_into(way, frame, sink, swallowed)?;
                figures.note(&format!("{frame} bytes into a sink"), &way.name, taken);
            }
        }
        eprintln!("round {} of {rounds} into a sink", round + 1);
    }
    for frame in SUNK {
        figures.table(&format!("{frame} bytes into a sink"), "packets/s");
    }
    Ok(())
}
