//! A DAG checked against its applications: what it reads and writes, and in which order.

use crate::{Application, Dag, Kind, Manifest, Name, Port, Signature, Trigger, Type, ViewId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// An application as it was loaded.
#[derive(Clone)]
pub(crate) struct Loaded {
    pub manifest: Arc<Manifest>,
    pub signature: Arc<Signature>,
    pub application: Arc<dyn Application>,
    /// What it may write, and whether it may leave it out.
    pub ports: Arc<BTreeMap<ViewId, (Type, bool)>>,
}

impl Loaded {
    pub fn new(manifest: Manifest, signature: Signature, application: Arc<dyn Application>) -> Self {
        let port = |port: &Port| (port.view.clone(), (port.schema.clone(), port.optional));
        let ports = Arc::new(signature.outputs.iter().map(port).collect());
        Self { manifest: Arc::new(manifest), signature: Arc::new(signature), application, ports }
    }
}

/// A DAG that can be run.
pub(crate) struct Plan {
    pub dag: Dag,
    pub nodes: Vec<Node>,
    /// State that it reads from the environment, and state that it writes.
    pub reads: BTreeSet<ViewId>,
    pub writes: BTreeSet<ViewId>,
    /// State that must be there before it can run.
    pub needs: BTreeSet<ViewId>,
    /// The stream whose batches set it off.
    pub stream: Option<ViewId>,
    /// Streams that it writes.
    pub streams: BTreeSet<ViewId>,
    pub every: Vec<Duration>,
}

pub(crate) struct Node {
    pub loaded: Loaded,
    pub before: Vec<usize>,
    pub after: Vec<usize>,
}

/// A DAG that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DagFault {
    /// No application at all.
    #[error("it has no applications")]
    Empty,
    /// There is no such application.
    #[error("there is no application {0}")]
    Unknown(Name),
    /// An application stands in it twice.
    #[error("{0} stands in it twice")]
    Twice(Name),
    /// An edge leads to or from what is not one of its nodes.
    #[error("an edge names {0}, which is not one of its nodes")]
    NoNode(Name),
    /// Its edges go round.
    #[error("its edges go round: {0} would run before itself")]
    Cycle(Name),
    /// Two applications without an order between them use the same view, and one writes it.
    #[error("{first} and {second} have no order, and both use {view}, which one of them writes: add an edge")]
    Race {
        /// The one.
        first: Name,
        /// The other.
        second: Name,
        /// What they would race for.
        view: ViewId,
    },
    /// A stream is read that neither sets it off nor is written by an application before.
    #[error(
        "{reader} reads the stream {view}, which neither sets the DAG off nor comes from an application before"
    )]
    NoSource {
        /// Who reads it.
        reader: Name,
        /// The stream.
        view: ViewId,
    },
    /// Several streams set it off, or one and something else.
    #[error("a stream sets it off and something else, too: make two DAGs of it")]
    Triggers,
    /// What sets it off is a view that nothing declares.
    #[error("{0} sets it off, which nothing declares")]
    NoView(ViewId),
    /// An interval of nothing.
    #[error("it is set off every 0 s")]
    NoInterval,
    /// No instance, or no batch may wait.
    #[error("`instances` and `queue` are 1 at least")]
    NoInstance,
    /// Several instances of what writes state.
    #[error(
        "several instances of it would write {0} at once: let them write a stream that one DAG folds into it"
    )]
    ParallelState(ViewId),
    /// Several instances of an application that does not allow it.
    #[error("several instances would run {0}, whose manifest does not say `parallel`")]
    NotParallel(Name),
}

impl Plan {
    pub fn new(
        dag: Dag,
        loaded: &BTreeMap<Name, Loaded>,
        views: &BTreeMap<ViewId, (Kind, Type)>,
    ) -> Result<Self, DagFault> {
        let mut nodes: Vec<Node> = Vec::new();
        for (place, name) in dag.nodes.iter().enumerate() {
            if dag.nodes[..place].contains(name) {
                return Err(DagFault::Twice(name.clone()));
            }
            let loaded = loaded.get(name).ok_or_else(|| DagFault::Unknown(name.clone()))?.clone();
            nodes.push(Node { loaded, before: Vec::new(), after: Vec::new() });
        }
        if nodes.is_empty() {
            return Err(DagFault::Empty);
        }
        let place = |name: &Name| {
            dag.nodes.iter().position(|node| node == name).ok_or_else(|| DagFault::NoNode(name.clone()))
        };
        let edges: BTreeSet<(usize, usize)> = dag
            .edges
            .iter()
            .map(|(before, after)| Ok((place(before)?, place(after)?)))
            .collect::<Result<_, DagFault>>()?;
        for (before, after) in edges {
            nodes[before].after.push(after);
            nodes[after].before.push(before);
        }
        let earlier = earlier(&nodes).map_err(|node| DagFault::Cycle(dag.nodes[node].clone()))?;
        races(&nodes, &earlier)?;
        let mut plan = Self {
            nodes,
            reads: BTreeSet::new(),
            writes: BTreeSet::new(),
            needs: BTreeSet::new(),
            stream: None,
            streams: BTreeSet::new(),
            every: Vec::new(),
            dag,
        };
        plan.triggers(views)?;
        plan.uses(&earlier)?;
        plan.instances()?;
        Ok(plan)
    }

