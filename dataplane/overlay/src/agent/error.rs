//! Why an agent did not do what it had to, each with what to do about it.

use super::places::LAYOUT;
use crate::compile::Full;
use crate::config::BadConfig;
use crate::{Encapsulation, Identifier};
use plait_model_overlay::{Application, OperationError};
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why an agent did not do what it had to.
#[derive(Debug, Error)]
pub enum AgentError {
    /// A file or folder.
    #[error("{0}: {1}")]
    File(PathBuf, #[source] io::Error),
    /// Netlink.
    #[error("{0}: {1}")]
    Kernel(String, #[source] io::Error),
    /// Programs or tables.
    #[error("eBPF: {0}")]
    Bpf(#[from] plait_dataplane_bpf::Error),
    /// An operation on LIB or RIB.
    #[error(transparent)]
    Operation(#[from] OperationError),
    /// A configuration.
    #[error(transparent)]
    Config(#[from] BadConfig),
    /// A table is full.
    #[error(
        "{0}: it stands in LIB and RIB, but no packet finds it. {remedy}", remedy = larger(.0)
    )]
    Full(#[from] Full),
    /// It is done, and will be forgotten.
    #[error(
        "{0}: {1}: it is done, but an agent that starts again will not know of it; make room and say it again"
    )]
    Journal(PathBuf, #[source] io::Error),
    /// What an application carries cannot change under a device.
    #[error(
        "`{0}` carries something else: take it away first with `plait overlay config device {0} --delete`"
    )]
    InUse(String),
    /// What a device is cannot change.
    #[error(
        "`{0}` is a device of another application, virtual network, prefix or bits: take it away first with \
         `plait overlay config device {0} --delete`"
    )]
    OtherDevice(String),
    /// A device that there is not.
    #[error("there is no overlay device `{0}`: add one with `plait overlay config device`")]
    NoDevice(String),
    /// An application that nothing is said of.
    #[error("nothing is said of application {0} yet: use `plait overlay config application {0}`")]
    NoApplication(Application),
    /// A device of the host that is none of the agent's.
    #[error("there is a device `{0}` that is none of this agent's: choose another name")]
    Foreign(String),
    /// A device of the overlay's, where one below it is wanted.
    #[error(
        "`{0}` is a device of the overlay itself: name those by which packets of other nodes come to this host"
    )]
    OwnDevice(String),
    /// An underlay of no devices.
    #[error(
        "name at least one device, or have the routes say it with `plait overlay config underlay --by-routes`"
    )]
    NoUnderlay,
    /// A tenant that has a device already.
    #[error(
        "`{0}` is the device of that application and virtual network: choose another `--vni`, or take it away with \
         `plait overlay config device {0} --delete`"
    )]
    TenantTaken(String),
    /// What arrives at a locator could be either application's.
    #[error(
        "application {other} takes {encapsulation} at {locator} already, and nothing in such a packet says whose it is: give the \
         applications locators of their own, or the encapsulation ovstack, or make them one application with a device for each VNI"
    )]
    Shared {
        /// Who takes it already.
        other: Application,
        /// What.
        encapsulation: Encapsulation,
        /// Where.
        locator: IpAddr,
    },
    /// The kernel would drop what comes in by another device than it would be answered by.
    #[error(
        "{0} drops what comes in there and is answered by another device, as packets `in place` are: set \
         net.ipv4.conf.all.rp_filter and net.ipv4.conf.{0}.rp_filter to 0 or 2"
    )]
    StrictReversePath(String),
    /// An identifier of another kind than the device's.
    #[error("{device} finds packets by {by}: {identifier} is none")]
    Identifier {
        /// The device.
        device: String,
        /// What it finds packets by.
        by: String,
        /// As asked.
        identifier: Identifier,
    },
    /// Somewhere to find an identifier that is not there.
    #[error("{device} does not know {identifier}: `plait overlay fib show {device}` lists what it knows")]
    Absent {
        /// The device.
        device: String,
        /// As asked.
        identifier: Identifier,
    },
    /// A trace of what a device does not carry.
    #[error(
        "{device} carries nothing to or from {identifier}: name a single address, or what `plait overlay fib show {device}` \
         lists"
    )]
    TraceOf {
        /// The device.
        device: String,
        /// As asked.
        identifier: Identifier,
    },
    /// A trace to an address whose hardware address is not known.
    #[error(
        "nobody knows the hardware address of {1} on {0}: send it something, such as a ping, or name the hardware address"
    )]
    TraceNeighbour(String, IpAddr),
    /// A trace of a packet that no host could send.
    #[error("{device} takes no packet of {size} bytes: its MTU is {mtu}")]
    TraceSize {
        /// The device.
        device: String,
        /// As asked.
        size: u16,
        /// The device's.
        mtu: u32,
    },
    /// Too many traces.
    #[error("too many traces are under way: ask again when they have ended")]
    Tracing,
    /// A control plane of a node without identity.
    #[error("this node has no identity in application {0}: use `plait overlay id set` first")]
    NoIdentity(Application),
    /// A feed of an application that does not have one locator.
    #[error(
        "EVPN announces one address of this node: give application {0} one locator, no more and no less, with \
         `plait overlay locator add` and `del`"
    )]
    Vtep(Application),
    /// Two that would fill the same tables.
    #[error(
        "application {0} has a control plane already: end it first with `plait overlay config control none` or `plait \
         overlay config evpn --delete`"
    )]
    Driven(Application),
    /// A key that others may read.
    #[error("{0} may be read by others: `chmod 600` it, and choose a new key")]
    OpenKey(PathBuf),
    /// A key that is none.
    #[error("{0}: {1}")]
    Key(PathBuf, plait_control_overlay::NoKey),
    /// Tables of another layout.
    #[error(
        "{0} holds tables of another plait's layout, this one's is layout-{LAYOUT}: start the plait that made them, or \
         take them away with `plait overlay agent --remove`, which stops their packets"
    )]
    Layout(PathBuf),
    /// No place for programs to stay.
    #[error(
        "{0} is in no BPF file system: `mount -t bpf bpf /sys/fs/bpf`, or name a folder of one (`--pins`)"
    )]
    NoBpfFs(PathBuf),
    /// A user without the rights that it takes.
    #[error(
        "overlays need root, or a process of the host's that has CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON: this one {0}"
    )]
    NoRight(String),
    /// Another agent is there.
    #[error("an agent runs already with {0}")]
    Running(PathBuf),
}

/// What to do about a full table.
fn larger(full: &Full) -> &'static str {
    match full.table {
        "tenants" | "next hops of a group" => "There are no larger ones: give up some of what uses it",
        _ => "Start the agent with larger tables (`--nodes`)",
    }
}

pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> AgentError {
    let path = path.to_owned();
    move |error| AgentError::File(path, error)
}

pub(super) fn doing(what: impl Into<String>) -> impl FnOnce(io::Error) -> AgentError {
    let what = what.into();
    move |error| AgentError::Kernel(what, error)
}
