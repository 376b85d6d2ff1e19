//! The overlay's eBPF programs, their tables, and what loads them.
//!
//! The programs are C (`programs/overlay.bpf.c` reads as a packet's walk); the build compiles them with headers made of
//! [`tables`](plait_dataplane_reference::tables) and of
//! [`plait_model_wire`], so that every layout is written once, in Rust.
//!
//! [`Programs::load`] gives them to the kernel, [`Programs::table`] reads and writes their tables,
//! [`Programs::run`] sends a packet through one without any device, and [`Programs::attach`] puts one on a device.
//! [`Stamps`] are programs of their own (`programs/stamps.bpf.c`), which say when a packet passes where.
//! [`Mirror`] (`programs/mirror.bpf.c`) is what a relay in a device's driver is measured beside.
//! [`PathPrograms`] put stacks of headers before packets and take them off (`programs/paths.bpf.c`).
//! Who decides what stands in the tables is none of this room's business.

#![allow(
    unsafe_code,
    reason = "in `attachment` and `xdp` alone: libbpf-rs 0.27 has no TCX and does not say how XDP runs, so that libbpf's own \
              functions are called"
)]

mod attachment;
mod clsact;
mod counters;
mod mirror;
mod object;
mod paths;
mod programs;
mod stamps;
mod table;
mod xdp;

pub use attachment::{Attachment, Hook, release};
pub use counters::Counters;
pub use mirror::{Mirror, RELAYED};
pub use paths::{PathProgram, PathPrograms, PathSizes, release_path};
pub use programs::{Error, Program, Programs, Ran, Sizes, Verdict, silence};
pub use stamps::{Probes, Stamps};
pub use table::{Table, TableName, names, path_names};
pub use xdp::close_exits;
