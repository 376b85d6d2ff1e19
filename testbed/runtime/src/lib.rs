//! Testbeds: where a network becomes real.
//!
//! A testbed is one supervisor process in namespaces of its own; nodes are namespaces inside it, joined by veth pairs
//! and the link engine. When the supervisor ends, however it ends, the kernel removes everything.
//!
//! Read in this order:
//!
//! 1. [`plan`] – a testbed as a value, and the pure function from two such values to steps;
//! 2. [`build`] – carrying steps out: the only place that changes the kernel;
//! 3. [`sandbox`] – the private world, and what of the host is seen in it;
//! 4. [`supervisor`] – the process that owns it all and answers on the control socket;
//! 5. [`control`] – asking: [`control::Testbed`] is what the command line and every other user of this crate holds;
//! 6. [`capture`] and [`collect`] – packets and files brought out of nodes;
//! 7. [`section`] – the keys of a network file that this room gives meaning to;
//! 8. [`overlay`] – overlays between nodes, and the agents that keep them; `openflow` – switches and controllers in nodes;
//! 9. [`routing`] – control applications that decide routes;
//! 10. [`doctor`] – what this machine can do, and [`obstacle`] – what it lacks for a network;
//! 11. [`kernel`] – namespaces, mounts, capabilities, netlink.
#![allow(
    unsafe_code,
    reason = "namespaces, capabilities and processes are system calls without a safe form; each block in `kernel` and `build::messages` says why it holds"
)]

mod agent;
pub mod build;
pub mod capture;
pub mod children;
pub mod collect;
pub mod control;
pub mod doctor;
mod frr;
pub mod kernel;
pub mod limits;
pub mod obstacle;
pub mod openflow;
pub mod overlay;
pub mod paths;
mod patience;
pub mod plan;
pub mod routing;
pub mod sample;
pub mod sandbox;
pub mod section;
pub mod supervisor;
pub mod uplink;
