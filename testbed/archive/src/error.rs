//! Why a folder was not packed or an archive not unpacked.

use crate::progress::Stopped;
use plait_model_quantity::ByteCount;
use plait_testbed_experiment::results::ResultsError;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a folder was not packed or an archive not unpacked. What was there before is untouched, and nothing new has its
/// name.
#[derive(Debug, Error)]
pub enum ArchiveError {
    /// A folder that is no results folder.
    #[error("{} is no results folder: it holds neither results.json nor experiment.json", .0.display())]
    NoResults(PathBuf),
    /// A folder in which an experiment is going on.
    #[error("another plait is at work in {}: wait for it, or end it first", .0.display())]
    Busy(PathBuf),
    /// What shall be written is there already.
    #[error("{} is there already: choose another name with `--output`, or move it away", .0.display())]
    Exists(PathBuf),
    /// An archive that would stand in the folder it holds.
    #[error("{} would stand in the folder that is packed: choose a place outside with `--output`", .0.display())]
    Inside(PathBuf),
    /// No name follows from the one that was given.
    #[error("no name for what shall be written follows from {}: give one with `--output`", .0.display())]
    Nameless(PathBuf),
    /// A file that changed while it was read.
    #[error("{} changed while it was packed: pack the folder when nobody writes into it", .0.display())]
    Changed(PathBuf),
    /// An archive that is broken, or would do what archives of results do not do.
    #[error("{} is not unpacked: {reason}", .archive.display())]
    Refused {
        /// The archive.
        archive: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// An archive that holds more than allowed.
    #[error("{} holds more than {limit}: if you trust it and have the room, allow more with `--limit`", .archive.display())]
    Large {
        /// The archive.
        archive: PathBuf,
        /// What was allowed.
        limit: ByteCount,
    },
    /// The user wished to stop.
    #[error("stopped; nothing was written")]
    Stopped,
    /// A folder of a newer version, a damaged one, or one that cannot be read or written.
    #[error(transparent)]
    Results(#[from] ResultsError),
}

impl ArchiveError {
    /// What could not be read, unless the user stopped it.
    pub(crate) fn read(path: &Path, source: io::Error) -> Self {
        match Stopped::is(&source) {
            true => Self::Stopped,
            false => ResultsError::Read { path: path.to_owned(), source }.into(),
        }
    }

    /// What could not be written, unless the user stopped it.
    pub(crate) fn write(path: &Path, source: io::Error) -> Self {
        match Stopped::is(&source) {
            true => Self::Stopped,
            false => ResultsError::Write { path: path.to_owned(), source }.into(),
        }
    }

    pub(crate) fn refused(archive: &Path, reason: impl Into<String>) -> Self {
        Self::Refused { archive: archive.to_owned(), reason: reason.into() }
    }
}
