//! How long a packet is on its way through a direction at most.

use super::{Conditions, Distribution, QueueLimit, Rate};
use plait_model_quantity::{ByteCount, TimeSpan};

impl Conditions {
    /// How long after a packet came it may arrive, if it does: the delay, its jitter and a full queue.
    ///
    /// Choice: of jitter without bound 5 standard deviations (normal; beyond are 3 in ten million) and 10 (Pareto; 1 in 1,000),
    /// as far apart as [`Delays::spacing`](crate::Delays::spacing) has packets; under a rate trace a queue is emptied at the
    /// mean rate.
    pub fn longest(&self) -> TimeSpan {
        let times = |deviation: &TimeSpan, count: u64| deviation.as_nanos().saturating_mul(count);
        let jitter = match self.jitter.as_ref().map(|jitter| &jitter.distribution) {
            None => 0,
            Some(Distribution::Uniform(spread)) => spread.as_nanos(),
            Some(Distribution::Normal(deviation)) => times(deviation, 5),
            Some(Distribution::Pareto(deviation)) => times(deviation, 10),
            Some(Distribution::Samples(samples)) => samples.iter().max().map_or(0, |most| most.as_nanos()),
        };
        let way = self.delay.as_nanos().saturating_add(jitter);
        TimeSpan::from_nanos(way.saturating_add(self.longest_queue().as_nanos()))
    }

    /// How long the last packet of a full queue waits.
    fn longest_queue(&self) -> TimeSpan {
        let rate = match &self.rate {
            Rate::Unlimited => return TimeSpan::ZERO,
            Rate::Constant(rate) => *rate,
            Rate::Trace(trace) => trace.mean(),
        };
        let packets = match self.queue.limit {
            QueueLimit::Packets(packets) => packets.saturating_mul(self.queue.frame.bytes()),
            QueueLimit::Time(_) | QueueLimit::Bytes(_) => 0,
        };
        rate.time_for(self.queue_bytes().map_or(ByteCount::new(packets), |(bytes, _)| bytes))
    }
}
