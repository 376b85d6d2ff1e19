//! DAGs: applications in an order, what sets them off, and how they are run.

use crate::{Name, ViewId};
use plait_model_quantity::TimeSpan;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::time::Duration;

/// A composition of applications (thesis §3.2.4). One that exists need not be valid; it is checked when it is added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dag {
    /// Its name.
    pub name: Name,
    /// Its applications, each once.
    pub nodes: Vec<Name>,
    /// Who runs before whom. Applications without an order between them may run at once.
    #[serde(default)]
    pub edges: Vec<(Name, Name)>,
    /// What sets it off.
    pub triggers: Vec<Trigger>,
    /// How it is run.
    #[serde(default)]
    pub policy: Policy,
}

/// What sets a DAG off. A DAG that is to run already is not set off twice; its own commits do not set it off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// A view has changed; of a stream, there is a batch, and each has a run of its own.
    View(ViewId),
    /// Time has passed, for the first time after this much of it. What was missed is not made up for.
    Every(#[serde(serialize_with = "write_span", deserialize_with = "read_span")] Duration),
}

/// How a DAG is run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Policy {
    /// Whether a run that became stale, or that a conflicting DAG of higher priority waits for, is given up and begun
    /// again (thesis §2.1.5).
    pub preemptible: bool,
    /// From one emission of results to the next, at least (the generalised push timer of thesis §2.1.5).
    ///
    /// Choice: it is the start that waits, so that what is emitted is computed from the newest state.
    #[serde(serialize_with = "write_span", deserialize_with = "read_span")]
    pub min_interval: Duration,
    /// Who goes first among those that wait: the higher.
    pub priority: i32,
    /// How many runs of it there may be at once. More than one needs applications that are parallel and no state to
    /// write.
    pub instances: usize,
    /// How many batches of a stream may wait for it.
    pub queue: usize,
    /// What becomes of those that are more.
    pub overflow: Overflow,
    /// After a run that failed it rests for so many times as long as that one took.
    pub penalty: u32,
}

/// What becomes of a stream's batch where as many wait for a DAG as may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overflow {
    /// It is refused for all DAGs, so that its source is slowed down.
    #[default]
    Refuse,
    /// This DAG loses it, which is counted, and the others get it.
    Drop,
}

impl Default for Policy {
    fn default() -> Self {
        // Choice: 1024 batches are a second of a controller's work at a thousand of them, and few enough to keep.
        Self {
            preemptible: false,
            min_interval: Duration::ZERO,
            priority: 0,
            instances: 1,
            queue: 1024,
            overflow: Overflow::Refuse,
            penalty: 0,
        }
    }
}

impl Policy {
    /// How applications are run that nobody vouches for: what they cannot keep up with they lose alone, and as long as they fail
    /// they take a tenth of a processor at most.
    pub fn contained() -> Self {
        // Choice: batches that come while one run takes some milliseconds wait, and hold some megabytes at most.
        Self { queue: 16, overflow: Overflow::Drop, penalty: 9, ..Self::default() }
    }
}

impl Dag {
    /// A DAG of one application after another, which nothing sets off yet.
    ///
    /// # Panics
    ///
    /// If any of it is no [`Name`].
    pub fn chain(name: &str, applications: &[&str]) -> Self {
        let nodes: Vec<Name> = applications.iter().map(|name| parsed(name)).collect();
        let edges = nodes.windows(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
        Self { name: parsed(name), nodes, edges, triggers: Vec::new(), policy: Policy::default() }
    }

    /// A DAG that runs one application that nobody vouches for, and has its name: whatever that does, the others go on.
    pub fn contained(application: &Name, triggers: Vec<Trigger>) -> Self {
        let (name, nodes) = (application.clone(), vec![application.clone()]);
        Self { name, nodes, edges: Vec::new(), triggers, policy: Policy::contained() }
    }

    /// An application after another, either of which may be new.
    ///
    /// # Panics
    ///
    /// If any of it is no [`Name`].
    pub fn edge(mut self, before: &str, after: &str) -> Self {
        for name in [before, after].map(parsed::<Name>) {
            if !self.nodes.contains(&name) {
                self.nodes.push(name);
            }
        }
        self.edges.push((parsed(before), parsed(after)));
        self
    }

    /// Set off by a view's changes, or a stream's batches.
    ///
    /// # Panics
    ///
    /// If that is no view.
    pub fn on(mut self, view: &str) -> Self {
        self.triggers.push(Trigger::View(parsed(view)));
        self
    }

    /// Set off by time.
    pub fn every(mut self, interval: Duration) -> Self {
        self.triggers.push(Trigger::Every(interval));
        self
    }

    /// Run in this way.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> T {
    text.parse().unwrap_or_else(|fault| panic!("{fault}"))
}

/// A time as files have it: `20ms`.
fn write_span<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    TimeSpan::from(*time).serialize(serializer)
}

fn read_span<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    TimeSpan::deserialize(deserializer).map(Duration::from)
}
