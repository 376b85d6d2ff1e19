//! Where something was written: a line of a program, or of a file that it read.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// A line and column, both from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file, as the compiler or the user named it.
    pub file: Arc<str>,
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Place {
    /// The line that calls the caller.
    #[track_caller]
    pub(crate) fn here() -> Self {
        let caller = Location::caller();
        Self { file: caller.file().into(), line: caller.line() as usize, column: caller.column() as usize }
    }
}

/// `src/main.rs:8:10`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}
