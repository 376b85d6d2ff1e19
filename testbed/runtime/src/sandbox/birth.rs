//! From the command that was typed to process 1 of a new sandbox.

use crate::kernel::capability::{self, Capability};
use crate::kernel::files::Doing;
use crate::kernel::process::{InsideAs, Side, fork, map_own_user};
use crate::kernel::{mount, namespace};
use rustix::thread::UnshareFlags;
use std::io;
use std::os::unix::net::UnixStream;

/// What a supervisor is born with.
pub struct Birth {
    /// Its process ID as the host sees it.
    pub host_pid: i32,
    /// Its start time as the host sees it.
    pub start_time: u64,
    /// The user outside.
    pub user: u32,
    /// Whether that user is root of the host, so that eBPF, real-time scheduling and control groups may serve.
    pub root: bool,
    /// The line to the process that asked for the testbed.
    pub parent: UnixStream,
}

/// The asking side's line to a supervisor being born: progress, then ready or the reason why not.
pub type Lifeline = UnixStream;

/// Forks a supervisor and runs `main` in it, as process 1 of its own process namespace. A user other than root gets a
/// user namespace, and is called there as `inside` says. The caller must have one thread. Returns at once with the
/// line to the supervisor; `main` never returns to the caller.
///
/// # Errors
/// When the first fork fails; everything later is told on the line, as end of file at worst.
pub fn spawn(inside: InsideAs, main: impl FnOnce(Birth) -> i32) -> io::Result<Lifeline> {
    let (ours, theirs) = UnixStream::pair()?;
    match fork()? {
        Side::Parent(first) => {
            drop(theirs);
            // The first child exits as soon as it has forked the supervisor.
            rustix::process::waitpid(Some(first), rustix::process::WaitOptions::empty())?;
            Ok(ours)
        }
        Side::Child => {
            drop(ours);
            let report = theirs.try_clone();
            let code = match enter(theirs, inside) {
                Ok(Some(birth)) => main(birth),
                Ok(None) => 0,
                Err(error) => {
                    if let Ok(mut report) = report {
                        let message = serde_json::json!({ "failed": error.to_string() });
                        let _ = io::Write::write_all(&mut report, format!("{message}\n").as_bytes());
                    }
                    1
                }
            };
            std::process::exit(code)
        }
    }
}

/// Makes the namespaces and forks process 1. `None` in the process that only led there.
fn enter(parent: UnixStream, inside: InsideAs) -> io::Result<Option<Birth>> {
    rustix::process::setsid()?;
    let user = rustix::process::geteuid().as_raw();
    let group = rustix::process::getegid().as_raw();
    let root = user == 0 && may_configure_host();
    let mut flags = UnshareFlags::NEWNS | UnshareFlags::NEWUTS | UnshareFlags::NEWIPC | UnshareFlags::NEWPID;
    if !root {
        namespace::renew(UnshareFlags::NEWUSER).doing(|| {
            "make a user namespace (this host forbids it to users; see `plait doctor`)".to_owned()
        })?;
        map_own_user(user, group, inside).doing(|| "map the user into its namespace".to_owned())?;
    }
    // IPC namespaces are optional in a kernel, and nodes can do without.
    if namespace::renew(flags).is_err() {
        flags -= UnshareFlags::NEWIPC;
        namespace::renew(flags).doing(|| "make namespaces".to_owned())?;
    }
    if let Side::Parent(_) = fork()? {
        return Ok(None);
    }
    // The host's /proc is still mounted here, and through it a process sees itself as the host does.
    let host_pid: i32 = std::fs::read_link("/proc/self")?
        .to_str()
        .and_then(|pid| pid.parse().ok())
        .ok_or_else(|| io::Error::other("/proc/self is not a process ID: is /proc mounted?"))?;
    let start_time = crate::kernel::process::start_time(host_pid)
        .ok_or_else(|| io::Error::other("cannot read the supervisor's start time from /proc"))?;
    mount::make_private().doing(|| "make mounts private".to_owned())?;
    Ok(Some(Birth { host_pid, start_time, user, root, parent }))
}

/// Whether user 0 here is root of the host and not of a container that only calls it so.
fn may_configure_host() -> bool {
    let needed = capability::mask(&[Capability::SysAdmin, Capability::NetAdmin]);
    capability::effective() & needed == needed
}
