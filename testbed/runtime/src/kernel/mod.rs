//! The crate's own words for what it asks of the kernel: namespaces, mounts, capabilities, netlink, processes.
//!
//! Everything `unsafe` of this crate is in this folder and in `sample`, a reason at each block.

pub mod capability;
pub mod echo;
pub mod files;
pub mod mount;
pub mod namespace;
pub use plait_dataplane_netlink as netlink;
pub mod packet;
pub mod parameter;
pub mod process;
pub mod socket;
pub mod time;
