//! How values are spread, as SVG: for each value, the share that is no greater (the empirical distribution function).

use super::scale::{Scale, scaled, tick_text, ticks};
use super::text::escape;

/// A plot of distributions.
pub(super) struct DistributionPlot<'a> {
    /// What the picture shows, for those who do not see it.
    pub describe: String,
    /// The unit of the values.
    pub unit: &'a str,
    /// Name, place in the palette, values in any order.
    pub series: Vec<(&'a str, usize, Vec<f64>)>,
}

const WIDTH: f64 = 490.0;
const GROUND: f64 = 150.0;
/// More steps than the picture has columns are not seen.
const MOST_STEPS: usize = 450;

impl DistributionPlot<'_> {
    /// The picture. None without values, or where one is below nought, for which the axis has no room.
    pub fn svg(self) -> Option<String> {
        let all = || self.series.iter().flat_map(|(.., values)| values).copied();
        if all().next().is_none() || all().any(|value| value < 0.0 || !value.is_finite()) {
            return None;
        }
        let (divisor, unit) = scaled(self.unit, all().fold(0.0, f64::max));
        let x_ticks = ticks(all().fold(0.0, f64::max) / divisor, 6);
        let step = x_ticks[1] - x_ticks[0];
        let (left, right, top) = (14.0 + 7.2 * 3.0, WIDTH - 12.0, 26.0);
        let bottom = top + GROUND;
        let x = Scale { low: 0.0, high: *x_ticks.last().unwrap_or(&1.0), from: left, to: right };
        let y = Scale { low: 0.0, high: 100.0, from: bottom, to: top };
        let mut svg = format!(
            "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{}\">",
            bottom + 40.0,
            escape(&self.describe)
        );
        for share in [0.0, 25.0, 50.0, 75.0, 100.0] {
            let at = y.at(share);
            svg += &format!(
                "<line class=\"grid\" x1=\"{left}\" x2=\"{right}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/><text class=\"tick\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{share}</text>",
                left - 8.0,
                at + 4.0
            );
        }
        svg += &format!(
            "<text class=\"unit\" x=\"{left}\" y=\"{}\">% no greater</text><line class=\"axis\" x1=\"{left}\" x2=\"{right}\" y1=\"{bottom}\" y2=\"{bottom}\"/>",
            top - 9.0
        );
        for tick in &x_ticks {
            svg += &format!(
                "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                x.at(*tick),
                bottom + 18.0,
                tick_text(*tick, step)
            );
        }
        svg += &format!(
            "<text class=\"unit\" x=\"{right}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            bottom + 34.0,
            escape(&unit)
        );
        for (label, colour, mut values) in self.series {
            values.sort_unstable_by(f64::total_cmp);
            svg += &format!(
                "<path class=\"line c{colour}\" d=\"{}\"><title>{}</title></path>",
                staircase(&values, divisor, &x, &y),
                escape(label)
            );
        }
        Some(svg + "</svg>")
    }
}

/// A step up at each value, from the least on the ground to the greatest at the top.
fn staircase(sorted: &[f64], divisor: f64, x: &Scale, y: &Scale) -> String {
    let Some(first) = sorted.first() else { return String::new() };
    let n = sorted.len();
    let mut path = format!("M{:.1} {:.1}", x.at(first / divisor), y.from);
    let steps = n.min(MOST_STEPS);
    for step in 1..=steps {
        let rank = n * step / steps;
        let share = 100.0 * rank as f64 / n as f64;
        path += &format!("H{:.1}V{:.1}", x.at(sorted[rank - 1] / divisor), y.at(share));
    }
    path + &format!("H{:.1}", x.to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_values_are_no_greater_than_the_median() {
        let scale = |to| Scale { low: 0.0, high: 100.0, from: 0.0, to };
        let path = staircase(&[10.0, 20.0, 20.0, 40.0], 1.0, &scale(100.0), &scale(100.0));
        assert_eq!(path, "M10.0 0.0H10.0V25.0H20.0V50.0H20.0V75.0H40.0V100.0H100.0");
        let many: Vec<f64> = (0..100_000).map(|value| f64::from(value) / 1000.0).collect();
        let path = staircase(&many, 1.0, &scale(100.0), &scale(100.0));
        assert!(path.len() < 10_000 && path.contains("H50.0V50.0"), "{path}");
        let plot =
            |values| DistributionPlot { describe: String::new(), unit: "ms", series: vec![("", 0, values)] };
        assert!(plot(vec![]).svg().is_none() && plot(vec![-1.0]).svg().is_none());
        assert!(plot(vec![0.0]).svg().is_some());
    }
}
