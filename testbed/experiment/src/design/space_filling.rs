//! Points that fill a cube evenly, by the WSP method (Wootton, Sergent, Phan-Tan-Luu; Santiago et al., Chemometrics and
//! Intelligent Laboratory Systems 113, 2012).
//!
//! Many candidates are drawn by lot. From one near the middle, all that are closer than a distance are struck out, then
//! the nearest that is left is taken and the same done around it, until none is left. The distance is bisected until as
//! many points remain as were asked for.

use plait_model_topology::random::SplitMix64;

/// Candidates for each point asked for. Choice: ten. With few, the points are as uneven as their lots; the time to
/// choose grows with the candidates times the points.
const CANDIDATES: usize = 10;
const FEWEST_CANDIDATES: usize = 1_000;
/// Halvings of the distance: past 40 the two ends are one.
const HALVINGS: usize = 40;

/// About `count` points of the unit cube of so many dimensions, in the order in which the method finds them. The same
/// for the same seed on every machine.
///
/// Choice: the number of points that remain jumps now and then as the distance changes, so that a count may not exist;
/// the one nearest to it is returned.
pub fn space_filling(dimensions: usize, count: usize, seed: u64) -> Vec<Vec<f64>> {
    if dimensions == 0 || count == 0 {
        return vec![Vec::new(); count.min(1)];
    }
    let mut random = SplitMix64::new(seed);
    let draw = |_| (0..dimensions).map(|_| random.unit()).collect::<Vec<f64>>();
    let candidates: Vec<Vec<f64>> = (0..(count * CANDIDATES).max(FEWEST_CANDIDATES)).map(draw).collect();
    // Squared distances: nothing here needs a root.
    let (mut least, mut most) = (0.0, dimensions as f64);
    let mut best = select(&candidates, most);
    for _ in 0..HALVINGS {
        if best.len() == count {
            break;
        }
        let middle = (least + most) / 2.0;
        let found = select(&candidates, middle);
        if found.len() > count {
            least = middle;
        } else {
            most = middle;
        }
        if found.len().abs_diff(count) < best.len().abs_diff(count) {
            best = found;
        }
    }
    best.into_iter().map(|index| candidates[index].clone()).collect()
}

/// The candidates that stay when no two may be nearer than a (squared) distance.
fn select(candidates: &[Vec<f64>], distance: f64) -> Vec<usize> {
    let middle = vec![0.5; candidates[0].len()];
    let mut left: Vec<usize> = (0..candidates.len()).collect();
    let mut kept = Vec::new();
    let mut here = &middle;
    loop {
        let near = |&index: &usize| squared(here, &candidates[index]);
        let Some(next) = left.iter().copied().min_by(|a, b| near(a).total_cmp(&near(b))) else { return kept };
        kept.push(next);
        here = &candidates[next];
        left.retain(|&index| index != next && squared(here, &candidates[index]) >= distance);
    }
}

fn squared(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The (squared) distance of the two points that are nearest to each other.
    fn closest_pair(points: &[Vec<f64>]) -> f64 {
        let pairs = points
            .iter()
            .enumerate()
            .flat_map(|(index, a)| points[index + 1..].iter().map(move |b| squared(a, b)));
        pairs.fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn points_are_as_many_as_asked_and_far_apart() {
        for (dimensions, count) in [(1, 10), (2, 20), (4, 50), (6, 200)] {
            let points = space_filling(dimensions, count, 7);
            assert!(points.len().abs_diff(count) * 20 <= count, "{} of {count}", points.len());
            assert!(points.iter().flatten().all(|share| (0.0..1.0).contains(share)));
            let mut random = SplitMix64::new(7);
            let by_lot: Vec<Vec<f64>> =
                (0..count).map(|_| (0..dimensions).map(|_| random.unit()).collect()).collect();
            // Two points drawn by lot are sometimes as good as the same.
            assert!(closest_pair(&points) > 4.0 * closest_pair(&by_lot), "{dimensions} dimensions");
        }
    }

    #[test]
    fn every_corner_has_a_point_near_it() {
        let points = space_filling(2, 25, 3);
        for corner in [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] {
            let nearest = points.iter().map(|point| squared(point, &corner)).fold(f64::INFINITY, f64::min);
            assert!(nearest < 0.09, "the corner {corner:?} is {nearest} from the nearest point");
        }
    }

    #[test]
    fn a_seed_is_a_design() {
        assert_eq!(space_filling(3, 30, 5), space_filling(3, 30, 5));
        assert_ne!(space_filling(3, 30, 5), space_filling(3, 30, 6));
        // The first point of seed 5, so that no change of the method goes unseen.
        assert_eq!(space_filling(0, 5, 1), [Vec::<f64>::new()]);
        assert!(space_filling(2, 0, 1).is_empty());
    }
}
