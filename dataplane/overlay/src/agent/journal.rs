//! What an agent was told, so that one that starts again knows it.
//!
//! A line for each change, written before it is answered. What a process has written survives its death; what a machine
//! has not, does not survive the machine's, and neither do its tables.

use crate::protocol::Request;
use plait_model_overlay::Operation;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
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
    /// Lines since it was written anew, and with how many it is to be again.
    lines: usize,
    renewed_at: usize,
}

/// Choice: a hundred thousand lines are read in a second.
const LONG: usize = 100_000;

impl Journal {
    /// What a former life was told.
    pub fn read(path: &Path) -> io::Result<Vec<Line>> {
        let mut lines = Vec::new();
        for (number, line) in Self::lines(path)?.into_iter().enumerate() {
            match serde_json::from_str(&line) {
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

    /// The names of the devices that a former life made, of whatever version it was; none if they are in another namespace than this.
    ///
    /// # Errors
    /// It cannot be read, or does not say of which namespace it is.
    pub fn devices(path: &Path, here: u64) -> io::Result<Option<BTreeSet<String>>> {
        let lines = Self::lines(path)?;
        let Some(first) = lines.first() else { return Ok(None) };
        let first: serde_json::Value = serde_json::from_str(first).unwrap_or_default();
        let namespace = first["journal"]["namespace"].as_u64().ok_or_else(|| {
            let text = "its first line does not say whose devices it names: take away what this agent made, as `ip link` \
                        shows it, then this file";
            io::Error::new(io::ErrorKind::InvalidData, text)
        })?;
        let mut names = BTreeSet::new();
        for line in &lines {
            // Of lines of another version those that name devices are what they are in this one, or none of them is.
            match serde_json::from_str(line) {
                Ok(Line::Request(Request::SetDevice(device))) => drop(names.insert(device.name)),
                Ok(Line::Request(Request::RemoveDevice { name })) => drop(names.remove(&name)),
                _ => {}
            }
        }
        Ok((namespace == here).then_some(names))
    }

    /// Its lines, none if there is no journal.
    fn lines(path: &Path) -> io::Result<Vec<String>> {
        match File::open(path) {
            Ok(file) => BufReader::new(file).lines().collect(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
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
        Ok(Self { file, end, lines: 0, renewed_at: LONG })
    }

    /// Adds a line, or none of it.
    pub fn add(&mut self, line: &Line) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        // On a full disk part of it may have been written, and what is added behind a half line is never read.
        if let Err(error) = self.file.write_all(&bytes) {
            // What it says is true all the same.
            self.renewed_at = 0;
            self.file.set_len(self.end)?;
            return Err(error);
        }
        self.lines += 1;
        self.end += bytes.len() as u64;
        Ok(())
    }

    /// Whether it is to be written anew: it is long, or lacks a line.
    pub fn is_to_be_renewed(&self) -> bool {
        self.lines > self.renewed_at
    }

    /// It could not be written anew: not with each line is that tried.
    pub fn put_off(&mut self) {
        self.renewed_at = self.lines + LONG / 100;
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
        // Which is what `--remove` needs of it, whatever its version is.
        let here = FIRST.split("\"namespace\":").nth(1).unwrap().split('}').next().unwrap().parse().unwrap();
        let names = Journal::devices(&path, here).unwrap().unwrap();
        assert!(!names.is_empty());
        assert_eq!(Journal::devices(&path, here + 1).unwrap(), None);
        fs::write(&path, "half a li").unwrap();
        assert!(Journal::devices(&path, here).is_err());
        fs::write(&path, "").unwrap();
        assert_eq!(Journal::devices(&path, here).unwrap(), None);
        fs::remove_dir_all(folder).unwrap();
    }
}
