//! The file format: one type a place, as serde reads it and as the JSON Schema publishes it.
//!
//! These types say what may be written; [`crate::resolve`] says what it means.

mod lan;
mod link;
mod node;
mod root;

pub(crate) use lan::LanFile;
pub(crate) use link::{EndpointFile, LinkFile, Mtu};
pub(crate) use node::{ContentFile, Destination, NodeFile, RouteFile};
pub(crate) use root::{Daemon, OPEN_KEYS, Pool, Protocol, RootFile, RoutingFile, child};
