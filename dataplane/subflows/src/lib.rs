//! Several subflows for each Multipath TCP connection (RFC 8684) that this host opens, all from one interface: what
//! `ndiffports` was to the old kernel module. Switches that hash flows, and hosts that choose paths for them, then spread
//! one connection over several paths.
//!
//! The kernel has it done from outside: its path manager for user space tells of connections and opens what it is asked
//! to. [`Manager`] is that outside; while one listens, this host accepts what other hosts' managers open, too.

#![forbid(unsafe_code)]

mod connections;
mod create;
mod error;
mod event;
mod manager;

pub use connections::News;
pub use error::SubflowsError;
pub use manager::{Manager, Options};
