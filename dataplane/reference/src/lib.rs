//! What the overlay's data plane does with a packet, without a kernel: the same tables, the same walk, in safe Rust.
//!
//! Three use it. The eBPF programs of `dataplane/bpf` are held against it, packet by packet. The simulator forwards
//! with it. And whoever wants to know what the programs do reads it: [`Walk::transmit`] for what leaves a tenant's
//! device, [`Walk::receive`] for what comes in by the underlay.
//!
//! A [`Table`] may stand before another that is only read, such as a kernel's, so that a packet is walked by what is there
//! now and changes nothing of it.
//!
//! [`tables`] are declared here once, for both: the build of the programs makes C's structures of them.

#![forbid(unsafe_code)]

mod declare;
pub mod drivers;
pub mod paths;
mod table;
pub mod tables;
mod template;
mod walk;

pub use table::Table;
pub use template::{OVERLAYS, arrivals, shim_bytes, udp_port};
pub use walk::{Counts, Outcome, Sent, Via, Walk, mapped};
