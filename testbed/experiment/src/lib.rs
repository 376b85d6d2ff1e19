//! Runs: timed events, collectors, results folders and reports.
//!
//! Read in this order:
//!
//! 1. [`section`] – the keys of a network file that say what happens in a run, and which runs there are:
//!    [`section::Script`], [`section::Experiment`];
//! 2. [`world`] – the one interface through which a run touches a network, be it a testbed or a simulator;
//! 3. [`testbed`] – a running testbed as such a world, and [`simulated`] – a network in virtual time as one;
//! 4. [`runner`] – one run, from the first logger to the results folder: [`runner::run`];
//! 5. [`results`] – what it leaves behind: `results.json`, samples, outputs;
//! 6. [`report`] – the page made of that folder, at any time: [`report::render`];
//! 7. [`design`] – factors and cells: which runs answer a question;
//! 8. [`sweep`] – many runs in one folder that can be gone on with: [`sweep::Sweep`];
//! 9. [`analysis`] – estimates and their intervals over runs.
#![forbid(unsafe_code)]

pub mod analysis;
pub mod design;
pub mod report;
pub mod results;
pub mod runner;
pub mod section;
pub mod simulated;
pub mod sweep;
pub mod testbed;
pub mod world;
