//! Starting a testbed from a process that must not fork, because it has threads: another program forks in its
//! place, and hands over the line that the testbed lives by.
//!
//! ```text
//! caller ── options ──► deputy ── fork ──► supervisor
//!   ▲  ◄── progress ──────┘                    ▲
//!   └────────────── lifeline ──────────────────┘     the deputy is gone by then
//! ```

use super::{StartOptions, start};
use crate::control::{Line, PROTOCOL_VERSION, Reply};
use crate::kernel::files::Doing;
use crate::kernel::process::die_with_parent;
use crate::sandbox::Lifeline;
use serde::{Deserialize, Serialize};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

/// What a deputy is asked, with the version it is asked in.
#[derive(Serialize, Deserialize)]
struct Order {
    plait: u32,
    start: StartOptions,
}

/// Starts a testbed as [`start`] does, by a program that calls [`serve`]. The calling process may have any
/// number of threads.
///
/// # Errors
/// A program that is not there or is none of this version, and why the testbed could not be built; nothing is
/// left of it then.
pub fn start_by(
    program: &mut Command,
    options: StartOptions,
    progress: &mut dyn FnMut(usize, usize),
) -> io::Result<Lifeline> {
    let (ours, theirs) = UnixStream::pair()?;
    program.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut deputy = program.spawn().doing(|| format!("start {}", program.get_program().display()))?;
    // The parent's copy of the other end, without which the end of a deputy that died could not be seen.
    program.stdin(Stdio::null());
    let mut line = Line::new(ours);
    let version = options.version.clone();
    let asked = line.send(&Order { plait: PROTOCOL_VERSION, start: options }, &[]);
    let ended = loop {
        match line.receive::<Reply>() {
            Ok(Some(Reply::Progress(done, total))) => progress(done, total),
            Ok(Some(Reply::Row(_))) => {}
            Ok(Some(Reply::Done(_))) => break line.descriptors.pop().map(UnixStream::from).map(Ok),
            Ok(Some(Reply::Failed(reason))) => break Some(Err(io::Error::other(reason))),
            Ok(None) | Err(_) => break None,
        }
    };
    let mut said = String::new();
    if ended.is_none()
        && let Some(mut stderr) = deputy.stderr.take()
    {
        let _ = stderr.read_to_string(&mut said);
    }
    deputy.wait()?;
    ended.unwrap_or_else(|| {
        match asked {
            // It was gone before it was asked: what it said tells more.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(error),
            _ => {}
        }
        let program = program.get_program().display();
        let said = said.lines().next().unwrap_or("it said nothing");
        Err(io::Error::other(format!(
            "{program} started no testbed: is it the plait of version {version}? ({said})"
        )))
    })
}

/// Starts the testbed that the process at the other end of a line asks for, and gives it the lifeline. The
/// calling process must have one thread.
///
/// # Errors
/// When there is nobody at the other end any more.
pub fn serve(asker: OwnedFd) -> io::Result<()> {
    // Who asked and is gone wants no testbed.
    die_with_parent()?;
    let mut line = Line::new(asker.into());
    let refuse = |line: &Line, reason: String| line.send(&Reply::Failed(reason), &[]);
    let order: serde_json::Value = match line.receive() {
        Ok(Some(order)) => order,
        Ok(None) => return Ok(()),
        Err(error) => return refuse(&line, format!("this is no order to start a testbed: {error}")),
    };
    let (own, theirs) = (env!("CARGO_PKG_VERSION"), order["start"]["version"].as_str().unwrap_or("unknown"));
    // A state is made and realised by the same version, so that both mean the same by it.
    if theirs != own || order["plait"] != PROTOCOL_VERSION {
        let remedy = "let the variable `PLAIT` name the program of its version";
        return refuse(&line, format!("this is plait {own}, and who asks is of version {theirs}: {remedy}"));
    }
    let options = match serde_json::from_value::<Order>(order) {
        Ok(order) => order.start,
        Err(error) => return refuse(&line, format!("this is no order to start a testbed: {error}")),
    };
    let started = start(options, &mut |done, total| {
        let _ = line.send(&Reply::Progress(done, total), &[]);
    });
    match started {
        Ok(lifeline) => line.send(&Reply::Done(serde_json::Value::Null), &[lifeline.as_fd()]),
        Err(error) => refuse(&line, error.to_string()),
    }
}
