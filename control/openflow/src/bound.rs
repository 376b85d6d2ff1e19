//! A bound on latency that holds from end to end: from when a request can have come, until its answer is written.
//!
//! The thesis bounds how long one batch takes (BDU), and says itself that this bounds nothing else: a request waits for
//! its switch's turn, and that is as long as all other switches' reads together (section 4.2.3). So here
//!
//! ```text
//! a round over all switches:  as many bytes of each as make the round half of the bound, by what bytes took before
//! a batch:                    processed once its oldest request, by the time that processing takes, is as old as that half
//! ```
//!
//! A request that comes just after its switch was read waits for one round and is answered in the next; both halves
//! together are the bound. It holds for every switch that asks for no more than its share: what a switch has beyond it waits
//! with the switch. Where load is light, rounds are short anyway, and nothing changes. Where so many are loud that the least
//! which is read of each makes a round longer than that half, the bound is that round and the next.

use std::time::Duration;

/// The least that is read of a switch at once. Choice: 2 KiB, some 20 requests; less has half of the time go into calls of
/// the system, and shortens no round.
const LEAST: usize = 2 << 10;
/// How much of a new round is taken into the mean.
const SMOOTHING: f64 = 0.2;

/// A worker's bound.
#[derive(Debug, Clone)]
pub struct LatencyBound {
    bound: Duration,
    /// Nanoseconds that a byte of requests takes, from read to answer.
    each: f64,
    /// Switches that had something in a round.
    busy: f64,
}

impl LatencyBound {
    /// A bound before anything was measured.
    pub fn new(bound: Duration) -> Self {
        Self { bound, each: 0.0, busy: 1.0 }
    }

    /// How many bytes to read of each switch in its turn, at most `most`.
    pub fn read(&self, most: usize) -> usize {
        let round = self.half().as_nanos() as f64;
        let each = round / (self.each * self.busy.max(1.0));
        // What is not measured yet divides by nothing: an infinity is as much as may be.
        (each.min(most as f64) as usize).max(LEAST.min(most))
    }

    /// Whether a batch whose oldest request can have come at `oldest` is to be processed now, in place of reading more.
    pub fn is_due(&self, now: Duration, oldest: Duration, bytes: usize) -> bool {
        let takes = Duration::from_nanos((self.each * bytes as f64) as u64);
        now.saturating_sub(oldest) + takes >= self.half()
    }

    /// A round was over: so many switches had something, so many bytes in all, and it took so long.
    pub fn round(&mut self, switches: usize, bytes: usize, took: Duration) {
        if bytes == 0 {
            return;
        }
        let each = took.as_nanos() as f64 / bytes as f64;
        let mean = |mean: f64, new: f64| if mean == 0.0 { new } else { mean + SMOOTHING * (new - mean) };
        self.each = mean(self.each, each);
        self.busy = mean(self.busy, switches as f64);
    }

    /// Whether what can have come at `oldest` and is answered now is late.
    pub fn is_late(&self, now: Duration, oldest: Duration) -> bool {
        now.saturating_sub(oldest) > self.bound
    }

    fn half(&self) -> Duration {
        self.bound / 2
    }
}
