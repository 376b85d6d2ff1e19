//! A network file in virtual time.
//!
//! ```text
//!  Network ─► unportable: what cannot run here, line by line
//!          ─► World::build ─┬─ add_traffic, add_overlay, decide_by   what runs
//!                           ├─ run_until                             time
//!                           ├─ set_link, set_link_up, set_node_up    events
//!                           └─ link_rows, flow, overlay, …           samples
//! ```
//!
//! 1. [`World`] – nodes, links, LANs, addresses and static routes of a [`Network`](plait_model_topology::Network), with
//!    the same names, seeds and conditions that a testbed gives them, so that a link's n-th packet meets the same chance;
//! 2. [`unportable`] – what of a file has no meaning without kernels and programs, each with its place;
//! 3. [`OverlaySpec`] – overlays: `control/overlay` decides on each member, or says once what it is told, unchanged, and where it
//!    is asked for `dataplane/reference` moves tenants' packets by the tables that `dataplane/overlay` compiles;
//!    [`OverlayFlowSpec`] – flows over them;
//! 4. [`PathsSpec`] – paths that hosts choose: `dataplane/reference` says which list a packet goes by and
//!    `control/paths` which flow moves, as they do in a testbed; [`KnownRoutes`] – what switches do, for who plans by it;
//! 5. [`World::decide_by`] – control applications that decide all routes, through `control/routing`; [`Detection`] – routes, and
//!    lists that iplbd computes on hosts, which follow links as they would where daemons speak OSPF;
//! 6. [`LinkRow`] – a sample of one direction of a link; [`Drops`] – where packets went no further, and why;
//! 7. [`replay`] – what control planes of a testbed recorded, once more, and what was wrong between them.
//!
//! # How a run drives it
//!
//! Whoever runs an experiment holds its script (`run:`) and calls, in the order of the script's instants,
//! [`World::run_until`] and then the one method that the event asks for; between events it stops at each sampling
//! instant and takes [`World::link_rows`]. An event at an instant holds for all that happens at it, as a sample shows what
//! happened before it. `wait_until` of such a world is `run_until`; its `now` is [`World::now`], from nought. Nothing
//! waits for real time.
#![forbid(unsafe_code)]

mod build;
mod change;
mod control;
mod drops;
mod follow;
mod overlay;
mod paths;
mod portable;
pub mod replay;
mod routes;
mod sample;
mod world;

pub use control::ControlReport;
pub use drops::{Drops, DropsByNode};
pub use follow::{Detection, FollowReport};
pub use overlay::{
    DataPlane, MemberSpec, OverlayCounters, OverlayFlowIndex, OverlayFlowSpec, OverlayIndex, OverlayMember,
    OverlaySpec,
};
pub use paths::{KnownRoutes, LearningSpec, PathsSpec, SteeredInterface, SteeredPrefix, SteeredWays};
pub use plait_simulator_engine as engine;
pub use portable::{is_link_end, unportable};
pub use sample::{LinkRow, Side};
pub use world::{Options, World, WorldError};
