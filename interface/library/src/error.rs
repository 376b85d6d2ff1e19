//! Why something could not be done.

use crate::fault::Faults;
use plait_testbed_experiment::results::ResultsError;
use plait_testbed_experiment::sweep::SweepError;
use std::fmt;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why something could not be done. Its text names the remedy where there is one.
#[derive(Error)]
#[non_exhaustive]
pub enum Error {
    /// The network says what cannot be, or what this machine cannot make. Nothing was built.
    #[error("{0}")]
    Faulty(Faults),
    /// A file that is none, or no text.
    #[error("{}: {reason}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Something was asked for that this network or folder does not have.
    #[error("{0}")]
    Misused(String),
    /// The testbed, or the machine below it.
    #[error(transparent)]
    Testbed(#[from] io::Error),
    /// A results folder.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// The folder of an experiment.
    #[error(transparent)]
    Sweep(#[from] SweepError),
}

/// What people read, because that is what a `main` which returns it prints.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Faulty(faults) => write!(f, "the network cannot be\n\n{faults}"),
            other => write!(f, "{other}"),
        }
    }
}
