//! Recordings, read from their lines.

use plait_control_overlay::record::{Entry, Line, VERSION};
use std::time::Duration;
use thiserror::Error;

/// What the members of one node recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// Its name: the node's.
    pub name: String,
    /// What happened, and in which line each stands, from 1.
    pub entries: Vec<(usize, Entry)>,
    /// When it was full, if it was.
    pub full: Option<Duration>,
    /// Whether its last line was cut, as the death of an agent may do.
    pub is_cut: bool,
}

/// Why some bytes are no recording.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{name}:{line}: {what}")]
pub struct Unreadable {
    /// The recording.
    pub name: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub what: String,
}

impl Recording {
    /// What is kept in memory, as it would be read.
    pub fn of(name: impl Into<String>, entries: impl IntoIterator<Item = Entry>) -> Self {
        let entries = entries.into_iter().enumerate().map(|(place, entry)| (place + 2, entry)).collect();
        Self { name: name.into(), entries, full: None, is_cut: false }
    }

    /// Reads the lines of a recording. Half a last line is left out; the first may be that one.
    ///
    /// # Errors
    /// The first line that is none, or of another version.
    pub fn read(name: impl Into<String>, text: &[u8]) -> Result<Self, Unreadable> {
        let mut recording = Self { name: name.into(), entries: Vec::new(), full: None, is_cut: false };
        if text.len() < first().len() && first().as_bytes().starts_with(text) {
            return Ok(Self { is_cut: true, ..recording });
        }
        let refused = |line: usize, what: String| Unreadable { name: recording.name.clone(), line, what };
        let mut entries = Vec::new();
        let mut lines = (1..).zip(text.split_inclusive(|byte| *byte == b'\n'));
        match lines.next().map(|(_, line)| (line.ends_with(b"\n"), serde_json::from_slice::<Line>(line))) {
            Some((true, Ok(Line::Recording { version }))) if version == VERSION => {}
            Some((true, Ok(Line::Recording { version }))) => {
                let what =
                    format!("recorded in version {version} of this format, and this plait reads {VERSION}");
                return Err(refused(1, what));
            }
            _ => return Err(refused(1, "this is no recording of control planes".to_owned())),
        }
        for (number, line) in lines {
            let is_whole = line.ends_with(b"\n");
            match serde_json::from_slice(line) {
                _ if recording.full.is_some() => {
                    return Err(refused(number, "the line above says that there is no more".to_owned()));
                }
                Ok(Line::Entry(entry)) => entries.push((number, entry)),
                Ok(Line::Full { at }) => recording.full = Some(at),
                Ok(Line::Recording { .. }) => {
                    return Err(refused(number, "a recording begins once".to_owned()));
                }
                Err(_) if !is_whole => recording.is_cut = true,
                Err(error) => return Err(refused(number, error.to_string())),
            }
        }
        recording.entries = entries;
        Ok(recording)
    }

    /// The recording as it is written.
    pub fn text(&self) -> String {
        let entries = self.entries.iter().map(|(_, entry)| Line::Entry(entry.clone()));
        let last = self.full.map(|at| Line::Full { at });
        std::iter::once(first()).chain(entries.chain(last).map(|line| written(&line))).collect()
    }
}

/// What each recording begins with.
fn first() -> String {
    written(&Line::Recording { version: VERSION })
}

fn written(line: &Line) -> String {
    serde_json::to_string(line).expect("a line is JSON") + "\n"
}
