//! The switches that load a controller: many OpenFlow connections, 1.0 and 1.3, that offer packet-ins at rates of their
//! own and time every answer from when its request was due.
//!
//! ```text
//!  rates ─► pace ──due──► source ──packet-ins──► engine ══ TCP ══► any controller
//!                            ▲                      │
//!                        outstanding ◄──answers── switch: says hello, tells its ports, answers barriers
//!                            │
//!                         Measured ─► merge ─► Report: rates, percentiles, shares beside max-min shares
//! ```
//!
//! What decides has no socket and no clock: [`switch`] (what a switch answers), [`request`] (packet-ins), [`outstanding`]
//! (which of them wait), [`rates`] and [`pace`] (who offers how much, when), [`source`] (what is sent next), [`result`]
//! (what it comes to). What moves bytes: [`engine`] for a [`Load`], and [`null_responder`], the ceiling that controllers are held
//! against.
//!
//! **An answer** is the first message that names a request: a flow-mod or packet-out with its buffer, else a packet-out
//! that carries its frame, else a flow-mod whose match has its two addresses (then of the oldest such request that
//! waits). All later ones that name it are counted as more, and as nothing else.
//!
//! **Latency** of an open loop counts from when a request was due, whether or not the controller took it then: who stops
//! reading is charged for it. Of a closed loop it counts from when the window opened.
//!
//! Source: Zheng Cai, *Maestro*, Rice University 2011, section 4.3.1.

#![forbid(unsafe_code)]

pub mod engine;
pub mod latency;
mod link;
mod load;
mod member;
pub mod null_responder;
pub mod outstanding;
pub mod pace;
pub mod rates;
pub mod request;
pub mod result;
mod security;
pub mod source;
pub mod switch;

pub use engine::run;
pub use latency::{Latency, Percentiles};
pub use load::{Load, LoadError};
pub use null_responder::NullResponder;
pub use rates::Scenario;
pub use result::{Measured, Report};
pub use security::Security;
pub use source::Offer;
