//! The OpenFlow controller's applications: functions from views to views, for both versions alike. Nothing here has a
//! socket, a thread or a clock.
#![forbid(unsafe_code)]

pub mod access;
mod frame;
mod learning;
mod outgoing;
mod set;
mod shards;
mod stations;
mod welcome;

pub use access::access_lists;
pub use learning::{LearningSwitch, learning_switch, switch_packets};
pub use set::Set;
pub use stations::{Learned, Seen, Stations, Table};
pub use welcome::welcome;
