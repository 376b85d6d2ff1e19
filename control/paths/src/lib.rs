//! Which relays name a path. Nothing here has a socket or a clock.
#![forbid(unsafe_code)]

mod fabric;
pub mod ospf;
mod plan;
mod relays;
mod tree;

pub use fabric::{Fabric, Link, Switch};
pub use plan::{Effort, Method, Plan, PlannedPath, Settings};
pub use relays::{AnyHash, Forwarding, KnownHops, NextHop, Relays, fewest_relays};
pub use tree::PathTree;
