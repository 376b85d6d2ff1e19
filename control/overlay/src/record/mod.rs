//! What went into a member and what came of it, written down, and the same again.
//!
//! ```text
//! driver ─► Recorded ─► Member              recording ─► Replay ─► Member
//!              │                                            │
//!              └─► Entry, one for each input and output     └─► the same outputs, or the Divergence
//! ```
//!
//! [`Member`](crate::Member) has no clock, no sockets and no chance of its own: what it does follows from what it is told, when,
//! and from the numbers that were drawn for it. So a [`Recorded`] that notes those loses nothing, and a [`Replay`] that is fed
//! with them does what was done, on whatever machine, at whatever speed.
//!
//! Choice: of a datagram everything is kept but its seal, and of the configuration everything but the key. Who replays
//! seals with a key of his own, so that a recording can be given away: nothing in it helps to guess the key. Datagrams that
//! were refused changed nothing, so they are counted and no more; nobody without the key fills a recording.

mod entry;
mod recorded;
mod replay;

pub use entry::{Begin, Bytes, Entry, Event, Line, VERSION};
pub use recorded::Recorded;
pub use replay::{Divergence, Replay};
