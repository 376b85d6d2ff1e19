//! Many runs: every cell of an experiment, repeated, in one folder that can be gone on with at any time.
//!
//! ```text
//! folder/experiment.json           what runs there are: factors, cells, repeats, the file's hash
//! folder/network.yaml              the file, and beside it those it names
//! folder/runs/c3-r2-a1/            the first attempt of repeat 2 of cell 3: a results folder of its own
//! folder/runs.csv, summary.json    what the runs say together
//! folder/report.html               the same for people
//! ```
//!
//! A run's folder gets its name when it is whole, so what stands in `runs/` is what was done:
//! [`Sweep::next_attempt`] looks there and nowhere else, and a sweep that was killed goes on where it was.

mod comparison;
mod folder;
mod lanes;
mod order;
mod reproduction;
mod summary;

pub use comparison::{Compared, Comparison, Side};
pub use folder::{EXPERIMENT_VERSION, MOST_ATTEMPTS, Sweep, SweepError};
pub use lanes::{Lanes, Load};
pub use order::{Attempt, RunId};
pub use reproduction::{ComparedFates, ComparedMetric, Difference, Reproduction};
pub use summary::{AssertionSummary, CellSummary, FactorSummary, MetricSummary, RunSummary, Summary};
