//! That a flow of 1.0 is gone: section 5.4.3.

use super::flow_match::Match;
use crate::openflow::Age;
use crate::openflow::tables::{codes, record};

codes! {
    /// Why a flow is gone.
    pub struct FlowRemovedReason(u8) {
        /// No packet came for too long.
        IDLE_TIMEOUT = 0,
        /// Its time was up.
        HARD_TIMEOUT = 1,
        /// It was deleted.
        DELETE = 2,
    }
}

record! {
    /// That a flow is gone, and what it has seen.
    pub struct FlowRemoved {
        /// Which packets it was for.
        pub flow_match: Match,
        /// The controller's mark.
        pub cookie: u64,
        /// Its priority.
        pub priority: u16,
        /// Why it is gone.
        pub reason: FlowRemovedReason, (pad 1)
        /// How long it was there.
        pub age: Age,
        /// After how many seconds without a packet it was to go; 0 is never.
        pub idle_timeout: u16, (pad 2)
        /// Packets that it was for.
        pub packets: u64,
        /// Their bytes.
        pub bytes: u64,
    }
}
