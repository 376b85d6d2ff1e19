//! How many requests a worker processes at once: the input batching threshold (IBT) and its adaptation, section 4.2.3
//! of the thesis.
//!
//! ```text
//! after a full batch:        rate = requests / processor time, smoothed for this threshold
//!                            no better than the batch before? ─► the trend turns
//!                            longer than the bound (BDU)?     ─► the trend is down
//!                            threshold ± 10
//! nothing waits to be read:  what is there is processed, the trend is down, threshold − 10
//! ```

use std::collections::BTreeMap;
use std::time::Duration;

/// By how much a threshold changes, and the least that it is.
pub const STEP: usize = 10;
/// How much of a new rate is taken into the mean.
const SMOOTHING: f64 = 0.2;

/// How a worker's threshold is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Batching {
    /// Always this many requests, at least one.
    Static(usize),
    /// As many as give the highest rate, as far as a batch takes no more of a processor's time than this (BDU; the thesis has
    /// 3 ms).
    ///
    /// Choice: a processor's time, where the thesis has the clock's. The time for which a worker waits for its processor, or an
    /// application for something else, is no shorter in a smaller batch, and would have the threshold shrink where there is most
    /// to do.
    Adaptive(Duration),
}

/// A worker's threshold.
#[derive(Debug, Clone)]
pub struct Batch {
    batching: Batching,
    most: usize,
    threshold: usize,
    up: bool,
    /// Requests in a second, by threshold. Choice: by the threshold, not by how many requests there were, which a read
    /// brings beyond it by chance: few counts would ever be met twice.
    smoothed: BTreeMap<usize, f64>,
    previous: f64,
}

impl Batch {
    /// A threshold that is never more than `most`. Choice: there is such a bound, which the thesis has not, since a worker
    /// holds that many requests, and a rate for each threshold below.
    pub fn new(batching: Batching, most: usize) -> Self {
        let most = most.max(STEP);
        let threshold = match batching {
            Batching::Static(requests) => requests.clamp(1, most),
            Batching::Adaptive(_) => STEP,
        };
        Self { batching, most, threshold, up: true, smoothed: BTreeMap::new(), previous: 0.0 }
    }

    /// Requests at which a batch is to be processed.
    pub fn threshold(&self) -> usize {
        self.threshold
    }

    /// A batch that had reached the threshold is processed: so many requests in so much of a processor's time.
    pub fn processed(&mut self, requests: usize, took: Duration) {
        let Batching::Adaptive(bound) = self.batching else { return };
        // A clock that has not moved has moved by less than it can tell.
        let rate = requests as f64 / took.max(Duration::from_nanos(1)).as_secs_f64();
        let smoothed = self.smoothed.entry(self.threshold).or_insert(rate);
        *smoothed = (1.0 - SMOOTHING) * *smoothed + SMOOTHING * rate;
        if *smoothed <= self.previous {
            self.up = !self.up;
        }
        self.previous = *smoothed;
        if took > bound {
            self.up = false;
        }
        let next = if self.up { self.threshold + STEP } else { self.threshold.saturating_sub(STEP) };
        self.threshold = next.clamp(STEP, self.most);
    }

    /// Nothing waits in any socket: whatever the batch holds is to be processed now, which says nothing of its rate. In
    /// static mode the threshold stays.
    pub fn light_load(&mut self) {
        if let Batching::Adaptive(_) = self.batching {
            self.up = false;
            self.threshold = self.threshold.saturating_sub(STEP).max(STEP);
        }
    }
}
