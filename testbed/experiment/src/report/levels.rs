//! A metric over the levels of a factor, as SVG: a mean and its interval for each, and every run as a dot.

use super::scale::{Scale, scaled, tick_text, ticks};
use super::text::{clip, escape};

/// A plot of means over levels; series stand beside each other at each level.
pub(super) struct LevelPlot<'a> {
    /// What the picture shows, for those who do not see it.
    pub describe: String,
    /// The unit of the values.
    pub unit: &'a str,
    /// The factor along the axis.
    pub factor: &'a str,
    /// Its levels.
    pub levels: &'a [String],
    pub series: Vec<Series<'a>>,
    /// The top of the axis, shared by plots that are compared.
    pub high: f64,
}

/// What is told apart by colour.
pub(super) struct Series<'a> {
    pub label: String,
    /// What was found at each level, where anything was.
    pub points: Vec<Option<Point<'a>>>,
}

/// The runs of a cell.
pub(super) struct Point<'a> {
    pub mean: f64,
    pub interval: Option<(f64, f64)>,
    pub values: &'a [f64],
}

const WIDTH: f64 = 490.0;
const GROUND: f64 = 190.0;
/// Colours of the style sheet.
pub(super) const COLOURS: usize = 8;

impl LevelPlot<'_> {
    /// The picture. None where a value is below nought, for which the axis has no room.
    pub fn svg(&self) -> Option<String> {
        let all = self.series.iter().flat_map(|series| series.points.iter().flatten());
        if all.flat_map(|point| point.values).any(|value| *value < 0.0 || !value.is_finite()) {
            return None;
        }
        let (divisor, unit) = scaled(self.unit, self.high);
        let ticks = ticks(self.high / divisor * 1.02, 4);
        let step = ticks[1] - ticks[0];
        let texts: Vec<String> = ticks.iter().map(|tick| tick_text(*tick, step)).collect();
        let digits = texts.iter().map(String::len).max().unwrap_or(1);
        let (left, right, top) = (14.0 + 7.2 * digits as f64, WIDTH - 12.0, 26.0);
        let bottom = top + GROUND;
        let y = Scale { low: 0.0, high: *ticks.last().unwrap_or(&1.0), from: bottom, to: top };
        let mut svg = format!(
            "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{}\">",
            bottom + 42.0,
            escape(&self.describe)
        );
        for (tick, text) in ticks.iter().zip(&texts) {
            let at = y.at(*tick);
            svg += &format!(
                "<line class=\"grid\" x1=\"{left}\" x2=\"{right}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/><text class=\"tick\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
                left - 8.0,
                at + 4.0
            );
        }
        svg += &format!("<text class=\"unit\" x=\"{left}\" y=\"{}\">{}</text>", top - 9.0, escape(&unit));
        let slot = (right - left) / self.levels.len().max(1) as f64;
        let letters = ((slot - 6.0) / 7.2).max(1.0) as usize;
        for (at, level) in self.levels.iter().enumerate() {
            svg += &format!(
                "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                left + slot * (at as f64 + 0.5),
                bottom + 18.0,
                escape(&clip(level, letters))
            );
        }
        svg += &format!(
            "<line class=\"axis\" x1=\"{left}\" x2=\"{right}\" y1=\"{bottom}\" y2=\"{bottom}\"/><text class=\"unit\" x=\"{right}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            bottom + 36.0,
            escape(self.factor)
        );
        for (number, series) in self.series.iter().enumerate() {
            let inside = (number as f64 + 1.0) / (self.series.len() as f64 + 1.0);
            let x = |at: usize| left + slot * (at as f64 + 0.1 + 0.8 * inside);
            self.draw(&mut svg, series, number % COLOURS, divisor, &x, &y);
        }
        Some(svg + "</svg>")
    }

    fn draw(
        &self,
        svg: &mut String,
        series: &Series<'_>,
        colour: usize,
        divisor: f64,
        x: &dyn Fn(usize) -> f64,
        y: &Scale,
    ) {
        let place = |value: f64| y.at((value / divisor).clamp(y.low, y.high));
        let line: Vec<String> = series
            .points
            .iter()
            .enumerate()
            .filter_map(|(at, point)| Some(format!("{:.1} {:.1}", x(at), place(point.as_ref()?.mean))))
            .collect();
        *svg += &format!(
            "<path class=\"line thin c{colour}\" d=\"M{}\"><title>{}</title></path>",
            line.join("L"),
            escape(&series.label)
        );
        for (at, point) in series.points.iter().enumerate() {
            let Some(point) = point else { continue };
            let x = x(at);
            for value in point.values {
                *svg += &format!(
                    "<circle class=\"dot run c{colour}\" cx=\"{x:.1}\" cy=\"{:.1}\" r=\"2\"/>",
                    place(*value)
                );
            }
            if let Some((low, high)) = point.interval {
                let (low, high) = (place(low), place(high));
                *svg += &format!(
                    "<path class=\"line whisker c{colour}\" d=\"M{x:.1} {low:.1}V{high:.1}M{0:.1} {low:.1}h8M{0:.1} {high:.1}h8\"/>",
                    x - 4.0
                );
            }
            *svg += &format!(
                "<circle class=\"dot c{colour}\" cx=\"{x:.1}\" cy=\"{:.1}\" r=\"4\"><title>{}, {}: {}</title></circle>",
                place(point.mean),
                escape(&series.label),
                escape(&self.levels[at]),
                super::text::measured(point.mean, self.unit)
            );
        }
    }
}
