//! A run, from its wish to its commit.

use super::{Action, Cause, Isolation, Origin, Queued, Report, Runtime, Scheduled};
use crate::plan::Plan;
use crate::record::{Event, written};
use crate::{Content, Failure, Inputs, Name, RunId, Snapshot, Task, ViewId};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A run that waits for its admission.
pub(super) struct Pending {
    pub dag: Name,
    pub since: Duration,
    pub batch: Option<Content>,
    pub origin: Option<Origin>,
    seen: Option<u64>,
    /// How often in a row it was given up.
    preempted: u32,
}

/// A run under way.
pub(super) struct Run {
    pub plan: Arc<Plan>,
    pub wish: Pending,
    started: Duration,
    /// The state as it was then (thesis §3.2.5: the local environment is this and `written`).
    snapshot: Snapshot,
    written: BTreeMap<ViewId, Content>,
    /// Of each node, how many before it are not done.
    open: Vec<usize>,
    begun: Vec<Duration>,
    unfinished: usize,
    cancelled: Arc<AtomicBool>,
}

impl Runtime {
    /// Asks admission for every DAG that has a reason to run and may.
    pub(super) fn submit(&mut self) {
        let mut active: BTreeMap<Name, usize> = BTreeMap::new();
        for name in self.pending.values().map(|pending| &pending.dag) {
            *active.entry(name.clone()).or_default() += 1;
        }
        for name in self.runs.values().map(|run| &run.plan.dag.name) {
            *active.entry(name.clone()).or_default() += 1;
        }
        let state = self.environment.latest();
        for (name, dag) in &mut self.dags {
            let active = active.get(name).copied().unwrap_or(0);
            let mut free = dag.plan.dag.policy.instances.saturating_sub(active);
            let there = |view| state.content(view).is_some();
            if free == 0 || dag.not_before > self.now || !dag.plan.needs.iter().all(there) {
                continue;
            }
            let priority = dag.plan.dag.policy.priority;
            let mut submit = |since, batch, origin, seen| {
                self.admission.submit(self.next_run, dag.claim.clone(), priority);
                let wish = Pending { dag: name.clone(), since, batch, origin, seen, preempted: 0 };
                self.pending.insert(self.next_run, wish);
                self.next_run += 1;
            };
            if let Some(since) = dag.wanted.take() {
                submit(since, None, None, None);
                continue;
            }
            while free > 0
                && let Some(Queued { since, batch, origin, seen }) = dag.queue.pop_front()
            {
                submit(since, Some(batch), origin, seen);
                free -= 1;
            }
        }
    }

    /// An admitted run takes its snapshot, and its first applications start.
    pub(super) fn begin(&mut self, id: RunId) {
        let Some(wish) = self.pending.remove(&id) else { return };
        let Some(dag) = self.dags.get_mut(&wish.dag) else { return };
        dag.waits.record(self.now.saturating_sub(wish.since));
        // Whatever set it off while it waited is in the snapshot.
        dag.wanted = None;
        let plan = dag.plan.clone();
        let batch = plan.stream.clone().zip(wish.batch.clone());
        let run = Run {
            started: self.now,
            snapshot: self.environment.latest(),
            written: batch.into_iter().collect(),
            open: plan.nodes.iter().map(|node| node.before.len()).collect(),
            begun: vec![self.now; plan.nodes.len()],
            unfinished: plan.nodes.len(),
            cancelled: Arc::default(),
            plan: plan.clone(),
            wish,
        };
        self.runs.insert(id, run);
        for node in 0..plan.nodes.len() {
            if plan.nodes[node].before.is_empty() {
                self.start(id, node);
            }
        }
    }

    fn start(&mut self, id: RunId, node: usize) {
        let Some(run) = self.runs.get_mut(&id) else { return };
        run.begun[node] = self.now;
        let loaded = &run.plan.nodes[node].loaded;
        let state = match self.config.isolation {
            Isolation::Snapshot => run.snapshot.clone(),
            Isolation::None => self.environment.latest(),
        };
        let content = |view: &ViewId| {
            let content = run.written.get(view).or_else(|| state.content(view))?;
            Some((view.clone(), content.clone()))
        };
        let inputs = loaded.signature.inputs.iter().filter_map(|port| content(&port.view)).collect();
        self.actions.push_back(Action::Start(Task {
            run: id,
            node,
            dag: run.plan.dag.name.clone(),
            name: loaded.manifest.name.clone(),
            application: loaded.application.clone(),
            inputs: Inputs::new(inputs, run.cancelled.clone()),
            ports: loaded.ports.clone(),
        }));
    }

    pub(super) fn node_done(&mut self, id: RunId, node: usize, outputs: BTreeMap<ViewId, Content>) {
        let Some(run) = self.runs.get_mut(&id) else { return };
        let plan = run.plan.clone();
        let took = self.now - run.begun[node];
        if let Some(dag) = self.dags.get_mut(&plan.dag.name) {
            dag.nodes.entry(plan.nodes[node].loaded.manifest.name.clone()).or_default().record(took);
        }
        run.unfinished -= 1;
        let ends = run.unfinished == 0;
        let now_seen = |(view, _): &(ViewId, Content)| {
            self.config.isolation == Isolation::None && plan.writes.contains(view)
        };
        let (seen, kept): (Vec<_>, Vec<_>) = outputs.into_iter().partition(now_seen);
        run.written.extend(kept);
        if !seen.is_empty() {
            let cause = run.cause();
            self.publish(seen, Some((&plan.dag.name, cause.seen)), cause.origin);
        }
        if ends {
            self.commit(id);
            return;
        }
        for after in &plan.nodes[node].after {
            let Some(run) = self.runs.get_mut(&id) else { return };
            run.open[*after] -= 1;
            if run.open[*after] == 0 {
                self.start(id, *after);
            }
        }
    }

