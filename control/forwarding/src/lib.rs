//! The OpenFlow controller's applications: functions from views to views, the same for both versions. Nothing here has a
//! socket, a thread or a clock; [`Set::add_to`] puts them into a control runtime.
//!
//! Read in this order:
//!
//! 1. [`learning_switch()`]: every switch a bridge of its own, and [`Stations`], its state. It is the hot path;
//! 2. [`discovery()`]: [`links::Links`] from probes that nobody forges;
//! 3. [`routes()`]: [`Routes`], all shortest ways between switches, and the ports behind which hosts are;
//! 4. [`hosts()`]: [`Hosts`], where they are and which addresses they have;
//! 5. [`routing()`]: a way for each flow, by all of the above;
//! 6. [`proxy()`] and [`floods()`]: who asks for an address is answered, and what is for all reaches each host once;
//! 7. [`access`]: access lists, which switches and applications obey;
//! 8. [`welcome()`]: what a switch is told first; [`topology()`]: what people see.
//!
//! Those that packet-ins set off run in many instances, and write streams only; what they learn is folded into state by
//! an application of one instance, while which the others wait (crate `plait-control-runtime`, "Many workers").
//!
//! Source: Zheng Cai, *Maestro: Achieving Scalability and Coordination in Centralized Network Control Plane*, Rice
//! University 2011, section 4.2.1.
#![forbid(unsafe_code)]

pub mod access;
mod dead_ports;
mod discovery;
mod floods;
mod frame;
mod hosts;
mod learning;
mod line;
pub mod links;
mod outgoing;
mod probe;
mod proxy;
mod route_flow;
mod routes;
mod shards;
mod sighting;
mod stations;
mod together;
mod topology;
mod waiting;
mod welcome;

pub use access::access_lists;
pub use discovery::{Discovery, discovery};
pub use floods::{Flood, Flooded, Floods, floods};
pub use hosts::{Host, HostBounds, Hosts};
pub use learning::{LearningSwitch, Switching, learning_switch};
pub use plait_control_runtime::Set;
pub use proxy::proxy;
pub use route_flow::{Routing, routing};
pub use routes::{Hop, Routes, routes};
pub use sighting::{Sighting, Sightings, hosts};
pub use stations::{Learned, Seen, Stations, Table};
pub use topology::{Topology, TopologyHost, TopologyPort, TopologySwitch, Written, topology};
pub use welcome::welcome;
