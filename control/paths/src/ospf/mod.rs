//! What OSPF tells of a fabric, RFC 2328.
//!
//! ```text
//! packets, time ─► Speaker ──┐                         a passive adjacency of our own
//!                            ├─► Lsdb ─► Lsdb::fabric
//! bytes ─────────► ApiClient ┘                         the API server of FRR's ospfd
//! ```
//!
//! 1. [`Lsdb`] – advertisements, the newest instance of each, and the fabric that they tell of;
//! 2. [`Speaker`] – an interface with its neighbours, which fills one;
//! 3. [`ApiClient`] – what fills one, too, where hosts shall not speak OSPF.

mod api;
mod config;
mod election;
mod event;
mod fabric;
mod lsdb;
mod neighbor;
mod speaker;

pub use api::{ApiClient, ApiError, ApiMessage, SYNC_PORT};
pub use config::{Config, LinkKind};
pub use event::{Event, Refusal, Transmit};
pub use lsdb::{Lsdb, Offer};
pub use neighbor::State;
pub use speaker::Speaker;
