//! What overlays need of a host, each to be tried, as `plait doctor` does: in a process with one thread and a network
//! namespace of its own, so that nothing is left.

use crate::agent::{Places, makes_device, makes_segmenter};
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{InfoKind, LinkAttribute, LinkInfo, LinkMessage};
use plait_dataplane_agent::home;
use plait_dataplane_bpf::{Error, Hook, Program, Programs, Sizes, silence};
use plait_dataplane_netlink::Netlink;
use plait_dataplane_reference::tables::{Device, driver};
use rustix::thread::{CapabilitySet, capabilities};
use std::io;
use std::os::unix::fs::MetadataExt;

/// The loopback device of a namespace that is new.
const LOOPBACK: u32 = 1;
/// The number that a veth is made with.
const VETH: u32 = 100;

/// What an agent needs to be allowed. Root has them all.
const RIGHTS: [(CapabilitySet, &str); 3] = [
    (CapabilitySet::BPF, "CAP_BPF"),
    (CapabilitySet::NET_ADMIN, "CAP_NET_ADMIN"),
    // The programs compute with pointers into packets, which the kernel's verifier lets nobody do without.
    (CapabilitySet::PERFMON, "CAP_PERFMON"),
];

/// The host's user namespace, by the number that the kernel gives it.
const OF_THE_HOST: u64 = 0xefff_fffd;

/// Whether this process may do what an agent does; else what keeps it from that.
///
/// # Errors
/// What it lacks, as a sentence goes on behind "this one".
pub(crate) fn rights() -> Result<(), String> {
    let held = capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective);
    let lacking: Vec<&str> =
        RIGHTS.into_iter().filter(|(right, _)| !held.contains(*right)).map(|(_, name)| name).collect();
    if !lacking.is_empty() {
        return Err(format!("lacks {}", lacking.join(" and ")));
    }
    // There is no /proc everywhere.
    match std::fs::metadata("/proc/self/ns/user") {
        Ok(namespace) if namespace.ino() != OF_THE_HOST => {
            Err("is in a user namespace, where the kernel counts none of them".to_owned())
        }
        _ => Ok(()),
    }
}

/// Whether the kernel takes the programs.
///
/// # Errors
/// Why not.
pub fn programs() -> io::Result<()> {
    load(&Program::ALL).map(drop)
}

/// Whether the kernel can be told that a packet's outer header becomes one of the other family, by flags of
/// `bpf_skb_adjust_room` that Linux has from 6.3 on. Choice: its version says so, since a program that gives flags which a kernel does
/// not know is loaded all the same, and refused packet by packet.
///
/// # Errors
/// It is older.
pub fn families() -> io::Result<()> {
    since((6, 3))
}

/// Whether the kernel says of a device that it takes packets from XDP programs of others. Its version says so, for the same reason:
/// without one's answer no device is known to.
///
/// # Errors
/// It is older.
pub fn exits() -> io::Result<()> {
    since((6, 3))
}

/// Whether the kernel is of this version or newer.
///
/// # Errors
/// It is older.
pub fn since(wanted: (u32, u32)) -> io::Result<()> {
    let (version, release) = kernel();
    if version >= wanted {
        Ok(())
    } else {
        Err(io::Error::other(format!("Linux {release} is older than {}.{}", wanted.0, wanted.1)))
    }
}

/// The kernel's version, as two numbers and as it says itself.
pub fn kernel() -> ((u32, u32), String) {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().unwrap_or(0));
    ((numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)), release)
}

/// Whether programs get onto a device in a way: on the first of the calling thread's network namespace.
///
/// # Errors
/// Why not.
pub fn hook(hook: Hook) -> io::Result<()> {
    let attachment = load(&[Program::Receive])?.attach(Program::Receive, LOOPBACK).map_err(told)?;
    if attachment.hook() == hook { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)) }
}

/// Whether programs can stay where the agents keep theirs.
///
/// # Errors
/// Why not.
pub fn place() -> io::Result<()> {
    match home::is_bpffs(&Places::of("default").pins)? {
        true => Ok(()),
        false => Err(io::Error::from_raw_os_error(libc::ENOENT)),
    }
}

/// Whether a tenant's device can be made: makes one in the calling thread's network namespace.
///
/// # Errors
/// Why not.
pub fn device() -> io::Result<()> {
    makes_device(&Netlink::open()?)
}

/// Whether superpackets can be cut: makes a pair of devices that does, in the calling thread's network namespace.
///
/// # Errors
/// Why not.
pub fn segmenter() -> io::Result<()> {
    makes_segmenter()
}

/// Whether a relay gets into a device's driver: on a veth that it makes in the calling thread's network namespace, and leaves
/// to go with that.
///
/// # Errors
/// Why not.
pub fn driver() -> io::Result<()> {
    let mut pair = LinkMessage::default();
    pair.header.index = VETH;
    pair.attributes.push(LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Veth)]));
    Netlink::open()?.request(RouteNetlinkMessage::NewLink(pair), NLM_F_CREATE | NLM_F_EXCL)?;
    load(&[Program::Relay])?.attach(Program::Relay, VETH).map(drop).map_err(told)
}

fn load(wanted: &[Program]) -> io::Result<Programs> {
    silence();
    let device = Device { tenant: 1, driver: driver::ETHERNET, prefix: [32, 128], offset: 0, mask: [0; 16] };
    Programs::load(wanted, &device, Sizes { identifiers: 1, nodes: 1 }).map_err(told)
}

/// An error as a number, which is all that a process says when it ends.
fn told(error: Error) -> io::Error {
    io::Error::from_raw_os_error(match error.kind() {
        io::ErrorKind::PermissionDenied => libc::EPERM,
        io::ErrorKind::OutOfMemory => libc::ENOMEM,
        _ => libc::EOPNOTSUPP,
    })
}
