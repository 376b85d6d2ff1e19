//! What there is: applications, drivers, DAGs and their views, added and removed while others run.

use super::{Isolation, Resource, Runtime, Scheduled};
use crate::admission::Claim;
use crate::plan::{Loaded, Plan};
use crate::record::Event;
use crate::{
    Application, Dag, DagFault, Kind, Manifest, ManifestFault, Name, Port, Signature, Timing, Type, ViewId,
};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// Why something was not added or removed. All is as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The manifest and the code disagree.
    #[error("{application}: {fault}")]
    Manifest {
        /// Which application.
        application: Name,
        /// How.
        fault: ManifestFault,
    },
    /// It may not write that.
    #[error("{who} may not write {view}: grant it, or let its manifest not say so")]
    NotGranted {
        /// Which application or driver.
        who: Name,
        /// Which view.
        view: ViewId,
    },
    /// A view with another schema has this version.
    #[error(
        "{who} has {view} as {declared}, which is {found} already: a changed schema is a new version, {name}@{}",
        view.version + 1, name = view.name
    )]
    Schema {
        /// Which application or driver.
        who: Name,
        /// Which view.
        view: ViewId,
        /// The schema as it declares it.
        declared: Type,
        /// The schema as it is.
        found: Type,
    },
    /// A view is a stream to the one and state to the other.
    #[error("{who} has {view} as {declared:?}, which it is not")]
    Kind {
        /// Which application or driver.
        who: Name,
        /// Which view.
        view: ViewId,
        /// What it has it as.
        declared: Kind,
    },
    /// A state is written by a driver and somebody else.
    #[error("{view} is written by {other} already, and what a driver writes nobody else writes")]
    Driven {
        /// Which view.
        view: ViewId,
        /// Who writes it.
        other: Name,
    },
    /// A name is taken.
    #[error("there is a {0} already")]
    Taken(Name),
    /// There is no such thing.
    #[error("there is no {0}")]
    Unknown(Name),
    /// Something still needs it.
    #[error("the DAG {by} needs {what}")]
    InUse {
        /// What is needed.
        what: Name,
        /// Which DAG needs it.
        by: Name,
    },
    /// A DAG cannot be.
    #[error("{dag}: {fault}")]
    Dag {
        /// Which DAG.
        dag: Name,
        /// Why not.
        fault: DagFault,
    },
}

/// A view and who uses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewUse {
    /// Which view.
    pub view: ViewId,
    /// What becomes of its values.
    pub kind: Kind,
    /// Its schema.
    pub schema: Type,
    /// Applications and drivers that read it.
    pub readers: Vec<Name>,
    /// Applications and drivers that write it.
    pub writers: Vec<Name>,
}

impl Runtime {
    /// Lets an application or a driver write a view, in every version. To be called before it is added.
    pub fn grant(&mut self, who: &Name, view: &Name) {
        self.grants.insert((who.clone(), view.clone()));
        self.record(|| Event::Grant { who: who.clone(), view: view.clone() });
    }

    /// Takes write access away, once nobody needs it: whoever was added with it is removed first.
    pub fn revoke(&mut self, who: &Name, view: &Name) -> Result<(), Refused> {
        let outputs = self.drivers.get(who).or(self.applications.get(who).map(|loaded| &*loaded.signature));
        let writes = |signature: &&Signature| signature.outputs.iter().any(|port| port.view.name == *view);
        if outputs.as_ref().is_some_and(writes) {
            return Err(Refused::Taken(who.clone()));
        }
        self.grants.remove(&(who.clone(), view.clone()));
        self.record(|| Event::Revoke { who: who.clone(), view: view.clone() });
        Ok(())
    }

    /// Adds an application, or puts it in the place of the one of its name: runs under way end with the old one.
    pub fn add_application(
        &mut self,
        manifest: Manifest,
        application: Arc<dyn Application>,
    ) -> Result<(), Refused> {
        let name = manifest.name.clone();
        let signature = application.signature();
        manifest.check(&signature).map_err(|fault| Refused::Manifest { application: name.clone(), fault })?;
        if self.drivers.contains_key(&name) {
            return Err(Refused::Taken(name));
        }
        let views = self.views_with(&name, &signature)?;
        for port in signature.outputs.iter().filter(|port| port.kind == Kind::State) {
            if let Some(driver) = self.driver_of(&port.view) {
                return Err(Refused::Driven { view: port.view.clone(), other: driver.clone() });
            }
        }
        let mut applications = self.applications.clone();
        applications.insert(name.clone(), Loaded::new(manifest.clone(), signature, application));
        let mut plans = Vec::new();
        for (dag, scheduled) in self.dags.iter().filter(|(_, dag)| dag.plan.dag.nodes.contains(&name)) {
            let plan = Plan::new(scheduled.plan.dag.clone(), &applications, &views)
                .map_err(|fault| Refused::Dag { dag: dag.clone(), fault })?;
            plans.push(plan);
        }
        self.views = views;
        self.applications = applications;
        plans.into_iter().for_each(|plan| self.schedule(plan));
        self.forget_unused();
        self.record(|| Event::Application(manifest));
        self.advance();
        Ok(())
    }

