//! Applications: one control function each, behind one entry point.

use crate::{Content, Mismatch, Signature, Type, View, ViewId};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A control function: declared views in, declared views out (thesis §3.2.2).
///
/// It keeps nothing from one run to the next: what it needs again is a view that it writes and reads. It is a function
/// of its inputs alone, so that a recorded run can be run again. A [`native`](crate::native) function is one, and so is
/// a WebAssembly component (crate `plait-control-component`), which can reach nothing else by construction.
pub trait Application: Send + Sync + 'static {
    /// What its code reads and writes.
    fn signature(&self) -> Signature;

    /// The one entry point. A panic is contained, and reported as [`Failure::Crashed`].
    fn run(&self, inputs: &Inputs, outputs: &mut Outputs) -> Result<(), Failure>;
}

/// Why an application has no outputs. The run that it was part of changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It said so itself.
    #[error("it failed: {0}")]
    Failed(String),
    /// It panicked or trapped.
    #[error("it crashed: {0}")]
    Crashed(String),
    /// It used up what it may use.
    #[error("it used up its {0}")]
    Exhausted(String),
    /// It asked for a view that is not among its inputs, or not there.
    #[error("it read {0}, which it does not declare or which is not there")]
    Absent(ViewId),
    /// It wrote a view that is not among its outputs.
    #[error("it wrote {0}, which it does not declare")]
    Undeclared(ViewId),
    /// It did not write a view that it declares.
    #[error("it left out {0}, which it declares")]
    LeftOut(ViewId),
    /// What it read or wrote is of another type.
    #[error("of {view} {fault}")]
    Mismatch {
        /// Which view.
        view: ViewId,
        /// What is wrong with it.
        fault: Mismatch,
    },
}

/// What an application is given: its input views, as they were when its DAG began, or as the applications before it in
/// the DAG wrote them.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    views: BTreeMap<ViewId, Content>,
    cancelled: Arc<AtomicBool>,
}

impl Inputs {
    pub(crate) fn new(views: BTreeMap<ViewId, Content>, cancelled: Arc<AtomicBool>) -> Self {
        Self { views, cancelled }
    }

    /// A view of Rust.
    pub fn read<T: View>(&self) -> Result<Arc<T>, Failure> {
        let view = T::id();
        match self.views.get(&view) {
            Some(content) => content.read().map_err(|fault| Failure::Mismatch { view, fault }),
            None => Err(Failure::Absent(view)),
        }
    }

    /// A view by its name.
    pub fn content(&self, view: &ViewId) -> Option<&Content> {
        self.views.get(view)
    }

    /// Whether nobody waits for the outputs any more, because the run was preempted. A long computation may ask now and
    /// then, and return any failure.
    pub fn cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

/// What an application writes.
#[derive(Debug)]
pub struct Outputs {
    /// What it may write, and whether it may leave it out.
    ports: Arc<BTreeMap<ViewId, (Type, bool)>>,
    written: BTreeMap<ViewId, Content>,
}

impl Outputs {
    pub(crate) fn new(ports: Arc<BTreeMap<ViewId, (Type, bool)>>) -> Self {
        Self { ports, written: BTreeMap::new() }
    }

    /// Writes a view of Rust.
    pub fn write<T: View>(&mut self, value: T) -> Result<(), Failure> {
        self.put(T::id(), Content::new(value))
    }

    /// Writes a view by its name. It must be declared, and the content of its schema.
    pub fn put(&mut self, view: ViewId, content: Content) -> Result<(), Failure> {
        match self.ports.get(&view) {
            None => Err(Failure::Undeclared(view)),
            Some((schema, _)) => match content.check(schema) {
                Ok(()) => {
                    self.written.insert(view, content);
                    Ok(())
                }
                Err(fault) => Err(Failure::Mismatch { view, fault }),
            },
        }
    }

    /// What was written, if nothing is left out that may not be.
    pub(crate) fn complete(self) -> Result<BTreeMap<ViewId, Content>, Failure> {
        let missing =
            |(view, (_, optional)): &(&ViewId, &(Type, bool))| !optional && !self.written.contains_key(*view);
        match self.ports.iter().find(missing) {
            Some((view, _)) => Err(Failure::LeftOut(view.clone())),
            None => Ok(self.written),
        }
    }
}
