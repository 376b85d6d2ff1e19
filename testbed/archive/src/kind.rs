//! What folder it is.

use crate::ArchiveError;
use plait_testbed_experiment::results::{RESULTS_VERSION, ResultsError};
use plait_testbed_experiment::sweep::EXPERIMENT_VERSION;
use serde::Deserialize;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

/// What a results folder is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One run.
    Run,
    /// Many.
    Experiment,
}

#[derive(Deserialize)]
struct Versions {
    plait_results: Option<u64>,
    plait_experiment: Option<u64>,
}

impl Kind {
    /// The kind of a folder, if it is a results folder of a version that is known here.
    ///
    /// # Errors
    /// A folder that is none, of a newer version, or damaged.
    pub fn of(folder: &Path) -> Result<Self, ArchiveError> {
        for kind in [Self::Run, Self::Experiment] {
            let path = folder.join(kind.manifest());
            match File::open(&path) {
                Ok(file) => return kind.check(&path, file).map(|()| kind),
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
                Err(error) => return Err(ArchiveError::read(&path, error)),
            }
        }
        Err(ArchiveError::NoResults(folder.to_owned()))
    }

    /// The file that says what kind it is.
    pub(crate) fn manifest(self) -> &'static str {
        match self {
            Self::Run => "results.json",
            Self::Experiment => "experiment.json",
        }
    }

    /// Whether a file is one of samples, by its path in the folder.
    pub(crate) fn is_samples(self, path: &Path) -> bool {
        let depth = match self {
            Self::Run => 2,
            Self::Experiment => 4,
        };
        let is_run = || self == Self::Run || path.starts_with("runs");
        path.components().count() == depth
            && is_run()
            && path.parent().is_some_and(|folder| folder.ends_with("samples"))
            && path.extension().is_some_and(|extension| extension == "csv")
    }

    fn check(self, path: &Path, file: File) -> Result<(), ArchiveError> {
        let damaged = |reason: String| ResultsError::Damaged { path: path.to_owned(), reason };
        let versions: Versions =
            serde_json::from_reader(BufReader::new(file)).map_err(|error| damaged(error.to_string()))?;
        let (found, known, key) = match self {
            Self::Run => (versions.plait_results, RESULTS_VERSION, "plait_results"),
            Self::Experiment => (versions.plait_experiment, EXPERIMENT_VERSION, "plait_experiment"),
        };
        match found {
            Some(found) if found > known => {
                Err(ResultsError::Newer { path: path.to_owned(), found, known }.into())
            }
            Some(found) if found > 0 => Ok(()),
            _ => Err(damaged(format!("it names no version (`{key}`)")).into()),
        }
    }
}
