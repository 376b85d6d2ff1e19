//! Control applications that decide a network's routes, in whatever world the network is. Nothing here has a socket, a
//! thread or a clock: delays of links and time go in, routes of nodes come out.
//!
//! ```text
//!  Network, addresses ─► Ground ──────────────────────────────────┐
//!                          │                                      ▼
//!  state of links, time ─► Decider ─► links@1, links@2, nodes@1 ─► applications ─► routes@1 ─► Way, of each node
//! ```
//!
//! 1. [`Links`], [`PricedLinks`], [`Nodes`], [`Routes`]: the views, which know nodes by numbers and no addresses;
//! 2. [`Ground`]: what of a network does not change between two of its versions: who meets whom over which links, and
//!    under which addresses;
//! 3. [`native_application()`]: applications that are compiled in, by their names;
//! 4. [`Decider`]: the driver, the runtime, and what routes mean to each node.
//!
//! A world tells the state of its links, by [`Crossing`], and gives each node the [`Way`]s that it has now: the testbed
//! by netlink in its namespaces, the simulator at the event's instant.
#![forbid(unsafe_code)]

mod applications;
mod decider;
mod ground;
mod views;

pub use applications::{NATIVE, native_application};
pub use decider::{Decider, Undecided, Way};
pub use ground::{Crossing, Ground, GroundNode, Hop};
pub use views::{Link, Links, Node, Nodes, PricedLink, PricedLinks, Route, Routes};

use plait_control_runtime::{Application, Manifest};
use std::sync::Arc;

/// An application with what it says of itself.
pub type Applications = Vec<(Manifest, Arc<dyn Application>)>;
