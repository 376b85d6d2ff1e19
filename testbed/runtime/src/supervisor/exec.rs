//! Programs in nodes.

use super::Supervisor;
use crate::control::{ExecRequest, Exited, Line, Reply};
use crate::kernel::capability;
use crate::kernel::process::{kill_group, start};
use crate::kernel::socket::wait_readable;
use rustix::process::Signal;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a program may take to end after it was asked to.
pub(super) const GRACE: Duration = Duration::from_millis(500);

impl Supervisor {
    /// Runs a program for the other side of a line, and kills it when that side is gone.
    pub(super) fn exec(&self, line: &mut Line, request: ExecRequest) -> io::Result<()> {
        let Some(program) = request.command.first() else {
            return Err(io::Error::other("no command was given"));
        };
        let mut place = self.builder().place(&request.node, capability::NODE)?;
        if let Some(folder) = &request.folder {
            place.folder = std::ffi::CString::new(folder.as_str())?;
        }
        let mut command = Command::new(program);
        command
            .args(&request.command[1..])
            .env_clear()
            .envs(crate::build::environment(&request.node, &self.options.name));
        command.envs(request.environment.iter().map(|(name, value)| (name, value)));

        let mut user_side = None;
        if let Some((rows, columns)) = request.terminal {
            let (ours, theirs) = terminal(rows, columns)?;
            command.stdin(theirs.try_clone()?).stdout(theirs.try_clone()?).stderr(theirs);
            user_side = Some(ours);
        } else {
            let mut given = std::mem::take(&mut line.descriptors).into_iter();
            let mut next = || given.next().map_or_else(Stdio::null, Stdio::from);
            command.stdin(next()).stdout(next()).stderr(next());
        }
        let node = request.node.clone();
        let pid = self
            .children
            .start(|| Ok(start(&mut command, place, user_side.is_some())?.id() as i32))
            .map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => {
                    io::Error::new(error.kind(), format!("{node} has no program `{program}`"))
                }
                kind => io::Error::new(kind, format!("cannot start `{program}` on {node}: {error}")),
            })?;
        // The command holds our copies of the standard files; the program must be their only owner.
        drop(command);
        tracing::info!(node = request.node, pid, command = request.command.join(" "), "program started");
        let started = Reply::Row(serde_json::json!({ "started": pid }));
        let told = match &user_side {
            Some(terminal) => line.send(&started, &[terminal.as_fd()]),
            None => line.send(&started, &[]),
        };
        drop(user_side);
        if let Err(gone) = told {
            self.end(pid);
            return Err(gone);
        }
        let exited = self.wait_or_kill(line, pid, request.timeout_ms.map(Duration::from_millis));
        tracing::info!(node = request.node, pid, ?exited, "program ended");
        line.send(&Reply::Done(serde_json::to_value(exited)?), &[])
    }

    /// Waits for a program; kills it when its time is over or the one who asked for it is gone.
    fn wait_or_kill(&self, line: &mut Line, pid: i32, timeout: Option<Duration>) -> Exited {
        let start = Instant::now();
        loop {
            let rest = timeout.map_or(Duration::MAX, |timeout| timeout.saturating_sub(start.elapsed()));
            if let Some(exited) = self.children.wait(pid, rest.min(Duration::from_millis(50))) {
                return exited;
            }
            if timeout.is_some_and(|timeout| start.elapsed() >= timeout) {
                self.end(pid);
                return Exited::TimedOut;
            }
            // A line readable before its answer is a signal to pass on, or the end of the asker.
            if wait_readable(&line.socket, Some(Duration::ZERO)).unwrap_or(true) {
                match line.receive::<serde_json::Value>() {
                    Ok(Some(message)) => {
                        if let Some(signal) =
                            message["signal"].as_i64().and_then(|raw| Signal::from_named_raw(raw as i32))
                        {
                            kill_group(pid, signal);
                        }
                    }
                    _ => return self.end(pid),
                }
            }
        }
    }

    /// Asks a program and all of its group to end, then makes them.
    pub(super) fn end(&self, pid: i32) -> Exited {
        kill_group(pid, Signal::TERM);
        let ended = self.children.wait(pid, GRACE);
        kill_group(pid, Signal::KILL);
        ended.or_else(|| self.children.wait(pid, GRACE)).unwrap_or(Exited::Signal(libc::SIGKILL))
    }
}

/// A new terminal of the sandbox: the user's side, and the program's.
fn terminal(rows: u16, columns: u16) -> io::Result<(OwnedFd, OwnedFd)> {
    use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = openpt(flags)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let theirs = ioctl_tiocgptpeer(&ours, flags)?;
    let size = rustix::termios::Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(&ours, size)?;
    Ok((ours, theirs))
}
