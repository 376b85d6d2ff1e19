//! What the runs of an experiment say together.
//!
//! The unit of statistics is the run: each gives one value per metric ([`Take`]), and every interval here is over runs.
//! Samples within a run depend on each other, so they are drawn and carry no interval.

mod difference;
mod effect;
mod estimate;
mod sensitivity;
mod take;

pub use difference::difference;
pub use effect::{CellValues, Effect, effects};
pub use estimate::{CONFIDENCE, Estimate, bootstrap, mean, median, prediction};
pub use sensitivity::rank_correlation;
pub use take::{Take, Taken, quantile};
