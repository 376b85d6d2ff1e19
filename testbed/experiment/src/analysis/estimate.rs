//! A value, and how far off it may be.

use plait_model_topology::random::SplitMix64;
use serde::{Deserialize, Serialize};
use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal, StudentsT};

/// The confidence of every interval.
pub const CONFIDENCE: f64 = 0.95;

/// A value estimated from runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Runs it rests on.
    pub n: usize,
    /// The value.
    pub value: f64,
    /// The interval that holds the true value with [`CONFIDENCE`]; absent where there are too few runs for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
}

impl Estimate {
    /// Half the interval as a part of the value: how exact the estimate is. None without an interval.
    pub fn relative_half_width(&self) -> Option<f64> {
        let (low, high) = self.interval?;
        Some((high - low) / 2.0 / self.value.abs())
    }
}

/// The mean, with Student's interval: mean ± t · s / √n with n − 1 degrees of freedom. It is exact where the runs'
/// values are normal, and needs two of them. None without a value.
pub fn mean(values: &[f64]) -> Option<Estimate> {
    let n = values.len();
    let value = plain_mean(values)?;
    let interval = deviation(values).map(|deviation| {
        let half = student(n - 1, CONFIDENCE) * deviation / (n as f64).sqrt();
        (value - half, value + half)
    });
    Some(Estimate { n, value, interval })
}

/// Where a further value belongs that comes from where these come from: mean ± t · s · √(1 + 1/n), which holds it with
/// the given confidence if values are normal. None with fewer than two values.
pub fn prediction(values: &[f64], confidence: f64) -> Option<(f64, f64)> {
    let n = values.len();
    let (value, deviation) = (plain_mean(values)?, deviation(values)?);
    let half = student(n - 1, confidence) * deviation * (1.0 + 1.0 / n as f64).sqrt();
    Some((value - half, value + half))
}

/// The median, with the interval between two of the values themselves: those whose ranks a binomial (n, ½) stays
/// between with at least [`CONFIDENCE`] (David and Nagaraja, Order Statistics, 7.1). It assumes nothing of the
/// distribution and needs six values. None without a value.
pub fn median(values: &[f64]) -> Option<Estimate> {
    let n = values.len();
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let value = middle(&sorted)?;
    let binomial = Binomial::new(0.5, n as u64).expect("a half is a probability");
    // The k-th smallest and k-th largest: the median lies outside with probability 2 P(X < k).
    let outside = |rank: usize| 2.0 * binomial.cdf(rank as u64 - 1);
    let rank = (1..=n / 2).take_while(|rank| outside(*rank) <= 1.0 - CONFIDENCE).last();
    Some(Estimate { n, value, interval: rank.map(|rank| (sorted[rank - 1], sorted[n - rank])) })
}

/// Any statistic, with the bias-corrected and accelerated bootstrap interval (Efron, Journal of the American
/// Statistical Association 82, 1987) of 2,000 resamples drawn with a seed. It needs five values that are not all the
/// same; with few it is a little narrow (the tests say how much). None without a value.
pub fn bootstrap(values: &[f64], seed: u64, statistic: impl Fn(&[f64]) -> f64) -> Option<Estimate> {
    const RESAMPLES: usize = 2_000;
    let n = values.len();
    if n == 0 {
        return None;
    }
    let value = statistic(values);
    let estimate = |interval| Some(Estimate { n, value, interval });
    if n < 5 || values.iter().all(|one| *one == values[0]) {
        return estimate(None);
    }
    let mut random = SplitMix64::new(seed);
    let mut drawn = vec![0.0; n];
    let mut resampled: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            drawn.fill_with(|| values[random.below(n)]);
            statistic(&drawn)
        })
        .collect();
    resampled.sort_unstable_by(f64::total_cmp);
    let below = resampled.iter().filter(|one| **one < value).count() as f64;
    let same = resampled.iter().filter(|one| **one == value).count() as f64;
    let normal = Normal::standard();
    // Half of the ties count as below: a median of few values is often the same again.
    let bias = normal.inverse_cdf(((below + same / 2.0) / RESAMPLES as f64).clamp(1e-4, 1.0 - 1e-4));
    let acceleration = acceleration(values, &statistic);
    let end = |tail: f64| {
        let z = bias + normal.inverse_cdf(tail);
        let share = normal.cdf(bias + z / (1.0 - acceleration * z));
        resampled[((share * RESAMPLES as f64) as usize).min(RESAMPLES - 1)]
    };
    estimate(Some((end(0.5 - CONFIDENCE / 2.0), end(0.5 + CONFIDENCE / 2.0))))
}

/// How much the statistic's spread changes with its value, from leaving out one value at a time.
fn acceleration(values: &[f64], statistic: impl Fn(&[f64]) -> f64) -> f64 {
    let without = |index: usize| {
        let mut rest = values.to_vec();
        rest.swap_remove(index);
        statistic(&rest)
    };
    let left_out: Vec<f64> = (0..values.len()).map(without).collect();
    let centre = plain_mean(&left_out).unwrap_or_default();
    let sum = |power: i32| left_out.iter().map(|one| (centre - one).powi(power)).sum::<f64>();
    let squares = sum(2);
    if squares == 0.0 { 0.0 } else { sum(3) / (6.0 * squares.powf(1.5)) }
}

