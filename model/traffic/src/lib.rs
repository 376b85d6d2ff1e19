//! Traffic of many flows: which hosts send to which, how fast each, with which ports. It is what `plait traffic` sends on
//! real interfaces and what the simulator's sources send, from the same numbers.
//!
//! Read in this order:
//!
//! 1. [`Pattern`] – who sends to whom;
//! 2. [`Rates`] – how a total is shared among flows: flowgen's three distributions (Nakamura's thesis, section 5.4.2.1);
//! 3. [`SourcePorts`] – which ports they leave from;
//! 4. [`TrafficSpec`] – all of that, with sizes, as a person writes it;
//! 5. [`TrafficSpec::flows`] – the flows, a pure function of hosts and seed.
//!
//! Hosts are numbers here, in an order that the caller keeps: `stride` and incast depend on it.
#![forbid(unsafe_code)]

mod flow;
mod pattern;
mod rates;
mod source_ports;
mod spec;

pub use flow::Flow;
pub use pattern::{BadPattern, Pattern};
pub use rates::Rates;
pub use source_ports::{SOURCE_PORTS, SourcePorts};
pub use spec::{TrafficError, TrafficSpec};
