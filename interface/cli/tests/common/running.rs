//! A command that is running.

use super::{Ended, PATIENCE, send};
use rustix::process::Signal;
use std::io::Read;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A command that is running.
pub struct Running {
    child: Child,
    what: String,
    readers: Option<[JoinHandle<Vec<u8>>; 2]>,
}

impl Running {
    /// Starts it with its output caught.
    pub fn start(command: &mut Command, what: String) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{what}: {error}"));
        let mut out = child.stdout.take().unwrap();
        let mut err = child.stderr.take().unwrap();
        let readers =
            [std::thread::spawn(move || drain(&mut out)), std::thread::spawn(move || drain(&mut err))];
        Self { child, what, readers: Some(readers) }
    }

    /// Its process.
    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// What it reads from, where that is a pipe.
    pub fn input(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        send(self.pid(), signal);
    }

    /// Whether it has not ended yet.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for its end.
    pub fn wait(mut self) -> Ended {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if start.elapsed() > PATIENCE {
                send(self.pid(), Signal::KILL);
                panic!("`{}` did not end within {PATIENCE:?}", self.what);
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let [stdout, stderr] = self
            .readers
            .take()
            .unwrap()
            .map(|reader| String::from_utf8_lossy(&reader.join().unwrap()).into_owned());
        Ended { what: std::mem::take(&mut self.what), status, stdout, stderr }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.readers.is_some() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn drain(from: &mut impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = from.read_to_end(&mut bytes);
    bytes
}
