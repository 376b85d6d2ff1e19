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
mod feed;
pub(crate) mod program;
mod resolve;
mod told;

pub(crate) use agents::Means;
pub use agents::RECORDING;
pub use desired::check;
pub(crate) use desired::put_in;
pub(crate) use program::{PROGRAMS, own_program};
pub use resolve::{Device, Member, Plane, Resolved, resolve};

use crate::section::Overlays;
use plait_model_topology::network::NodeIndex;
use plait_model_topology::{Network, section};

/// The overlays of a file, as [`resolve`] has them; none where any is at fault.
pub fn of_network(network: &Network) -> Option<Vec<Resolved>> {
    let written = section::<Overlays>(&network.sections, "overlays").ok()?;
    written.map_or_else(|| Some(Vec::new()), |written| resolve(&written, network).ok())
}

/// The devices that overlays of a file give a node, by name; none of overlays that are at fault.
pub fn devices_of(network: &Network, node: NodeIndex) -> Vec<String> {
    let devices = of_network(network).unwrap_or_default().into_iter().flat_map(|overlay| overlay.devices);
    devices.filter(|device| device.addresses.contains_key(&node)).map(|device| device.config.name).collect()
}
