//! The line of every place in a text.

use crate::document::{Source, Span};

/// Where each line begins.
pub(super) struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    pub fn new(source: &Source) -> Self {
        let ends = source.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { starts: [0].into_iter().chain(ends).collect() }
    }

    /// The line in which a byte stands, from 1.
    pub fn at(&self, offset: usize) -> usize {
        self.starts.partition_point(|&start| start <= offset)
    }

    /// The line in which something begins, from 1.
    pub fn of(&self, span: Span) -> usize {
        self.at(span.start)
    }
}
