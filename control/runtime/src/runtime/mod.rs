//! The runtime itself: what there is, what happens, what to do next.

mod change;
mod events;
mod registry;
mod run;

pub use change::Change;
pub use events::NotTaken;
pub use registry::{Refused, ViewUse};

use crate::admission::{Admission, Claim};
use crate::plan::{Loaded, Plan};
use crate::record::{Entry, Event};
use crate::{
    Content, Environment, Executor, Failure, Kind, Memory, Name, RunId, Signature, Snapshot, Task, Timing,
    Type, ViewId,
};
use run::{Pending, Run};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// How a runtime behaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// How often others may go before a DAG that waits and conflicts with them; after that it has reserved. Choice: 1,
    /// so that short runs fill gaps, and nobody waits for more than one of them.
    pub patience: u32,
    /// How often in a row a run may be preempted; the next one is let through. Choice: 3, since state that changes
    /// faster than it can be computed from would otherwise never have any effect (thesis §3.2.5).
    pub preemptions: u32,
    /// What separates runs.
    pub isolation: Isolation,
    /// Whether [`Runtime::poll_entry`] tells everything. Each commit costs its translation to WIT's values then.
    pub record: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { patience: 1, preemptions: 3, isolation: Isolation::Snapshot, record: false }
    }
}

/// What separates runs from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// A run sees the state as it was at its start, changes it as a whole at its end, and does not meet one that it
    /// conflicts with.
    Snapshot,
    /// Every application sees and changes the latest state at once, whoever else does. It is there to show what goes
    /// wrong then; nothing should be run so.
    None,
}

/// What to do next.
#[derive(Debug)]
pub enum Action {
    /// Run this, and hand back what it gives by [`Runtime::handle_finished`].
    Start(Task),
    /// Let a driver tell its devices.
    Push(Push),
    /// Nothing: it is for people and logs.
    Report(Report),
}

/// A view that a driver wants to know of has changed, or there is a batch of a stream.
#[derive(Debug, Clone)]
pub struct Push {
    /// Which driver.
    pub driver: Name,
    /// Which view.
    pub view: ViewId,
    /// What it held before; nothing for a stream.
    pub before: Option<Content>,
    /// What it holds.
    pub now: Content,
    /// What it follows from.
    pub cause: Cause,
}

/// What a [`Push`] follows from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cause {
    /// The revision that whoever decided it had seen: where batches of a stream led from one run to another, the first of them. What
    /// came behind that was not thought of, whenever it is told.
    pub seen: u64,
    /// Where the batch comes from that set off who wrote it, if whoever handed that over said so.
    pub origin: Option<Origin>,
}

/// Where a batch comes from, as whoever [handed it over](Runtime::handle_batch) says: it goes with all that the batch sets off,
/// from stream to stream, until drivers are told. The runtime decides nothing by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Origin {
    /// When the oldest of what is in it can have come.
    pub came: Duration,
    /// When it was handed over.
    pub handed: Duration,
    /// How much is in it, in whatever unit its driver counts.
    pub size: u64,
}

/// What has become of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// It ended, and what it wrote is seen.
    Committed {
        /// Of which DAG.
        dag: Name,
        /// Which run.
        run: RunId,
        /// The environment's revision since then.
        revision: u64,
        /// State that changed.
        changed: Vec<ViewId>,
    },
    /// One of its applications failed, and nothing has changed. The DAG runs again when something sets it off, once it has rested
    /// for as long as its policy says.
    Failed {
        /// Of which DAG.
        dag: Name,
        /// Which run.
        run: RunId,
        /// Which application.
        application: Name,
        /// Why.
        failure: Failure,
    },
    /// It was given up, and waits to begin again.
    Preempted {
        /// Of which DAG.
        dag: Name,
        /// Which run.
        run: RunId,
    },
    /// A batch was lost, since the DAG that it is for has as many as may wait.
    Dropped {
        /// Which DAG.
        dag: Name,
        /// Which stream.
        view: ViewId,
    },
}

