//! Plait's one control runtime, after Maestro (Cai, *Maestro: Achieving Scalability and Coordination in Centralized
//! Network Control Plane*, Rice University 2011, chapter 3). Nothing here has a socket, a thread or a clock: events and
//! time go in, tasks and pushes come out.
//!
//! ```text
//!   events ─► Driver::observe ─► views ─┐                        ┌─► Push ─► Driver::push ─► messages to devices
//!                                       ▼                        │
//!   time ─────────────────────────► Runtime ── Admission ── commit ─► Environment (the latest state)
//!                                       │  ▲                                  │
//!                                 Task  ▼  │  Finished                        │ a snapshot at a run's start
//!                                    Executor ◄──────── applications ◄────────┘
//! ```
//!
//! 1. [`Type`], [`Value`], [`Wit`]: what views hold, in the types of WIT, and how Rust's types are theirs.
//! 2. [`View`], [`Content`], [`ViewId`]: a named part of the network's state, or a stream of batches.
//! 3. [`Application`], [`Manifest`], [`native()`]: a control function with declared inputs and outputs.
//! 4. [`Dag`], [`Set`]: applications composed, what sets them off, and how they are run.
//! 5. [`Environment`], [`Snapshot`]: where the state is, and how it was when a run began.
//! 6. [`Admission`]: who may run beside whom; nobody starves.
//! 7. [`Runtime`], [`Task`], [`Executor`], [`Driver`]: all of it together; [`Change`]: several changes of it as one.
//! 8. [`Entry`], [`replay`], [`Runtime::dry_run`]: what was, again; what would be.
//! 9. [`Graph`]: all of it drawn.
//!
//! Beside them, [`hexadecimal`]: how bytes stand in what is written.
//!
//! # Many workers
//!
//! A DAG that a [stream](Kind::Stream) sets off has a run of its own for each batch, and with
//! [`instances`](Policy::instances) several at once: single-threaded code, each batch from its first application to its
//! last on whichever worker takes its tasks, over a snapshot that costs nothing (thesis §4.2.1).
//!
//! Choice (the thesis leaves to a report how instances' outputs avoid conflict): such a DAG writes streams only. Streams
//! belong to their run until it commits and are never stored, so that there is nothing to merge and nothing to conflict
//! over. What instances learn goes into a stream that sets off another DAG, of one instance, which folds it into state;
//! while that runs, the instances that read this state are stalled by the ordinary rule of conflicts.
#![forbid(unsafe_code)]

pub mod admission;
mod application;
mod dag;
mod driver;
mod dry;
mod environment;
mod graph;
pub mod hexadecimal;
mod manifest;
mod name;
mod native;
mod plan;
mod record;
mod replay;
mod runtime;
mod schema;
mod set;
mod task;
mod timing;
mod value;
mod view;
mod wit;

pub use admission::{Admission, Claim};
pub use application::{Application, Failure, Inputs, Outputs};
pub use dag::{Dag, Overflow, Policy, Trigger};
pub use driver::{Driver, changed};
pub use dry::{DryRun, NotRun};
pub use environment::{Environment, Memory, Snapshot};
pub use graph::{Conflict, Drawn, Graph};
pub use manifest::{Declared, Does, Manifest, ManifestFault, Signature};
pub use name::{Name, NoName, NoView, ViewId};
pub use native::{Given, Input, Output, Perhaps, Shared, Taken, native};
pub use plan::DagFault;
pub use record::{Entry, Event};
pub use replay::{Divergence, replay};
pub use runtime::{
    Action, Cause, Change, Config, Isolation, NotTaken, Origin, Push, Refused, Report, Runtime, ViewUse,
};
pub use schema::{Mismatch, Type};
pub use set::Set;
pub use task::{Executor, Finished, InPlace, RunId, Task};
pub use timing::Timing;
pub use value::Value;
pub use view::{Content, Kind, Port, View};
pub use wit::Wit;
