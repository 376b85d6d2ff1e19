//! The supervisor's log: lines of JSON in memory, with the testbed as a field of each, read by `plait inspect --log`.

use crate::sandbox::HOME;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// In the sandbox, so in memory and gone with it: nothing of it appears on the host.
fn path() -> PathBuf {
    Path::new(HOME).join("supervisor.log")
}

/// Begins to log.
pub fn start(testbed: &str) {
    let Ok(file) = File::options().create(true).append(true).open(path()) else { return };
    let writer = Named { file, field: format!("{{\"testbed\":{},", serde_json::Value::from(testbed)) };
    let subscriber =
        tracing_subscriber::fmt().json().flatten_event(true).with_writer(Mutex::new(writer)).finish();
    // A command that began to log before it forked keeps its own log, and the supervisor has none.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

/// Gives each line the testbed as its first field. A span would give it to the lines of one thread.
struct Named {
    file: File,
    field: String,
}

impl Write for Named {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        // The formatter writes a line at a time, and each is an object.
        match line.strip_prefix(b"{") {
            Some(rest) => self.file.write_all(&[self.field.as_bytes(), rest].concat())?,
            None => self.file.write_all(line)?,
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// What was logged so far, at most the last mebibyte of it.
pub fn read() -> String {
    let mut text = String::new();
    if let Ok(mut file) = File::open(path()) {
        let _ = file.read_to_string(&mut text);
    }
    let from = text.len().saturating_sub(1 << 20);
    let from = (from..=text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    text.split_off(from)
}
