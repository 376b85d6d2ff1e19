//! Virtual networks made real on ordinary Linux, as a library.
//!
//! A [`Network`] is hosts, routers and switches, and links with the rate, delay, loss and queue that you ask
//! for. It is built from the kernel's own protocol stacks in well under a second. Nothing of it is left when
//! it goes, however it goes.
//!
//! ```no_run
//! use plait::Network;
//!
//! fn main() -> Result<(), plait::Error> {
//!     let network = Network::new("hello")
//!         .host("a")
//!         .host("b")
//!         .link_with("a", "b", |link| link.rate("10Mbit").delay("20ms"));
//!
//!     let testbed = network.up()?;
//!     print!("{}", testbed.on("a").exec("ping -c 3 b")?.stdout);
//!     Ok(())
//! }
//! ```
//!
//! # What there is
//!
//! | | |
//! |---|---|
//! | [`Network`] | what a network file says, by methods named as the file's keys, or read from a file |
//! | [`Testbed`] | a network that is up: programs in nodes, changes of links, captures |
//! | [`Runner`] | runs and experiments: from a network to a results folder with a report |
//! | [`Results`], [`Summary`], [`Comparison`] | what a run, an experiment, or two of them side by side say |
//! | [`Checked`] | a network without a fault, and what it means |
//! | [`Error`] | why something could not be done, with the remedy |
//!
//! # Values and units
//!
//! Wherever a method takes `impl Into<`[`Written`]`>`, the text of the file serves, and so do types:
//! `"10Mbit"` or [`Bandwidth`], `"20ms"` or [`TimeSpan`] or [`std::time::Duration`], `"64KiB"` or
//! [`ByteCount`], `"1%"` or [`Probability`]. A bare number where a unit is due is a fault that names the
//! unit. `"$name"` stands for the level of a [factor](Network::factor).
//!
//! What has no method is written by [`Network::section`], [`Node::key`] and their kin, or anywhere by
//! [`Network::set`]. All keys stand in the reference of the network file. [`Network::to_yaml`] gives the
//! file, and a results folder keeps it, so that whatever a program did, `plait run network.yaml` does again.
//!
//! # The program `plait`
//!
//! A testbed lives in a process of its own, its supervisor. The program `plait` starts it: the one that the
//! variable `PLAIT` names, else the one in `PATH`. It must be of the version of this library. [`Starter`]
//! says why, and what else there is. A testbed needs no root where users may make namespaces; `plait doctor`
//! says what is different then.
#![forbid(unsafe_code)]

mod checked;
mod error;
mod fault;
mod named;
mod network;
mod place;
mod results;
mod run;
mod simulate;
mod starter;
mod testbed;
mod text;
mod up;
mod vocabulary;
mod written;

pub use checked::Checked;
pub use error::Error;
pub use fault::{Fault, Faults};
pub use named::{read_bytes, read_text};
pub use network::{Collect, Conditions, End, Event, Lan, Link, Metric, Network, Node, Range};
pub use place::Place;
pub use results::{conclude, next_place, report};
pub use run::{Course, Runner, SweepOutcome};
pub use starter::Starter;
pub use testbed::{Capture, Line, OnLink, OnNode, Output, Program, Testbed, beside};
pub use up::{Ready, Up};
pub use vocabulary::vocabulary;
pub use written::Written;

/// The rooms below, for who needs more than stands here.
pub use {
    plait_model_topology as topology, plait_testbed_experiment as experiment,
    plait_testbed_runtime as runtime,
};

pub use plait_model_link::ConditionsSpec;
pub use plait_model_quantity::{Bandwidth, ByteCount, Probability, TimeSpan};
pub use plait_testbed_experiment::analysis::Estimate;
pub use plait_testbed_experiment::results::{MetricValue, Results};
pub use plait_testbed_experiment::runner::{Moment, RunOutcome};
pub use plait_testbed_experiment::sweep::{Attempt, CellSummary, Comparison, MetricSummary, Side, Summary};
pub use plait_testbed_experiment::testbed::KeepAwake;
pub use plait_testbed_experiment::world::{Direction, LoggerSummary, Stop, VerdictWord, Verification};
pub use plait_testbed_runtime::control::{Exited, Report};
pub use plait_testbed_runtime::plan::{Step, Wishes};