/// Maestro's framework (thesis chapter 3). Events and time go in, tasks and pushes come out.
///
/// Its methods are of four kinds. `add_*`, `remove_*` and `grant` say what there is, at any time. `handle_*` say what
/// happened. Then [`poll_action`](Self::poll_action) is asked until it gives nothing, and
/// [`poll_timeout`](Self::poll_timeout) for when to come back. Time is what has passed since a beginning of the
/// caller's choice, and never goes back.
pub struct Runtime {
    config: Config,
    now: Duration,
    environment: Box<dyn Environment>,
    views: BTreeMap<ViewId, (Kind, Type)>,
    grants: BTreeSet<(Name, Name)>,
    applications: BTreeMap<Name, Loaded>,
    drivers: BTreeMap<Name, Signature>,
    dags: BTreeMap<Name, Scheduled>,
    /// What stands for views and DAGs in claims.
    numbers: BTreeMap<Resource, u32>,
    admission: Admission<RunId>,
    pending: BTreeMap<RunId, Pending>,
    runs: BTreeMap<RunId, Run>,
    next_run: RunId,
    actions: VecDeque<Action>,
    entries: VecDeque<Entry>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Resource {
    View(ViewId),
    Dag(Name),
}

/// A DAG and what it waits for.
pub(crate) struct Scheduled {
    pub plan: Arc<Plan>,
    claim: Arc<Claim>,
    /// When each of its timers is due.
    due: Vec<Duration>,
    /// Since when there is a reason to run it.
    wanted: Option<Duration>,
    queue: VecDeque<Queued>,
    /// Its next run begins no sooner.
    not_before: Duration,
    pub runs: Timing,
    pub waits: Timing,
    pub nodes: BTreeMap<Name, Timing>,
    pub failed: u64,
    pub preempted: u64,
    pub dropped: u64,
}

/// A batch that waits for a run of its own.
pub(super) struct Queued {
    /// Since when.
    since: Duration,
    batch: Content,
    origin: Option<Origin>,
    /// The revision that the run had seen which wrote it; none of a driver's.
    seen: Option<u64>,
}

impl Runtime {
    /// A runtime with an environment in memory that remembers no past.
    pub fn new(config: Config) -> Self {
        Self::with_environment(config, Box::new(Memory::new(0)))
    }

    /// A runtime with an environment. What it holds already is taken up by views as they are declared; a recording is
    /// whole only if that is nothing.
    pub fn with_environment(config: Config, environment: Box<dyn Environment>) -> Self {
        let mut runtime = Self {
            admission: Admission::new(config.patience),
            config: config.clone(),
            now: Duration::ZERO,
            environment,
            views: BTreeMap::new(),
            grants: BTreeSet::new(),
            applications: BTreeMap::new(),
            drivers: BTreeMap::new(),
            dags: BTreeMap::new(),
            numbers: BTreeMap::new(),
            pending: BTreeMap::new(),
            runs: BTreeMap::new(),
            next_run: 0,
            actions: VecDeque::new(),
            entries: VecDeque::new(),
        };
        runtime.record(|| Event::Begin(config));
        runtime
    }

    // What there is to see.

    /// The latest state.
    pub fn state(&self) -> Snapshot {
        self.environment.latest()
    }

    /// A past state, if the environment still knows it.
    pub fn past(&self, revision: u64) -> Option<Snapshot> {
        self.environment.at(revision)
    }

    /// Whether a run is under way or waits.
    pub fn busy(&self) -> bool {
        !self.runs.is_empty() || !self.pending.is_empty()
    }

    /// Which DAGs run now, in the order of their runs.
    pub fn running(&self) -> impl Iterator<Item = (RunId, &Name)> {
        self.runs.iter().map(|(run, state)| (*run, &state.plan.dag.name))
    }

    pub(crate) fn scheduled(&self) -> impl Iterator<Item = &Scheduled> {
        self.dags.values()
    }

    pub(crate) fn loaded(&self) -> &BTreeMap<Name, Loaded> {
        &self.applications
    }

    pub(crate) fn known_views(&self) -> &BTreeMap<ViewId, (Kind, Type)> {
        &self.views
    }

    pub(crate) fn known_drivers(&self) -> &BTreeMap<Name, Signature> {
        &self.drivers
    }

    // What to do next.

    /// What to do next, if anything.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// The next line of the recording, if there is one.
    pub fn poll_entry(&mut self) -> Option<Entry> {
        self.entries.pop_front()
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due, if ever.
    pub fn poll_timeout(&self) -> Option<Duration> {
        let due = |dag: &Scheduled| {
            let held = dag.wanted.is_some() || !dag.queue.is_empty();
            let held = (held && dag.not_before > self.now).then_some(dag.not_before);
            dag.due.iter().copied().chain(held).min()
        };
        self.dags.values().filter_map(due).min()
    }

    /// Does all there is to do, and gives what is not tasks. `clock` says what time it is.
    pub fn settle(&mut self, executor: &mut impl Executor, clock: impl Fn() -> Duration) -> Vec<Action> {
        let mut others = Vec::new();
        loop {
            while let Some(action) = self.poll_action() {
                match action {
                    Action::Start(task) => executor.start(task),
                    other => others.push(other),
                }
            }
            match executor.finished() {
                Some(finished) => self.handle_finished(clock(), finished),
                None => return others,
            }
        }
    }

    // What both of the others need.

    /// Begins whatever may begin.
    fn advance(&mut self) {
        loop {
            self.submit();
            while let Some(run) = self.admission.admit() {
                self.begin(run);
            }
            if !self.make_way() {
                return;
            }
        }
    }

    fn number(&mut self, resource: Resource) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(resource).or_insert(next)
    }

    fn record(&mut self, event: impl FnOnce() -> Event) {
        if self.config.record {
            self.entries.push_back(Entry { at: self.now, event: event() });
        }
    }

    /// Time never goes back, whatever the caller's clock does.
    fn pass(&mut self, now: Duration) {
        self.now = self.now.max(now);
    }
}
