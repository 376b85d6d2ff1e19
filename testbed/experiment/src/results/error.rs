//! Why results could not be written or read.

use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why results could not be written or read. Every one names the path.
#[derive(Debug, Error)]
pub enum ResultsError {
    /// The folder is there already; nothing in it was touched.
    #[error("{path} exists already: name another results folder, or move this one away", path = .0.display())]
    Exists(PathBuf),
    /// A file could not be written; a full disk is the usual reason.
    #[error("cannot write {path}: {source}", path = .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file could not be read.
    #[error("cannot read {path}: {source}", path = .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file does not hold what it should.
    #[error("{path} is damaged: {reason}", path = .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A folder of a newer format.
    #[error("{path} is of results format {found}, this plait reads up to {known}: use a newer plait",
        path = .path.display())]
    Newer {
        /// The file that says so.
        path: PathBuf,
        /// Its version.
        found: u64,
        /// The newest known here.
        known: u64,
    },
}

impl ResultsError {
    pub(crate) fn write(path: &Path, source: io::Error) -> Self {
        Self::Write { path: path.to_owned(), source }
    }

    pub(crate) fn read(path: &Path, source: io::Error) -> Self {
        Self::Read { path: path.to_owned(), source }
    }

    /// An error of the CSV writer, which is nearly always one of the disk.
    pub(crate) fn csv_write(path: &Path, error: csv::Error) -> Self {
        Self::write(path, io_of(error))
    }

    /// An error of the CSV reader.
    pub(crate) fn csv_read(path: &Path, error: csv::Error) -> Self {
        match error.is_io_error() {
            true => Self::read(path, io_of(error)),
            false => Self::Damaged { path: path.to_owned(), reason: error.to_string() },
        }
    }
}

fn io_of(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}
