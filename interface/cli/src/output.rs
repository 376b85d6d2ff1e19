//! How everything is said: to people on a terminal, to pipes, or as JSON.

use plait_model_quantity::TimeSpan;
use serde_json::{Value, json};
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// Why a command failed, and its exit code.
#[derive(Debug)]
pub struct Failure {
    /// What people read.
    pub message: String,
    /// More for machines.
    pub detail: Option<Value>,
    /// 1 failed, 2 wrong use, 3 the file is faulty.
    pub code: u8,
}

impl Failure {
    /// Something could not be done.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), detail: None, code: 1 }
    }

    /// An agent of another version, most likely.
    pub fn answered_otherwise() -> Self {
        Self::new(
            "the agent answers something else than was asked: start it again with this version of plait",
        )
    }

    /// The command was used wrongly.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { code: 2, ..Self::new(message) }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::new(error.to_string())
    }
}

/// The time from one look to the next that `--every` asks for.
///
/// # Errors
/// One that is shorter than ten milliseconds: an agent has more to do.
pub fn every(time: TimeSpan) -> Result<Duration, Failure> {
    let every = Duration::from(time);
    if every < Duration::from_millis(10) {
        return Err(Failure::usage("`--every` is 10ms or more"));
    }
    Ok(every)
}

/// Where a command's words go.
pub struct Output {
    json: bool,
}

impl Output {
    /// Output for people, or as JSON.
    pub fn new(json: bool) -> Self {
        Self { json }
    }

    /// Whether JSON was asked for.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// A result: the value as JSON, or the text for people.
    pub fn result(&self, value: &Value, text: impl FnOnce() -> String) -> Result<(), Failure> {
        let text = if self.json { format!("{value:#}\n") } else { text() };
        match io::stdout().write_all(text.as_bytes()) {
            // A reader that has seen enough is no failure.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => Ok(written?),
        }
    }

    /// One look of many at what changes: a line of JSON, or text, which on a terminal takes the place of that before. Whether
    /// anybody still reads.
    pub fn look(&self, value: &Value, text: impl FnOnce() -> String) -> Result<bool, Failure> {
        let text = match (self.json, io::stdout().is_terminal()) {
            (true, _) => format!("{value}\n"),
            (false, true) => format!("\x1b[H\x1b[J{}", text()),
            (false, false) => format!("{}\n", text()),
        };
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            written => Ok(written.map(|()| true)?),
        }
    }

    /// A remark for people, on standard error.
    pub fn note(&self, text: &str) {
        if !self.json {
            let _ = writeln!(io::stderr(), "{text}");
        }
    }

    /// The end of a command that failed. Where nobody can read it, the exit code still tells.
    pub fn failure(&self, failure: &Failure) {
        let _ = if self.json {
            let faults = failure.detail.clone();
            writeln!(io::stdout(), "{:#}", json!({ "error": failure.message, "faults": faults }))
        } else if failure.message.starts_with("error") {
            writeln!(io::stderr(), "{}", failure.message)
        } else {
            writeln!(io::stderr(), "error: {}", failure.message)
        };
    }

    /// Progress of something that may take a while.
    pub fn progress(&self, what: &str) -> Progress {
        Progress {
            what: what.to_owned(),
            shown: !self.json && io::stderr().is_terminal(),
            started: Instant::now(),
            drawn: None,
        }
    }
}

/// A line on the terminal that says how far something is; nothing before half a second, and nothing into a pipe.
pub struct Progress {
    what: String,
    shown: bool,
    started: Instant,
    drawn: Option<Instant>,
}

impl Progress {
    /// Says how far it is.
    pub fn update(&mut self, done: usize, total: usize) {
        self.line(&format!("{} {done}/{total}", self.what));
    }

    /// Says anything.
    pub fn line(&mut self, text: &str) {
        let now = Instant::now();
        let early = now - self.started < Duration::from_millis(500);
        let again = self.drawn.is_some_and(|drawn| now - drawn < Duration::from_millis(100));
        if !self.shown || early || again {
            return;
        }
        self.drawn = Some(now);
        let mut error = io::stderr().lock();
        let _ = write!(error, "\r\x1b[K{text}");
        let _ = error.flush();
    }

    /// Clears the line before anything else is said.
    pub fn pause(&mut self) {
        if self.drawn.take().is_some() {
            eprint!("\r\x1b[K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.pause();
    }
}

/// Writes what a command was asked to leave in a file.
pub fn write_file(place: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(place, text)
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", place.display())))
}

/// `1 link`, `2 links`.
pub fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Rows in columns as wide as their widest cell; the first row is the head.
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|at| {
            rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(&format!("{cell:width$}  "));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
