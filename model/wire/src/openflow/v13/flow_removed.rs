//! That a flow of 1.3 is gone: section 7.4.2.

use super::{Match, TableId};
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
        /// Its group was deleted.
        GROUP_DELETE = 3,
    }
}

record! {
    /// That a flow is gone, and what it has seen.
    pub struct FlowRemoved {
        /// The controller's mark.
        pub cookie: u64,
        /// Its priority.
        pub priority: u16,
        /// Why it is gone.
        pub reason: FlowRemovedReason,
        /// Its table.
        pub table: TableId,
        /// How long it was there.
        pub age: Age,
        /// After how many seconds without a packet it was to go; 0 is never.
        pub idle_timeout: u16,
        /// After how many seconds it was to go; 0 is never.
        pub hard_timeout: u16,
        /// Packets that it was for.
        pub packets: u64,
        /// Their bytes.
        pub bytes: u64,
        /// Which packets it was for.
        pub flow_match: Match,
    }
}
