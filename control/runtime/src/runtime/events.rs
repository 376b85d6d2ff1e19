//! What happens: drivers write, time passes, applications are done.

use super::{Action, Cause, Origin, Push, Queued, Report, Runtime};
use crate::record::{Event, written};
use crate::{Content, Driver, Finished, Kind, Mismatch, Name, Overflow, ViewId};
use std::time::Duration;

/// Why what a driver wrote was not taken. Nothing of it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotTaken {
    /// There is no such driver, or no such DAG.
    #[error("there is no {0}")]
    Unknown(Name),
    /// It did not declare that.
    #[error("the driver {driver} wrote {view}, which it does not declare")]
    Undeclared {
        /// Which driver.
        driver: Name,
        /// Which view.
        view: ViewId,
    },
    /// It is of another type.
    #[error("of {view} {fault}")]
    Mismatch {
        /// Which view.
        view: ViewId,
        /// What is wrong with it.
        fault: Mismatch,
    },
    /// As many batches as may wait do. The source should be read no further until some were worked off.
    #[error("{dag} has as many batches of {view} waiting as may wait")]
    Full {
        /// Which DAG.
        dag: Name,
        /// Which stream.
        view: ViewId,
    },
    /// A DAG that a stream sets off cannot be asked for by hand.
    #[error("{0} is set off by batches of a stream alone")]
    Streamed(Name),
}

impl Runtime {
    /// Lets a driver turn an event into views.
    pub fn observe<D: Driver>(
        &mut self,
        now: Duration,
        driver: &mut D,
        event: D::Event,
    ) -> Result<(), NotTaken> {
        let changes = driver.observe(event, &self.environment.latest());
        self.handle_views(now, &driver.name(), changes)
    }

    /// A driver wrote views: all of it is seen at once, by whoever begins from now on.
    pub fn handle_views(
        &mut self,
        now: Duration,
        driver: &Name,
        changes: Vec<(ViewId, Content)>,
    ) -> Result<(), NotTaken> {
        self.accept(now, driver, changes, None)
    }

    /// A driver has a batch of a stream, and says where it comes from: [`Cause::origin`] of all that comes of it is this.
    ///
    /// # Errors
    /// As those of [`handle_views`](Self::handle_views).
    pub fn handle_batch(
        &mut self,
        now: Duration,
        driver: &Name,
        (view, batch): (ViewId, Content),
        origin: Option<Origin>,
    ) -> Result<(), NotTaken> {
        self.accept(now, driver, vec![(view, batch)], origin)
    }

    fn accept(
        &mut self,
        now: Duration,
        driver: &Name,
        changes: Vec<(ViewId, Content)>,
        origin: Option<Origin>,
    ) -> Result<(), NotTaken> {
        let signature = self.drivers.get(driver).ok_or_else(|| NotTaken::Unknown(driver.clone()))?;
        for (place, (view, content)) in changes.iter().enumerate() {
            let undeclared = || NotTaken::Undeclared { driver: driver.clone(), view: view.clone() };
            let port = signature.outputs.iter().find(|port| port.view == *view).ok_or_else(undeclared)?;
            content.check(&port.schema).map_err(|fault| NotTaken::Mismatch { view: view.clone(), fault })?;
            let before = changes[..place].iter().filter(|(other, _)| other == view).count();
            for dag in self.dags.values().filter(|dag| dag.plan.stream.as_ref() == Some(view)) {
                let policy = &dag.plan.dag.policy;
                if policy.overflow == Overflow::Refuse && dag.queue.len() + before >= policy.queue {
                    let dag = dag.plan.dag.name.clone();
                    return Err(NotTaken::Full { dag, view: view.clone() });
                }
            }
        }
        self.pass(now);
        self.record(|| Event::Observed { driver: driver.clone(), changes: written(&changes) });
        self.publish(changes, None, origin);
        self.advance();
        Ok(())
    }

