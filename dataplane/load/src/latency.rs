//! Latencies, counted; they can be written, read and added up.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Nanoseconds, to three digits.
///
/// What comes in one read took nearly as long: values that follow each other within a thousandth are counted together, which
/// spares the load most of what counting costs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "Vec<(u64, u64)>", into = "Vec<(u64, u64)>")]
pub struct Latency {
    counted: Histogram<u64>,
    /// The last value, and how many like it are not counted yet.
    last: u64,
    more: u64,
}

impl Default for Latency {
    fn default() -> Self {
        // Three digits are within the crate's range of 0 to 5.
        let mut histogram = Histogram::new(3).unwrap_or_else(|_| unreachable!("three digits can be kept"));
        histogram.auto(true);
        Self { counted: histogram, last: 0, more: 0 }
    }
}

impl Latency {
    /// One more.
    #[inline]
    pub fn record(&mut self, nanoseconds: u64) {
        if nanoseconds.abs_diff(self.last) > self.last >> 10 {
            self.settle();
            self.last = nanoseconds;
        }
        self.more += 1;
    }

    fn settle(&mut self) {
        // The histogram grows to what it is given; one that cannot lacks a sample, and nothing else.
        let _ = self.counted.record_n(self.last, std::mem::take(&mut self.more));
    }

    fn settled(&self) -> Histogram<u64> {
        let mut all = self.clone();
        all.settle();
        all.counted
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.counted.len() + self.more
    }

    /// Adds another's.
    pub fn merge(&mut self, other: &Self) {
        self.settle();
        let _ = self.counted.add(other.settled());
    }

    /// The percentiles, in microseconds, of these and of `missing` more that never ended: where those come in, nothing.
    pub fn percentiles(&self, missing: u64) -> Percentiles {
        let counted = self.settled();
        let (have, all) = (counted.len(), counted.len() + missing);
        let at = |quantile: f64| {
            let rank = (quantile * all as f64).ceil();
            (have > 0 && rank <= have as f64)
                .then(|| counted.value_at_quantile(rank / have as f64) as f64 / 1000.0)
        };
        Percentiles { p50: at(0.5), p90: at(0.9), p99: at(0.99), p999: at(0.999), max: at(1.0) }
    }
}

/// Pairs of a value and how often it came. Choice: not the crate's own form, which needs a compressor and cannot be read.
impl From<Latency> for Vec<(u64, u64)> {
    fn from(latency: Latency) -> Self {
        latency
            .settled()
            .iter_recorded()
            .map(|step| (step.value_iterated_to(), step.count_at_value()))
            .collect()
    }
}

impl From<Vec<(u64, u64)>> for Latency {
    fn from(pairs: Vec<(u64, u64)>) -> Self {
        let mut latency = Self::default();
        for (value, count) in pairs {
            // As of one sample.
            let _ = latency.counted.record_n(value, count);
        }
        latency
    }
}

/// In microseconds; nothing where it never ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Percentiles {
    pub p50: Option<f64>,
    pub p90: Option<f64>,
    pub p99: Option<f64>,
    pub p999: Option<f64>,
    pub max: Option<f64>,
}
