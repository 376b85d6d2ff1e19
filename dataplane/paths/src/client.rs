//! The asking side.

use crate::protocol::Speech;

/// A conversation with an agent of path control.
pub type Client = plait_dataplane_agent::Client<Speech>;
