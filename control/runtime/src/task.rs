//! What an executor is given, what it gives back, and what an executor is.

use crate::{Application, Content, Failure, Inputs, Name, Outputs, Type, ViewId};
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Which run of a DAG, in the order in which they were asked for.
pub type RunId = u64;

/// An application to be run with its inputs, on whatever thread. It holds all that it needs and touches nothing else,
/// so that tasks need no lock.
pub struct Task {
    pub(crate) run: RunId,
    pub(crate) node: usize,
    pub(crate) dag: Name,
    pub(crate) name: Name,
    pub(crate) application: Arc<dyn Application>,
    pub(crate) inputs: Inputs,
    pub(crate) ports: Arc<BTreeMap<ViewId, (Type, bool)>>,
}

/// A task that was run.
#[derive(Debug)]
pub struct Finished {
    pub(crate) run: RunId,
    pub(crate) node: usize,
    pub(crate) result: Result<BTreeMap<ViewId, Content>, Failure>,
}

impl Task {
    /// Runs the application. A panic is contained; the panic hook still prints it.
    pub fn run(self) -> Finished {
        let Self { run, node, application, inputs, ports, .. } = self;
        let mut outputs = Outputs::new(ports);
        // What a panic leaves half done are the outputs, which nobody sees then.
        let result = catch_unwind(AssertUnwindSafe(|| application.run(&inputs, &mut outputs)))
            .unwrap_or_else(|panic| Err(Failure::Crashed(said(&*panic))))
            .and_then(|()| outputs.complete());
        Finished { run, node, result }
    }

    /// Which run it is part of, and its place among the DAG's nodes.
    pub fn id(&self) -> (RunId, usize) {
        (self.run, self.node)
    }

    /// The DAG that it is part of.
    pub fn dag(&self) -> &Name {
        &self.dag
    }

    /// The application.
    pub fn application(&self) -> &Name {
        &self.name
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of run {} of {}", self.name, self.run, self.dag)
    }
}

fn said(panic: &(dyn Any + Send)) -> String {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (_, Some(text)) => text.clone(),
        _ => "it panicked".to_owned(),
    }
}

/// Who runs tasks: the calling thread, a pool, pinned workers. The runtime has no thread of its own.
pub trait Executor {
    /// Takes a task. It may run it at once.
    fn start(&mut self, task: Task);

    /// Gives a task that was run, in whatever order. Waits while some are under way and none is ready; `None` says that
    /// none is under way.
    fn finished(&mut self) -> Option<Finished>;
}

/// Runs every task on the calling thread when it is asked for it, in the order of their start.
#[derive(Debug, Default)]
pub struct InPlace(std::collections::VecDeque<Task>);

impl Executor for InPlace {
    fn start(&mut self, task: Task) {
        self.0.push_back(task);
    }

    fn finished(&mut self) -> Option<Finished> {
        self.0.pop_front().map(Task::run)
    }
}
