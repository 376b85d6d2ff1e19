//! Events as they are recorded.

use super::{Action, Direction, Event, EventKind, EventRecord};

/// The record of an event that was done `actual_s` seconds after the start, or could not be.
pub(super) fn record(event: &Event, actual_s: f64, error: Option<String>) -> EventRecord {
    let towards = |direction: &Direction| match direction {
        Direction::Forward => " forward",
        Direction::Reverse => " reverse",
        Direction::Both => "",
    };
    let word = |up: bool| if up { (EventKind::Recover, "recovers") } else { (EventKind::Fail, "fails") };
    let (kind, label) = match &event.action {
        Action::Start(command) => (EventKind::Command, format!("{} on {}", command.name, command.node)),
        Action::Set { link, direction, change } => {
            (EventKind::Set, format!("{link}{}: {}", towards(direction), in_words(change)))
        }
        Action::Link { link, direction, up } => {
            (word(*up).0, format!("{link}{} {}", towards(direction), word(*up).1))
        }
        Action::Node { node, up } => (word(*up).0, format!("{node} {}", word(*up).1)),
    };
    let (link, direction) = match &event.action {
        Action::Set { link, direction, .. } | Action::Link { link, direction, .. } => {
            (Some(link.clone()), Some(*direction))
        }
        Action::Start(_) | Action::Node { .. } => (None, None),
    };
    let node = match &event.action {
        Action::Start(command) => Some(command.node.clone()),
        Action::Node { node, .. } => Some(node.clone()),
        Action::Set { .. } | Action::Link { .. } => None,
    };
    EventRecord { asked_s: event.at.as_secs_f64(), actual_s, kind, label, link, direction, node, error }
}

/// `delay 50ms, loss 1%`.
fn in_words(change: &plait_model_link::ConditionsSpec) -> String {
    let written = serde_json::to_value(change).unwrap_or_default();
    let words = written.as_object().into_iter().flatten().map(|(key, value)| match value.as_str() {
        Some(text) => format!("{key} {text}"),
        None => format!("{key} {}", value.to_string().replace('"', "")),
    });
    words.collect::<Vec<_>>().join(", ")
}
