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

impl Runtime {
    /// What a DAG, there or not yet, would write if it began with this state, on the calling thread. Nothing changes.
    /// `batch` is what a stream that sets it off would bring. It takes as long as the applications do.
    pub fn dry_run(
        &self,
        dag: &Dag,
        state: &Snapshot,
        batch: Option<Content>,
    ) -> Result<BTreeMap<ViewId, Content>, NotRun> {
        let plan = Plan::new(dag.clone(), self.loaded(), self.known_views())?;
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
                dag: dag.name.clone(),
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

    /// A DAG as it was added.
    pub fn dag(&self, name: &Name) -> Option<&Dag> {
        self.scheduled().map(|scheduled| &scheduled.plan.dag).find(|dag| dag.name == *name)
    }
}
