//! How a testbed's life ends: asked for, by signal, or with the command it was leased to.

use crate::control::Line;
use crate::kernel::process::block_signals;
use crate::kernel::socket::wait_readable;
use rustix::process::Signal;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

/// The end, which anybody may ask for once.
#[derive(Clone)]
pub struct End {
    ask: Sender<Option<Line>>,
    asked: Arc<Mutex<Receiver<Option<Line>>>>,
}

impl End {
    /// Not yet.
    pub fn new() -> Self {
        let (ask, asked) = channel();
        Self { ask, asked: Arc::new(Mutex::new(asked)) }
    }

    /// Asks for the end; the line is told how far it is.
    pub fn ask(&self, line: Option<Line>) {
        let _ = self.ask.send(line);
    }

    /// Waits until somebody asks.
    pub fn wait(&self) -> Option<Line> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).recv().ok().flatten()
    }
}

/// Ends on SIGTERM, SIGINT and SIGHUP. Process 1 ignores what it does not wait for, so the host's administrator would
/// otherwise have SIGKILL only.
pub fn end_on_signal(end: End) -> io::Result<()> {
    let wait = block_signals(&[Signal::TERM, Signal::INT, Signal::HUP])?;
    std::thread::Builder::new().name("plait-signals".into()).spawn(move || {
        while let Ok(signal) = wait() {
            tracing::info!(signal, "asked to end by a signal");
            end.ask(None);
        }
    })?;
    Ok(())
}

/// Ends when the command that holds the lease closes it, which it does by dying too.
pub fn end_with_lease(lease: UnixStream, end: End) {
    let watch = move || {
        let _ = wait_readable(&lease, None);
        tracing::info!("the command that leased the testbed is gone");
        end.ask(None);
    };
    let _ = std::thread::Builder::new().name("plait-lease".into()).spawn(watch);
}
