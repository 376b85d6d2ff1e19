//! A controller's recording as a file: what it was started with, then all that happened, a line of JSON each.
//!
//! ```text
//!  {"began": …}                    what makes its compiled-in applications again
//!  {"code": {"of": …, "bytes": …}} a component that is added next
//!  {"set": …}                      a compiled-in set that is
//!  {"entry": {"at": …, "event": …}}
//! ```
//!
//! It is its owner's alone: it holds packets, and the key of that run's probes.

use plait_control_runtime::{Entry, Event, Name};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;

/// Lines that wait for the disk. Choice: a few batches' worth; a disk that is slower slows the controller down, since a
/// recording that lacks something cannot be replayed.
const WAITING: usize = 1024;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    Began(Value),
    Code {
        of: Name,
        #[serde(with = "plait_control_runtime::hexadecimal")]
        bytes: Vec<u8>,
    },
    Set(String),
    Entry(Entry),
}

/// A recording that is written.
pub struct Recording {
    lines: SyncSender<Line>,
    writer: JoinHandle<io::Result<()>>,
}

/// Where entries and code go.
#[derive(Clone)]
pub struct Track(SyncSender<Line>);

impl Track {
    /// One more thing that happened.
    pub fn entry(&self, entry: Entry) {
        // Who writes has ended only if the disk has refused, which it has said.
        let _ = self.0.send(Line::Entry(entry));
    }

    /// A set that is compiled in is to be added.
    pub fn set(&self, name: &str) {
        let _ = self.0.send(Line::Set(name.to_owned()));
    }

    /// A component that is to be added, since entries hold no code.
    pub fn code(&self, of: &Name, bytes: &[u8]) {
        let _ = self.0.send(Line::Code { of: of.clone(), bytes: bytes.to_vec() });
    }
}

impl Recording {
    /// Begins a recording in a file that is not there yet.
    ///
    /// # Errors
    /// The system's: the file is there, for one.
    pub fn create(path: &Path, began: Value) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        let (lines, receiver) = sync_channel(WAITING);
        let named = path.display().to_string();
        let writer = std::thread::Builder::new().name("recording".to_owned()).spawn(move || {
            let written = write(file, Line::Began(began), &receiver);
            if let Err(why) = &written {
                tracing::error!(%why, file = %named, "the recording ends here: the controller goes on without it");
            }
            written
        })?;
        Ok(Self { lines, writer })
    }

    /// Where entries and code go.
    pub fn track(&self) -> Track {
        Track(self.lines.clone())
    }

    /// Waits until all is written. Every [`Track`] is to be gone.
    ///
    /// # Errors
    /// What was written is not all.
    pub fn finish(self) -> io::Result<()> {
        drop(self.lines);
        self.writer.join().unwrap_or_else(|_| Err(io::Error::other("its writer panicked")))
    }
}

fn write(file: File, first: Line, lines: &Receiver<Line>) -> io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 16, file);
    let mut next = Some(first);
    loop {
        let Some(line) = next else { return file.flush() };
        serde_json::to_writer(&mut file, &line)?;
        file.write_all(b"\n")?;
        next = match lines.try_recv() {
            Ok(line) => Some(line),
            Err(TryRecvError::Disconnected) => None,
            // Whatever happens to the controller, what came before is there.
            Err(TryRecvError::Empty) => {
                file.flush()?;
                lines.recv().ok()
            }
        };
    }
}

/// A recording as it was read.
pub struct Recorded {
    /// What it was started with.
    pub began: Value,
    /// All that happened.
    pub entries: Vec<Entry>,
    /// Of each application, in the order in which it was added again and again: where its code is.
    pub code: BTreeMap<Name, VecDeque<Code>>,
    /// Whether its last line is cut, and left out: whoever wrote it was killed, or the disk was full.
    pub is_cut: bool,
}

/// Where an application's code is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Code {
    /// In these bytes, a component's.
    Component(Vec<u8>),
    /// In a set that is compiled in; in that which the controller began with, if no other is said.
    Compiled(Option<String>),
}

/// Why a file is no recording.
#[derive(Debug, thiserror::Error)]
pub enum NoRecording {
    /// The system's reason.
    #[error("{0}")]
    Read(#[from] io::Error),
    /// A line is none.
    #[error("line {line} is no line of a recording: {why}")]
    Line {
        /// From 1.
        line: usize,
        /// Why.
        why: String,
    },
}

/// Reads a recording.
///
/// # Errors
/// [`NoRecording`].
pub fn read(path: &Path) -> Result<Recorded, NoRecording> {
    let mut recorded =
        Recorded { began: Value::Null, entries: Vec::new(), code: BTreeMap::new(), is_cut: false };
    let (mut added, mut set) = (BTreeMap::new(), None);
    let (mut file, mut text, mut line) = (BufReader::new(File::open(path)?), Vec::new(), 0);
    while file.read_until(b'\n', &mut text)? > 0 {
        line += 1;
        let whole = text.last() == Some(&b'\n');
        match serde_json::from_slice(&text) {
            Ok(Line::Began(began)) if line == 1 => recorded.began = began,
            Ok(Line::Code { of, bytes }) if line > 1 => drop(added.insert(of, bytes)),
            Ok(Line::Set(name)) if line > 1 => set = Some(name),
            Ok(Line::Entry(entry)) if line > 1 => {
                if let Event::Application(manifest) = &entry.event {
                    let code = added.remove(&manifest.name).map(Code::Component);
                    let code = code.unwrap_or_else(|| Code::Compiled(set.clone()));
                    recorded.code.entry(manifest.name.clone()).or_default().push_back(code);
                }
                recorded.entries.push(entry);
            }
            Ok(_) => {
                let why = "its first line, and no other, says how it began".to_owned();
                return Err(NoRecording::Line { line, why });
            }
            Err(_) if !whole && line > 1 => recorded.is_cut = true,
            Err(why) => return Err(NoRecording::Line { line, why: why.to_string() }),
        }
        text.clear();
    }
    match line {
        0 => Err(NoRecording::Line { line: 1, why: "there is none".to_owned() }),
        _ => Ok(recorded),
    }
}
