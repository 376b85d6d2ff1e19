//! What iplbd knows from one run to the next.

use super::unpaused_daemon;
use crate::daemon::Daemon;
use crate::fabric::Fabric;
use crate::fat_tree::{FatTree, Layer};
use crate::plan::{Method, Plan, Settings};
use plait_control_runtime::{Mismatch, Type, Value, View, Wit, wit};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

/// What is known from one run to the next: the state `path-plan`.
///
/// Choice: as a value it is what a plan follows from, and not the paths, which are many more: who gets it from a value
/// plans anew, to the same paths.
#[derive(Debug, Clone)]
pub struct Planned(Known);

#[derive(Debug, Clone)]
enum Known {
    /// By the daemon that made it.
    Daemon(Box<Daemon>),
    /// From a value.
    Read(PlannedForm),
}

#[derive(Debug, Clone)]
struct PlannedForm {
    access: Ipv4Addr,
    fabric: Arc<Fabric>,
    /// Those of the last whole fat-tree, where one was recognised.
    layers: Option<Vec<LayerForm>>,
}
wit!(struct PlannedForm { access, fabric, layers });

#[derive(Debug, Clone, Copy)]
enum LayerForm {
    Core,
    Aggregation(u32),
    Edge(u32),
}
wit!(variant LayerForm { Core, Aggregation(_), Edge(_) });

impl Planned {
    /// That of a daemon; none while it has no plan.
    pub(super) fn of(daemon: Daemon) -> Option<Self> {
        daemon.plan().is_some().then(|| Self(Known::Daemon(Box::new(daemon))))
    }

    /// None of what was read from a value.
    pub(super) fn plan(&self) -> Option<&Plan> {
        match &self.0 {
            Known::Daemon(daemon) => daemon.plan(),
            Known::Read(_) => None,
        }
    }

    /// The fabric that was planned for.
    pub(super) fn fabric(&self) -> Arc<Fabric> {
        self.form().fabric
    }

    /// Asks something of it, without a copy.
    pub(super) fn ask<T>(&self, ask: impl Fn(&Fabric) -> T) -> Option<T> {
        match &self.0 {
            Known::Daemon(_) => self.plan().map(|plan| ask(plan.fabric())),
            Known::Read(form) => Some(ask(&form.fabric)),
        }
    }

    fn form(&self) -> PlannedForm {
        let daemon = match &self.0 {
            Known::Daemon(daemon) => daemon,
            Known::Read(form) => return form.clone(),
        };
        let plan = daemon.plan().expect("only a daemon with a plan becomes one of these");
        let layer = |layer: &Layer| match *layer {
            Layer::Core => LayerForm::Core,
            Layer::Aggregation { pod } => LayerForm::Aggregation(pod as u32),
            Layer::Edge { pod } => LayerForm::Edge(pod as u32),
        };
        PlannedForm {
            access: plan.fabric().switches()[plan.source()].id,
            fabric: Arc::new(plan.fabric().clone()),
            layers: plan.tree().map(|tree| tree.layers().iter().map(layer).collect()),
        }
    }

    /// The daemon again, as it was when this was written.
    pub(super) fn daemon(&self, settings: &Settings) -> Daemon {
        let form = match &self.0 {
            Known::Daemon(daemon) => return Daemon::clone(daemon),
            Known::Read(form) => form,
        };
        let layer = |layer: &LayerForm| match *layer {
            LayerForm::Core => Layer::Core,
            LayerForm::Aggregation(pod) => Layer::Aggregation { pod: pod as usize },
            LayerForm::Edge(pod) => Layer::Edge { pod: pod as usize },
        };
        let mut settings = settings.clone();
        if let (Method::FatTree(tree), Some(layers)) = (&mut settings.method, &form.layers) {
            *tree = Some(FatTree::new(layers.iter().map(layer).collect()));
        }
        let mut daemon = unpaused_daemon(settings, form.access);
        daemon.handle_fabric(Fabric::clone(&form.fabric), Duration::ZERO);
        while daemon.poll_operation().is_some() {}
        daemon
    }
}

impl Wit for Planned {
    fn schema() -> Type {
        PlannedForm::schema()
    }
    fn to_value(&self) -> Value {
        self.form().to_value()
    }
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        PlannedForm::from_value(value).map(|form| Self(Known::Read(form)))
    }
}

impl View for Planned {
    const NAME: &'static str = "path-plan";
}
