//! One-way delay.

use super::{Measured, Path, sleep_until};
use crate::sys::{monotonic, tighten_timers};
use plait_model_quantity::TimeSpan;
use std::io;

impl Path {
    /// Measures the one-way delay with `count` short frames, one each `interval`. `tolerance` bounds the mean's error.
    pub fn measure_delay(
        &mut self,
        asked: TimeSpan,
        count: u64,
        interval: TimeSpan,
        tolerance: TimeSpan,
    ) -> io::Result<Measured> {
        let delays = self.delays(count, interval, asked)?;
        if delays.is_empty() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "no probe came through the link"));
        }
        let seen = delays.iter().map(|delay| *delay as f64).collect();
        let tolerance = tolerance.as_nanos() as f64;
        Ok(Measured::mean("delay", "ns", asked.as_nanos() as f64, seen, tolerance))
    }

    /// The delays of the probes that came, in nanoseconds.
    pub fn delays(&mut self, count: u64, interval: TimeSpan, longest: TimeSpan) -> io::Result<Vec<u64>> {
        tighten_timers();
        self.clear()?;
        let mut probes =
            Probes { sent: Vec::with_capacity(count as usize), delays: Vec::with_capacity(count as usize) };
        let mut next = monotonic() + interval.as_nanos();
        for number in 0..count {
            sleep_until(next);
            next += interval.as_nanos();
            probes.sent.push(Some(self.from.send(number, 64)?));
            self.collect(&mut probes)?;
        }
        // What is still under way gets its delay and a fifth of a second.
        let patience = monotonic() + 2 * longest.as_nanos() + 200_000_000;
        while (probes.delays.len() as u64) < count && monotonic() < patience {
            std::thread::sleep(std::time::Duration::from_millis(2));
            self.collect(&mut probes)?;
        }
        Ok(probes.delays)
    }

    fn collect(&mut self, probes: &mut Probes) -> io::Result<()> {
        while let Some(arrival) = self.to.receive()? {
            // Each counts once, and only as it was sent: the link may double frames, and damage what is written in
            // them.
            let sent = usize::try_from(arrival.number).ok().and_then(|number| probes.sent.get_mut(number));
            if let Some(sent) = sent
                && *sent == Some(arrival.sent)
            {
                *sent = None;
                probes.delays.push(arrival.at.saturating_sub(arrival.sent));
            }
        }
        Ok(())
    }
}

/// Probes on their way: when each was sent until it comes, and the delays of those that came.
struct Probes {
    sent: Vec<Option<u64>>,
    delays: Vec<u64>,
}