    fn triggers(&mut self, views: &BTreeMap<ViewId, (Kind, Type)>) -> Result<(), DagFault> {
        for trigger in &self.dag.triggers {
            match trigger {
                Trigger::Every(interval) if interval.is_zero() => return Err(DagFault::NoInterval),
                Trigger::Every(interval) => self.every.push(*interval),
                Trigger::View(view) => match views.get(view) {
                    None => return Err(DagFault::NoView(view.clone())),
                    Some((Kind::Stream, _)) => self.stream = Some(view.clone()),
                    Some((Kind::State, _)) => {}
                },
            }
        }
        if self.stream.is_some() && self.dag.triggers.len() > 1 {
            return Err(DagFault::Triggers);
        }
        Ok(())
    }

    /// Read and write sets, as in the thesis the unions of all inputs and of all outputs: what an application reads from
    /// one before it is in both.
    fn uses(&mut self, earlier: &[BTreeSet<usize>]) -> Result<(), DagFault> {
        for (place, node) in self.nodes.iter().enumerate() {
            for input in &node.loaded.signature.inputs {
                // Written for certain, so that the reader need not find it in the environment.
                let from = |before: &usize, certain: bool| {
                    let outputs = &self.nodes[*before].loaded.signature.outputs;
                    outputs.iter().any(|output| output.view == input.view && !(certain && output.optional))
                };
                match input.kind {
                    Kind::State => {
                        self.reads.insert(input.view.clone());
                        if !input.optional && !earlier[place].iter().any(|before| from(before, true)) {
                            self.needs.insert(input.view.clone());
                        }
                    }
                    Kind::Stream => {
                        let given = self.stream.as_ref() == Some(&input.view);
                        if !given && !earlier[place].iter().any(|before| from(before, false)) {
                            let reader = self.dag.nodes[place].clone();
                            return Err(DagFault::NoSource { reader, view: input.view.clone() });
                        }
                    }
                }
            }
            for output in &node.loaded.signature.outputs {
                let set = if output.kind == Kind::State { &mut self.writes } else { &mut self.streams };
                set.insert(output.view.clone());
            }
        }
        Ok(())
    }

    fn instances(&self) -> Result<(), DagFault> {
        let policy = &self.dag.policy;
        if policy.instances == 0 || policy.queue == 0 {
            return Err(DagFault::NoInstance);
        }
        if policy.instances > 1 {
            if let Some(view) = self.writes.first() {
                return Err(DagFault::ParallelState(view.clone()));
            }
            if let Some(node) = self.nodes.iter().find(|node| !node.loaded.manifest.parallel) {
                return Err(DagFault::NotParallel(node.loaded.manifest.name.clone()));
            }
        }
        Ok(())
    }

    /// Whether a change of a view sets it off.
    pub fn set_off_by(&self, view: &ViewId) -> bool {
        self.dag.triggers.iter().any(|trigger| matches!(trigger, Trigger::View(on) if on == view))
    }
}

/// For each node, all that run before it. Fails with a node that would run before itself.
fn earlier(nodes: &[Node]) -> Result<Vec<BTreeSet<usize>>, usize> {
    let mut earlier = vec![BTreeSet::new(); nodes.len()];
    let mut open: Vec<usize> = nodes.iter().map(|node| node.before.len()).collect();
    let mut ready: Vec<usize> = (0..nodes.len()).filter(|node| open[*node] == 0).collect();
    while let Some(node) = ready.pop() {
        let before: BTreeSet<usize> = earlier[node].iter().copied().chain([node]).collect();
        for after in &nodes[node].after {
            earlier[*after].extend(&before);
            open[*after] -= 1;
            if open[*after] == 0 {
                ready.push(*after);
            }
        }
    }
    match open.iter().position(|open| *open > 0) {
        Some(node) => Err(node),
        None => Ok(earlier),
    }
}

fn races(nodes: &[Node], earlier: &[BTreeSet<usize>]) -> Result<(), DagFault> {
    for second in 0..nodes.len() {
        for first in 0..second {
            if earlier[second].contains(&first) || earlier[first].contains(&second) {
                continue;
            }
            for (one, other) in [(first, second), (second, first)] {
                let signature = &nodes[other].loaded.signature;
                let used = |view: &ViewId| {
                    signature.inputs.iter().chain(&signature.outputs).any(|port| port.view == *view)
                };
                let outputs = &nodes[one].loaded.signature.outputs;
                if let Some(port) = outputs.iter().find(|port| used(&port.view)) {
                    let name = |node: usize| nodes[node].loaded.manifest.name.clone();
                    let view = port.view.clone();
                    return Err(DagFault::Race { first: name(first), second: name(second), view });
                }
            }
        }
    }
    Ok(())
}
