//! People who type `plait` on this machine, each with a home and a runtime folder that nobody else has.
//!
//! Everything goes through the built command, as a person would use it. Whatever a test leaves running dies with its
//! [`Person`].
#![allow(dead_code, unused_imports, reason = "every test file uses its own part of this")]

mod ended;
mod host;
mod machine;
mod open_vswitch;
mod patience;
mod person;
mod ping;
mod process;
mod running;
mod socket;
mod testbed;
#[path = "../../../../dataplane/links/tests/lab/tries.rs"]
mod tries;

pub use ended::Ended;
pub use host::Host;
pub use machine::{NOBODY, installed, is_root, skip, user_namespaces};
pub use open_vswitch::{START_OPEN_VSWITCH, has_open_vswitch};
pub use patience::{PATIENCE, eventually};
pub use person::{Person, as_root_and_as_user};
pub use ping::Pinged;
pub use process::{describe, is_zombie, lives, send};
pub use running::Running;
pub use socket::converse;
pub use testbed::{Testbed, steps};
pub use tries::in_tries;
