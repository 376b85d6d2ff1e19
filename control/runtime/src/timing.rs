//! How long things took.

use hdrhistogram::Histogram;
use std::fmt;
use std::time::Duration;

/// Durations, counted. Its size does not grow with their number: a quantile is off by 1 % at most.
#[derive(Debug, Clone)]
pub struct Timing {
    histogram: Histogram<u64>,
    last: Duration,
    sum: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        // Two digits are within the crate's range of 0 to 5.
        let mut histogram = Histogram::new(2).unwrap_or_else(|_| unreachable!("two digits can be kept"));
        histogram.auto(true);
        Self { histogram, last: Duration::ZERO, sum: Duration::ZERO }
    }
}

impl Timing {
    /// One more.
    pub(crate) fn record(&mut self, took: Duration) {
        self.last = took;
        self.sum = self.sum.saturating_add(took);
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        // The histogram grows to what it is given; one that cannot lacks a sample, and nothing else.
        let _ = self.histogram.record(nanoseconds);
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The latest.
    pub fn last(&self) -> Duration {
        self.last
    }

    /// The mean.
    pub fn mean(&self) -> Duration {
        let count = self.count().max(1);
        Duration::from_nanos(u64::try_from(self.sum.as_nanos() / u128::from(count)).unwrap_or(u64::MAX))
    }

    /// What 99 of 100 do not exceed.
    pub fn p99(&self) -> Duration {
        Duration::from_nanos(self.histogram.value_at_quantile(0.99))
    }
}

/// `12 runs, last 1.2ms, mean 1.1ms, p99 3ms`
impl fmt::Display for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count() {
            0 => f.write_str("no runs"),
            count => write!(
                f,
                "{count} run{}, last {:.1?}, mean {:.1?}, p99 {:.1?}",
                if count == 1 { "" } else { "s" },
                self.last(),
                self.mean(),
                self.p99()
            ),
        }
    }
}
