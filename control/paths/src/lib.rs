//! Which relays name a path. Nothing here has a socket or a clock.
#![forbid(unsafe_code)]

mod daemon;
mod fabric;
mod fat_tree;
pub mod ospf;
mod plan;
mod relays;
pub mod select;
mod table;
mod tree;

pub use daemon::{Daemon, DaemonConfig};
pub use fabric::{Fabric, Link, Switch};
pub use fat_tree::{FatTree, Layer};
pub use plan::{Effort, Method, Plan, PlannedPath, Settings};
pub use relays::{AnyHash, Forwarding, KnownHops, NextHop, Relays, fewest_relays};
pub use table::{Operation, RelayList, Table};
pub use tree::PathTree;
