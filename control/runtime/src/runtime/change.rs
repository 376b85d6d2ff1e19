//! Several changes of what there is, as one: all of it, or nothing.

use super::{Refused, Runtime};
use crate::plan::Plan;
use crate::{Application, Config, Dag, Manifest, Name, Set};
use std::sync::Arc;
use std::time::Duration;

/// What is to be removed and what is to be there, in the order in which it is done.
#[derive(Default)]
pub struct Change {
    /// DAGs that go.
    pub remove_dags: Vec<Name>,
    /// Applications that go, and with them what they were permitted.
    pub remove_applications: Vec<Name>,
    /// Who may write which view.
    pub grants: Vec<(Name, Name)>,
    /// Applications that are added, or take the place of those of their names.
    pub applications: Vec<(Manifest, Arc<dyn Application>)>,
    /// DAGs that are added, or take the place of those of their names.
    pub dags: Vec<Dag>,
}

impl Change {
    /// A set that is added, with the permission to write what its manifests say.
    pub fn adding(set: Set) -> Self {
        let granted = |manifest: &Manifest| {
            let name = manifest.name.clone();
            manifest.outputs.iter().map(move |output| (name.clone(), output.view.name.clone())).collect()
        };
        let grants: Vec<Vec<_>> = set.applications.iter().map(|(manifest, _)| granted(manifest)).collect();
        Self { grants: grants.concat(), applications: set.applications, dags: set.dags, ..Self::default() }
    }
}

impl Runtime {
    /// Makes all of a change, or nothing of it. Runs under way end as they began.
    ///
    /// # Errors
    /// Why one of its steps is refused.
    pub fn apply(&mut self, now: Duration, change: Change) -> Result<(), Refused> {
        self.rehearsal()?.take(now, &change)?;
        self.take(now, &change)
    }

    fn take(&mut self, now: Duration, change: &Change) -> Result<(), Refused> {
        change.remove_dags.iter().try_for_each(|dag| self.remove_dag(dag))?;
        for name in &change.remove_applications {
            self.remove_application(name)?;
            // Another one of its name is to be permitted anew.
            let granted: Vec<_> = self.grants.iter().filter(|(who, _)| who == name).cloned().collect();
            granted.iter().try_for_each(|(who, view)| self.revoke(who, view))?;
        }
        change.grants.iter().for_each(|(who, view)| self.grant(who, view));
        for (manifest, application) in &change.applications {
            self.add_application(manifest.clone(), application.clone())?;
        }
        change.dags.iter().try_for_each(|dag| self.add_dag(now, dag.clone()))
    }

    /// A runtime in which there is the same, and nothing happens: what it refuses, this one does.
    fn rehearsal(&self) -> Result<Self, Refused> {
        let mut other = Self::new(Config { record: false, ..self.config.clone() });
        other.views = self.views.clone();
        other.grants = self.grants.clone();
        other.applications = self.applications.clone();
        other.drivers = self.drivers.clone();
        for (name, scheduled) in &self.dags {
            let plan = Plan::new(scheduled.plan.dag.clone(), &other.applications, &other.views);
            other.schedule(plan.map_err(|fault| Refused::Dag { dag: name.clone(), fault })?);
        }
        Ok(other)
    }
}
