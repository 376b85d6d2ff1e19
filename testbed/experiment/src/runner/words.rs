//! What happens in a run, in a few words for people.

use super::Moment;
use crate::results::EventKind;
use std::fmt;

impl fmt::Display for Moment<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started { .. } => f.write_str("loggers are on"),
            Self::Passing => f.write_str("running"),
            Self::Waiting { what } => write!(f, "waiting for {what}"),
            Self::Fired(event) if event.kind == EventKind::Wait => match &event.error {
                None => write!(f, "{}: {:.2} s", event.label, event.lateness_s()),
                Some(error) => write!(f, "{error}: FAILED"),
            },
            Self::Fired(event) => f.write_str(&event.label),
            Self::Ended { name, node, passed } => {
                write!(f, "{name} on {node} {}", if *passed { "ended" } else { "FAILED" })
            }
            Self::Stopping => f.write_str("stopping commands"),
            Self::Collecting => f.write_str("collecting"),
            Self::Writing => f.write_str("writing results"),
        }
    }
}