/// The standard deviation of a sample, with n - 1; none of fewer than two values.
fn deviation(values: &[f64]) -> Option<f64> {
    let centre = plain_mean(values).filter(|_| values.len() >= 2)?;
    let squares: f64 = values.iter().map(|one| (one - centre).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// How many standard errors hold this share of Student's distribution.
fn student(degrees: usize, confidence: f64) -> f64 {
    let student = StudentsT::new(0.0, 1.0, degrees as f64).expect("two values leave a degree of freedom");
    student.inverse_cdf(0.5 + confidence / 2.0)
}

fn plain_mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn middle(sorted: &[f64]) -> Option<f64> {
    let high = *sorted.get(sorted.len() / 2)?;
    Some(if sorted.len() % 2 == 1 { high } else { (sorted[sorted.len() / 2 - 1] + high) / 2.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_and_its_interval_are_those_in_the_books() {
        // Student's interval for 1..=5: s = 1.5811, t(4, 0.975) = 2.7764, half = 2.7764 * 1.5811 / 2.2361 = 1.9632.
        let estimate = mean(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        let (low, high) = estimate.interval.unwrap();
        assert_eq!((estimate.n, estimate.value), (5, 3.0));
        assert!((low - 1.0368).abs() < 1e-3 && (high - 4.9632).abs() < 1e-3, "{low} {high}");
        assert!((estimate.relative_half_width().unwrap() - 0.6544).abs() < 1e-3);
        assert_eq!(mean(&[7.0]).unwrap().interval, None, "one run says nothing of the next");
        assert_eq!(mean(&[]), None);
    }

    #[test]
    fn the_median_and_its_interval_are_values_seen() {
        let values: Vec<f64> = (1..=10).rev().map(f64::from).collect();
        let estimate = median(&values).unwrap();
        assert_eq!(estimate.value, 5.5);
        // For ten values the table gives the second and the ninth: 97.9 %.
        assert_eq!(estimate.interval, Some((2.0, 9.0)));
        assert_eq!(median(&values[..5]).unwrap().interval, None, "of five values, none are 95 % apart");
        assert_eq!(median(&values[..6]).unwrap().interval, Some((5.0, 10.0)));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn a_bootstrap_is_its_seed() {
        let values = [3.13, 1.59, 2.65, 3.58, 9.79, 3.23, 8.46, 2.64];
        let average = |values: &[f64]| plain_mean(values).unwrap();
        let once = bootstrap(&values, 1, average).unwrap();
        assert_eq!(once, bootstrap(&values, 1, average).unwrap());
        assert_ne!(once.interval, bootstrap(&values, 2, average).unwrap().interval);
        let (low, high) = once.interval.unwrap();
        assert!(low > 1.0 && low < once.value && once.value < high && high < 9.0, "{once:?}");
        assert_eq!(bootstrap(&[2.0; 8], 1, average).unwrap().interval, None, "nothing varies");
        assert_eq!(bootstrap(&[], 1, average), None);
    }

    /// The share of 2,000 experiments of `n` runs whose interval holds the true value.
    fn coverage(
        n: usize,
        draw: fn(&mut SplitMix64) -> f64,
        truth: f64,
        of: impl Fn(&[f64]) -> Option<Estimate>,
    ) -> f64 {
        const EXPERIMENTS: usize = 2_000;
        let mut random = SplitMix64::new(n as u64);
        let mut held = 0;
        for _ in 0..EXPERIMENTS {
            let values: Vec<f64> = (0..n).map(|_| draw(&mut random)).collect();
            let (low, high) =
                of(&values).and_then(|estimate| estimate.interval).unwrap_or((f64::MIN, f64::MAX));
            held += usize::from(low <= truth && truth <= high);
        }
        held as f64 / EXPERIMENTS as f64
    }

    fn normal(random: &mut SplitMix64) -> f64 {
        Normal::standard().inverse_cdf(random.unit().max(1e-16))
    }

    /// Skewed, as times often are: mean 1, median ln 2.
    fn exponential(random: &mut SplitMix64) -> f64 {
        -(1.0 - random.unit()).ln()
    }

    /// With 2,000 experiments, three standard errors of a share of 0.95 are 0.015.
    #[test]
    fn intervals_hold_the_true_value_as_often_as_they_say() {
        for n in [5, 10, 30] {
            let share = coverage(n, normal, 0.0, mean);
            assert!((share - 0.95).abs() < 0.015, "Student's interval of {n} normal values holds {share}");
            // Skewed values: the interval of the mean is too short, the less so the more there are.
            let share = coverage(n, exponential, 1.0, mean);
            assert!((0.86..0.96).contains(&share), "Student's interval of {n} skewed values holds {share}");
            // The median's interval promises at least.
            for (draw, truth) in [(normal as fn(&mut SplitMix64) -> f64, 0.0), (exponential, 2f64.ln())] {
                let share = coverage(n, draw, truth, median);
                assert!(share >= 0.935, "the median's interval of {n} values holds {share}");
            }
            let average = |values: &[f64]| plain_mean(values).unwrap();
            let share = coverage(n, normal, 0.0, |values| bootstrap(values, 1, average));
            let least = match n {
                5 => 0.80,
                10 => 0.88,
                _ => 0.92,
            };
            assert!((least..0.965).contains(&share), "the bootstrap interval of {n} values holds {share}");
        }
    }
}
