//! Queue depth, as the time that a packet let into a full queue has to wait.

use super::{Measured, Path};
use plait_model_quantity::{Bandwidth, TimeSpan};
use std::io;

impl Path {
    /// Measures the queue's depth: the link is overloaded until packets are dropped, and the wait is the queue. `asked`
    /// is the limit in time at `rate`; it may miss by two frames and a twentieth.
    pub fn measure_queue_depth(
        &mut self,
        asked: TimeSpan,
        rate: Bandwidth,
        delay: TimeSpan,
        frame: usize,
    ) -> io::Result<Measured> {
        const OVERLOAD: f64 = 1.5;
        let bits = rate.bits_per_second() as f64;
        // Frames small against the queue measure it finely.
        let queue_bytes = bits / 8.0 * asked.as_secs_f64();
        let len = ((queue_bytes / 20.0) as usize).clamp(200.min(frame), frame);
        let seconds = (asked.as_secs_f64() * 3.0 / (OVERLOAD - 1.0)).clamp(0.2, 30.0);
        let (arrivals, _) = self.overload(bits * OVERLOAD, len, seconds, delay)?;
        let waits: Vec<f64> =
            arrivals.iter().map(|arrival| arrival.at.saturating_sub(arrival.sent) as f64).collect();
        // By the last third the queue has long been full, and each packet let in finds it one frame short of that. The
        // longest wait of all would be that of a packet that the machine, not the link, kept waiting.
        let mut full = waits[waits.len() * 2 / 3..].to_vec();
        full.sort_unstable_by(f64::total_cmp);
        let Some(typical) = full.get(full.len() * 3 / 4) else {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "no probe came through the link"));
        };
        let got = typical - delay.as_nanos() as f64;
        let frame_time = len as f64 * 8e9 / bits;
        let asked = asked.as_nanos() as f64;
        let all = Measured::mean("queue", "ns", asked, waits, 0.0);
        let within = (got - asked).abs() <= asked / 20.0 + 2.0 * frame_time;
        Ok(Measured { got, interval: (got - frame_time, got + frame_time), within, ..all })
    }
}
