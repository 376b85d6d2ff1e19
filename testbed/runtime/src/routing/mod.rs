//! Routes that control applications decide: the section `control:`, and what follows from it in nodes.
//!
//! ```text
//!  file ─ decided ─► Deciding ─ desired ─► ControlState ─ plan ─► Step::Control ─► Builder::control ─► routes of nodes
//!                                                                                       ▲
//!  a link fails, heals, changes ─► Supervisor ─ wakes ─► the thread that decides ───────┘
//! ```
//!
//! Choice: the applications run in the supervisor rather than in an agent of their own. It knows the state of all links
//! first and may write into all nodes, which an agent would have to be told and allowed. They reach neither: a component
//! reaches nothing but its views, and after the first time they run on a thread that holds nothing meanwhile.

mod decided;
mod install;
mod load;
mod thread;

pub use decided::{Read, decided};
pub(crate) use decided::{check, put_in};
pub(crate) use install::Rerouting;
pub use load::{LoadComponent, loaded, set_component_loader};
pub(crate) use thread::start;
