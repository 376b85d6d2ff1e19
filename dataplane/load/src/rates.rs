//! Who offers how much.

use plait_model_topology::random::SplitMix64;

/// Every switch the same, `total` together.
pub fn uniform(switches: usize, total: f64) -> Vec<f64> {
    vec![total / switches.max(1) as f64; switches]
}

/// Around the same: up to a tenth more or less, drawn by seed.
pub fn nearly_uniform(switches: usize, total: f64, seed: u64) -> Vec<f64> {
    let mut random = SplitMix64::new(seed);
    let weights = (0..switches).map(|_| 0.9 + 0.2 * random.unit()).collect();
    scaled(weights, total)
}

/// The switch of rank `r`, from 1, offers as `1 / r^exponent`; who has which rank is drawn by seed. Choice: the rank-size
/// law, which traffic of a network's nodes is commonly near; the thesis draws its skew in Figure 4.7 and gives no law.
pub fn skewed(switches: usize, total: f64, exponent: f64, seed: u64) -> Vec<f64> {
    let mut weights: Vec<f64> = (1..=switches).map(|rank| (rank as f64).powf(-exponent)).collect();
    SplitMix64::new(seed).shuffle(&mut weights);
    scaled(weights, total)
}

/// A share of the switches offers `total`, all the same, the others nothing; at least one does.
pub fn active(switches: usize, total: f64, share: f64, seed: u64) -> Vec<f64> {
    let count = ((switches as f64 * share).round() as usize).clamp(1, switches.max(1));
    let mut weights: Vec<f64> = (0..switches).map(|index| f64::from(u8::from(index < count))).collect();
    SplitMix64::new(seed).shuffle(&mut weights);
    scaled(weights, total)
}

/// The thesis's four scenarios (Figure 4.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scenario {
    /// 1: nearly uniform, far above capacity.
    Uniform,
    /// 2: skewed, far above capacity (4 M/s).
    Overload,
    /// 3: skewed, at some 80 % of capacity (1.4 M/s).
    Busy,
    /// 4: skewed, at half of it (0.85 M/s).
    Half,
}

impl Scenario {
    /// The rates of switches. Choice: relative to a capacity of another machine, where the thesis's controller had
    /// 1.7 M/s; the skew is the rank-size law with exponent 1.
    pub fn rates(self, switches: usize, capacity: f64, seed: u64) -> Vec<f64> {
        let total = |load: f64| capacity * load / 1.7;
        match self {
            Self::Uniform => nearly_uniform(switches, total(4.0), seed),
            Self::Overload => skewed(switches, total(4.0), 1.0, seed),
            Self::Busy => skewed(switches, total(1.4), 1.0, seed),
            Self::Half => skewed(switches, total(0.85), 1.0, seed),
        }
    }
}

fn scaled(mut weights: Vec<f64>, total: f64) -> Vec<f64> {
    let sum: f64 = weights.iter().sum();
    if sum > 0.0 {
        weights.iter_mut().for_each(|weight| *weight *= total / sum);
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_law_adds_up_to_its_total_and_follows_its_seed() {
        for law in [
            nearly_uniform as fn(usize, f64, u64) -> Vec<f64>,
            |switches, total, seed| skewed(switches, total, 1.0, seed),
            |switches, total, seed| active(switches, total, 0.05, seed),
            |switches, total, seed| Scenario::Busy.rates(switches, total * 1.7 / 1.4, seed),
        ] {
            let rates = law(1347, 1000.0, 1);
            assert!((rates.iter().sum::<f64>() - 1000.0).abs() < 1e-6);
            assert_eq!(rates, law(1347, 1000.0, 1));
            assert_ne!(rates, law(1347, 1000.0, 2));
        }
    }

    #[test]
    fn a_twentieth_of_1347_switches_is_67() {
        assert_eq!(active(1347, 1.0, 0.05, 7).iter().filter(|rate| **rate > 0.0).count(), 67);
    }
}
