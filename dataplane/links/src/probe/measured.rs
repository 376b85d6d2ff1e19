//! What was asked, what was found.

use serde::Serialize;

/// One quantity of a link, asked and measured. All values are in the base unit that `unit` names.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measured {
    /// What was measured: `delay`, `jitter`, `rate`, `loss` or `queue`.
    pub quantity: &'static str,
    /// `ns`, `bit/s` or `share`.
    pub unit: &'static str,
    /// What was asked.
    pub asked: f64,
    /// What was found: a mean, a standard deviation, or a share.
    pub got: f64,
    /// The interval that holds the true value with 99 % confidence.
    pub interval: (f64, f64),
    /// The standard deviation of single observations.
    pub deviation: f64,
    /// Half of the observations were above.
    pub p50: f64,
    /// One observation in a hundred was above.
    pub p99: f64,
    /// Observations.
    pub samples: u64,
    /// Whether what was found is what was asked, within the tolerance given.
    pub within: bool,
}

/// The normal quantile that leaves half a per cent on each side.
pub(super) const Z99: f64 = 2.575_829_303_548_901;

impl Measured {
    /// The mean of observations, held against what was asked.
    pub(super) fn mean(
        quantity: &'static str,
        unit: &'static str,
        asked: f64,
        mut seen: Vec<f64>,
        tolerance: f64,
    ) -> Self {
        seen.sort_unstable_by(f64::total_cmp);
        let samples = seen.len() as f64;
        let mean = seen.iter().sum::<f64>() / samples;
        let squares = seen.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        let deviation = if seen.len() > 1 { (squares / (samples - 1.0)).sqrt() } else { 0.0 };
        let half = Z99 * deviation / samples.sqrt();
        let rank = |share: f64| seen[((samples * share).ceil() as usize).clamp(1, seen.len()) - 1];
        Self {
            quantity,
            unit,
            asked,
            got: mean,
            interval: (mean - half, mean + half),
            deviation,
            p50: rank(0.5),
            p99: rank(0.99),
            samples: seen.len() as u64,
            within: (mean - asked).abs() <= tolerance,
        }
    }
}
