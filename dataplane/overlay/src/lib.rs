//! The overlay's agent: the process on each node that keeps the data plane's tables as a control plane wants them.
//!
//! ```text
//! commands, other programs ─► socket ─┐
//! control/overlay ◄─► UDP ────────────┼─► Agent ─► Compiler ─► eBPF tables
//! routes, neighbours, links ─► netlink┘
//! ```
//!
//! - [`Compiler`] turns LIB and RIB (`model/overlay`) into [`Write`]s to the tables of the data plane
//!   (`dataplane/reference` declares them; eBPF programs and the reference walk read them), a change at a time.
//! - [`agent`] holds the configuration, the underlay as the kernel tells it, the devices and the programs.
//! - [`needs`] tries what all of this wants of a host.
//! - [`madcap`] is the overlay FIB's author's way of saying things to an agent.
//! - [`trace`] is a flow's way, hop by hop.
//! - [`protocol`] is what the socket speaks, and [`Client`] speaks it.
//!
//! Nothing of an overlay is encrypted: whoever sees the underlay reads and changes what is inside.

#![forbid(unsafe_code)]

pub mod agent;
mod bit_field;
mod client;
mod compile;
mod config;
mod identifier;
pub mod madcap;
pub mod needs;
pub mod protocol;
mod tenant;
pub mod trace;

pub use bit_field::BitField;
pub use client::Client;
pub use compile::{
    Compiler, Encapsulation, Exit, Full, Kind, MOST_PAIRS, Neighbour, NoEncapsulation, Pair, Rerouted, Room,
    Underlay, Write,
};
pub use config::{ApplicationConfig, BadConfig, Carries, Control, ControlKind, DeviceConfig, Evpn, Miss};
pub use identifier::{BadIdentifier, Bits, Identifier};
/// How a program is on a device.
pub use plait_dataplane_bpf::Hook;
