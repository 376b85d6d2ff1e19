//! Paths that hosts choose: from `paths:` of a file to an agent in every host and relay.
//!
//! ```text
//! file ─ resolve ─► Resolved ─ desired ─► PathsState of each node, routes to relays ─ plan ─► Step::Paths
//!                      │                     ▲                                                    │
//!                      └──── statics ────────┘             node's agent ◄── Builder::paths ◄──────┘
//! ```
//!
//! The agent is `plait paths agent`: in a host it puts headers before packets, and is iplbd where it learns; in a relay it
//! takes them off. Like overlays' agents it runs in its node, and what it keeps ends with the testbed.

mod agents;
mod border;
mod desired;
mod lists;
mod resolve;
mod spread;

pub(crate) use desired::{is_point_to_point, put_in};
pub use lists::{policies, statics};
pub use resolve::{ByHand, Learn, Resolved, resolve};

use crate::section::Paths;
use plait_model_topology::{Network, section};

/// The paths of a network; none where the file has no such section, or a faulty one.
pub fn of(network: &Network) -> Option<Resolved> {
    let written = section::<Paths>(&network.sections, "paths").ok().flatten()?;
    resolve(&written, network).ok()
}
