//! Applications that belong together, and the DAGs that run them.

use crate::{Application, Change, Dag, Manifest, Refused, Runtime};
use std::sync::Arc;
use std::time::Duration;

/// A set of applications and DAGs, to be added to a [`Runtime`] as a whole.
#[derive(Default)]
pub struct Set {
    /// What each says of itself, and its code.
    pub applications: Vec<(Manifest, Arc<dyn Application>)>,
    /// What sets them off.
    pub dags: Vec<Dag>,
}

impl Set {
    /// With one application more.
    pub fn with(mut self, manifest: Manifest, application: Arc<dyn Application>) -> Self {
        self.applications.push((manifest, application));
        self
    }

    /// With one DAG more.
    pub fn dag(mut self, dag: Dag) -> Self {
        self.dags.push(dag);
        self
    }

    /// Both sets. An application or a DAG of the second takes the place of one of its name.
    pub fn and(mut self, other: Self) -> Self {
        self.applications.retain(|(own, _)| !other.applications.iter().any(|(its, _)| its.name == own.name));
        self.dags.retain(|own| !other.dags.iter().any(|its| its.name == own.name));
        self.applications.extend(other.applications);
        self.dags.extend(other.dags);
        self
    }

    /// Adds all of it, with the permission to write what the manifests say.
    ///
    /// # Errors
    /// What the runtime refuses, and why. Nothing is added then.
    pub fn add_to(self, runtime: &mut Runtime, now: Duration) -> Result<(), Refused> {
        runtime.apply(now, Change::adding(self))
    }
}
