//! Commands as bars over the time of the run, events as lines through them.

use super::marks::Marks;
use super::plot::{circled, time_axis};
use super::scale::Scale;
use super::text::{clip, escape, short};
use crate::results::{CommandRecord, Results};

/// Choice: beyond this a picture of bars says nothing; the table of commands has them all.
const MOST: usize = 40;
const ROW: f64 = 26.0;

/// The picture; none when there is no command to show.
pub(super) fn svg(results: &Results, marks: &Marks) -> Option<String> {
    let started: Vec<&CommandRecord> =
        results.commands.iter().filter(|command| command.started_s.is_some()).take(MOST).collect();
    if started.is_empty() {
        return None;
    }
    let longest = started.iter().map(|command| caption(command).chars().count()).max().unwrap_or(0);
    let left = 20.0 + 7.0 * longest.min(34) as f64;
    let x = Scale { low: 0.0, high: results.duration_s.max(1e-3), from: left, to: 975.0 };
    let top = if marks.changes.is_empty() { 8.0 } else { 24.0 };
    let bottom = top + ROW * started.len() as f64 + 4.0;
    let mut svg = format!(
        "<svg class=\"plot wide\" viewBox=\"0 0 1000 {}\" role=\"img\" aria-label=\"Commands over time: {}\">",
        bottom + 40.0,
        super::text::plural(started.len(), "command", "commands")
    );
    for (from, to) in &marks.outages {
        let (start, end) = (x.at(from.max(0.0)), x.at(to.min(results.duration_s)));
        svg += &format!(
            "<rect class=\"outage\" x=\"{start:.1}\" y=\"{top}\" width=\"{:.1}\" height=\"{:.1}\"/>",
            (end - start).max(0.0),
            bottom - top
        );
    }
    for (row, command) in started.iter().enumerate() {
        let y = top + ROW * row as f64 + 4.0;
        let from = x.at(command.started_s.unwrap_or(0.0).clamp(0.0, x.high));
        let to = x.at(command.finished_s.unwrap_or(x.high).clamp(0.0, x.high));
        let class = match (command.passed, command.background) {
            (false, _) => "bar failed",
            (true, true) => "bar background",
            (true, false) => "bar",
        };
        svg += &format!(
            "<text class=\"name\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text><rect class=\"{class}\" x=\"{from:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"18\" rx=\"4\"><title>{}, {} s to {} s</title></rect>",
            left - 10.0,
            y + 13.0,
            escape(&caption(command)),
            (to - from).max(3.0),
            escape(&clip(&command.exec, 200)),
            short(command.started_s.unwrap_or(0.0)),
            short(command.finished_s.unwrap_or(results.duration_s)),
        );
    }
    for change in &marks.changes {
        let place = x.at(change.seconds.clamp(0.0, x.high));
        svg += &format!(
            "<line class=\"mark\" x1=\"{place:.1}\" x2=\"{place:.1}\" y1=\"{:.1}\" y2=\"{bottom:.1}\"/><text class=\"event\" x=\"{place:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            top - 4.0,
            top - 8.0,
            circled(change.number)
        );
    }
    time_axis(&mut svg, &x, bottom, 12);
    svg += "</svg>";
    Some(svg)
}

fn caption(command: &CommandRecord) -> String {
    clip(&format!("{} · {}", command.node, command.name), 34)
}
