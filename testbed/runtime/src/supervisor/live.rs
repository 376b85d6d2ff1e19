//! How a testbed's life ends: asked for, by signal, or with the command it was leased to.

use super::Supervisor;
use crate::build::kill_all;
use crate::control::Line;
use crate::kernel::process::block_signals;
use crate::kernel::socket::wait_readable;
use rustix::process::Signal;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The end, which anybody may ask for once.
#[derive(Clone)]
pub struct End {
    ask: Sender<Option<Line>>,
    asked: Arc<Mutex<Receiver<Option<Line>>>>,
    is_asked: Arc<AtomicBool>,
}

impl End {
    /// Not yet.
    pub fn new() -> Self {
        let (ask, asked) = channel();
        Self { ask, asked: Arc::new(Mutex::new(asked)), is_asked: Arc::default() }
    }

    /// Asks for the end; the line is told how far it is.
    pub fn ask(&self, line: Option<Line>) {
        let _ = self.ask.send(line);
        self.is_asked.store(true, Ordering::Release);
    }

    /// Whether somebody asked.
    pub fn is_asked(&self) -> bool {
        self.is_asked.load(Ordering::Acquire)
    }

    /// Waits until somebody asks.
    pub fn wait(&self) -> Option<Line> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).recv().ok().flatten()
    }
}

/// Keeps SIGTERM, SIGINT and SIGHUP for [`end_on_signal`], which waits by what is returned here. Call it before any
/// thread is started: process 1 ignores a signal that meets a thread which does not block it.
pub fn keep_signals() -> io::Result<impl Fn() -> io::Result<i32> + Send + use<>> {
    block_signals(&[Signal::TERM, Signal::INT, Signal::HUP])
}

/// Ends on a signal that was kept. Process 1 ignores what it does not wait for, so the host's administrator would
/// otherwise have SIGKILL only.
pub fn end_on_signal(wait: impl Fn() -> io::Result<i32> + Send + 'static, end: End) -> io::Result<()> {
    std::thread::Builder::new().name("plait-signals".into()).spawn(move || {
        while let Ok(signal) = wait() {
            tracing::info!(signal, "asked to end by a signal");
            end.ask(None);
        }
    })?;
    Ok(())
}

/// Ends a build that nobody waits for any more, or whose end was asked for: what it waits for is killed, so it fails.
pub fn end_early(supervisor: &Arc<Supervisor>, parent: UnixStream, end: End) -> io::Result<()> {
    const PAUSE: Duration = Duration::from_millis(50);
    let supervisor = supervisor.clone();
    std::thread::Builder::new().name("plait-build".into()).spawn(move || {
        while supervisor.status() == "starting" {
            // The caller never says anything, so something to read is its end.
            let unwanted = end.is_asked() || wait_readable(&parent, Some(PAUSE)).unwrap_or(true);
            // A testbed that is up meanwhile is let go of by its caller, and is none the worse for it.
            if unwanted && supervisor.status() == "starting" {
                kill_all();
                std::thread::sleep(PAUSE);
            }
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
