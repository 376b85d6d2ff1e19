//! How many requests a worker processes at once: the input batching threshold (IBT) and its adaptation, section 4.2.3
//! of the thesis.
//!
//! ```text
//! after a full batch:        rate = requests / processor time, smoothed for this size
//!                            larger and better than the batch before, or smaller and no better? ─► the trend is up
//!                            larger and no better, or smaller and better?                       ─► the trend is down
//!                            longer than the bound (BDU)?     ─► the trend is down
//!                            threshold ± 10
//! nothing waits to be read:  what is there is processed, the trend is down, threshold − 10
//! ```

use std::cmp::Ordering;
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
    /// Requests in a second, by size: how many steps there were in the batch.
    ///
    /// Choice: by that, and the trend by which of two batches was the larger, where the thesis has rates by the count and the trend turn
    /// whenever a rate is no better. A read brings twenty requests, or six hundred, so that several thresholds come to the same
    /// batches: none of these is better than the other, and by the thesis's rule the threshold would turn at each of them and never
    /// leave its floor. Where each step makes a batch larger both rules are the same. By the count itself few would ever be met twice.
    smoothed: BTreeMap<usize, f64>,
    /// The size of the batch before, and its rate.
    previous: (usize, f64),
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
        Self { batching, most, threshold, up: true, smoothed: BTreeMap::new(), previous: (0, 0.0) }
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
        let size = requests / STEP;
        let smoothed = self.smoothed.entry(size).or_insert(rate);
        *smoothed = (1.0 - SMOOTHING) * *smoothed + SMOOTHING * rate;
        let (before, previous) = std::mem::replace(&mut self.previous, (size, *smoothed));
        match size.cmp(&before) {
            Ordering::Equal => {}
            Ordering::Greater => self.up = *smoothed > previous,
            Ordering::Less => self.up = *smoothed <= previous,
        }
        if took > bound {
            self.up = false;
        }
        let next = if self.up { self.threshold + STEP } else { self.threshold.saturating_sub(STEP) };
        self.threshold = next.clamp(STEP, self.most);
        // Where reads are alike no other size is seen, and nothing would turn what has come down as far as it goes.
        if self.threshold == STEP && took <= bound {
            self.up = true;
        }
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
