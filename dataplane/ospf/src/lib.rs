//! OSPF on sockets: how a node of a real network learns the fabric that it is at the edge of. What is said and what follows
//! from it is `control/paths`'s; here are its sockets, and what becomes of them when links and servers fail.
//!
//! ```text
//!  link ─ raw socket ─► Adjacency ─┐
//!                                  ├─► Feed ─► Lsdb, while it is complete
//!  ospfd ─ two of TCP ─► ApiLink ──┘
//! ```
//!
//! 1. [`Feed`] – a source of a fabric that is opened again where it failed; [`wait`] for several of them;
//! 2. [`Adjacency`] – an interface on which this node takes part in OSPF, and announces nothing;
//! 3. [`ApiLink`] – both connections with the API server of FRR's ospfd.
//!
//! Nothing here waits but [`wait`], nothing has a thread, and time is the caller's.
#![forbid(unsafe_code)]

mod adjacency;
mod api_link;
mod error;
mod feed;
mod interface;

pub use adjacency::Adjacency;
pub use api_link::ApiLink;
pub use error::FeedError;
pub use feed::{Feed, Source, wait};
