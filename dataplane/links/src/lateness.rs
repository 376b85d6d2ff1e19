//! How late packets left, against the time the link's arithmetic gave them.

use plait_model_quantity::TimeSpan;
use serde::Serialize;

/// A histogram of lateness with 16 steps to each doubling, so a percentile is right to 6 %.
#[derive(Debug, Clone)]
pub(crate) struct Lateness {
    counts: Box<[u32; BUCKETS]>,
    count: u64,
    sum: u64,
    max: u64,
}

const STEPS: u64 = 16;
/// Up to 2^36 ns, a minute.
const BUCKETS: usize = 33 * STEPS as usize;

/// How late packets left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct LatenessSummary {
    /// How many packets were timed: those that a delay or a rate held back.
    pub packets: u64,
    /// The mean.
    pub mean: TimeSpan,
    /// Half of the packets were later.
    pub p50: TimeSpan,
    /// One packet in a hundred was later.
    pub p99: TimeSpan,
    /// The latest packet.
    pub max: TimeSpan,
}

impl Lateness {
    pub fn new() -> Self {
        Self { counts: Box::new([0; BUCKETS]), count: 0, sum: 0, max: 0 }
    }

    pub fn add(&mut self, nanos: u64) {
        let bucket = &mut self.counts[bucket(nanos)];
        *bucket = bucket.saturating_add(1);
        self.count += 1;
        self.sum = self.sum.saturating_add(nanos);
        self.max = self.max.max(nanos);
    }

    pub fn merge(&mut self, other: &Self) {
        for (own, other) in self.counts.iter_mut().zip(other.counts.iter()) {
            *own = own.saturating_add(*other);
        }
        self.count += other.count;
        self.sum = self.sum.saturating_add(other.sum);
        self.max = self.max.max(other.max);
    }

    pub fn summary(&self) -> LatenessSummary {
        if self.count == 0 {
            return LatenessSummary::default();
        }
        LatenessSummary {
            packets: self.count,
            mean: TimeSpan::from_nanos(self.sum / self.count),
            p50: self.percentile(50),
            p99: self.percentile(99),
            max: TimeSpan::from_nanos(self.max),
        }
    }

    fn percentile(&self, percent: u64) -> TimeSpan {
        let rank = (self.count * percent).div_ceil(100);
        let mut seen = 0;
        let bucket = self.counts.iter().position(|count| {
            seen += u64::from(*count);
            seen >= rank
        });
        TimeSpan::from_nanos(bucket.map_or(self.max, upper_edge).min(self.max))
    }
}

fn bucket(nanos: u64) -> usize {
    if nanos < STEPS {
        return nanos as usize;
    }
    let doubling = u64::from(nanos.ilog2()) - 4;
    let step = (nanos >> doubling) - STEPS;
    usize::try_from((doubling + 1) * STEPS + step).map_or(BUCKETS - 1, |bucket| bucket.min(BUCKETS - 1))
}

/// The largest value in a bucket.
fn upper_edge(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < STEPS {
        return bucket;
    }
    let (doubling, step) = (bucket / STEPS - 1, bucket % STEPS);
    ((STEPS + step + 1) << doubling) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_a_bucket_that_is_at_most_a_sixteenth_wide() {
        for value in (0..10_000).chain((0..36).map(|power| (1 << power) + 1)) {
            let edge = upper_edge(bucket(value));
            assert!(edge >= value && edge - value <= value / 16, "{value} {edge}");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn a_summary_says_what_went_in() {
        let mut lateness = Lateness::new();
        (1..=1000).for_each(|value| lateness.add(value * 1000));
        let summary = lateness.summary();
        assert_eq!(
            (summary.packets, summary.mean.as_nanos(), summary.max.as_nanos()),
            (1000, 500_500, 1_000_000)
        );
        assert!((470_000..=532_000).contains(&summary.p50.as_nanos()));
        assert!((990_000..=1_000_000).contains(&summary.p99.as_nanos()));
    }
}
