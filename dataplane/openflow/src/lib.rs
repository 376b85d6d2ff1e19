//! An OpenFlow controller's moving half. What it decides is [`plait_control_openflow`]'s; what applications do with flow
//! requests runs in [`plait_control_runtime`]. Here are sockets, threads and the clock.
//!
//! ```text
//!  switches ══ sockets ══► worker: read, cut, batch ──► control runtime ──► commands ──► grouped by switch ══► sockets
//!                             ▲   one of a few threads,   applications run on the worker
//!                             │   pinned                  that brought the batch
//!                          epoll: one asks for all where something waits
//! ```
//!
//! 1. [`Controller`]: what runs, and what can be asked of it,
//! 2. [`Config`]: every choice of the thesis, each with its off switch; [`Config::nox`], [`Config::beacon`],
//! 3. `worker.rs`: the loop; `link.rs`, `shared.rs`, `poller.rs`: what it goes over,
//! 4. `brain.rs`: the runtime behind its lock; `outbox.rs`: output grouped by switch; `left.rs`: what switches that are away are owed,
//! 5. `standing.rs`: what the controller is beside others,
//! 6. [`Security`]: TLS with certificates on both sides; `stream.rs`: a socket with or without it, or memory ([`End`]),
//! 7. [`Statistics`]: what was met on the way; [`Recorder`]: all of it, to be replayed.
//!
//! Source: Zheng Cai, *Maestro*, Rice University 2011, section 4.2.

#![forbid(unsafe_code)]

mod brain;
mod config;
mod controller;
mod left;
mod link;
mod outbox;
pub mod pem;
mod poller;
mod queue;
mod recorder;
mod room;
#[cfg(test)]
#[path = "../tests/support/scripted.rs"]
mod scripted;
mod security;
mod shared;
mod spin;
mod standing;
mod statistics;
mod stream;
pub mod tls;
mod worker;

pub use config::{Config, Idleness, Partition};
pub use controller::{Controller, NoAnswer, NotStarted};
pub use recorder::Recorder;
pub use security::{NotSecure, Security};
pub use standing::{NoRole, NotAsked};
pub use statistics::Statistics;
pub use stream::End;
