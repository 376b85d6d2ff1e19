//! Packets of links' ends in virtual time.

use super::{State, error, lock};
use crate::world::{Logger, LoggerSummary, WorldError};
use plait_simulator_world::engine::{CaptureIndex, Captured, write_pcapng};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// An interface whose packets are kept, and written when it is stopped.
pub(super) struct Capturing {
    state: Arc<Mutex<State>>,
    capture: CaptureIndex,
    /// When it began: a file's stamps count from then.
    begin: u64,
    /// What the interface is called in the file.
    title: String,
    into: PathBuf,
}

impl Capturing {
    pub fn new(state: Arc<Mutex<State>>, capture: CaptureIndex, title: String, into: &Path) -> Self {
        let begin = lock(&state).world.now().as_nanos() as u64;
        Self { state, capture, begin, title, into: into.to_owned() }
    }
}

impl Logger for Capturing {
    fn stop(self: Box<Self>) -> Result<LoggerSummary, WorldError> {
        let packets = lock(&self.state).world.simulation().end_capture(self.capture);
        let kept = packets.len() as u64;
        // The file has one interface.
        let kept_as = |packet: Captured| {
            let at = packet.at.saturating_sub(self.begin);
            Captured { at, capture: CaptureIndex(0), ..packet }
        };
        let packets: Vec<Captured> = packets.into_iter().map(kept_as).collect();
        let written = fs::write(&self.into, write_pcapng(std::slice::from_ref(&self.title), &packets));
        written.map_err(|why| error(format!("{}: {why}", self.into.display())))?;
        Ok(LoggerSummary { kept, missed: 0 })
    }
}

impl Drop for Capturing {
    fn drop(&mut self) {
        lock(&self.state).world.simulation().end_capture(self.capture);
    }
}
