//! Routes that control applications decide: the section `control:`, and what follows from it in nodes.
//!
//! ```text
//!  file ─ decided ─► Deciding ─ desired ─► ControlState ─ plan ─► Step::Control ─► Builder::control ─► routes of nodes
//!                                                                                       ▲
//!  a link fails, heals, changes ─► Supervisor ─ wakes ─► the thread that decides ───────┘
//! ```
//!
//! The applications run in the supervisor, which knows the state of all links and may write into all nodes. They reach
//! neither: a component reaches nothing but its views, and they run on a thread that holds nothing meanwhile.

mod decided;
mod install;
mod load;
mod thread;

pub use decided::{Read, decided};
pub(crate) use decided::{check, put_in};
pub(crate) use install::Rerouting;
pub use load::{LoadComponent, loaded, set_component_loader};
pub(crate) use thread::start;
