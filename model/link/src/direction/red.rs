//! Random early detection: drop or mark before the queue is full, the likelier the longer it is on average.

use crate::Red;

/// What a discipline wants done with a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    Mark,
    Drop,
}

/// The state of RED (Floyd and Jacobson, ToN 1993, figure 2). The queue is measured in the thresholds' unit.
#[derive(Debug, Default)]
pub(crate) struct RedState {
    average: f64,
    /// Packets since the last drop; `None` below `min`.
    count: Option<u64>,
}

impl RedState {
    /// Judges a packet that meets a queue of `depth`. `idle_packets` is how many packets could have been sent while
    /// the queue stood empty, `draw` a number in [0, 1).
    pub fn judge(
        &mut self,
        red: &Red,
        (min, max): (f64, f64),
        depth: f64,
        idle_packets: f64,
        draw: f64,
    ) -> Verdict {
        let weight = red.weight.value();
        if depth == 0.0 && idle_packets > 0.0 {
            self.average *= libm::pow(1.0 - weight, idle_packets);
        } else {
            self.average += weight * (depth - self.average);
        }
        if self.average < min {
            self.count = None;
            return Verdict::Pass;
        }
        if self.average >= max {
            self.count = Some(0);
            // RFC 3168, section 7: above the maximum threshold packets are dropped, not marked.
            return Verdict::Drop;
        }
        let count = self.count.map_or(0, |count| count + 1);
        let base = red.probability.value() * (self.average - min) / (max - min);
        let spread_out = 1.0 - count as f64 * base;
        if spread_out <= 0.0 || draw < base / spread_out {
            self.count = Some(0);
            Verdict::Mark
        } else {
            self.count = Some(count);
            Verdict::Pass
        }
    }
}
