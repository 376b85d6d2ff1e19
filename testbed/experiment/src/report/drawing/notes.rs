//! What stands beside a link: what is asked of it, and what happens to it.

use crate::report::text::{clip, escape, short};
use crate::results::{EventKind, EventRecord, LinkSummary};

/// What stands beside a link.
#[derive(Default)]
pub(super) struct Notes {
    /// What is asked of it: one line, or one a direction where they differ.
    pub asked: Vec<String>,
    /// What happens to it during the run.
    pub events: Option<String>,
}

impl Notes {
    /// The longest line, characters.
    pub fn width(&self) -> usize {
        self.asked.iter().chain(&self.events).map(|line| line.chars().count()).max().unwrap_or(0)
    }

    /// What stands beside a link of a run.
    pub fn of(link: &LinkSummary, events: &[EventRecord]) -> Self {
        let [there, back] = link.conditions.each_ref().map(conditions);
        let asked = match (there.is_empty(), back.is_empty()) {
            (true, true) => Vec::new(),
            _ if there == back => vec![there],
            _ => {
                let or_wire = |text: String| if text.is_empty() { "wire".to_owned() } else { text };
                vec![
                    format!("from {}: {}", link.ends[0], or_wire(there)),
                    format!("from {}: {}", link.ends[1], or_wire(back)),
                ]
            }
        };
        let happens: Vec<String> = events
            .iter()
            .filter(|event| event.link.as_deref() == Some(link.name.as_str()))
            .map(|event| {
                let what = match event.kind {
                    EventKind::Fail => "fails",
                    EventKind::Recover => "recovers",
                    EventKind::Set | EventKind::Command | EventKind::Wait => "changes",
                };
                format!("{what} at {} s", short(event.asked_s))
            })
            .collect();
        let events = match happens.len() {
            0 => None,
            1 | 2 => Some(happens.join(", ")),
            many => Some(format!("{} and {} more", happens[0], many - 1)),
        };
        Self { asked, events }
    }
}

/// Conditions as written, in the order of the file format: `10Mbit · 20ms · loss 1%`.
fn conditions(written: &serde_json::Value) -> String {
    let Some(map) = written.as_object() else { return String::new() };
    let part = |(key, value): (&String, &serde_json::Value)| {
        let text = match value {
            serde_json::Value::String(text) => text.clone(),
            other => clip(&other.to_string().replace('"', ""), 40),
        };
        match key.as_str() {
            "rate" | "delay" => text,
            "jitter" if value.is_string() => format!("±{text}"),
            "rate_trace" => format!("rate from {text}"),
            key => format!("{key} {text}"),
        }
    };
    map.iter().map(part).collect::<Vec<_>>().join(" · ")
}

/// Where a label stands seen from the middle of its link.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// Above one that lies flat.
    Above,
    /// Above one that is too short for its label, clear of the nodes.
    WellAbove,
    /// Below one that lies flat and bends down.
    Below,
    /// On one that stands.
    On,
}

/// The side for the label of a link from `from` to `to`, of which `visible` pixels lie between its nodes.
pub(super) fn side(
    from: (f64, f64),
    to: (f64, f64),
    middle: (f64, f64),
    visible: f64,
    notes: &Notes,
) -> Side {
    const LETTER: f64 = 6.4;
    let chord = (from.1 + to.1) / 2.0;
    match (to.0 - from.0).abs() > 2.0 * (to.1 - from.1).abs() {
        false => Side::On,
        true if middle.1 > chord + 1.0 => Side::Below,
        true if middle.1 > chord - 1.0 && visible < LETTER * notes.width() as f64 => Side::WellAbove,
        true => Side::Above,
    }
}

/// Writes a label.
pub(super) fn label(svg: &mut String, (x, y): (f64, f64), side: Side, notes: &Notes) {
    let lines: Vec<(&str, &str)> = notes
        .asked
        .iter()
        .map(|line| ("asked", line.as_str()))
        .chain(notes.events.iter().map(|line| ("happens", line.as_str())))
        .collect();
    let further = 16.0 * (lines.len() as f64 - 1.0);
    let first = match side {
        Side::Above => y - 9.0 - further,
        Side::WellAbove => y - 26.0 - further,
        Side::Below => y + 19.0,
        Side::On => y + 4.0 - further / 2.0,
    };
    for (row, (class, line)) in lines.iter().enumerate() {
        *svg += &format!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            first + 16.0 * row as f64,
            escape(&clip(line, 60))
        );
    }
}
