//! Events as they are recorded.

use super::{Action, Condition, Direction, Event, EventKind, EventRecord};

/// The record of an event that was to be done `asked_s` seconds after the start and was done `actual_s` seconds after
/// it, or could not be.
pub(super) fn record(event: &Event, asked_s: f64, actual_s: f64, error: Option<String>) -> EventRecord {
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
        Action::Wait(wait) => (EventKind::Wait, format!("wait for {}", wait.condition)),
    };
    let (link, direction) = match &event.action {
        Action::Set { link, direction, .. } | Action::Link { link, direction, .. } => {
            (Some(link.clone()), Some(*direction))
        }
        Action::Start(_) | Action::Node { .. } | Action::Wait(_) => (None, None),
    };
    let node = match &event.action {
        Action::Start(command) => Some(command.node.clone()),
        Action::Node { node, .. } => Some(node.clone()),
        Action::Wait(wait) => match &wait.condition {
            Condition::Port { node, .. } | Condition::Passes { node, .. } => Some(node.clone()),
            Condition::Routes { .. } => None,
        },
        Action::Set { .. } | Action::Link { .. } => None,
    };
    EventRecord { asked_s, actual_s, kind, label, link, direction, node, error }
}

/// What an event that could not be done makes of the run; the failures of commands are told by those.
pub(super) fn failure(event: &EventRecord) -> Option<String> {
    let error = event.error.as_ref()?;
    match event.kind {
        EventKind::Command => None,
        // It says what was waited for.
        EventKind::Wait => Some(format!("at {} s, {error}", event.asked_s)),
        EventKind::Set | EventKind::Fail | EventKind::Recover => {
            Some(format!("at {} s, {}: {error}", event.asked_s, event.label))
        }
    }
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
