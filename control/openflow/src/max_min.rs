//! Max-min shares: nobody gets more than he offers, and nobody could get more without taking it from one who has less
//! for his weight.

/// The share of each who offers so much, with a weight above 0, of a capacity in the same unit. Those who offer least
/// for their weight are served whole, until what is left is divided by weights.
pub fn max_min(offered: &[(f64, f64)], capacity: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..offered.len()).collect();
    let need = |index: usize| offered[index].0 / offered[index].1;
    order.sort_by(|a, b| need(*a).total_cmp(&need(*b)));
    let mut weights: f64 = offered.iter().map(|(_, weight)| weight).sum();
    let (mut left, mut shares) = (capacity, vec![0.0; offered.len()]);
    for index in order {
        let (offer, weight) = offered[index];
        shares[index] = offer.min(left * weight / weights);
        left -= shares[index];
        weights -= weight;
    }
    shares
}
