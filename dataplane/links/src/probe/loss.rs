//! Loss.

use super::measured::Z99;
use super::{Measured, Path, sleep_until};
use crate::sys::monotonic;
use plait_model_quantity::{Probability, TimeSpan};
use std::io;

/// How late a frame may be without those behind it being put off. Choice: 1 ms, some frames at once.
const MOST_LATE: u64 = 1_000_000;

impl Path {
    /// Measures loss with `count` short frames, one each `interval`: slowly enough that no queue overflows. What was
    /// asked must lie inside the 99 % interval.
    ///
    /// `memory` is how much a packet's fate depends on that of the one before (their correlation): 0 for independent
    /// losses, 1 − p − r for the Gilbert–Elliott chain. With it, `count` packets say no more than fewer independent
    /// ones.
    pub fn measure_loss(
        &mut self,
        asked: Probability,
        memory: f64,
        count: u64,
        interval: TimeSpan,
        delay: TimeSpan,
    ) -> io::Result<Measured> {
        let lost = self.lost(count, interval, delay)?.len() as u64;
        let got = lost as f64 / count as f64;
        // The variance of a mean of values with correlations ρ, ρ², ρ³, … is (1 + ρ) / (1 − ρ) times that of
        // independent ones.
        let memory = memory.clamp(0.0, 0.999);
        let independent = (1.0 - memory) / (1.0 + memory);
        let interval = wilson(lost as f64 * independent, count as f64 * independent);
        let asked = asked.value();
        Ok(Measured {
            quantity: "loss",
            unit: "share",
            asked,
            got,
            interval,
            deviation: (got * (1.0 - got)).sqrt(),
            p50: got,
            p99: got,
            samples: count,
            within: interval.0 <= asked && asked <= interval.1,
        })
    }

    /// Sends `count` short frames, one each `interval`, and returns the numbers (from 0) of those that are lost on a
    /// link of this delay.
    pub fn lost(&mut self, count: u64, interval: TimeSpan, delay: TimeSpan) -> io::Result<Vec<u64>> {
        self.clear()?;
        let mut seen = vec![false; count as usize];
        let mut next = monotonic();
        for number in 0..count {
            sleep_until(next);
            self.from.send(number, 64)?;
            // What a machine that stood still for long has missed is not made up for: so many at once would overflow a queue.
            next = (next + interval.as_nanos()).max(monotonic().saturating_sub(MOST_LATE));
            if number % 64 == 0 {
                self.note_arrivals(&mut seen)?;
            }
        }
        let patience = monotonic() + 2 * delay.as_nanos() + 200_000_000;
        while monotonic() < patience {
            std::thread::sleep(std::time::Duration::from_millis(2));
            self.note_arrivals(&mut seen)?;
        }
        Ok((0..count).filter(|number| !seen[*number as usize]).collect())
    }

    fn note_arrivals(&mut self, seen: &mut [bool]) -> io::Result<()> {
        while let Some(arrival) = self.to.receive()? {
            if let Some(seen) = usize::try_from(arrival.number).ok().and_then(|number| seen.get_mut(number)) {
                *seen = true;
            }
        }
        Ok(())
    }
}

/// The 99 % interval of a share, Wilson 1927: it holds for shares near nought, where the plain one fails.
fn wilson(hits: f64, count: f64) -> (f64, f64) {
    let squared = Z99 * Z99;
    let centre = (hits + squared / 2.0) / (count + squared);
    let half = Z99 / (count + squared) * (hits * (count - hits) / count + squared / 4.0).sqrt();
    // At the ends the formula is exact, and its arithmetic a hair beside it.
    let low = if hits == 0.0 { 0.0 } else { (centre - half).max(0.0) };
    let high = if hits == count { 1.0 } else { (centre + half).min(1.0) };
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::wilson;

    #[test]
    fn the_interval_is_the_one_in_the_books() {
        // 10 of 100 at 99 %: 0.0470 to 0.2000, from the formula computed by hand.
        let (low, high) = wilson(10.0, 100.0);
        assert!((low - 0.0464).abs() < 0.002 && (high - 0.2018).abs() < 0.004, "{low} {high}");
        assert_eq!(wilson(0.0, 1000.0).0, 0.0);
        assert_eq!(wilson(2900.0, 2900.0).1, 1.0);
    }
}