    /// Removes an application that no DAG needs.
    pub fn remove_application(&mut self, name: &Name) -> Result<(), Refused> {
        if let Some((dag, _)) = self.dags.iter().find(|(_, dag)| dag.plan.dag.nodes.contains(name)) {
            return Err(Refused::InUse { what: name.clone(), by: dag.clone() });
        }
        self.applications.remove(name).ok_or_else(|| Refused::Unknown(name.clone()))?;
        self.forget_unused();
        self.record(|| Event::RemoveApplication(name.clone()));
        Ok(())
    }

    /// Adds a driver: what it writes (`outputs`) and what it wants to know of (`inputs`).
    pub fn add_driver(&mut self, name: &Name, signature: Signature) -> Result<(), Refused> {
        if self.drivers.contains_key(name) || self.applications.contains_key(name) {
            return Err(Refused::Taken(name.clone()));
        }
        let views = self.views_with(name, &signature)?;
        for port in signature.outputs.iter().filter(|port| port.kind == Kind::State) {
            let writes =
                |signature: &Signature| signature.outputs.iter().any(|other| other.view == port.view);
            let application = self.applications.iter().find(|(_, loaded)| writes(&loaded.signature));
            let other = self.driver_of(&port.view).or(application.map(|(name, _)| name));
            if let Some(other) = other {
                return Err(Refused::Driven { view: port.view.clone(), other: other.clone() });
            }
        }
        self.views = views;
        self.drivers.insert(name.clone(), signature.clone());
        self.record(|| Event::Driver { name: name.clone(), signature });
        Ok(())
    }

    /// Removes a driver. What it wrote stays while somebody reads it.
    pub fn remove_driver(&mut self, name: &Name) -> Result<(), Refused> {
        self.drivers.remove(name).ok_or_else(|| Refused::Unknown(name.clone()))?;
        self.forget_unused();
        self.record(|| Event::RemoveDriver(name.clone()));
        Ok(())
    }

    /// Adds a DAG, or puts it in the place of the one of its name: a run under way ends as the old one.
    pub fn add_dag(&mut self, now: Duration, dag: Dag) -> Result<(), Refused> {
        let plan = Plan::new(dag.clone(), &self.applications, &self.views)
            .map_err(|fault| Refused::Dag { dag: dag.name.clone(), fault })?;
        self.pass(now);
        self.schedule(plan);
        self.record(|| Event::Dag(dag));
        self.advance();
        Ok(())
    }

    /// Removes a DAG. A run under way ends and commits; one that waits does not begin.
    pub fn remove_dag(&mut self, name: &Name) -> Result<(), Refused> {
        self.dags.remove(name).ok_or_else(|| Refused::Unknown(name.clone()))?;
        self.withdraw(name);
        self.forget_unused();
        self.record(|| Event::RemoveDag(name.clone()));
        self.advance();
        Ok(())
    }

    /// What applications there are say of themselves, in the order of their names.
    pub fn applications(&self) -> impl Iterator<Item = &Manifest> {
        self.applications.values().map(|loaded| &*loaded.manifest)
    }

    /// All views that there are, in the order of their names.
    pub fn views(&self) -> Vec<ViewUse> {
        let uses = |view: &ViewId, of: fn(&Signature) -> &Vec<Port>| {
            let signatures =
                self.signatures().filter(|(_, all)| of(all).iter().any(|port| port.view == *view));
            signatures.map(|(name, _)| name.clone()).collect()
        };
        let each = |(view, (kind, schema)): (&ViewId, &(Kind, Type))| ViewUse {
            view: view.clone(),
            kind: *kind,
            schema: schema.clone(),
            readers: uses(view, |all| &all.inputs),
            writers: uses(view, |all| &all.outputs),
        };
        self.views.iter().map(each).collect()
    }

