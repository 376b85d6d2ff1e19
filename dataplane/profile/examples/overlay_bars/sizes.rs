//! What the size of packets changes: the first experiment of ovstack's paper, and the third and sixth of the overlay FIB's
//! thesis, which end packets where their device has sent them.

use crate::delays::in_turn;
use crate::rates::rates;
use crate::ratio::Rounds;
use crate::sinks::rate_into;
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

/// Datagrams a second from host to host, by each way.
pub fn between_hosts(rounds: usize) -> Result<(), Box<dyn std::error::Error>> {
    let lab = Lab::endpoints(Endpoints { tunnels: &Tunnel::ALL, mtu: Some(MTU), in_place: true })?;
    let mut figures = Rounds::default();
    for round in 0..rounds {
        for frame in FRAMES {
            for (way, rate) in lab.ways.iter().zip(rates(&lab.ways, frame)?) {
                figures.note(&format!("{frame} bytes between hosts"), &way.name, rate);
            }
        }
        eprintln!("round {} of {rounds} of sizes between hosts", round + 1);
    }
    for frame in FRAMES {
        figures.table(&format!("{frame} bytes between hosts"), "packets/s");
    }
    Ok(())
}

/// Datagrams a second, and their delay, through a third host.
pub fn through_a_host(rounds: usize, small: bool) -> Result<(), Box<dyn std::error::Error>> {
    let lab = Lab::relays(Some(MTU))?;
    let ways = || lab.ways.iter().filter(|way| !way.name.ends_with("direct"));
    let mut figures = Rounds::default();
    for round in 0..rounds {
        for frame in FRAMES {
            for (way, rate) in ways().zip(rates(ways(), frame)?) {
                figures.note(&format!("{frame} bytes"), &way.name, rate);
            }
        }
        let taken = in_turn(ways(), TIMED, if small { 2_000 } else { 10_000 })?;
        for (way, taken) in ways().zip(taken) {
            figures.note("delay at 128 bytes", &way.name, taken.one_way);
            figures.note("jitter at 128 bytes", &way.name, taken.jitter);
        }
        eprintln!("round {} of {rounds} of sizes through a host", round + 1);
    }
    for frame in FRAMES {
        figures.table(&format!("{frame} bytes"), "packets/s");
    }
    figures.table("delay at 128 bytes", "us");
    figures.table("jitter at 128 bytes", "us");
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
