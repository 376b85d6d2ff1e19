//! How far two groups of runs are apart.

use super::estimate::{CONFIDENCE, Estimate};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The mean of the second less that of the first, with Welch's interval (degrees of freedom by Welch and Satterthwaite,
/// Biometrika 34, 1947): the groups need not vary alike. It needs two values of each. None without a value of each.
pub fn difference(first: &[f64], second: &[f64]) -> Option<Estimate> {
    if first.is_empty() || second.is_empty() {
        return None;
    }
    let average = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    // The variance of a mean.
    let error = |values: &[f64]| {
        let mean = average(values);
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        squares / (values.len() - 1) as f64 / values.len() as f64
    };
    let value = average(second) - average(first);
    let interval = (first.len() > 1 && second.len() > 1).then(|| {
        let (a, b) = (error(first), error(second));
        if a + b == 0.0 {
            return (value, value);
        }
        let part = |error: f64, values: &[f64]| error * error / (values.len() - 1) as f64;
        let degrees = (a + b).powi(2) / (part(a, first) + part(b, second));
        let student = StudentsT::new(0.0, 1.0, degrees).expect("degrees above nought");
        let half = student.inverse_cdf(0.5 + CONFIDENCE / 2.0) * (a + b).sqrt();
        (value - half, value + half)
    });
    Some(Estimate { n: first.len() + second.len(), value, interval })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_groups_are_apart_as_welch_says() {
        // 1..=5 and 3, 5, 7: means 3 and 5, variances of the means 0.5 and 4/3, 11/6 in all; degrees
        // (11/6)² / (0.25/4 + (16/9)/2) = 3.5328, t(3.5328, 0.975) = 2.9283, half-width 2.9283 √(11/6) = 3.965.
        let found = difference(&[1.0, 2.0, 3.0, 4.0, 5.0], &[3.0, 5.0, 7.0]).unwrap();
        let (low, high) = found.interval.unwrap();
        assert_eq!((found.value, found.n), (2.0, 8));
        assert!(((high - low) / 2.0 - 3.965).abs() < 0.01, "{found:?}");
        assert_eq!(difference(&[1.0], &[3.0]).unwrap(), Estimate { n: 2, value: 2.0, interval: None });
        assert_eq!(difference(&[1.0, 1.0], &[3.0, 3.0]).unwrap().interval, Some((2.0, 2.0)));
        assert_eq!(difference(&[], &[1.0]), None);
    }
}