    fn signatures(&self) -> impl Iterator<Item = (&Name, &Signature)> {
        let applications = self.applications.iter().map(|(name, loaded)| (name, &*loaded.signature));
        applications.chain(&self.drivers)
    }

    fn driver_of(&self, view: &ViewId) -> Option<&Name> {
        let writes = |signature: &Signature| signature.outputs.iter().any(|port| port.view == *view);
        self.drivers.iter().find(|(_, signature)| writes(signature)).map(|(name, _)| name)
    }

    /// The views with those of one more, if it may write them and means the same by them.
    fn views_with(
        &self,
        who: &Name,
        signature: &Signature,
    ) -> Result<BTreeMap<ViewId, (Kind, Type)>, Refused> {
        for port in &signature.outputs {
            if !self.grants.contains(&(who.clone(), port.view.name.clone())) {
                return Err(Refused::NotGranted { who: who.clone(), view: port.view.clone() });
            }
        }
        let mut views = self.views.clone();
        for port in signature.inputs.iter().chain(&signature.outputs) {
            let (kind, found) =
                views.entry(port.view.clone()).or_insert_with(|| (port.kind, port.schema.clone()));
            if *found != port.schema {
                return Err(Refused::Schema {
                    who: who.clone(),
                    view: port.view.clone(),
                    declared: port.schema.clone(),
                    found: found.clone(),
                });
            }
            if *kind != port.kind {
                return Err(Refused::Kind { who: who.clone(), view: port.view.clone(), declared: port.kind });
            }
        }
        Ok(views)
    }

    /// Drops views that nobody declares any more, and what they hold.
    fn forget_unused(&mut self) {
        let declared = |view: &ViewId| {
            self.signatures()
                .any(|(_, all)| all.inputs.iter().chain(&all.outputs).any(|port| port.view == *view))
        };
        let unused: Vec<ViewId> = self.views.keys().filter(|view| !declared(view)).cloned().collect();
        for view in unused {
            self.views.remove(&view);
            let latest = self.environment.latest();
            if latest.content(&view).is_some() {
                self.environment.commit(latest.without(&view));
            }
        }
    }

    pub(super) fn schedule(&mut self, plan: Plan) {
        let name = plan.dag.name.clone();
        let claim = Arc::new(self.claim(&plan));
        let due = plan.every.iter().map(|interval| self.now.saturating_add(*interval)).collect();
        let waiting = self.withdraw(&name);
        let old = self.dags.remove(&name);
        let mut fresh = Scheduled {
            plan: Arc::new(plan),
            claim,
            due,
            wanted: None,
            queue: VecDeque::new(),
            not_before: Duration::ZERO,
            runs: Timing::default(),
            waits: Timing::default(),
            nodes: BTreeMap::new(),
            failed: 0,
            preempted: 0,
            dropped: 0,
        };
        // What it was to do, it still is; what was measured of another shape says nothing.
        if let Some(old) = old {
            fresh.not_before = old.not_before;
            if fresh.plan.stream.is_none() {
                fresh.wanted = old.wanted;
            } else if fresh.plan.stream == old.plan.stream {
                fresh.queue = old.queue;
            }
            if fresh.plan.stream == old.plan.stream {
                waiting.into_iter().rev().for_each(|wish| fresh.take_back(wish));
            }
            if fresh.plan.every == old.plan.every {
                fresh.due = old.due;
            }
        }
        self.dags.insert(name, fresh);
    }

    fn claim(&mut self, plan: &Plan) -> Claim {
        let own = self.number(Resource::Dag(plan.dag.name.clone()));
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        if self.config.isolation == Isolation::Snapshot {
            reads.extend(plan.reads.iter().map(|view| self.number(Resource::View(view.clone()))));
            writes.extend(plan.writes.iter().map(|view| self.number(Resource::View(view.clone()))));
        }
        // A DAG of one instance conflicts with itself.
        if plan.dag.policy.instances == 1 {
            writes.push(own);
        }
        Claim::new(reads, writes)
    }

    /// Takes out what waits of a DAG.
    fn withdraw(&mut self, dag: &Name) -> Vec<super::Pending> {
        let waits = |(_, pending): &(_, &super::Pending)| pending.dag == *dag;
        let runs: Vec<_> = self.pending.iter().filter(waits).map(|(run, _)| *run).collect();
        runs.iter().for_each(|run| self.admission.withdraw(run));
        runs.iter().filter_map(|run| self.pending.remove(run)).collect()
    }
}
