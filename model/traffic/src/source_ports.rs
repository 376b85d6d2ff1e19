//! Which ports flows leave from.

use plait_model_topology::random::SplitMix64;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The ports that senders use.
pub const SOURCE_PORTS: Range<u16> = 20_000..60_000;

/// From which port on a sender's flows leave, one after the other.
///
/// Choice: from the same one if not said, so that two runs differ by nothing that was not asked for. Who asks what hashes of flows
/// do wants them drawn: for the same addresses and ports every seed would meet the same hashes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourcePorts {
    /// From the first one.
    #[default]
    InOrder,
    /// From one that each sender draws.
    Drawn,
}

impl SourcePorts {
    /// Of each of so many senders how far behind the first port its own first one is.
    pub(crate) fn first(self, senders: usize, random: &mut SplitMix64) -> Vec<usize> {
        match self {
            Self::InOrder => vec![0; senders],
            Self::Drawn => (0..senders).map(|_| random.below(SOURCE_PORTS.len())).collect(),
        }
    }
}
