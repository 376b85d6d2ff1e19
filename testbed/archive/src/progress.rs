//! How far it is, and whether to go on.

use std::io::{self, Read};
use std::ops::ControlFlow;
use thiserror::Error;

/// Is told how many bytes of how many are done, and says whether to go on.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64) -> ControlFlow<()>;

/// The user wished to stop.
#[derive(Debug, Error)]
#[error("stopped")]
pub(crate) struct Stopped;

impl Stopped {
    /// Whether an error is this wish.
    pub fn is(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<Stopped>())
    }
}

/// A reader that tells how far it is.
pub(crate) struct Telling<'a, R> {
    inner: R,
    done: u64,
    total: u64,
    progress: Progress<'a>,
}

impl<'a, R> Telling<'a, R> {
    /// A reader of which `done` of `total` bytes are done before it begins.
    pub fn new(inner: R, done: u64, total: u64, progress: Progress<'a>) -> Self {
        Self { inner, done, total, progress }
    }

    /// Bytes done by now.
    pub fn done(&self) -> u64 {
        self.done
    }
}

impl<R: Read> Read for Telling<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.done += length as u64;
        match (self.progress)(self.done, self.total.max(self.done)) {
            ControlFlow::Continue(()) => Ok(length),
            ControlFlow::Break(()) => Err(io::Error::other(Stopped)),
        }
    }
}
