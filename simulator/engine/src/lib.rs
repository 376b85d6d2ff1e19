//! Networks in virtual time: packets over links, switches and hosts, one event after the other, as fast as a core can.
//!
//! ```text
//!  Builder ─► Simulation ─┬─ add_flow, add_host, add_selector, …       what takes part
//!                         ├─ run_until                                 what happens
//!                         ├─ set_conditions, set_link_up, set_node_up,
//!                         │  set_routes                                what changes
//!                         └─ link_state, flow_counters, totals, …      what is seen
//! ```
//!
//! A link is [`plait_model_link::Direction`], the same code that decides a packet's fate in the link engine: with the
//! same seed and name its n-th packet meets the same chance in both worlds. Nothing here reads a clock or draws from
//! anything but the seed, and parts of a network that threads work on hear of each other only by packets: results are
//! the same bytes on any machine and any number of threads.
//!
//! Read in this order:
//!
//! 1. [`Builder`] – nodes, links, addresses and routes, checked once;
//! 2. [`Simulation`] – runs, changes and counters;
//! 3. [`FlowSpec`] – traffic without content, and the [`Relays`] that it may go by;
//! 4. [`Host`] – how protocol cores without sockets or clock take part;
//! 5. [`Selector`] – by which relays goes what a node sends;
//! 6. [`hash`] – how switches spread flows, for those who want to foretell it;
//! 7. [`EventQueue`] – what happens next;
//! 8. [`sweep`] – many simulations at once.
//!
//! What a packet meets at a node, in this order: its own address? then off with a tunnel's header and again, or up; the
//! hop limit; the longest match, and of several next hops the one its hash picks; the MTU; the link. Routers answer
//! nothing: there is no ICMP and no ARP here, what is dropped is counted with its [`Reason`].
#![forbid(unsafe_code)]

mod address;
mod builder;
mod capture;
mod cut;
mod encapsulation;
mod fabric;
mod flow;
pub mod hash;
mod host;
mod packet;
mod partition;
mod queue;
mod reason;
mod routes;
mod selector;
mod simulation;
mod source;
mod sweep;

pub use builder::{BuildError, Builder, LinkSpec, Neighbour, Via};
pub use capture::{CaptureIndex, Captured, write_pcapng};
pub use encapsulation::{Encapsulation, MOST_RELAYS, StackIndex};
pub use fabric::{Kind, LinkIndex, NodeIndex};
pub use flow::{Arrivals, FlowCounters, FlowIndex, FlowSpec, Relays, Size};
pub use host::{Datagram, Host, HostIndex, Transmit};
pub use packet::headers;
pub use reason::{NodeCounters, Reason, Totals};
pub use selector::{Leaving, Selected, Selector, SelectorIndex};
pub use simulation::{AddError, LinkState, RouteError, Simulation};
pub use sweep::sweep;
