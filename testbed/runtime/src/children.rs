//! Children: process 1 inherits every orphan of the sandbox, so one thread reaps all, and tells those who wait.

use crate::control::Exited;
use crate::kernel::process::{next_dead_child, reap};
use std::collections::HashMap;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Living children somebody waits for, and how the dead of them ended.
#[derive(Default, Clone)]
pub struct Children {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    ended: Mutex<HashMap<i32, Option<ExitStatus>>>,
    changed: Condvar,
    born: Condvar,
}

impl Children {
    /// Starts the reaping thread.
    pub fn watch(&self) -> io::Result<()> {
        let shared = self.shared.clone();
        std::thread::Builder::new().name("plait-reaper".into()).spawn(move || {
            loop {
                match next_dead_child() {
                    Ok(Some(pid)) => {
                        // Under the lock a child is either registered or not yet started.
                        let mut ended = shared.ended.lock().unwrap_or_else(PoisonError::into_inner);
                        if let Ok(status) = reap(pid)
                            && let Some(waited) = ended.get_mut(&pid)
                        {
                            *waited = Some(status);
                            shared.changed.notify_all();
                        }
                    }
                    // No child at all, or none the kernel would tell of: wait for the next to be started.
                    _ => {
                        let ended = shared.ended.lock().unwrap_or_else(PoisonError::into_inner);
                        let _ = shared.born.wait_timeout(ended, Duration::from_millis(100));
                    }
                }
            }
        })?;
        Ok(())
    }

    /// Starts a child; the closure gives its process ID.
    pub fn start(&self, start: impl FnOnce() -> io::Result<i32>) -> io::Result<i32> {
        let mut ended = self.shared.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let pid = start()?;
        ended.insert(pid, None);
        self.shared.born.notify_all();
        Ok(pid)
    }

    /// Starts a child that nobody waits for; it is reaped all the same.
    pub fn start_unwatched(&self, start: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let _ended = self.shared.ended.lock().unwrap_or_else(PoisonError::into_inner);
        start()?;
        self.shared.born.notify_all();
        Ok(())
    }

    /// Waits for a child that [`start`](Self::start) gave; none when it still lives after the time.
    pub fn wait(&self, pid: i32, time: Duration) -> Option<Exited> {
        let ended = self.shared.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut ended, _) = self
            .shared
            .changed
            .wait_timeout_while(ended, time, |ended| matches!(ended.get(&pid), Some(None)))
            .unwrap_or_else(PoisonError::into_inner);
        if matches!(ended.get(&pid), Some(None)) {
            return None;
        }
        let status = ended.remove(&pid).flatten()?;
        Some(match (status.code(), status.signal()) {
            (Some(code), _) => Exited::Code(code),
            (None, signal) => Exited::Signal(signal.unwrap_or(0)),
        })
    }
}
