//! One-way delay that differs from packet to packet: its mean, its deviation, and its whole distribution.

use super::measured::Z99;
use super::{Measured, Path};
use plait_model_link::Delays;
use plait_model_quantity::TimeSpan;
use std::io;

/// What a link adds to the delays asked for, and what the machine may.
#[derive(Debug, Clone, Copy)]
pub struct Allowance {
    /// A probe's own time on the wire.
    pub serialisation: TimeSpan,
    /// By how much delays may be off as a whole.
    pub tolerance: TimeSpan,
}

/// One sound link in a thousand may be found at fault, in the mean and in the distribution each.
const DOUBT: f64 = 0.001;
/// The normal quantile that leaves half of `DOUBT` on each side.
const Z999: f64 = 3.290_526_731_491_896;

impl Path {
    /// Measures delays against a distribution with `count` short frames, one each `interval`, which must leave frames
    /// that keep their order the room not to wait for each other. Gives `delay`, held by its mean, and `jitter`, whose
    /// value is the standard deviation and which is within when the whole distribution is.
    pub fn measure_spread(
        &mut self,
        asked: &Delays,
        allowance: Allowance,
        count: u64,
        interval: TimeSpan,
    ) -> io::Result<[Measured; 2]> {
        let longest = asked.mean() + 10.0 * asked.deviation();
        let mut seen: Vec<f64> = self
            .delays(count, interval, TimeSpan::from_nanos(longest as u64))?
            .into_iter()
            .map(|delay| delay as f64 - allowance.serialisation.as_nanos() as f64)
            .collect();
        if seen.len() < 2 {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "no probe came through the link"));
        }
        seen.sort_unstable_by(f64::total_cmp);
        Ok(held_against(asked, seen, allowance.tolerance.as_nanos() as f64))
    }
}

fn held_against(asked: &Delays, seen: Vec<f64>, tolerance: f64) -> [Measured; 2] {
    let count = seen.len() as f64;
    let within = fits(asked, &seen, tolerance);
    let sampling = Z999 * asked.deviation() / count.sqrt();
    let fourth = |mean: f64| seen.iter().map(|delay| (delay - mean).powi(4)).sum::<f64>() / count;
    let mean = seen.iter().sum::<f64>() / count;
    let fourth = fourth(mean);
    let delay = Measured::mean("delay", "ns", asked.mean(), seen, tolerance + sampling);
    let got = delay.deviation;
    // The standard error of a standard deviation, from the fourth moment seen.
    let error = if got > 0.0 { ((fourth - got.powi(4)).max(0.0) / count).sqrt() / (2.0 * got) } else { 0.0 };
    let interval = ((got - Z99 * error).max(0.0), got + Z99 * error);
    let jitter =
        Measured { quantity: "jitter", asked: asked.deviation(), got, interval, within, ..delay.clone() };
    [delay, jitter]
}

/// Whether sorted delays may come from a distribution, each off by a tolerance at most.
///
/// Dvoretzky, Kiefer and Wolfowitz (1956) with Massart's constant (1990): whatever the distribution, the share of `n`
/// observations below any value misses the true one by more than `sqrt(ln(2 / doubt) / 2n)` with no more than that
/// doubt.
fn fits(asked: &Delays, seen: &[f64], tolerance: f64) -> bool {
    let count = seen.len() as f64;
    let room = ((2.0 / DOUBT).ln() / (2.0 * count)).sqrt();
    seen.iter().enumerate().all(|(before, delay)| {
        let (below, up_to) = (before as f64 / count, (before + 1) as f64 / count);
        below >= asked.cumulative(delay - tolerance) - room
            && up_to <= asked.cumulative(delay + tolerance) + room
    })
}

#[cfg(test)]
mod tests {
    use super::held_against;
    use plait_model_link::{Conditions, ConditionsSpec, Direction, PacketInfo};

    fn conditions(jitter: &str) -> Conditions {
        let text = format!(r#"{{"delay": "10ms", "jitter": {jitter}}}"#);
        serde_json::from_str::<ConditionsSpec>(&text).unwrap().build(&|_| Err(String::new())).unwrap()
    }

    /// Whether delay and jitter of a link that does one thing are within what another asks.
    fn within(does: &Conditions, asks: &Conditions, count: u64) -> [bool; 2] {
        let mut direction = Direction::new(does.clone(), 3, 0);
        (0..count).for_each(|number| direction.arrive(number * 100_000_000, PacketInfo::frame(60), number));
        let left = std::iter::from_fn(|| direction.depart(u64::MAX));
        let mut seen: Vec<f64> = left.map(|departure| (departure.at - departure.arrived) as f64).collect();
        seen.sort_unstable_by(f64::total_cmp);
        held_against(&asks.delays(), seen, 100_000.0).map(|measured| measured.within)
    }

    #[test]
    fn another_spread_or_shape_is_told_from_the_one_asked() {
        let shape = |name: &str, spread: &str| {
            conditions(&format!(r#"{{"spread": "{spread}", "distribution": "{name}"}}"#))
        };
        for name in ["uniform", "normal", "pareto"] {
            let asked = shape(name, "2ms");
            assert_eq!(within(&asked, &asked, 300), [true, true], "{name}");
            assert_eq!(within(&asked, &asked, 10_000), [true, true], "{name}");
            assert_eq!(within(&shape(name, "1ms"), &asked, 300), [true, false], "half of {name}");
            assert!(!within(&shape(name, "2500us"), &asked, 10_000)[1], "a quarter more of {name}");
        }
        // The same mean and deviation.
        assert!(!within(&shape("normal", "2ms"), &shape("pareto", "2ms"), 1_000)[1]);
    }
}
