//! Values over time as SVG, with events marked.
//!
//! Colours and type come from the page's style sheet by class, so that one picture serves light, dark and paper.

use super::marks::Marks;
use super::scale::{Quantity, Scale, tick_text, ticks, ticks_between, unit};
use super::series::{Series, envelope};
use super::text::{clip, escape, short};

/// A plot of some series over the time of the run.
pub(super) struct Plot<'a> {
    /// What the picture shows, for those who do not see it.
    pub describe: String,
    pub quantity: Quantity,
    /// The run's length in seconds.
    pub end: f64,
    pub series: Vec<&'a Series>,
    pub marks: &'a Marks,
    pub size: Size,
    /// Whether the ground under the lines is filled.
    pub filled: bool,
}

/// How much room a plot has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    /// The page's width; marks and lines carry their names.
    Wide,
    /// Half the page's width; marks carry their numbers.
    Half,
}

/// Width of a digit in the axis type, pixels of the picture.
const DIGIT: f64 = 7.2;

struct Frame {
    width: f64,
    height: f64,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    x: Scale,
    y: Scale,
}

impl Plot<'_> {
    /// The picture.
    pub fn svg(&self) -> String {
        let high = self.series.iter().map(|series| series.high()).fold(0.0, f64::max);
        let low = self.series.iter().map(|series| series.low()).fold(0.0, f64::min);
        let (divisor, unit) = unit(self.quantity, high);
        let wanted = if self.size == Size::Wide { 5 } else { 4 };
        let y_ticks = ticks_between(low / divisor * 1.02, high / divisor * 1.02, wanted);
        let step = y_ticks[1] - y_ticks[0];
        let texts: Vec<String> = y_ticks.iter().map(|tick| tick_text(*tick, step)).collect();
        let digits = texts.iter().map(String::len).max().unwrap_or(1);
        let labels = mark_labels(self);
        let rows = labels.iter().map(|label| label.row + 1).max().unwrap_or(0);
        let frame = self.frame(digits, rows, (y_ticks[0], *y_ticks.last().expect("two at least")));

        let mut svg = format!(
            "<svg class=\"plot{}\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">",
            if self.size == Size::Wide { " wide" } else { "" },
            frame.width,
            frame.height,
            escape(&self.describe)
        );
        self.outages(&mut svg, &frame);
        for (tick, text) in y_ticks.iter().zip(&texts) {
            let y = frame.y.at(*tick);
            svg += &format!(
                "<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text class=\"tick\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
                frame.left,
                frame.right,
                frame.left - 8.0,
                y + 4.0
            );
        }
        svg += &format!(
            "<text class=\"unit\" x=\"{}\" y=\"{}\">{unit}</text>",
            frame.left,
            frame.top - 9.0 - 16.0 * rows as f64
        );
        time_axis(&mut svg, &frame.x, frame.bottom, if self.size == Size::Wide { 12 } else { 6 });
        self.lines(&mut svg, &frame, divisor);
        changes(&mut svg, &frame, &labels);
        for seconds in &self.marks.taints {
            let x = frame.x.at(seconds.clamp(0.0, self.end));
            svg += &format!(
                "<path class=\"taint\" d=\"M{x:.1} {:.1}l-4 7h8z\"><title>links not as asked at {} s</title></path>",
                frame.bottom - 7.0,
                short(*seconds)
            );
        }
        svg += "</svg>";
        svg
    }

    fn frame(&self, digits: usize, rows: usize, (low, high): (f64, f64)) -> Frame {
        let (width, ground) = if self.size == Size::Wide { (1000.0, 250.0) } else { (490.0, 150.0) };
        let left = 14.0 + DIGIT * digits as f64;
        let right = width - if self.size == Size::Wide { 190.0 } else { 12.0 };
        let top = 26.0 + 16.0 * rows as f64;
        let bottom = top + ground;
        let x = Scale { low: 0.0, high: self.end.max(1e-3), from: left, to: right };
        let y = Scale { low, high, from: bottom, to: top };
        Frame { width, height: bottom + 40.0, left, right, top, bottom, x, y }
    }

    fn outages(&self, svg: &mut String, frame: &Frame) {
        for (from, to) in &self.marks.outages {
            let (x, end) = (frame.x.at(from.max(0.0)), frame.x.at(to.min(self.end)));
            *svg += &format!(
                "<rect class=\"outage\" x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>down from {} s to {} s</title></rect>",
                frame.top,
                (end - x).max(0.0),
                frame.bottom - frame.top,
                short(*from),
                short(*to)
            );
        }
    }

    fn lines(&self, svg: &mut String, frame: &Frame, divisor: f64) {
        let columns = (frame.right - frame.left) as usize;
        let mut ends: Vec<(f64, f64, &Series)> = Vec::new();
        for series in &self.series {
            let points = envelope(&series.points, self.end, columns);
            let pieces = pieces(&points, self.end);
            let mut path = String::new();
            let mut ground = String::new();
            for piece in pieces {
                let place = |point: &(f64, f64)| {
                    format!(
                        "{:.1} {:.1}",
                        frame.x.at(point.0.clamp(0.0, self.end)),
                        frame.y.at(point.1 / divisor)
                    )
                };
                let line: Vec<String> = piece.iter().map(place).collect();
                path += &format!("M{}", line.join("L"));
                if let [only] = piece {
                    path += &format!("L{}", place(only));
                }
                if self.filled && piece.len() > 1 {
                    let from = frame.x.at(piece[0].0.max(0.0));
                    let to = frame.x.at(piece[piece.len() - 1].0.min(self.end));
                    ground += &format!("M{from:.1} {0:.1}L{1}L{to:.1} {0:.1}z", frame.bottom, line.join("L"));
                }
            }
            if !ground.is_empty() {
                *svg += &format!("<path class=\"ground c{}\" d=\"{ground}\"/>", series.colour);
            }
            *svg += &format!(
                "<path class=\"line c{}\" d=\"{path}\"><title>{}</title></path>",
                series.colour,
                escape(&series.label)
            );
            if let Some(last) = points.last() {
                ends.push((frame.y.at(last.1 / divisor), last.0, series));
            }
        }
        if self.size == Size::Wide {
            names_at_ends(svg, frame, ends);
        }
    }
}

