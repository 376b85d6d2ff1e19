//! What control planes of a node were told and did, in a file.
//!
//! A line for each input and output, as JSON, each written whole before what it says is in force. A file goes on over the
//! lives of agents; what a death cuts is half a last line, which the next one takes away.

use plait_control_overlay::record::{Entry, Line, VERSION};
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Room that is kept for the line that says that there is no more.
const LAST: u64 = 64;

/// The file.
#[derive(Debug)]
pub(super) struct Recording {
    path: PathBuf,
    file: File,
    /// Where its last whole line ends.
    end: u64,
    limit: u64,
    /// Whether nothing more is written.
    is_over: bool,
}

impl Recording {
    /// A recording that begins, or goes on with what former lives wrote. Its owner alone may read it.
    ///
    /// # Errors
    /// A file that cannot be written, or is something else.
    pub fn open(path: &Path, limit: u64) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        // Whoever else may write into the folder leads it nowhere by a link.
        options.read(true).write(true).create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
        let mut file = options.open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no file to write into"));
        }
        file.set_permissions(Permissions::from_mode(0o600))?;
        let mut known = Vec::new();
        (&file).take(limit.saturating_mul(2)).read_to_end(&mut known)?;
        let whole = known.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        known.truncate(whole);
        let mut lines = known.split_inclusive(|byte| *byte == b'\n');
        let first = lines.next().map(serde_json::from_slice::<Line>);
        match first {
            None => {}
            Some(Ok(Line::Recording { version })) if version == VERSION => {}
            Some(Ok(Line::Recording { version })) => {
                let text = format!(
                    "a recording of version {version}, this plait writes {VERSION}: name another file"
                );
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            Some(_) => {
                let text = "something else than a recording: name another file";
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
        }
        let is_full = lines
            .next_back()
            .is_some_and(|line| matches!(serde_json::from_slice(line), Ok(Line::Full { .. })));
        let end = whole as u64;
        file.set_len(end)?;
        file.seek(SeekFrom::Start(end))?;
        let mut recording = Self { path: path.to_owned(), file, end, limit, is_over: is_full };
        if is_full {
            tracing::warn!(path = %path.display(), "the recording is full since a former life: nothing is added");
        }
        if end == 0 {
            recording.put(&Line::Recording { version: VERSION })?;
        }
        Ok(recording)
    }

    /// Adds what happened.
    pub fn add(&mut self, entries: impl Iterator<Item = Entry>) {
        for entry in entries {
            if self.is_over {
                continue;
            }
            let at = entry.at;
            match self.put(&Line::Entry(entry)) {
                Ok(true) => {}
                Ok(false) => {
                    tracing::warn!(
                        path = %self.path.display(), limit = self.limit,
                        "the recording is full: what follows is not in it"
                    );
                    self.close(at);
                }
                Err(error) => {
                    tracing::error!(path = %self.path.display(), %error, "the recording ends here");
                    self.close(at);
                }
            }
        }
    }

    /// Says that there is no more.
    fn close(&mut self, at: std::time::Duration) {
        self.is_over = true;
        self.limit = self.limit.saturating_add(LAST);
        // On a full disk there may be no room for that either; what follows is missing all the same.
        let _ = self.put(&Line::Full { at });
    }

    /// Writes a line, or none of it; whether there was room.
    fn put(&mut self, line: &Line) -> io::Result<bool> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        let end = self.end + bytes.len() as u64;
        if end + LAST > self.limit {
            return Ok(false);
        }
        if let Err(error) = self.file.write_all(&bytes) {
            self.file.set_len(self.end)?;
            self.file.seek(SeekFrom::Start(self.end))?;
            return Err(error);
        }
        self.end = end;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plait_control_overlay::record::Event;
    use plait_model_overlay::Application;
    use std::fs;
    use std::time::Duration;

    fn entries(count: u64) -> impl Iterator<Item = Entry> {
        (0..count).map(|second| Entry {
            at: Duration::from_secs(second),
            application: Application::ETHERNET,
            event: Event::Refused { datagrams: second },
        })
    }

    /// A file's lines; the last may be half a line.
    fn lines(path: &Path) -> Vec<Option<Line>> {
        let text = fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).ok()).collect()
    }

    fn file(name: &str) -> (PathBuf, PathBuf) {
        let folder = std::env::temp_dir().join(format!("plait-recording-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        (folder.clone(), folder.join("record.jsonl"))
    }

    #[test]
    fn a_recording_goes_on_over_lives_and_half_a_line_is_taken_away() {
        let (folder, path) = file("lives");
        Recording::open(&path, 1 << 20).unwrap().add(entries(3));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 5]).unwrap();
        assert_eq!(lines(&path).last(), Some(&None), "a death in the middle of a line");
        Recording::open(&path, 1 << 20).unwrap().add(entries(2));
        let told = lines(&path);
        assert_eq!(told.len(), 1 + 2 + 2);
        assert!(told.iter().all(Option::is_some), "{told:?}");
        fs::write(&path, "{\"recording\":{\"version\":2}}\n").unwrap();
        let newer = Recording::open(&path, 1 << 20).unwrap_err();
        assert!(newer.to_string().contains("version 2"), "{newer}");
        fs::write(&path, "root:x:0:0\n").unwrap();
        assert!(Recording::open(&path, 1 << 20).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "root:x:0:0\n", "what is something else stays");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_recording_is_never_longer_than_its_limit_and_says_where_it_ends() {
        let (folder, path) = file("limit");
        let mut recording = Recording::open(&path, 1000).unwrap();
        recording.add(entries(100));
        assert!(fs::metadata(&path).unwrap().len() <= 1000);
        let told = lines(&path);
        let Some(Some(Line::Full { at })) = told.last() else { panic!("{told:?}") };
        assert_eq!(at.as_secs() as usize, told.len() - 2, "the first that found no room");
        let before = told.len();
        Recording::open(&path, 1000).unwrap().add(entries(1));
        assert_eq!(lines(&path).len(), before, "a later life adds nothing");
        fs::remove_dir_all(folder).unwrap();
    }
}
