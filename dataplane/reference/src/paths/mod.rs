//! What path control does with a packet, without a kernel: which of a set's lists a flow goes by, and what stands before
//! its packets then. [`Steer`] is the whole walk of a packet that leaves, and remembers what the programs do; the simulator
//! sends by it.

mod family;
mod flow;
mod flows;
mod list;
mod prefixes;
mod stack;
mod steer;
pub mod tables;

pub use family::{Family, mapped, unmapped};
pub use flow::{chosen, flow_label, flow_of, hash_of, source_port};
pub use flows::Flows;
pub use prefixes::Prefixes;
pub use stack::{has_list, pushed, stride};
pub use steer::{Steer, SteerTables, Steered};
