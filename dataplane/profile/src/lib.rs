//! What it costs to send through a tunnel: from the call to the driver, stage by stage.
//!
//! ```text
//! call ─► socket ─► inner IP ─► tunnel ─► outer IP ─► queue ─► driver        peer: sink
//!      stamp     stamp       stamp     stamp      stamp   stamp     stamp
//! ```
//!
//! After the profiler of the overlay FIB's thesis (Nakamura, section 4.2), which patched the kernel to stamp packets. Here
//! programs on tracepoints and devices do so (`plait-dataplane-bpf`'s `Stamps`). Read in this order:
//!
//! 1. [`lab`] – hosts of throw-away namespaces, and a way of each kind between them, of [`device`]s made by netlink; benches use both, too;
//! 2. [`gateway`] – a host with a million identifiers behind one gateway, and [`line`] – hosts with a relay between them, where packets go by relay lists, for a bench alone;
//! 3. [`nsh`] – the one tunnel for which the kernel has no device;
//! 4. [`stages`] – how a packet's stamps are cut into stages;
//! 5. [`profile`] – packets over all ways in turn, what stamps cost themselves taken off;
//! 6. [`picture`] – stacked bars.
#![forbid(unsafe_code)]

pub mod device;
pub mod gateway;
mod host;
pub mod lab;
pub mod line;
pub mod nsh;
pub mod picture;
pub mod profile;
pub mod stages;
mod tunnel;

pub use profile::{Options, Profile, profile};
pub use tunnel::Tunnel;

use plait_dataplane_bpf::Probes;
use std::io;
use thiserror::Error;

/// Why nothing was measured.
#[derive(Debug, Error)]
pub enum Error {
    /// A namespace, a device, a socket or an agent that did not do what it had to.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Programs that the kernel does not take.
    #[error("the kernel does not take the profiler's programs: {0}")]
    Stamps(#[from] plait_dataplane_bpf::Error),
    /// Paths that the kernel does not take.
    #[error(transparent)]
    Paths(#[from] plait_dataplane_paths::Error),
    /// Agents have no place for their programs.
    #[error("no BPF file system at /sys/fs/bpf: `mount -t bpf bpf /sys/fs/bpf`")]
    NoPlace,
    /// A host that was to be asked has no agent.
    #[error("a host has no agent")]
    NoAgent,
    /// A way that too few packets took as most do.
    #[error("of {packets} packets by {way} only {kept} were seen from end to end in one way")]
    Unseen {
        /// The way.
        way: String,
        /// Packets that were sent.
        packets: usize,
        /// Of which the stamps make sense.
        kept: usize,
    },
}

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// Whether this kernel takes all the programs, and has the tracepoints that they are put on.
///
/// # Errors
/// Why not.
pub fn needs() -> io::Result<()> {
    plait_dataplane_bpf::silence();
    match plait_dataplane_bpf::Stamps::start(Probes::Twice) {
        Ok(_) => Ok(()),
        Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
    }
}
