//! How a worker keeps a bound on latency: what it has read in this round, and since when the oldest of it waits.

use crate::statistics::Counters;
use plait_control_openflow::LatencyBound;
use std::time::Duration;

pub struct Bound {
    bound: LatencyBound,
    /// Bytes that a switch's turn is.
    read: usize,
    began: Duration,
    /// Switches and bytes of the round.
    found: (usize, usize),
    /// Bytes of the batch, and when the first of them can have come.
    batch: usize,
    oldest: Option<Duration>,
}

impl Bound {
    pub fn new(bound: Duration) -> Self {
        let bound = LatencyBound::new(bound);
        Self { bound, read: 0, began: Duration::ZERO, found: (0, 0), batch: 0, oldest: None }
    }

    /// A round begins, in which at most so much is read of a switch.
    pub fn begin(&mut self, now: Duration, most: usize) {
        (self.read, self.began, self.found) = (self.bound.read(most), now, (0, 0));
    }

    /// Bytes to read of a switch in this round.
    pub fn read(&self) -> usize {
        self.read
    }

    /// So many bytes were read of a switch, none of which came before `since`.
    pub fn took(&mut self, bytes: usize, since: Duration) {
        self.found = (self.found.0 + 1, self.found.1 + bytes);
        self.batch += bytes;
        self.oldest = Some(self.oldest.map_or(since, |oldest| oldest.min(since)));
    }

    /// Whether the batch is to be processed before more is read.
    pub fn is_due(&self, now: Duration) -> bool {
        self.oldest.is_some_and(|oldest| self.bound.is_due(now, oldest, self.batch))
    }

    /// The batch was answered.
    pub fn answered(&mut self, now: Duration, counters: &Counters) {
        let Some(oldest) = self.oldest.take() else { return };
        self.batch = 0;
        Counters::add(&counters.waited, now.saturating_sub(oldest).as_nanos() as u64);
        Counters::add(&counters.late, u64::from(self.bound.is_late(now, oldest)));
    }

    /// The round is over.
    pub fn end(&mut self, now: Duration) {
        self.bound.round(self.found.0, self.found.1, now.saturating_sub(self.began));
    }
}
