//! Where the nodes of a drawing stand.
//!
//! Stress majorisation: nodes are placed so that their distances on paper are in proportion to their distances in
//! hops (Gansner, Koren and North, "Graph Drawing by Stress Majorization", 2004, section 2: the localised form, which
//! moves one node at a time). The result is turned so that the longest way lies flat, and filled into the frame.

/// Choice: the majorisation is O(n²) a round; beyond this number of nodes a drawing says nothing on a page anyway.
pub(super) const MOST_NODES: usize = 400;
const ROUNDS: usize = 120;

/// A place for each of `nodes` nodes, in a square from -1 to 1, the longer side filled. The same edges give the same
/// places.
pub(super) fn places(nodes: usize, edges: &[(usize, usize)]) -> Vec<(f64, f64)> {
    if nodes <= 1 {
        return vec![(0.0, 0.0); nodes];
    }
    let mut near = vec![Vec::new(); nodes];
    for &(a, b) in edges {
        if a != b {
            near[a].push(b);
            near[b].push(a);
        }
    }
    let hops: Vec<Vec<f64>> = (0..nodes).map(|from| distances(from, &near)).collect();
    let mut places = start(nodes, &hops);
    for _ in 0..ROUNDS {
        for node in 0..nodes {
            places[node] = better(node, &places, &hops[node]);
        }
    }
    level(&mut places, &hops);
    places
}

/// Hops from a node to every other; to nodes it cannot reach, a little more than the longest way.
fn distances(from: usize, near: &[Vec<usize>]) -> Vec<f64> {
    let mut hops = vec![f64::NAN; near.len()];
    let mut queue = std::collections::VecDeque::from([from]);
    hops[from] = 0.0;
    while let Some(node) = queue.pop_front() {
        for &next in &near[node] {
            if hops[next].is_nan() {
                hops[next] = hops[node] + 1.0;
                queue.push_back(next);
            }
        }
    }
    let apart = (near.len() as f64).sqrt() + 1.0;
    hops.into_iter().map(|hops| if hops.is_nan() { apart } else { hops }).collect()
}

/// First places: across, the hops from the end of the longest way; down, a spread by position that no two share.
fn start(nodes: usize, hops: &[Vec<f64>]) -> Vec<(f64, f64)> {
    let (from, to) = longest(hops);
    let golden = 0.618_033_988_749_895;
    (0..nodes)
        .map(|node| {
            let across = (hops[from][node] - hops[to][node]) / 2.0;
            let down = (node as f64 * golden).fract() - 0.5;
            (across, 2.0 * down)
        })
        .collect()
}

/// The two nodes furthest apart; of equals the first.
fn longest(hops: &[Vec<f64>]) -> (usize, usize) {
    let mut found = (0, 0);
    for (from, row) in hops.iter().enumerate() {
        for (to, distance) in row.iter().enumerate() {
            if *distance > hops[found.0][found.1] {
                found = (from, to);
            }
        }
    }
    found
}

/// Where one node would have to stand for the others' distances to fit best, weighed by 1/d².
fn better(node: usize, places: &[(f64, f64)], hops: &[f64]) -> (f64, f64) {
    let (x, y) = places[node];
    let mut sum = (0.0, 0.0);
    let mut weights = 0.0;
    for (other, &(ox, oy)) in places.iter().enumerate() {
        if other == node {
            continue;
        }
        let wanted = hops[other];
        let weight = 1.0 / (wanted * wanted);
        let (dx, dy) = (x - ox, y - oy);
        let distance = dx.hypot(dy).max(1e-6);
        sum.0 += weight * (ox + wanted * dx / distance);
        sum.1 += weight * (oy + wanted * dy / distance);
        weights += weight;
    }
    (sum.0 / weights, sum.1 / weights)
}

/// Turns the drawing so that the longest way lies flat, its first end to the left, and fits it into the square.
fn level(places: &mut [(f64, f64)], hops: &[Vec<f64>]) {
    let (from, to) = longest(hops);
    let angle = (places[to].1 - places[from].1).atan2(places[to].0 - places[from].0);
    let (sin, cos) = (-angle).sin_cos();
    for place in places.iter_mut() {
        *place = (place.0 * cos - place.1 * sin, place.0 * sin + place.1 * cos);
    }
    let bounds = |side: fn(&(f64, f64)) -> f64| {
        let values = places.iter().map(side);
        (values.clone().fold(f64::INFINITY, f64::min), values.fold(f64::NEG_INFINITY, f64::max))
    };
    let (left, right) = bounds(|place| place.0);
    let (top, bottom) = bounds(|place| place.1);
    let half = ((right - left).max(bottom - top) / 2.0).max(1e-6);
    let centre = ((left + right) / 2.0, (top + bottom) / 2.0);
    for place in places.iter_mut() {
        *place = ((place.0 - centre.0) / half, (place.1 - centre.1) / half);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_lies_flat_and_in_order() {
        let places = places(4, &[(0, 1), (1, 2), (2, 3)]);
        assert!(places.windows(2).all(|pair| pair[1].0 > pair[0].0 + 0.3), "{places:?}");
        assert!(places.iter().all(|place| place.1.abs() < 0.1), "{places:?}");
    }

    #[test]
    fn nodes_do_not_stand_on_each_other() {
        let ring: Vec<(usize, usize)> = (0..12).map(|node| (node, (node + 1) % 12)).collect();
        let places = places(12, &ring);
        for (at, a) in places.iter().enumerate() {
            for b in &places[..at] {
                assert!((a.0 - b.0).hypot(a.1 - b.1) > 0.2, "{places:?}");
            }
        }
        assert_eq!(super::places(12, &ring), places, "the same network is drawn the same way");
    }

    #[test]
    fn any_graph_has_finite_places() {
        for (nodes, edges) in [(0, vec![]), (1, vec![(0, 0)]), (2, vec![]), (5, vec![(0, 1), (0, 1), (3, 4)])]
        {
            let places = places(nodes, &edges);
            assert_eq!(places.len(), nodes);
            assert!(places.iter().all(|place| place.0.is_finite() && place.1.is_finite()), "{places:?}");
        }
    }
}
