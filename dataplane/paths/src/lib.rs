//! The end host's half of path control: what `control/paths` decides, done to packets that leave a device.
//!
//! ```text
//! control/paths ─► Operation ─► Paths ─► sets, stacks, then prefixes ─► program on the device ─► packets with stacks
//!                                 ▲                                                 │
//!                              flows, counters ◄────────────────────────────────────┘
//! ```
//!
//! - [`Paths`] steers what leaves a device, by an eBPF program of `dataplane/bpf` (`programs/paths.bpf.c`).
//! - [`Relay`] takes one header off what comes in for it. Switches that do so in hardware need none.
//! - [`Border`] keeps out what comes from outside with the stacks' source.
//!
//! - [`agent::Agent`] does all of it on a node, for [`Client`]s, and is iplbd where it learns the fabric.
//!
//! All headers of a stack are of one family, IPv4 or IPv6, whatever the packet's, and have one source, which is nobody's address: a relay knows one tunnel, whoever sends. So nothing
//! can be answered to it, and what is too long with the tallest stack of its prefix is refused where it begins.
//!
//! Devices carry Ethernet.

#![forbid(unsafe_code)]

mod address;
pub mod agent;
mod client;
mod cutter;
mod device;
mod error;
mod family;
mod flow_name;
mod holder;
mod options;
mod paths;
mod policies;
pub mod protocol;
mod relay;
mod report;
mod slots;
mod superpackets;

pub use client::Client;
pub use device::Lengths;
pub use error::Error;
pub use family::{RelayAddresses, SHARED_SOURCE, SHARED_SOURCE_IPV6, Sources};
pub use holder::Holder;
pub use options::{Encapsulation, Options, Selector, Superpackets, Ways, longest_silence};
pub use paths::Paths;
pub use plait_dataplane_reference::paths::Family;
pub use plait_dataplane_reference::paths::tables::{FlowKey, PathDrop};
pub use relay::{Border, Relay};
pub use report::{FlowReport, ListReport};
