//! One look at a node: a command, and what it printed when it has ended.

use super::watch::{Asked, Seen};
use crate::results::{ResultsError, Staging};
use crate::world::{Ended, Launch, Running, World, WorldError};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A table of the kernel is read so far; a million routes are a tenth of it.
const LARGEST: u64 = 1 << 30;
/// The end of what a command printed, in which its last line is looked for.
const END: u64 = 4096;

pub(super) struct Look {
    running: Box<dyn Running>,
    ended: Option<Ended>,
    stdout: PathBuf,
    stderr: PathBuf,
    /// Whether what it prints is a table, and not only to be quoted.
    is_table: bool,
}

impl Look {
    /// Starts a command whose output goes into a folder of the staging folder. The inner error is the world's.
    pub fn start(
        world: &dyn World,
        staging: &Staging,
        folder: &str,
        look: &Asked<'_>,
        timeout: Duration,
    ) -> Result<Result<Self, WorldError>, ResultsError> {
        let stdout = staging.path(&format!("{folder}/stdout"))?;
        let stderr = staging.path(&format!("{folder}/stderr"))?;
        let launch = Launch {
            node: look.node,
            command: look.command,
            timeout: timeout.max(Duration::from_millis(1)),
            stdout: &stdout,
            stderr: &stderr,
        };
        let started = world.spawn(&launch);
        Ok(started.map(|running| Self { running, ended: None, stdout, stderr, is_table: look.is_table }))
    }

    /// Whether it has ended. Does not wait.
    pub fn is_done(&mut self) -> Result<bool, WorldError> {
        if self.ended.is_none() {
            self.ended = self.running.outcome()?.map(|outcome| outcome.ended);
        }
        Ok(self.ended.is_some())
    }

    /// Asks it to end.
    pub fn stop(&mut self) {
        if self.ended.is_none() {
            // It is not waited for any longer, so nobody is left to tell.
            let _ = self.running.stop();
        }
    }

    /// What it showed, after it ended.
    pub fn seen(&self) -> Result<Seen, ResultsError> {
        let table = if self.is_table { text(&self.stdout, 0)? } else { String::new() };
        let mut words = last_line(&text(&self.stderr, END)?);
        if words.is_empty() {
            words = last_line(&text(&self.stdout, END)?);
        }
        Ok(Seen { ended: self.ended, table, words })
    }
}

/// Whatever ends a wait, its looks end with it.
impl Drop for Look {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The last bytes of a file as text, or all of it when `last` is 0.
fn text(path: &Path, last: u64) -> Result<String, ResultsError> {
    let read = || {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        if last > 0 {
            file.seek(SeekFrom::Start(length.saturating_sub(last)))?;
        }
        let mut bytes = Vec::new();
        file.take(LARGEST).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    read().map_err(|error| ResultsError::read(path, error))
}

fn last_line(text: &str) -> String {
    const MOST: usize = 200;
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().filter(|c| !c.is_control()).take(MOST).collect()
}
