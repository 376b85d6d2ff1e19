//! What happened when, as marks on every plot.

use crate::results::{EventKind, Results};
use std::collections::HashMap;

/// Everything that plots mark.
#[derive(Debug, Clone, Default)]
pub(super) struct Marks {
    /// Changes of links and nodes and the ends of waits, numbered as in the table of events.
    pub changes: Vec<Change>,
    /// Times in which a link or node was down: from, to.
    pub outages: Vec<(f64, f64)>,
    /// Seconds in which the links were not as asked.
    pub taints: Vec<f64>,
}

/// A change of a link or node, or the end of a wait.
#[derive(Debug, Clone)]
pub(super) struct Change {
    pub seconds: f64,
    pub number: usize,
    pub label: String,
}

impl Marks {
    /// The marks of a run. Of very many changes only the first are marked.
    pub fn of(results: &Results) -> Self {
        const MOST: usize = 24;
        let changes = results.events.iter().filter(|event| event.kind != EventKind::Command);
        let changes = changes
            .enumerate()
            .take(MOST)
            .map(|(position, event)| Change {
                seconds: event.actual_s,
                number: position + 1,
                label: event.label.clone(),
            })
            .collect();
        let mut down = HashMap::new();
        let mut outages = Vec::new();
        for event in &results.events {
            let what = (event.link.as_deref(), event.node.as_deref());
            match event.kind {
                EventKind::Fail => {
                    down.entry(what).or_insert(event.actual_s);
                }
                EventKind::Recover => {
                    outages.extend(down.remove(&what).map(|from| (from, event.actual_s)));
                }
                EventKind::Command | EventKind::Set | EventKind::Wait => {}
            }
        }
        outages.extend(down.into_values().map(|from| (from, results.duration_s)));
        outages.sort_by(|a, b| a.0.total_cmp(&b.0));
        let taints = results.verdict.reasons.iter().map(|reason| reason.seconds).collect();
        Self { changes, outages, taints }
    }
}
