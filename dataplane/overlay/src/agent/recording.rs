//! What control planes of a node were told and did, in a file.
//!
//! A line for each input and output, as JSON, each written whole before what it says is in force. A file goes on over the
//! lives of agents; what a death cuts is half a last line, which the next one takes away.

use plait_control_overlay::record::{Entry, Line, VERSION};
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

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
    /// A recording that begins, or goes on with what former lives wrote, however long that is. Its owner alone may read it.
    ///
    /// # Errors
    /// A file that cannot be written, that another agent writes, or that is something else: it stays as it is.
    pub fn open(path: &Path, limit: u64) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        // Whoever else may write into the folder leads it nowhere by a link.
        options.read(true).write(true).create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
        let mut file = options.open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no file to write into"));
        }
        // A file system without locks has none to wait for.
        if flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(rustix::io::Errno::WOULDBLOCK) {
            let text = "another agent writes into it: name another file";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let Known { end, is_full } = Known::of(&file)?;
        file.set_permissions(Permissions::from_mode(0o600))?;
        file.set_len(end)?;
        file.seek(SeekFrom::Start(end))?;
        let mut recording = Self { path: path.to_owned(), file, end, limit, is_over: is_full };
        if is_full {
            tracing::warn!(path = %path.display(), "the recording is full since a former life: nothing is added");
        }
        if end == 0 {
            recording.write(&text(&first())?)?;
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
    fn close(&mut self, at: Duration) {
        self.is_over = true;
        // On a full disk there may be no room for that either; what follows is missing all the same.
        let _ = text(&Line::Full { at }).and_then(|bytes| self.write(&bytes));
    }

    /// Writes a line, or none of it; whether there was room.
    fn put(&mut self, line: &Line) -> io::Result<bool> {
        let bytes = text(line)?;
        if self.end + bytes.len() as u64 + LAST > self.limit {
            return Ok(false);
        }
        self.write(&bytes).map(|()| true)
    }

    /// Writes all bytes, or none of them.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.file.write_all(bytes) {
            self.file.set_len(self.end)?;
            self.file.seek(SeekFrom::Start(self.end))?;
            return Err(error);
        }
        self.end += bytes.len() as u64;
        Ok(())
    }
}

/// What former lives left in a file.
struct Known {
    /// Where its last whole line ends.
    end: u64,
    /// Whether that line says that there is no more.
    is_full: bool,
}

impl Known {
    /// Looks through a file.
    ///
    /// # Errors
    /// It cannot be read, or is no recording of this version.
    fn of(file: &File) -> io::Result<Self> {
        let refused = |text: String| Err(io::Error::new(io::ErrorKind::InvalidData, text));
        let mut reader = BufReader::new(file);
        let (mut line, expected) = (Vec::new(), text(&first())?);
        // Of something else no more is read than tells so.
        reader.by_ref().take(LAST).read_until(b'\n', &mut line)?;
        match serde_json::from_slice(&line) {
            Ok(Line::Recording { version }) if version == VERSION && line.ends_with(b"\n") => {}
            // A death in the middle of the first line.
            _ if expected.starts_with(&line) => return Ok(Self { end: 0, is_full: false }),
            Ok(Line::Recording { version }) => {
                return refused(format!(
                    "a recording of version {version}, this plait writes {VERSION}: name another file"
                ));
            }
            _ => return refused("something else than a recording: name another file".to_owned()),
        }
        let (mut end, mut last) = (0, Vec::new());
        while line.ends_with(b"\n") {
            end += line.len() as u64;
            std::mem::swap(&mut line, &mut last);
            line.clear();
            reader.read_until(b'\n', &mut line)?;
        }
        Ok(Self { end, is_full: matches!(serde_json::from_slice(&last), Ok(Line::Full { .. })) })
    }
}

/// What each recording begins with.
fn first() -> Line {
    Line::Recording { version: VERSION }
}

fn text(line: &Line) -> io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plait_control_overlay::record::Event;
    use plait_model_overlay::Application;
    use std::fs;

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
        for other in ["root:x:0:0\n", "a key of one line without its end", "{", "{}\n", &"x".repeat(1000)] {
            fs::write(&path, other).unwrap();
            // Of a single brace nobody can say that it is not the beginning of a recording.
            assert_eq!(Recording::open(&path, 1 << 20).is_ok(), other == "{", "{other}");
            let is_kept = fs::read_to_string(&path).unwrap() == other;
            assert_eq!(is_kept, other != "{", "what is something else stays: {other}");
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_death_in_the_first_line_is_a_recording_that_has_not_begun() {
        let (folder, path) = file("first");
        drop(Recording::open(&path, 1 << 20).unwrap());
        let whole = fs::read(&path).unwrap();
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            Recording::open(&path, 1 << 20).unwrap().add(entries(1));
            assert_eq!(lines(&path).len(), 2, "{length}");
            assert!(lines(&path).iter().all(Option::is_some), "{length}");
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn one_agent_at_a_time_writes_a_recording() {
        let (folder, path) = file("twice");
        let first = Recording::open(&path, 1 << 20).unwrap();
        let refused = Recording::open(&path, 1 << 20).unwrap_err();
        assert!(refused.to_string().contains("another agent"), "{refused}");
        drop(first);
        Recording::open(&path, 1 << 20).unwrap();
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_later_life_of_a_lower_limit_takes_nothing_away_and_says_that_it_adds_nothing() {
        let (folder, path) = file("lower");
        Recording::open(&path, 1 << 20).unwrap().add(entries(100));
        let before = lines(&path);
        Recording::open(&path, 1000).unwrap().add(entries(3));
        let told = lines(&path);
        assert_eq!(told[..before.len()], before);
        assert_eq!(told[before.len()..], [Some(Line::Full { at: Duration::ZERO })]);
        // Where there is room for nothing, that is what it says.
        fs::remove_file(&path).unwrap();
        Recording::open(&path, 1).unwrap().add(entries(3));
        assert!(matches!(lines(&path)[..], [Some(Line::Recording { .. }), Some(Line::Full { .. })]));
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
        drop(recording);
        Recording::open(&path, 1000).unwrap().add(entries(1));
        assert_eq!(lines(&path).len(), before, "a later life adds nothing");
        fs::remove_dir_all(folder).unwrap();
    }
}
