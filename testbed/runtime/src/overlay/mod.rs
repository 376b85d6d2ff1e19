//! Overlays between nodes: from `overlays:` of a file to an agent in every member.
//!
//! ```text
//! file ─ resolve ─► Resolved ─ desired ─► OverlayState of each member ─ plan ─► Step::Overlays
//!                                                                                  │
//!                member's agent ◄── socket ── conversation ◄── Builder::overlays ◄─┘
//! ```
//!
//! The agent is `plait overlay agent`, the same program that serves a host without a testbed. It runs in its node like
//! any other program, but keeps what loading eBPF takes. Its programs and tables are pinned in a BPF file system that only
//! its node sees, so they end with the testbed.

mod agents;
mod conversation;
mod desired;
mod program;
mod resolve;

pub(crate) use agents::Means;
pub(crate) use desired::put_in;
pub(crate) use program::{PROGRAMS, own_program};
pub(crate) use resolve::resolve;
