//! The private world that a supervisor makes for itself, and the view of the host that nodes get.
//!
//! ```text
//! plait up ──fork──► first child ──unshare user? mount, uts, ipc, pid──fork──► supervisor (process 1)
//!    ▲                    └─ exits                                                │
//!    └──────────── socket pair: progress, then ready or why not ◄─────────────────┘
//! ```
//!
//! When the supervisor dies, however it dies, the kernel kills every process of its process namespace, and with the
//! last holder of the namespaces go their devices, addresses, mounts and rules.

mod birth;
mod node_view;
mod view;

pub use birth::{Birth, Lifeline, spawn};
pub use node_view::{NODE_FOLDER, NodeView, OF_ALL_NAMESPACES, cannot_hold, home, node_folder};
pub(crate) use view::HOME;
pub use view::{build_host_view, cover_sockets, host_sockets, write_hosts};