/// The parts of a line between gaps: a time in which nothing was measured is no value of nought.
fn pieces(points: &[(f64, f64)], end: f64) -> Vec<&[(f64, f64)]> {
    let mut steps: Vec<f64> = points.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    if steps.is_empty() {
        return if points.is_empty() { Vec::new() } else { vec![points] };
    }
    let middle = steps.len() / 2;
    let median = *steps.select_nth_unstable_by(middle, f64::total_cmp).1;
    let widest = (6.0 * median).max(end / 60.0);
    points.chunk_by(|a, b| b.0 - a.0 <= widest).collect()
}

/// Each line's name beside its last point, moved apart where they would touch.
fn names_at_ends(svg: &mut String, frame: &Frame, mut ends: Vec<(f64, f64, &Series)>) {
    const APART: f64 = 17.0;
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut places: Vec<f64> = ends.iter().map(|end| end.0.clamp(frame.top + 4.0, frame.bottom)).collect();
    for index in 1..places.len() {
        places[index] = places[index].max(places[index - 1] + APART);
    }
    let mut lowest = frame.bottom;
    for place in places.iter_mut().rev() {
        *place = place.min(lowest);
        lowest = *place - APART;
    }
    for ((y, seconds, series), place) in ends.iter().zip(places) {
        let x = frame.x.at(*seconds);
        *svg += &format!(
            "<path class=\"leader\" d=\"M{x:.1} {y:.1}L{:.1} {place:.1}\"/><circle class=\"dot c{}\" cx=\"{:.1}\" cy=\"{place:.1}\" r=\"4\"/><text class=\"name\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            frame.right + 8.0,
            series.colour,
            frame.right + 12.0,
            frame.right + 21.0,
            place + 4.0,
            escape(&clip(&series.label, 25))
        );
    }
}

/// The axis of time: whole or round seconds, its name below.
pub(super) fn time_axis(svg: &mut String, x: &Scale, y: f64, wanted: usize) {
    let all = ticks(x.high, wanted);
    let step = all[1] - all[0];
    *svg += &format!("<line class=\"axis\" x1=\"{}\" x2=\"{}\" y1=\"{y}\" y2=\"{y}\"/>", x.from, x.to);
    for tick in all.into_iter().filter(|tick| *tick <= x.high * 1.0001) {
        let place = x.at(tick);
        *svg += &format!(
            "<line class=\"axis\" x1=\"{place:.1}\" x2=\"{place:.1}\" y1=\"{y}\" y2=\"{:.1}\"/><text class=\"tick\" x=\"{place:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            y + 4.0,
            y + 18.0,
            tick_text(tick, step)
        );
    }
    *svg += &format!(
        "<text class=\"unit\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">seconds from the start</text>",
        x.to,
        y + 34.0
    );
}

/// Where the name of a change stands.
struct Label {
    seconds: f64,
    row: usize,
    text: String,
    leftward: bool,
}

/// Names of changes in as few rows as keep them apart; a half-width plot has room for numbers only.
fn mark_labels(plot: &Plot<'_>) -> Vec<Label> {
    const ROWS: usize = 4;
    let (width, digit) = if plot.size == Size::Wide { (780.0, 6.7) } else { (440.0, 7.5) };
    let per_second = width / plot.end.max(1e-3);
    let mut taken: Vec<Vec<(f64, f64)>> = vec![Vec::new(); ROWS];
    let mut labels = Vec::new();
    for change in &plot.marks.changes {
        let x = change.seconds * per_second;
        let full = match plot.size {
            Size::Wide => format!("{} {}", circled(change.number), clip(&change.label, 34)),
            Size::Half => circled(change.number),
        };
        let mut place = |text: &str| {
            let long = text.chars().count() as f64 * digit + 12.0;
            let leftward = x + long > width + 40.0;
            let span = if leftward { (x - long, x) } else { (x, x + long) };
            let free = |row: &Vec<(f64, f64)>| row.iter().all(|used| span.1 <= used.0 || span.0 >= used.1);
            let row = taken.iter().position(free)?;
            taken[row].push(span);
            Some((row, leftward))
        };
        let number = circled(change.number);
        let (text, (row, leftward)) = match place(&full) {
            Some(found) => (full, found),
            None => {
                let found = place(&number).unwrap_or((ROWS - 1, false));
                (number, found)
            }
        };
        labels.push(Label { seconds: change.seconds, row, text, leftward });
    }
    labels
}

fn changes(svg: &mut String, frame: &Frame, labels: &[Label]) {
    for label in labels {
        let x = frame.x.at(label.seconds.clamp(0.0, frame.x.high));
        let y = frame.top - 6.0 - 16.0 * label.row as f64;
        let (offset, anchor) = if label.leftward { (-4.0, "end") } else { (4.0, "start") };
        *svg += &format!(
            "<line class=\"mark\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{:.1}\"/><text class=\"event\" x=\"{:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
            y - 9.0,
            frame.bottom,
            x + offset,
            escape(&label.text)
        );
    }
}

/// `①` to `⑳`, then `(21)`.
pub(super) fn circled(number: usize) -> String {
    match u32::try_from(number) {
        Ok(small @ 1..=20) => char::from_u32(0x2460 + small - 1).map(String::from).unwrap_or_default(),
        _ => format!("({number})"),
    }
}
