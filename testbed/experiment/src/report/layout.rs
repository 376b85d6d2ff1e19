//! Where the nodes of a drawing stand.
//!
//! Stress majorisation: nodes are placed so that their distances on paper are in proportion to the lengths of the
//! shortest ways between them (Gansner, Koren and North, "Graph Drawing by Stress Majorization", 2004, section 2: the
//! localised form, which moves one node at a time). The result is turned so that its longer side lies flat.

/// Choice: the majorisation is O(n²) a round; beyond this number of nodes a drawing says nothing on a page anyway.
pub(super) const MOST_NODES: usize = 400;
/// Pairs of nodes looked at in all, which bounds the time; few nodes get so many rounds that the drawing is at rest.
const PAIRS: usize = 4_000_000;

/// A link of a drawing: its two nodes, and how long it should be.
pub(super) type Edge = (usize, usize, f64);

/// A place for each of `nodes` nodes, in a square from -1 to 1, the longer side filled. The same edges give the same
/// places.
pub(super) fn places(nodes: usize, edges: &[Edge]) -> Vec<(f64, f64)> {
    if nodes <= 1 {
        return vec![(0.0, 0.0); nodes];
    }
    let mut near = vec![Vec::new(); nodes];
    for &(a, b, length) in edges {
        if a != b {
            near[a].push((b, length));
            near[b].push((a, length));
        }
    }
    let ways: Vec<Vec<f64>> = (0..nodes).map(|from| distances(from, &near)).collect();
    let mut places = start(nodes, &ways);
    for _ in 0..(PAIRS / (nodes * nodes)).clamp(40, 2000) {
        for node in 0..nodes {
            places[node] = better(node, &places, &ways[node]);
        }
    }
    level(&mut places, longest(&ways));
    places
}

/// Lengths of the shortest ways from a node (Dijkstra, without a heap: drawings are small); to nodes it cannot reach, a
/// little more than a way across the drawing.
fn distances(from: usize, near: &[Vec<(usize, f64)>]) -> Vec<f64> {
    let mut ways = vec![f64::INFINITY; near.len()];
    let mut done = vec![false; near.len()];
    ways[from] = 0.0;
    loop {
        let open = (0..near.len()).filter(|&node| !done[node] && ways[node].is_finite());
        let Some(node) = open.min_by(|&a, &b| ways[a].total_cmp(&ways[b])) else { break };
        done[node] = true;
        for &(next, length) in &near[node] {
            ways[next] = ways[next].min(ways[node] + length);
        }
    }
    let apart = (near.len() as f64).sqrt() + 1.0;
    ways.into_iter().map(|way| if way.is_finite() { way } else { apart }).collect()
}

/// First places: across, how far along the longest way; down, a spread by position that no two share.
fn start(nodes: usize, ways: &[Vec<f64>]) -> Vec<(f64, f64)> {
    let (from, to) = longest(ways);
    let golden = 0.618_033_988_749_895;
    (0..nodes)
        .map(|node| {
            let across = (ways[from][node] - ways[to][node]) / 2.0;
            let down = (node as f64 * golden).fract() - 0.5;
            (across, 2.0 * down)
        })
        .collect()
}

/// The two nodes furthest apart; of equals the first.
fn longest(ways: &[Vec<f64>]) -> (usize, usize) {
    let mut found = (0, 0);
    for (from, row) in ways.iter().enumerate() {
        for (to, distance) in row.iter().enumerate() {
            if *distance > ways[found.0][found.1] {
                found = (from, to);
            }
        }
    }
    found
}

/// Where one node would have to stand for the others' distances to fit best, weighed by 1/d².
fn better(node: usize, places: &[(f64, f64)], ways: &[f64]) -> (f64, f64) {
    let (x, y) = places[node];
    let mut sum = (0.0, 0.0);
    let mut weights = 0.0;
    for (other, &(ox, oy)) in places.iter().enumerate() {
        if other == node {
            continue;
        }
        let wanted = ways[other].max(1e-3);
        let weight = 1.0 / (wanted * wanted);
        let (dx, dy) = (x - ox, y - oy);
        let distance = dx.hypot(dy).max(1e-6);
        sum.0 += weight * (ox + wanted * dx / distance);
        sum.1 += weight * (oy + wanted * dy / distance);
        weights += weight;
    }
    (sum.0 / weights, sum.1 / weights)
}

/// Turns the drawing so that its longer side (the first principal axis) lies flat and the longest way begins at the
/// left, and fits it into the square.
fn level(places: &mut [(f64, f64)], (from, to): (usize, usize)) {
    let count = places.len() as f64;
    let mean = |side: fn(&(f64, f64)) -> f64| places.iter().map(side).sum::<f64>() / count;
    let (mx, my) = (mean(|place| place.0), mean(|place| place.1));
    let moment = |product: fn(f64, f64) -> f64| -> f64 {
        places.iter().map(|place| product(place.0 - mx, place.1 - my)).sum()
    };
    let (xx, yy, xy) = (moment(|x, _| x * x), moment(|_, y| y * y), moment(|x, y| x * y));
    let angle = (2.0 * xy).atan2(xx - yy) / 2.0;
    let (sin, cos) = (-angle).sin_cos();
    for place in places.iter_mut() {
        *place = (place.0 * cos - place.1 * sin, place.0 * sin + place.1 * cos);
    }
    if places[from].0 > places[to].0 {
        for place in places.iter_mut() {
            *place = (-place.0, -place.1);
        }
    }
    if places[0].1 > 1e-9 {
        // The first node stands above: of two mirror images always the same one.
        for place in places.iter_mut() {
            place.1 = -place.1;
        }
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
        let places = places(4, &[(0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0)]);
        assert!(places.windows(2).all(|pair| pair[1].0 > pair[0].0 + 0.3), "{places:?}");
        assert!(places.iter().all(|place| place.1.abs() < 0.1), "{places:?}");
    }

    #[test]
    fn nodes_do_not_stand_on_each_other() {
        let ring: Vec<Edge> = (0..12).map(|node| (node, (node + 1) % 12, 1.0)).collect();
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
        for (nodes, edges) in [
            (0, vec![]),
            (1, vec![(0, 0, 1.0)]),
            (2, vec![]),
            (5, vec![(0, 1, 1.0), (0, 1, 2.0), (3, 4, 0.0)]),
        ] {
            let places = places(nodes, &edges);
            assert_eq!(places.len(), nodes);
            assert!(places.iter().all(|place| place.0.is_finite() && place.1.is_finite()), "{places:?}");
        }
    }
}
