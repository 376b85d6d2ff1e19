//! The delays that conditions ask for, as a distribution to hold measurements against.

use crate::{Conditions, Distribution};
use plait_model_quantity::Probability;

/// How delay, jitter and reordering are distributed over packets that are too far apart to wait for each other. Queue
/// and rate add to it. All values are in nanoseconds.
#[derive(Debug, Clone)]
pub struct Delays {
    delay: f64,
    shape: Shape,
    /// The share that skips delay and jitter.
    skipping: f64,
    in_order: bool,
}

#[derive(Debug, Clone)]
enum Shape {
    Constant,
    Uniform(f64),
    Normal(f64),
    Pareto(f64),
    /// Sorted.
    Samples(Vec<f64>),
}

/// The standard deviation of the Pareto distribution of shape 3 and minimum 1, whose mean is 3/2.
const PARETO_DEVIATION: f64 = 0.866_025_403_784_438_6;

impl Conditions {
    /// The delays asked for.
    pub fn delays(&self) -> Delays {
        let shape = match self.jitter.as_ref().map(|jitter| &jitter.distribution) {
            None => Shape::Constant,
            Some(Distribution::Uniform(spread)) => Shape::Uniform(spread.as_nanos() as f64),
            Some(Distribution::Normal(spread)) => Shape::Normal(spread.as_nanos() as f64),
            Some(Distribution::Pareto(spread)) => Shape::Pareto(spread.as_nanos() as f64),
            Some(Distribution::Samples(samples)) => {
                let mut samples: Vec<f64> = samples.iter().map(|sample| sample.as_nanos() as f64).collect();
                samples.sort_unstable_by(f64::total_cmp);
                Shape::Samples(samples)
            }
        };
        Delays {
            delay: self.delay.as_nanos() as f64,
            shape,
            skipping: self.reorder.value(),
            in_order: self.jitter.as_ref().is_some_and(|jitter| !jitter.overtake),
        }
    }

    /// Whether the delay differs from packet to packet.
    pub fn delay_varies(&self) -> bool {
        self.jitter.is_some() || self.reorder != Probability::ZERO
    }
}

impl Delays {
    /// The share of packets that are delayed by this much at most.
    pub fn cumulative(&self, nanos: f64) -> f64 {
        // No delay is below nought: what would be is cut off there.
        if nanos < 0.0 {
            return 0.0;
        }
        let beyond = nanos - self.delay;
        let share = match &self.shape {
            Shape::Constant => f64::from(u8::from(beyond >= 0.0)),
            Shape::Uniform(spread) => ((beyond + spread) / (2.0 * spread)).clamp(0.0, 1.0),
            Shape::Normal(spread) => below(beyond / spread),
            Shape::Pareto(spread) => {
                let value = 1.5 + PARETO_DEVIATION * beyond / spread;
                if value > 1.0 { 1.0 - value.powi(-3) } else { 0.0 }
            }
            Shape::Samples(samples) => {
                samples.partition_point(|sample| *sample <= beyond) as f64 / samples.len() as f64
            }
        };
        self.skipping + (1.0 - self.skipping) * share
    }

    /// The mean.
    pub fn mean(&self) -> f64 {
        self.moments().0
    }

    /// The standard deviation.
    pub fn deviation(&self) -> f64 {
        let (mean, square) = self.moments();
        (square - mean * mean).max(0.0).sqrt()
    }

    /// How far apart packets must be sent so that those which keep their order do not wait for each other: never for
    /// bounded jitter, and so seldom for the others (normal: 2 in 10,000, Pareto: 1 in 1,000) that it does not show.
    pub fn spacing(&self) -> f64 {
        match &self.shape {
            _ if !self.in_order => 0.0,
            Shape::Constant => 0.0,
            Shape::Uniform(spread) => 2.0 * spread,
            Shape::Normal(spread) => 5.0 * spread,
            Shape::Pareto(spread) => 10.0 * spread,
            Shape::Samples(samples) => samples.last().unwrap_or(&0.0) - samples.first().unwrap_or(&0.0),
        }
    }

    /// The means of the delay and of its square.
    fn moments(&self) -> (f64, f64) {
        let delay = self.delay;
        let around = |deviation: f64| (delay, delay * delay + deviation * deviation);
        // Where jitter would reach below nought, it is the integral over what is left above.
        let (mean, square) = match &self.shape {
            Shape::Constant => around(0.0),
            Shape::Uniform(spread) if delay < *spread => {
                let top = delay + spread;
                (top * top / (4.0 * spread), top.powi(3) / (6.0 * spread))
            }
            Shape::Uniform(spread) => around(spread / 3.0_f64.sqrt()),
            Shape::Normal(spread) => {
                let at = delay / spread;
                let density = libm::exp(-at * at / 2.0) / (2.0 * std::f64::consts::PI).sqrt();
                let mean = delay * below(at) + spread * density;
                (mean, (delay * delay + spread * spread) * below(at) + delay * spread * density)
            }
            Shape::Pareto(spread) => {
                let (unit, least) = (spread / PARETO_DEVIATION, 1.5 - PARETO_DEVIATION * delay / spread);
                if least > 1.0 {
                    (unit / (2.0 * least * least), unit * unit / least)
                } else {
                    around(*spread)
                }
            }
            Shape::Samples(samples) => {
                let sum = |power| samples.iter().map(|sample| (delay + sample).powi(power)).sum::<f64>();
                (sum(1) / samples.len() as f64, sum(2) / samples.len() as f64)
            }
        };
        ((1.0 - self.skipping) * mean, (1.0 - self.skipping) * square)
    }
}

/// The share of the standard normal distribution at or below a value.
fn below(value: f64) -> f64 {
    libm::erfc(-value / std::f64::consts::SQRT_2) / 2.0
}
