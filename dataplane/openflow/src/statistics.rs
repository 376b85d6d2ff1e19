//! What workers count.

use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)+) => {
        /// Counts of a worker, which it alone changes.
        #[derive(Debug, Default)]
        pub(crate) struct Counters { $(pub $name: AtomicU64,)+ }

        /// What a worker has counted, or all of them together.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
        pub struct Statistics { $($(#[$doc])* pub $name: u64,)+ }

        impl Counters {
            pub fn read(&self) -> Statistics {
                Statistics { $($name: self.$name.load(Ordering::Relaxed),)+ }
            }
        }

        impl std::ops::AddAssign for Statistics {
            fn add_assign(&mut self, other: Self) {
                $(self.$name += other.$name;)+
            }
        }
    };
}

counters! {
    /// Packet-ins that were taken.
    requests,
    /// Of these, probes of links.
    probes,
    /// Batches.
    batches,
    /// Of these, full ones.
    full_batches,
    /// Nanoseconds from a batch's hand-over to its last output.
    processing,
    /// Nanoseconds in reading, cutting and parsing.
    reading,
    /// Nanoseconds in output, a part of `processing`.
    writing,
    /// Messages to switches.
    messages,
    /// Writes to sockets.
    writes,
    /// Reads from sockets.
    reads,
    /// Rounds.
    rounds,
    /// Switches that another worker held, or was still to tell of.
    skips,
    /// Of these, those that the other worker read; it wrote to the others, for the most part.
    skips_of_readers,
    /// Of `skips`, switches that were tried again.
    revisits,
    /// Of these, those that were held again.
    missed,
    /// Outputs that another worker's hold put off.
    output_skips,
    /// Outputs that had to wait for a lock in the end.
    lock_waits,
    /// Polls.
    polls,
    /// Times that it slept.
    sleeps,
    /// Times that it gave way to others that want its processor.
    yields,
    /// Commands for switches that are not there, or that their version has no words for.
    undone,
    /// Deletions that were kept for switches that are not there.
    owed,
    /// Messages that could not be read.
    malformed,
    /// Packet-ins that came before their switch was known and found no room, or could not be read.
    early,
    /// Errors that switches answered with, a flow for which a table has no room among them, and messages of theirs that cannot be
    /// read.
    rejected,
    /// With a bound on latency: answers that were written, each what one switch was told at once.
    answers,
    /// Of these, those to a batch whose oldest request may have waited longer than that by then.
    late,
    /// Nanoseconds from when the oldest request of the batch can have come until its answer was written, of all `answers`.
    waited,
    /// The threshold of a batch, as it is now.
    threshold,
}

impl Counters {
    pub fn add(counter: &AtomicU64, count: u64) {
        // One thread writes: no locked instruction is needed.
        counter.store(counter.load(Ordering::Relaxed) + count, Ordering::Relaxed);
    }
}
