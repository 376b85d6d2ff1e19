//! Packets of an interface, written down.

use crate::error::Error;
use plait_testbed_experiment::testbed::CaptureLogger;
use plait_testbed_experiment::world::{Logger, LoggerSummary};
use plait_testbed_runtime::control;
use std::io;
use std::path::Path;

/// A capture at work; dropping it ends it too. From [`Testbed::capture`](crate::Testbed::capture).
#[must_use = "a capture that is dropped ends"]
pub struct Capture(Box<CaptureLogger>);

impl Capture {
    pub(super) fn start(testbed: &control::Testbed, interface: &str, into: &Path) -> Result<Self, Error> {
        let Some((node, name)) = interface.split_once(':') else {
            return Err(Error::Misused(format!("`{interface}` is not an interface: write `node:interface`")));
        };
        let socket = testbed.capture(node, name)?;
        Ok(Self(Box::new(CaptureLogger::start(socket, interface, into)?)))
    }

    /// Ends it, after everything that came was written: how many packets were kept, and how many missed.
    ///
    /// # Errors
    /// When the file could not be written.
    pub fn stop(self) -> Result<LoggerSummary, Error> {
        self.0.stop().map_err(|error| Error::Testbed(io::Error::other(error)))
    }
}