    /// Somebody wants a DAG to run now.
    pub fn handle_trigger(&mut self, now: Duration, dag: &Name) -> Result<(), NotTaken> {
        let found = self.dags.get_mut(dag).ok_or_else(|| NotTaken::Unknown(dag.clone()))?;
        if found.plan.stream.is_some() {
            return Err(NotTaken::Streamed(dag.clone()));
        }
        self.now = self.now.max(now);
        found.wanted.get_or_insert(self.now);
        self.record(|| Event::Trigger(dag.clone()));
        self.advance();
        Ok(())
    }

    /// Time passed: to be called when [`poll_timeout`](Self::poll_timeout) says so, and whenever one likes.
    pub fn handle_timeout(&mut self, now: Duration) {
        self.pass(now);
        self.record(|| Event::Time);
        let now = self.now;
        for dag in self.dags.values_mut() {
            for (due, interval) in dag.due.iter_mut().zip(&dag.plan.every) {
                if *due <= now {
                    dag.wanted.get_or_insert(now);
                    // What was missed is not made up for, and the beat is kept.
                    let missed = (now - *due).as_nanos() / interval.as_nanos();
                    let missed = u32::try_from(missed).unwrap_or(u32::MAX);
                    *due = due.saturating_add(interval.saturating_mul(missed.saturating_add(1)));
                }
            }
        }
        self.advance();
    }

    /// A task was run.
    pub fn handle_finished(&mut self, now: Duration, finished: Finished) {
        let Finished { run, node, result } = finished;
        // Of a run that was preempted, or that failed elsewhere, nobody wants to know, a recording neither.
        if self.runs.contains_key(&run) {
            self.pass(now);
            self.record(|| Event::Finished { run, node });
            match result {
                Ok(outputs) => self.node_done(run, node, outputs),
                Err(failure) => self.node_failed(run, node, failure),
            }
            self.advance();
        }
    }

    /// Makes changes seen: state in the environment, batches in queues, both at drivers. `by` is the DAG whose commit
    /// it is, which it does not set off again, and the revision that it had seen.
    pub(super) fn publish(
        &mut self,
        changes: Vec<(ViewId, Content)>,
        by: Option<(&Name, u64)>,
        origin: Option<Origin>,
    ) -> Vec<ViewId> {
        let latest = self.environment.latest();
        let (mut state, mut streams) = (Vec::new(), Vec::new());
        for (view, content) in changes {
            if self.views.get(&view).is_some_and(|(kind, _)| *kind == Kind::Stream) {
                streams.push((view, content));
            } else if !latest.content(&view).is_some_and(|before| before.same(&content)) {
                state.push((view, content));
            }
        }
        if !state.is_empty() {
            self.environment.commit(latest.with(state.iter().cloned()));
        }
        let (by, seen) = by.unzip();
        let cause = Cause { seen: seen.unwrap_or_else(|| self.environment.latest().revision()), origin };
        for (view, content) in state.iter().chain(&streams) {
            for (driver, signature) in &self.drivers {
                if signature.inputs.iter().any(|port| port.view == *view) {
                    self.actions.push_back(Action::Push(Push {
                        driver: driver.clone(),
                        view: view.clone(),
                        before: latest.content(view).cloned(),
                        now: content.clone(),
                        cause,
                    }));
                }
            }
        }
        let mut dropped = Vec::new();
        for (name, dag) in &mut self.dags {
            for (view, content) in streams.iter().filter(|(view, _)| dag.plan.stream.as_ref() == Some(view)) {
                if dag.queue.len() < dag.plan.dag.policy.queue {
                    dag.queue.push_back(Queued { since: self.now, batch: content.clone(), origin, seen });
                } else {
                    dag.dropped += 1;
                    dropped.push(Report::Dropped { dag: name.clone(), view: view.clone() });
                }
            }
            if by != Some(name) && state.iter().any(|(view, _)| dag.plan.set_off_by(view)) {
                dag.wanted.get_or_insert(self.now);
            }
        }
        self.actions.extend(dropped.into_iter().map(Action::Report));
        let changed: Vec<ViewId> = state.into_iter().map(|(view, _)| view).collect();
        self.give_up_stale(&changed);
        changed
    }
}
