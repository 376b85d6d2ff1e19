//! A network card that puts outer headers on, as a model: what a program on the sender's device does is done behind the device
//! instead, by the other processor.
//!
//! ```text
//!            processor 0                           processor 1
//!  none  socket ─► near ═══════════════════► card ───────────► wire ═► swallowed
//!  off   socket ─► own ─► header ─► near ══► card ───────────► wire ═► swallowed
//!  on    socket ─► near ═══════════════════► card ─► header ─► wire ═► swallowed
//! ```
//!
//! Source: Table 4.2 of the overlay FIB's thesis, whose card is a NetFPGA.

use crate::node::{node, place};
use crate::ratio::Rounds;
use crate::sinks::rate_between;
use plait_dataplane_bpf::{Mirror, Program};
use plait_dataplane_links::scratch::Namespace;
use plait_dataplane_profile::device::{index, neighbour};
use plait_dataplane_reference::mapped;
use plait_dataplane_reference::tables::{driver, encapsulation};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::error::Error;
use std::net::Ipv4Addr;

/// Of the thesis.
const FRAMES: [usize; 2] = [64, 1024];
const KINDS: [(&str, u32, u32); 2] =
    [("ipip", driver::IP, encapsulation::IPIP), ("vxlan", driver::ETHERNET, encapsulation::VXLAN)];
const NEAR: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 201, 0, 1), Ipv4Addr::new(10, 201, 0, 2)];
const OWN: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 202, 0, 1), Ipv4Addr::new(10, 202, 0, 2)];
/// Of whom packets are for.
const STATION: [u8; 6] = [2, 0, 0, 0, 0, 9];

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Datagrams a second that get through, by each way.
pub fn rates(rounds: usize) -> Result<()> {
    let (host, card, end) = (Namespace::new()?, Namespace::new()?, Namespace::new()?);
    host.veth("near", &card, "card")?;
    // A device of its own whose packets are all taken before they leave by it.
    host.veth("own", &end, "nowhere")?;
    card.veth("wire", &end, "door")?;
    for (device, [here, there]) in [("near", NEAR), ("own", OWN)] {
        host.address(device, here, 24)?;
        neighbour(&host, device, there, STATION)?;
    }
    let [near, own] = ["near", "own"].map(|device| index(&host, device));
    let (near, own) = (near?, own?);
    let (at_card, wire, door) = (index(&card, "card")?, index(&card, "wire")?, index(&end, "door")?);
    card.run(|| to_processor_one("card").map_err(|why| why.to_string()))??;

    let mut figures = Rounds::default();
    for round in 0..rounds {
        for frame in FRAMES {
            let what = format!("{frame} bytes by a card");
            let mut note =
                |way: &str, ends: [Ipv4Addr; 2], swallowed: &dyn Fn() -> Result<u64>| -> Result<()> {
                    figures.note(&what, way, rate_between(&host, ends, frame, swallowed)?);
                    Ok(())
                };
            let mirror = Mirror::load(&[0; _])?;
            let swallowed = || Ok(mirror.swallowed()?);
            let _sink = end.run(|| mirror.swallow_on(door).map_err(|why| why.to_string()))??;
            let forwarding =
                card.run(|| mirror.forward_on(at_card, wire).map_err(|why| why.to_string()))??;
            note("none", NEAR, &swallowed)?;
            for (name, driver, kind) in KINDS {
                let programs = node(driver, kind, near)?;
                for identifier in identifiers(OWN[1]) {
                    place(&programs, identifier)?;
                }
                let attach = || programs.attach(Program::Transmit, own).map_err(|why| why.to_string());
                let _there = host.run(attach)??;
                note(&format!("{name} off"), OWN, &swallowed)?;
            }
            drop(forwarding);
            for (name, driver, kind) in KINDS {
                let programs = node(driver, kind, wire)?;
                for identifier in identifiers(NEAR[1]) {
                    place(&programs, identifier)?;
                }
                let attach = || programs.attach_behind(at_card).map_err(|why| why.to_string());
                let _there = card.run(attach)??;
                note(&format!("{name} on"), NEAR, &swallowed)?;
            }
        }
        eprintln!("round {} of {rounds} by a card", round + 1);
    }
    for frame in FRAMES {
        figures.table(&format!("{frame} bytes by a card"), "packets/s");
    }
    Ok(())
}

/// What finds the receiver: its address for packets, its station for frames.
fn identifiers(address: Ipv4Addr) -> [[u8; 16]; 2] {
    let mut station = [0; 16];
    station[..6].copy_from_slice(&STATION);
    [mapped(address.into()), station]
}

/// Has the second processor take what a device of the calling thread's namespace gets.
fn to_processor_one(device: &str) -> Result<()> {
    let folder = tempfile::tempdir()?;
    // What /sys shows is of the namespace in which it was mounted.
    mount("sysfs", folder.path(), "sysfs", MountFlags::empty(), None)?;
    let file = folder.path().join(format!("class/net/{device}/queues/rx-0/rps_cpus"));
    let written = std::fs::write(file, "2");
    unmount(folder.path(), UnmountFlags::DETACH)?;
    Ok(written?)
}
