//! What a connection is told at its start.

use crate::Version;
use std::time::Duration;

/// What a connection is told at its start.
#[derive(Debug, Clone)]
pub struct Config {
    /// Versions to be spoken. With none, no switch is compatible.
    pub versions: Vec<Version>,
    /// How long the first word is the switch's: what it says meanwhile is answered at once.
    pub courtesy: Duration,
    /// How long a switch may take until it has said hello and what it is.
    pub handshake: Duration,
    /// How long a switch may say nothing until it is asked whether it lives.
    pub quiet: Duration,
    /// How long it may take to answer that.
    pub patience: Duration,
    /// Bytes that may wait for a switch to read them. With more it is closed.
    pub most_output: usize,
    /// Bytes of messages, 64 more for each, that may wait as events. With more it is closed: poll events after each read.
    pub most_events: usize,
    /// Barriers that may be unanswered.
    pub most_barriers: usize,
}

/// Choice: both versions; Open vSwitch's five seconds of quiet, and as many of patience; output for a burst of a hundred
/// full packets a worker, events of several of the longest messages.
impl Default for Config {
    fn default() -> Self {
        Self {
            versions: Version::ALL.to_vec(),
            courtesy: Duration::from_millis(100),
            handshake: Duration::from_secs(10),
            quiet: Duration::from_secs(5),
            patience: Duration::from_secs(5),
            most_output: 1 << 20,
            most_events: 1 << 19,
            most_barriers: 256,
        }
    }
}
