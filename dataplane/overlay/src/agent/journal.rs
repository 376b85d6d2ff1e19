//! What an agent was told, so that one that starts again knows it.
//!
//! A line for each change, written before it is answered. What a process has written survives its death; what a machine
//! has not, does not survive the machine's, and neither do its tables.

use crate::protocol::Request;
use plait_model_overlay::Operation;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// A line.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    /// The first: the version of what follows, and the network namespace that it is about.
    Journal { version: u32, namespace: u64 },
    /// Somebody asked for a change.
    Request(Request),
    /// A control plane changed LIB or RIB.
    Control(Operation),
}

/// Version of the lines.
const VERSION: u32 = 1;

/// The file.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    /// Where its last whole line ends.
    end: u64,
    /// Lines since it was written anew.
    lines: usize,
}

impl Journal {
    /// What a former life was told.
    pub fn read(path: &Path) -> io::Result<Vec<Line>> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut lines = Vec::new();
        for (number, line) in BufReader::new(file).lines().enumerate() {
            match serde_json::from_str(&line?) {
                Ok(Line::Journal { version, .. }) if version != VERSION => {
                    let text = format!(
                        "{}: written by a plait that knows version {version} of it, this one knows {VERSION}: start that one, \
                         or give up what it was told with `plait overlay agent --remove`",
                        path.display()
                    );
                    return Err(io::Error::new(io::ErrorKind::InvalidData, text));
                }
                Ok(line) => lines.push(line),
                // The last line of a process that was killed may be half a line: nobody was told that it was done.
                Err(error) => {
                    tracing::warn!(path = %path.display(), line = number + 1, %error, "the rest of the journal is left out");
                    break;
                }
            }
        }
        Ok(lines)
    }

    /// A journal that says what is, and no more of how it came about.
    pub fn write(path: &Path, namespace: u64, lines: impl Iterator<Item = Line>) -> io::Result<Self> {
        let new = path.with_extension("new");
        let mut options = OpenOptions::new();
        options.create(true).append(true).mode(0o600);
        let file = options.open(&new)?;
        // What is left of a former life's attempt.
        file.set_len(0)?;
        let mut file = io::BufWriter::new(file);
        let first = Line::Journal { version: VERSION, namespace };
        for line in [first].into_iter().chain(lines) {
            put(&mut file, &line)?;
        }
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        fs::rename(&new, path)?;
        Self::at_end(file)
    }

    /// A journal that goes on where it ended.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::at_end(OpenOptions::new().create(true).append(true).mode(0o600).open(path)?)
    }

    fn at_end(file: File) -> io::Result<Self> {
        let end = file.metadata()?.len();
        Ok(Self { file, end, lines: 0 })
    }

    /// Adds a line, or none of it.
    pub fn add(&mut self, line: &Line) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        // On a full disk part of it may have been written, and what is added behind a half line is never read.
        if let Err(error) = self.file.write_all(&bytes) {
            self.file.set_len(self.end)?;
            return Err(error);
        }
        self.lines += 1;
        self.end += bytes.len() as u64;
        Ok(())
    }

    /// Whether it is long enough to be written anew. Choice: a hundred thousand lines are read in a second.
    pub fn is_long(&self) -> bool {
        self.lines > 100_000
    }
}

fn put(file: &mut impl Write, line: &Line) -> io::Result<()> {
    serde_json::to_writer(&mut *file, line)?;
    file.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an agent of version 1 wrote, which nobody changes but with the version.
    const FIRST: &str = include_str!("../../tests/golden/journal-1.jsonl");

    #[test]
    fn a_journal_of_version_1_is_read_and_written_as_it_was() {
        assert_eq!(VERSION, 1);
        for line in FIRST.lines() {
            let read: Line = serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
            assert_eq!(serde_json::to_string(&read).unwrap(), line);
        }
        let folder = std::env::temp_dir().join(format!("plait-journal-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("journal.jsonl");
        // Half a line is what a death leaves; another version is nobody's but its own.
        fs::write(&path, format!("{FIRST}{{\"request\":{{\"set_dev")).unwrap();
        assert_eq!(Journal::read(&path).unwrap().len(), FIRST.lines().count());
        fs::write(&path, FIRST.replace("\"version\":1", "\"version\":2")).unwrap();
        let refused = Journal::read(&path).unwrap_err().to_string();
        assert!(refused.contains("version 2") && refused.contains("--remove"), "{refused}");
        fs::remove_dir_all(folder).unwrap();
    }
}
