//! The asking side.

use crate::protocol::Speech;

/// A conversation with an agent of overlays.
pub type Client = plait_dataplane_agent::Client<Speech>;
