//! The link engine: moves packets between real devices as [`plait_model_link`] decides.
//!
//! Read in this order:
//!
//! 1. [`Engine`]: the handle. Links are added, changed, failed and measured here.
//! 2. [`Port`]: where a link's packets come from and go to. [`tap`] makes one kind of port.
//! 3. [`EngineReport`]: how exact the engine was, in numbers and as an accuracy class.
//!
//! Around the engine:
//!
//! - [`offload`] decides whether a device may send trains of segments.
//! - [`cutting`] has the kernel cut superpackets for programs that cannot.
//! - [`redirect`] joins two devices in the kernel, for a link of which nothing is asked yet.
//! - [`tbf`] shapes a rate in the kernel, for a link of which nothing else is asked; [`netem`] the rest, where asked to.
//! - [`probe`] measures a link from outside.
//!
//! Everything works in the network namespace of the calling thread unless said otherwise.
#![allow(
    unsafe_code,
    reason = "packet sockets, TAPs and real-time scheduling are system calls without a safe form; each block says why it holds"
)]

mod calibrate;
mod clock;
pub mod cutting;
mod engine;
mod frame;
mod lateness;
pub mod netem;
mod netlink;
pub mod offload;
mod port;
pub mod probe;
pub mod redirect;
#[doc(hidden)]
pub mod scratch;
mod sys;
pub mod tap;
pub mod tbf;
mod traffic_control;

pub use engine::{
    AccuracyClass, Calibration, DirectionStats, Engine, EngineOptions, EngineReport, LinkConfig, LinkReport,
    LinkStats, PortStats, TaintedSecond,
};
pub use lateness::LatenessSummary;
pub use port::Port;
