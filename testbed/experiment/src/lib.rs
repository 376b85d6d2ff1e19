//! Runs: timed events, collectors, results folders and reports.
#![forbid(unsafe_code)]

pub mod report;
pub mod results;
pub mod section;
pub mod world;
