//! From what is to what should be.
//!
//! A [`State`] says everything a testbed consists of. [`plan`] is a pure function from two of them, desired and
//! observed, to the [`Step`]s between; [`Step::effect`] says what a step changes. `plait plan` prints the steps,
//! [`crate::build`] carries them out, and the first build is a plan from an empty state like any other.

mod control;
mod desired;
mod diff;
mod state;
mod step;

pub use control::{ControlState, Deciding};
pub(crate) use desired::switch;
pub use desired::{Wishes, auxiliary, choose, desired, mac};
pub use diff::plan;
pub use state::{
    AddedComponent, Backend, FrrState, InterfaceState, Limits, LinkState, NodeState, OpenFlowController,
    OpenFlowState, OpenFlowSwitch, OverlayControl, OverlayDevice, OverlayState, PathLearning, PathsState,
    Realisation, RouteState, STATE_VERSION, State,
};
pub use step::Step;
