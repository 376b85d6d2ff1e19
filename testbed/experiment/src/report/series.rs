//! Values over time.

/// A named line of a plot: seconds and values, in order of time.
#[derive(Debug, Clone, Default)]
pub(super) struct Series {
    /// What it is called in legends.
    pub label: String,
    /// Position in the palette.
    pub colour: usize,
    /// Seconds from the start of the run, and the value.
    pub points: Vec<(f64, f64)>,
}

impl Series {
    /// The greatest value, or 0.
    pub fn high(&self) -> f64 {
        self.points.iter().map(|(_, value)| *value).filter(|value| value.is_finite()).fold(0.0, f64::max)
    }

    /// The least value, or 0.
    pub fn low(&self) -> f64 {
        self.points.iter().map(|(_, value)| *value).filter(|value| value.is_finite()).fold(0.0, f64::min)
    }

    /// The median value.
    pub fn median(&self) -> Option<f64> {
        let mut values: Vec<f64> = self.points.iter().map(|(_, value)| *value).collect();
        if values.is_empty() {
            return None;
        }
        let middle = values.len() / 2;
        Some(*values.select_nth_unstable_by(middle, f64::total_cmp).1)
    }
}

/// At most four points for each of `columns` slices of time: the first, the least, the greatest and the last, in
/// their order. A peak one sample wide stays visible however long the series is.
pub(super) fn envelope(points: &[(f64, f64)], end: f64, columns: usize) -> Vec<(f64, f64)> {
    if points.len() <= 4 * columns || columns == 0 || end <= 0.0 {
        return points.to_vec();
    }
    let column = |seconds: f64| ((seconds / end * columns as f64) as usize).min(columns - 1);
    let mut kept = Vec::with_capacity(4 * columns);
    for slice in points.chunk_by(|a, b| column(a.0) == column(b.0)) {
        let by_value = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let least = slice.iter().min_by(by_value);
        let greatest = slice.iter().max_by(by_value);
        let mut chosen: Vec<(f64, f64)> =
            [slice.first(), least, greatest, slice.last()].into_iter().flatten().copied().collect();
        chosen.sort_by(|a, b| a.0.total_cmp(&b.0));
        chosen.dedup();
        kept.extend(chosen);
    }
    kept
}

/// The slope of a counter in units a second, over bins of `width` seconds, at the middle of each bin. Between samples
/// the counter is taken to grow evenly. Bins before the first sample and after the last give nothing.
pub(super) fn slope(counter: &[(f64, f64)], width: f64) -> Vec<(f64, f64)> {
    let (Some(first), Some(last)) = (counter.first(), counter.last()) else { return Vec::new() };
    if last.0 <= first.0 || width <= 0.0 {
        return Vec::new();
    }
    let mut place = 0;
    let mut at = |seconds: f64| {
        while place + 2 < counter.len() && counter[place + 1].0 < seconds {
            place += 1;
        }
        let (a, b) = (counter[place], counter[(place + 1).min(counter.len() - 1)]);
        let share = if b.0 > a.0 { ((seconds - a.0) / (b.0 - a.0)).clamp(0.0, 1.0) } else { 1.0 };
        a.1 + share * (b.1 - a.1)
    };
    let bins = (((last.0 - first.0) / width).ceil() as usize).min(1_000_000);
    let mut slopes = Vec::with_capacity(bins);
    let mut before = at(first.0);
    for bin in 0..bins {
        let from = first.0 + bin as f64 * width;
        let to = (from + width).min(last.0);
        let after = at(to);
        // The last bin may be a sliver, whose slope would be noise.
        if to - from > width / 4.0 {
            slopes.push(((from + to) / 2.0, (after - before).max(0.0) / (to - from)));
        }
        before = after;
    }
    slopes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_peak_survives_the_envelope() {
        let mut points: Vec<(f64, f64)> = (0..100_000).map(|step| (f64::from(step) / 1000.0, 1.0)).collect();
        points[54_321].1 = 99.0;
        let kept = envelope(&points, 100.0, 500);
        assert!(kept.len() <= 2000, "{}", kept.len());
        assert!(kept.iter().any(|point| point.1 == 99.0));
        assert!(kept.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    }

    #[test]
    fn the_slope_of_a_steady_counter_is_steady() {
        let counter: Vec<(f64, f64)> =
            (0..=100).map(|step| (f64::from(step) * 0.1, f64::from(step) * 50.0)).collect();
        let slopes = slope(&counter, 0.25);
        assert_eq!(slopes.len(), 40);
        assert!(slopes.iter().all(|(_, slope)| (slope - 500.0).abs() < 1e-6), "{slopes:?}");
        assert!(slope(&[(1.0, 5.0)], 0.25).is_empty());
    }
}
