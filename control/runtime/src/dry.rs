//! A DAG run for its results alone.

use crate::plan::Plan;
use crate::{Content, Dag, DagFault, Failure, Finished, Inputs, Name, Runtime, Snapshot, Task, ViewId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Why a dry run has no results.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotRun {
    /// There is no such DAG.
    #[error("there is no {0}")]
    Unknown(Name),
    /// It cannot be.
    #[error("{0}")]
    Dag(#[from] DagFault),
    /// An application failed.
    #[error("{application}: {failure}")]
    Failed {
        /// Which application.
        application: Name,
        /// Why.
        failure: Failure,
    },
}

/// A DAG with the state that it is to be run over, apart from the runtime that it is of.
pub struct DryRun {
    plan: Plan,
    state: Snapshot,
}

impl DryRun {
    /// What the DAG would write, on the calling thread. `batch` is what a stream that sets it off would bring. It takes as
    /// long as the applications do.
    ///
    /// # Errors
    /// An application failed.
    pub fn run(&self, batch: Option<Content>) -> Result<BTreeMap<ViewId, Content>, NotRun> {
        let Self { plan, state } = self;
        let mut seen: BTreeMap<ViewId, Content> = plan.stream.clone().zip(batch).into_iter().collect();
        let mut results = BTreeMap::new();
        let mut open: Vec<usize> = plan.nodes.iter().map(|node| node.before.len()).collect();
        let mut ready: Vec<usize> = (0..open.len()).filter(|node| open[*node] == 0).collect();
        while let Some(place) = ready.pop() {
            let node = &plan.nodes[place];
            let name = &node.loaded.manifest.name;
            let content =
                |view: &ViewId| Some((view.clone(), seen.get(view).or_else(|| state.content(view))?.clone()));
            let inputs = node.loaded.signature.inputs.iter().filter_map(|port| content(&port.view)).collect();
            let task = Task {
                run: 0,
                node: place,
                dag: plan.dag.name.clone(),
                name: name.clone(),
                application: node.loaded.application.clone(),
                inputs: Inputs::new(inputs, Arc::default()),
                ports: node.loaded.ports.clone(),
            };
            let Finished { result, .. } = task.run();
            let outputs = result.map_err(|failure| NotRun::Failed { application: name.clone(), failure })?;
            seen.extend(outputs.clone());
            results.extend(outputs);
            for after in &node.after {
                open[*after] -= 1;
                if open[*after] == 0 {
                    ready.push(*after);
                }
            }
        }
        Ok(results)
    }

    /// The stream that sets it off, if one does.
    pub fn stream(&self) -> Option<&ViewId> {
        self.plan.stream.as_ref()
    }
}

impl Runtime {
    /// A DAG, there or not yet, as it would begin with this state. Nothing is run yet, so that whoever has the runtime
    /// behind a lock lets it go first.
    ///
    /// # Errors
    /// The DAG cannot be.
    pub fn dry(&self, dag: &Dag, state: &Snapshot) -> Result<DryRun, NotRun> {
        let plan = Plan::new(dag.clone(), self.loaded(), self.known_views())?;
        Ok(DryRun { plan, state: state.clone() })
    }

    /// What a DAG, there or not yet, would write if it began with this state, on the calling thread. Nothing changes.
    /// `batch` is what a stream that sets it off would bring. It takes as long as the applications do.
    ///
    /// # Errors
    /// [`NotRun`].
    pub fn dry_run(
        &self,
        dag: &Dag,
        state: &Snapshot,
        batch: Option<Content>,
    ) -> Result<BTreeMap<ViewId, Content>, NotRun> {
        self.dry(dag, state)?.run(batch)
    }

    /// DAGs as they were added, in the order of their names.
    pub fn dags(&self) -> impl Iterator<Item = &Dag> {
        self.scheduled().map(|scheduled| &scheduled.plan.dag)
    }

    /// A DAG as it was added.
    pub fn dag(&self, name: &Name) -> Option<&Dag> {
        self.dags().find(|dag| dag.name == *name)
    }
}
