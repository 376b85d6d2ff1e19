//! Which relays name a path: control of paths from end hosts through unmodified switches, after iplb (Nakamura, *Improving
//! Packet Transport in Virtual Networking by Encapsulation Techniques*, 2016, chapter 5). Nothing here has a socket or a
//! clock: packets, bytes and time go in, packets and [`Operation`]s come out.
//!
//! ```text
//!  packets, time ─► ospf::Speaker ───┐
//!                                    ├─► Lsdb ─► Fabric ─► Plan ─► Table ─► Operations
//!  bytes of FRR's ─► ospf::ApiClient ┘           └─────── Daemon ────────┘      │
//!                                                                               ▼
//!  what flows sent ────────────────────────────────────────► select::Rearranger ─► flows that move
//! ```
//!
//! In this order:
//!
//! 1. [`Fabric`] – switches, links with costs, and which prefixes lie behind which switch;
//! 2. [`Plan`] – from one switch to all others the k shortest loop-free paths, and of each the [`Relays`] that name it, by a
//!    [`Method`]:
//!    - [`PathTree`], the thesis's tree and its Algorithm 2,
//!    - [`fewest_relays`], lists that lead along their path whatever the switches' hashes do, or as far as they are known,
//!    - [`FatTree`], where one relay is enough;
//! 3. [`Table`] – of each prefix its relay lists, as a sender looks them up;
//! 4. [`Daemon`] – iplbd without its sockets: keeps a table true to a fabric that changes;
//! 5. [`iplbd()`], [`Iplbd`] – the same as an application of the control runtime, which can be recorded, replayed and
//!    asked what would be, and which lets switches follow a failure before it takes relays away;
//! 6. [`ospf`] – how a fabric is learnt; [`Survey`] – the one that a network file describes;
//! 7. [`select`] – which of a prefix's flows is to go by another of its lists.
//!
//! Paths begin at the switch that a host is behind. A packet goes to its first relay by the switches' own routing, from one
//! relay to the next likewise, and from the last one to where it is for.
//!
//! `examples/paths_bars.rs` says what all of this takes, `examples/paths_deviation.rs` how many of the thesis's lists lead
//! elsewhere than meant. `dataplane/ospf` has sockets around the cores of [`ospf`].

#![forbid(unsafe_code)]

mod application;
mod daemon;
mod fabric;
mod fat_tree;
pub mod ospf;
mod passage;
mod plan;
mod relays;
pub mod select;
mod survey;
mod table;
mod tree;

pub use application::{AccessSwitch, FabricDriver, Iplbd, Learnt, Planned, iplbd};
pub use daemon::{Daemon, DaemonConfig};
pub use fabric::{Fabric, Link, Switch};
pub use fat_tree::{FatTree, Layer};
pub use plan::{Effort, Method, Plan, PlannedPath, Settings};
pub use relays::{AnyHash, Forwarding, KnownHops, NextHop, Relays, Towards, fewest_relays};
pub use survey::Survey;
pub use table::{Operation, RelayList, Table};
pub use tree::PathTree;
