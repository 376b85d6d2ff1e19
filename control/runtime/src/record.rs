//! What a recording holds: everything that went in, and what came of it.

use crate::{Config, Content, Dag, Manifest, Name, RunId, Signature, Value, ViewId};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// One line of a recording. The runtime gives them by [`poll_entry`](crate::Runtime::poll_entry); where they are
/// written, as JSON perhaps, is the caller's affair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// When.
    pub at: Duration,
    /// What.
    pub event: Event,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// The runtime began.
    Begin(Config),
    /// Write access was given.
    Grant {
        /// To an application or a driver.
        who: Name,
        /// The view.
        view: Name,
    },
    /// Write access was taken away.
    Revoke {
        /// From an application or a driver.
        who: Name,
        /// The view.
        view: Name,
    },
    /// An application was added, or took another's place.
    Application(Manifest),
    /// An application was removed.
    RemoveApplication(Name),
    /// A driver was added.
    Driver {
        /// Its name.
        name: Name,
        /// What it reads and writes.
        signature: Signature,
    },
    /// A driver was removed.
    RemoveDriver(Name),
    /// A DAG was added, or took another's place.
    Dag(Dag),
    /// A DAG was removed.
    RemoveDag(Name),
    /// A DAG was asked for by hand.
    Trigger(Name),
    /// A driver wrote views.
    Observed {
        /// Which driver.
        driver: Name,
        /// What it wrote.
        changes: Vec<(ViewId, Value)>,
    },
    /// Time passed.
    Time,
    /// An application of a run was done.
    Finished {
        /// Which run.
        run: RunId,
        /// Its node.
        node: usize,
    },
    /// A run changed this. It follows from what is above it, which is what a replay checks.
    Committed {
        /// Which run.
        run: RunId,
        /// Of which DAG.
        dag: Name,
        /// Views that changed and batches of streams.
        changes: Vec<(ViewId, Value)>,
    },
    /// A run failed. It follows from what is above it.
    Failed {
        /// Which run.
        run: RunId,
        /// Of which DAG.
        dag: Name,
        /// Which application.
        application: Name,
        /// Why.
        why: String,
    },
}

impl Event {
    /// Whether it is a consequence of the events before it.
    pub fn follows(&self) -> bool {
        matches!(self, Event::Committed { .. } | Event::Failed { .. })
    }
}

pub(crate) fn written(changes: &[(ViewId, Content)]) -> Vec<(ViewId, Value)> {
    changes.iter().map(|(view, content)| (view.clone(), content.value().clone())).collect()
}
