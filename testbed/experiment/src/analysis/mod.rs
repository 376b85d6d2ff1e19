//! What the runs of an experiment say together.
//!
//! The unit of statistics is the run: each gives one value per metric, and every interval here is over runs. Samples within a
//! run depend on each other, so they are drawn and carry no interval.

mod estimate;

pub use estimate::{CONFIDENCE, Estimate, bootstrap, mean, median};
