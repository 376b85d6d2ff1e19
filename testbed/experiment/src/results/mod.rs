//! Results folders: what a run leaves behind.
//!
//! ```text
//! results.json         what was run, where, how it ended            [`Results`]
//! network.yaml         the network file, byte for byte
//! plan.json            what was built of it: addresses, configurations, conditions, seeds
//! …                    the files it names, by their paths (files/… where those lead elsewhere)
//! samples/*.csv        tcp, links, interfaces, pings, iperf3, json               [`records`]
//! commands/NN-name/    stdout, stderr
//! nodes/NAME/…         files brought back from nodes
//! captures/*.pcapng    packets
//! report.html          the report, made of everything above
//! ```
//!
//! A folder is written under another name and renamed when it is whole ([`Staging`]), so that a folder with its own
//! name is a complete one.

mod error;
mod iperf3;
mod machine;
mod manifest;
mod metrics;
pub mod records;
mod staging;

pub use error::ResultsError;
pub use iperf3::{Iperf3Rows, intervals as iperf3_intervals};
pub use machine::Machine;
pub(crate) use manifest::complaints;
pub use manifest::{
    AssertionRecord, CommandRecord, EventKind, EventRecord, LanSummary, LinkSummary, NetworkSummary,
    NodeSummary, RESULTS_VERSION, Results, SamplesSummary,
};
pub use metrics::{MetricValue, Recorded, measure, usual as usual_metrics};
pub use staging::Staging;
pub(crate) use staging::sync;

/// The file in a results folder that says what was built.
pub const PLAN: &str = "plan.json";
