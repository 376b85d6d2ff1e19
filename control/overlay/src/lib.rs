//! Who fills an overlay's tables. Nothing here has a socket or a clock: datagrams and time go in, datagrams and
//! [operations](plait_model_overlay::Operation) come out.
//!
//! ```text
//!             datagrams, time                         datagrams
//!                    │                                    ▲
//!                    ▼                                    │
//!  seeds ─► Session: who speaks, and when ─► Member ─────┬┴─► probes, echoes, reports
//!           (key, incarnation, window)       (who is     │
//!                                             there, how ├─► LIB operations
//!                                             far)       │
//!                                 Plane: mesh │ delay ───┴─► RIB operations
//! ```
//!
//! 1. [`mesh`] and [`DelayMatrix::routes`] – the paper's two control planes as functions: members and delays in, a RIB
//!    out; [`operations`] leads from one RIB to another, and [`written`] is what a file says in place of both.
//! 2. [`Message`] – what nodes say to each other, sealed with a key that all share.
//! 3. [`Member`] – a node that takes part: joins by seeds, measures, reports, notices who is gone, and keeps LIB and RIB
//!    as its [`Plane`] wants them. The plane can be changed at any time.
//! 4. [`Inquiry`] – what one node asks another by those between them, where both cannot reach each other straight.
//!    [`Correspondent`] – a node that does so without a control plane.
//! 5. [`record`] – what went into a member and what came of it, written down, and the same again.
//! 6. [`evpn`] – tables that an existing control plane fills: a speaker of BGP EVPN.
//!
//! Choice: a member is no application of `control/runtime`. It lives in each node's agent, is told of datagrams, not of views, and
//! what it knows is for itself alone; of what the runtime has beyond that, it has recordings and replays of its own ([`record`]).
//! What it decides, LIB and RIB, others read by the agent's socket.
//!
//! [`Member`] has four kinds of methods, to be called in this order whenever something happened: `handle_*` for what
//! arrived and for time that passed, then `poll_inquiry`, `poll_transmit` and `poll_operation` until they give nothing, then
//! `poll_timeout` for when to come back.

#![forbid(unsafe_code)]

mod correspondent;
pub mod evpn;
mod inquiry;
mod matrix;
mod member;
mod mesh;
mod message;
pub mod record;
mod routes;
mod session;
mod written;

pub use correspondent::Correspondent;
pub use inquiry::{Direction, Inquiry};
pub use matrix::DelayMatrix;
pub use member::{Config, Member, Plane};
pub use mesh::mesh;
pub use message::{Key, Message, NoKey, Refused, Sealed};
pub use routes::{Routes, operations};
pub use written::written;
