//! What an overlay is: who its nodes are, where they are reached, and by whom.
//!
//! ovstack (Nakamura et al., section 4) gives every node of an overlay a flat identity and separates three tables, a set
//! of them for each [`Application`]:
//!
//! | table | says |
//! |---|---|
//! | own | this node's [`NodeId`], and its own weighted [`Locators`] |
//! | LIB | of every node the weighted locators at which the underlay reaches it |
//! | RIB | of every node or group the next hops; several mean a copy to each |
//!
//! Read [`Tables`] first, then [`Operation`]: the eleven operations of the paper's Table 1, by which any control plane
//! writes them and any data plane hears of it. Nothing here sends or forwards: `control/overlay` decides what to write,
//! `dataplane/overlay` compiles it into what packets meet.

#![forbid(unsafe_code)]

mod application;
mod locator;
mod operation;
mod tables;

pub use application::{Application, NoApplication};
pub use locator::{DEFAULT_WEIGHT, Locators, NoWeight, Weight};
pub use operation::{Answer, Operation, OperationError};
pub use plait_model_wire::ovstack::NodeId;
pub use tables::{Event, Overlay, Tables};
