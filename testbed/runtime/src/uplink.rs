//! A way out of the sandbox for chosen nodes, through a user-space NAT of the distribution (slirp4netns).
//!
//! The NAT's process is the only one of a testbed that stays in the host's network namespace, so it is forked before
//! the supervisor leaves that; it lives in the sandbox's process namespace and ends with it. Nothing of the host
//! changes: to the host, a node's connections are those of an ordinary program of the user.
//!
//! **The fence.** The default route over the uplink stands in a table that only packets made by the node itself look
//! into (`ip rule add iif lo`). What other nodes send through the node never meets it, and is answered with
//! "unreachable".

use crate::build::messages;
use crate::control::Line;
use crate::kernel::files::Doing;
use crate::kernel::namespace::{self, Kind};
use crate::kernel::netlink::{Batch, Netlink};
use crate::kernel::process::{Side, fork};
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::Mutex;

/// The NAT of the distribution.
pub const PROGRAM: &str = "/usr/bin/slirp4netns";
/// The node's interface to it.
pub const INTERFACE: &str = "uplink";
/// Choice: shared address space (RFC 6598), which no testbed's pool and hardly a home network uses.
const NETWORK: &str = "100.115.92.0/24";
const ADDRESS: &str = "100.115.92.100/24";
const GATEWAY: &str = "100.115.92.2";
/// The table that holds the way out, and the priority of the rule that leads there: after the main table's.
const TABLE: u32 = 100;
const PRIORITY: u32 = 40_000;

/// What the gate is asked: start a NAT for the namespace whose descriptor comes along.
#[derive(Serialize, Deserialize)]
struct Ask {
    node: String,
}

/// The process in the host's network namespace that starts NATs.
pub struct Gate {
    line: Mutex<Line>,
}

impl Gate {
    /// Forks the gate. Must be called while the caller has one thread and is still in the host's network namespace.
    ///
    /// # Errors
    /// When the fork fails.
    pub fn open() -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        match fork()? {
            Side::Parent(_) => Ok(Self { line: Mutex::new(Line::new(ours)) }),
            Side::Child => {
                drop(ours);
                serve(Line::new(theirs));
                std::process::exit(0)
            }
        }
    }

    /// Gives a node its uplink; returns the number of its device.
    ///
    /// # Errors
    /// When the NAT is not installed, or does not start.
    pub fn lead_out(&self, node: &str, network: BorrowedFd<'_>) -> io::Result<u32> {
        let mut line = self.line.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        line.send(&Ask { node: node.to_owned() }, &[network])?;
        let answer: Option<Result<(), String>> = line.receive()?;
        match answer {
            Some(Ok(())) => {}
            Some(Err(why)) => return Err(io::Error::other(why)),
            None => return Err(io::Error::other("the process in front of the uplinks is gone")),
        }
        namespace::on_thread(|| {
            namespace::enter(network, Kind::Network)?;
            configure()
        })
        .doing(|| format!("set up the uplink of {node}"))
    }
}

/// The gate's life: one NAT for each request, until the supervisor is gone.
fn serve(mut line: Line) {
    // A NAT that ends early stays a zombie until the sandbox goes: ignoring SIGCHLD would be inherited, and the NAT
    // waits for a child of its own.
    while let Ok(Some(ask)) = line.receive::<Ask>() {
        let network = line.descriptors.pop();
        let answer = match network {
            Some(network) => start(&ask.node, &network).map_err(|error| error.to_string()),
            None => Err("no namespace came with the request".to_owned()),
        };
        if line.send(&answer, &[]).is_err() {
            return;
        }
    }
}

/// Starts a NAT and waits until its device is there.
fn start(node: &str, network: &OwnedFd) -> io::Result<()> {
    let (ready, told) = rustix::pipe::pipe()?;
    let mut command = Command::new(PROGRAM);
    command.args(["--netns-type=path", "--disable-host-loopback", "--cidr", NETWORK]);
    command.arg(format!("--ready-fd={}", told.as_raw_fd()));
    command.arg(format!("/proc/self/fd/{}", network.as_raw_fd())).arg(INTERFACE);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).env_clear();
    for kept in [told.as_fd(), network.as_fd()] {
        rustix::io::fcntl_setfd(kept, rustix::io::FdFlags::empty())?;
    }
    command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => io::Error::other(format!(
            "{PROGRAM} is not there: install `slirp4netns`, or remove `uplink` from {node}"
        )),
        _ => error,
    })?;
    drop(told);
    // The NAT writes a byte when it is ready, and closes the pipe when it fails.
    match rustix::io::read(&ready, &mut [0; 1])? {
        0 => {
            Err(io::Error::other(format!("{PROGRAM} did not start for {node}: is /dev/net/tun open to you?")))
        }
        _ => Ok(()),
    }
}

/// Address, way out and fence, inside the node.
fn configure() -> io::Result<u32> {
    let index = messages::index_of(INTERFACE);
    if index == 0 {
        return Err(io::Error::other("the NAT made no device"));
    }
    let mut batch = Batch::default();
    batch.push(messages::no_link_local(index), 0);
    batch.push(messages::up(index, messages::Up::Plain), 0);
    batch.push(
        messages::address(index, ADDRESS.parse().expect("an address"), true),
        NLM_F_CREATE | NLM_F_EXCL,
    );
    batch.push(messages::way_out(GATEWAY.parse().expect("an address"), index, TABLE), NLM_F_CREATE);
    batch.push(messages::own_packets_rule(TABLE, PRIORITY), NLM_F_CREATE | NLM_F_EXCL);
    Netlink::open()?.send_whole(&mut batch)?;
    Ok(index)
}
