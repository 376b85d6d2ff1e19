//! How much a metric goes with a factor, in designs that are not full.

use super::estimate::{CONFIDENCE, Estimate};
use statrs::distribution::{ContinuousCDF, Normal};

/// Spearman's rank correlation of a factor's levels with a metric over cells, with Fisher's interval (z ± 1.96 ·
/// √(1.06 / (n − 3)); Fieller, Hartley and Pearson, Biometrika 44, 1957). It needs four cells for an interval, and
/// none is told where one of both does not vary.
pub fn rank_correlation(pairs: &[(f64, f64)]) -> Option<Estimate> {
    let n = pairs.len();
    let (first, second): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let value = correlation(&ranks(&first), &ranks(&second))?;
    let interval = (n >= 4 && value.abs() < 1.0).then(|| {
        let half = Normal::standard().inverse_cdf(0.5 + CONFIDENCE / 2.0) * (1.06 / (n - 3) as f64).sqrt();
        ((value.atanh() - half).tanh(), (value.atanh() + half).tanh())
    });
    Some(Estimate { n, value, interval })
}

/// Ranks from 1; equal values share the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut at = 0;
    while at < order.len() {
        let same = order[at..].iter().take_while(|index| values[**index] == values[order[at]]).count();
        let rank = at as f64 + (same as f64 + 1.0) / 2.0;
        order[at..at + same].iter().for_each(|index| ranks[*index] = rank);
        at += same;
    }
    ranks
}

fn correlation(first: &[f64], second: &[f64]) -> Option<f64> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (a, b) = (mean(first), mean(second));
    let product: f64 = first.iter().zip(second).map(|(x, y)| (x - a) * (y - b)).sum();
    let squares = |values: &[f64], mean: f64| values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    let value = product / (squares(first, a) * squares(second, b)).sqrt();
    value.is_finite().then_some(value.clamp(-1.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_go_together_or_not() {
        let line: Vec<(f64, f64)> = (0..10).map(|x| (f64::from(x), f64::from(x * x))).collect();
        assert_eq!(rank_correlation(&line).unwrap().value, 1.0);
        // The example in Spearman's article on Wikipedia, IQ and hours of television: ρ = -29/165.
        let hours = [(106.0, 7.0), (100.0, 27.0), (86.0, 2.0), (101.0, 50.0), (99.0, 28.0)];
        let more = [(103.0, 29.0), (97.0, 20.0), (113.0, 12.0), (112.0, 6.0), (110.0, 17.0)];
        let found = rank_correlation(&[hours, more].concat()).unwrap();
        assert!((found.value + 29.0 / 165.0).abs() < 1e-9, "{found:?}");
        let (low, high) = found.interval.unwrap();
        assert!(low < -0.6 && high > 0.5, "ten cells say little: {found:?}");
        assert_eq!(ranks(&[5.0, 1.0, 5.0, 9.0]), [2.5, 1.0, 2.5, 4.0]);
        assert_eq!(rank_correlation(&[(1.0, 2.0), (1.0, 3.0)]), None, "nothing varies");
        assert_eq!(rank_correlation(&[]), None);
    }
}