    /// All applications are done: all of what they wrote is seen at once.
    fn commit(&mut self, id: RunId) {
        let Some(run) = self.runs.remove(&id) else { return };
        self.admission.end(&id);
        let (name, cause) = (run.plan.dag.name.clone(), run.cause());
        let owned = |view: &ViewId| run.plan.writes.contains(view) || run.plan.streams.contains(view);
        let changes: Vec<_> = run.written.into_iter().filter(|(view, _)| owned(view)).collect();
        self.record(|| Event::Committed { run: id, dag: name.clone(), changes: written(&changes) });
        let changed = self.publish(changes, Some((&name, cause.seen)), cause.origin);
        if let Some(dag) = self.dags.get_mut(&name) {
            dag.runs.record(self.now - run.started);
            dag.not_before = self.now.saturating_add(dag.plan.dag.policy.min_interval);
        }
        let revision = self.environment.latest().revision();
        self.actions.push_back(Action::Report(Report::Committed { dag: name, run: id, revision, changed }));
    }

    pub(super) fn node_failed(&mut self, id: RunId, node: usize, failure: Failure) {
        let Some(run) = self.runs.remove(&id) else { return };
        self.admission.end(&id);
        run.cancelled.store(true, Ordering::Relaxed);
        let name = run.plan.dag.name.clone();
        let application = run.plan.nodes[node].loaded.manifest.name.clone();
        if let Some(dag) = self.dags.get_mut(&name) {
            dag.failed += 1;
            let rest = (self.now - run.started).saturating_mul(dag.plan.dag.policy.penalty);
            dag.not_before = dag.not_before.max(self.now.saturating_add(rest));
        }
        let why = failure.to_string();
        self.record(|| Event::Failed { run: id, dag: name.clone(), application: application.clone(), why });
        self.actions.push_back(Action::Report(Report::Failed { dag: name, run: id, application, failure }));
    }

    /// Gives up preemptible runs that read what has just changed.
    pub(super) fn give_up_stale(&mut self, changed: &[ViewId]) {
        let stale = |run: &Run| changed.iter().any(|view| run.plan.reads.contains(view));
        let preempted: Vec<RunId> =
            self.preemptible().filter(|(_, run)| stale(run)).map(|(id, _)| id).collect();
        preempted.into_iter().for_each(|id| self.preempt(id));
    }

    /// Gives up preemptible runs that one of a higher priority waits for. Says whether there were any.
    pub(super) fn make_way(&mut self) -> bool {
        let priority = |name: &Name| self.dags.get(name).map_or(0, |dag| dag.plan.dag.policy.priority);
        let waits = |run: &Run, own| {
            self.admission.waiting().any(|(id, claim)| {
                let higher = |wish: &Pending| priority(&wish.dag) > run.plan.dag.policy.priority;
                self.pending.get(id).is_some_and(higher) && claim.conflicts(own)
            })
        };
        let claims: BTreeMap<RunId, _> = self.admission.running().map(|(id, claim)| (*id, claim)).collect();
        let gives = |(id, run): &(RunId, &Run)| claims.get(id).is_some_and(|own| waits(run, own));
        let preempted: Vec<RunId> = self.preemptible().filter(gives).map(|(id, _)| id).collect();
        let any = !preempted.is_empty();
        preempted.into_iter().for_each(|id| self.preempt(id));
        any
    }

    fn preemptible(&self) -> impl Iterator<Item = (RunId, &Run)> {
        let may = |run: &Run| run.plan.dag.policy.preemptible && run.wish.preempted < self.config.preemptions;
        self.runs.iter().filter(move |(_, run)| may(run)).map(|(id, run)| (*id, run))
    }

    /// Its applications may go on, but nobody waits for them: what they write is seen by nobody.
    fn preempt(&mut self, id: RunId) {
        let Some(run) = self.runs.remove(&id) else { return };
        self.admission.end(&id);
        run.cancelled.store(true, Ordering::Relaxed);
        let name = run.plan.dag.name.clone();
        self.actions.push_back(Action::Report(Report::Preempted { dag: name.clone(), run: id }));
        if let Some(dag) = self.dags.get_mut(&name) {
            dag.preempted += 1;
            if !Arc::ptr_eq(&dag.plan, &run.plan) {
                dag.take_back(run.wish);
                return;
            }
            self.admission.submit(self.next_run, dag.claim.clone(), dag.plan.dag.policy.priority);
            let again = Pending { preempted: run.wish.preempted + 1, ..run.wish };
            self.pending.insert(self.next_run, again);
            self.next_run += 1;
        }
    }
}

impl Run {
    /// What all that it writes follows from.
    fn cause(&self) -> Cause {
        Cause { seen: self.wish.seen.unwrap_or(self.snapshot.revision()), origin: self.wish.origin }
    }
}

impl Scheduled {
    /// Wishes again what was about to run.
    pub(super) fn take_back(&mut self, wish: Pending) {
        match (wish.batch, &self.plan.stream) {
            (Some(batch), Some(_)) => {
                let Pending { since, origin, seen, .. } = wish;
                self.queue.push_front(Queued { since, batch, origin, seen });
            }
            (None, None) => self.wanted = self.wanted.or(Some(wish.since)),
            // It is set off by something else now.
            _ => {}
        }
    }
}
