//! Processes: forking the supervisor, and starting programs inside nodes.

use super::namespace::{Kind, enter};
use super::{capability, files::write_kernel};
use rustix::process::{Pid, Signal};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Which side of a fork the caller is on.
pub enum Side {
    /// The process that called, with the child's ID.
    Parent(Pid),
    /// The new process.
    Child,
}

/// Copies the process.
///
/// # Errors
/// When the kernel refuses, or when the process has more than one thread: a lock that another thread holds would stay
/// locked in the copy for ever.
pub fn fork() -> io::Result<Side> {
    // A thread that was joined is still listed for a moment, until the kernel has put it away.
    let started = Instant::now();
    loop {
        let threads = std::fs::read_dir("/proc/self/task")?.count();
        if threads == 1 {
            break;
        }
        if started.elapsed() > Duration::from_secs(1) {
            return Err(io::Error::other(format!("cannot fork with {threads} threads")));
        }
        std::thread::sleep(Duration::from_micros(100));
    }
    // SAFETY: the process has one thread, so every lock and allocator state is consistent in the copy.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Side::Child),
        pid => Ok(Side::Parent(Pid::from_raw(pid).expect("fork gives a positive ID"))),
    }
}

/// Who the user is inside a user namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InsideAs {
    /// Itself, so that files keep their owner.
    Itself,
    /// Root, for programs that insist on being called so.
    Root,
}

/// Maps the calling user into a user namespace just made.
pub fn map_own_user(user: u32, group: u32, inside: InsideAs) -> io::Result<()> {
    let (user_inside, group_inside) = match inside {
        InsideAs::Itself => (user, group),
        InsideAs::Root => (0, 0),
    };
    // Since Linux 3.19 a group map may only be written by a user without setgroups.
    write_kernel("/proc/self/setgroups", "deny")?;
    write_kernel("/proc/self/uid_map", &format!("{user_inside} {user} 1"))?;
    write_kernel("/proc/self/gid_map", &format!("{group_inside} {group} 1"))
}

/// A process's start time in clock ticks since boot; with its ID it names one process for ever.
pub fn start_time(pid: i32) -> Option<u64> {
    stat(pid, [22]).map(|[start]| start)
}

/// How long a process has had a processor, in clock ticks.
pub fn processor_time(pid: i32) -> Option<u64> {
    stat(pid, [14, 15]).map(|[user, system]| user + system)
}

/// Numbers in the fields of a living process's `stat`, counted from 1 as in proc(5).
fn stat<const COUNT: usize>(pid: i32, fields: [usize; COUNT]) -> Option<[u64; COUNT]> {
    const STATE: usize = 3;
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command name in parentheses may hold anything, so fields count from the last one.
    let after: Vec<&str> = stat[stat.rfind(')')? + 2..].split(' ').collect();
    let mut numbers = [0; COUNT];
    for (number, field) in numbers.iter_mut().zip(fields) {
        *number = after.get(field - STATE)?.trim_end().parse().ok()?;
    }
    (after[0] != "Z").then_some(numbers)
}

/// Where and as what a program in a node runs.
#[derive(Clone)]
pub struct Place {
    /// The node's namespaces.
    pub network: Arc<OwnedFd>,
    /// The hostname.
    pub uts: Arc<OwnedFd>,
    /// The node's view of the files.
    pub mount: Option<Arc<OwnedFd>>,
    /// Capabilities kept, as [`capability::mask`].
    pub capabilities: u64,
    /// Whether the programs run as a user other than root, who keeps capabilities only through the ambient set.
    pub ambient: bool,
    /// Processors allowed; all when empty.
    pub processors: Vec<usize>,
    /// Folder to start in.
    pub folder: std::ffi::CString,
    /// Control group folders whose `cgroup.procs` the program joins.
    pub groups: Vec<Arc<OwnedFd>>,
}

/// Starts a program inside a node. With `terminal`, its standard input becomes its controlling terminal.
///
/// # Errors
/// What `fork`, a namespace or `exec` refused.
pub fn start(command: &mut Command, place: Place, terminal: bool) -> io::Result<Child> {
    let prepare = move || {
        for group in &place.groups {
            // "0" means the writer itself.
            rustix::io::write(group, b"0")?;
        }
        if let Some(mount) = &place.mount {
            enter(mount, Kind::Mount)?;
        }
        enter(&place.network, Kind::Network)?;
        enter(&place.uts, Kind::Uts)?;
        rustix::process::setsid()?;
        if terminal {
            // SAFETY: descriptor 0 is open, and the request takes no pointer.
            if unsafe { libc::ioctl(0, libc::TIOCSCTTY, 0) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        unblock_signals()?;
        rustix::process::chdir(place.folder.as_c_str())?;
        if !place.processors.is_empty() {
            let mut set = rustix::thread::CpuSet::new();
            place.processors.iter().for_each(|&processor| set.set(processor));
            rustix::thread::sched_setaffinity(None, &set)?;
        }
        // SAFETY: plain integers; the engine's timer precision is its own, programs get the kernel's default.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 0, 0, 0, 0) };
        capability::limit(place.capabilities, place.ambient)
    };
    // SAFETY: the closure only makes system calls and touches memory allocated before the fork.
    unsafe { command.pre_exec(prepare) };
    command.spawn()
}

/// Kills a program and all it started that kept its session's group.
pub fn kill_group(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = rustix::process::kill_process_group(pid, signal);
    }
}

/// Dies with the process that made this one. Used by helpers outside the sandbox's process namespace.
pub fn die_with_parent() -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// A descriptor as the path by which another program of this process namespace may open it.
pub fn path_of(fd: &impl AsRawFd) -> String {
    let fd: RawFd = fd.as_raw_fd();
    format!("/proc/{}/fd/{fd}", std::process::id())
}

/// Makes descriptor 0, 1 or 2 another name of an open file.
pub fn replace_standard(file: &impl AsRawFd, standard: RawFd) -> io::Result<()> {
    assert!((0..=2).contains(&standard), "only standard descriptors are replaced");
    // SAFETY: both are plain descriptor numbers; the standard ones belong to the process as a whole.
    if unsafe { libc::dup2(file.as_raw_fd(), standard) } < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// A dead child that nobody has waited for yet; it stays a zombie. `None` when there is no child at all.
pub fn next_dead_child() -> io::Result<Option<i32>> {
    loop {
        // SAFETY: the structure is zeroed, which is a valid value of it, and the kernel fills it.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: the pointer is to the structure above.
        let done = unsafe { libc::waitid(libc::P_ALL, 0, &mut info, libc::WEXITED | libc::WNOWAIT) };
        if done == 0 {
            // SAFETY: waitid filled the structure for a dead child, whose ID this field holds.
            return Ok(Some(unsafe { info.si_pid() }));
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            Some(libc::ECHILD) => return Ok(None),
            _ => return Err(error),
        }
    }
}

/// Ends a zombie and returns its wait status.
pub fn reap(pid: i32) -> io::Result<std::process::ExitStatus> {
    let mut status = 0;
    // SAFETY: the pointer is to a local integer.
    if unsafe { libc::waitpid(pid, &mut status, 0) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(std::os::unix::process::ExitStatusExt::from_raw(status))
}

/// Blocks signals in the calling thread and all it starts from here on, and returns a function that waits for one of
/// them.
pub fn block_signals(signals: &[Signal]) -> io::Result<impl Fn() -> io::Result<i32> + Send + use<>> {
    // SAFETY: a zeroed set is what sigemptyset makes of it next; all pointers are to that local.
    let set = unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in signals {
            libc::sigaddset(&mut set, signal.as_raw());
        }
        let failed = libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
        if failed != 0 {
            return Err(io::Error::from_raw_os_error(failed));
        }
        set
    };
    Ok(move || {
        let mut signal = 0;
        // SAFETY: both pointers are to live locals.
        match unsafe { libc::sigwait(&set, &mut signal) } {
            0 => Ok(signal),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    })
}

/// Lets programs receive every signal again, whatever this process blocks. Safe between `fork` and `exec`.
pub fn unblock_signals() -> io::Result<()> {
    // SAFETY: a zeroed set is emptied before use; the pointer is to that local.
    let failed = unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::pthread_sigmask(libc::SIG_SETMASK, &set, std::ptr::null_mut())
    };
    if failed == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(failed)) }
}

/// Runs a closure in a copy of the process and tells how it went. The calling process must have one thread.
pub fn in_child(work: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    match fork()? {
        Side::Child => {
            let code = match work() {
                Ok(()) => 0,
                Err(error) => error.raw_os_error().unwrap_or(libc::EIO),
            };
            // SAFETY: ends the copy at once, without running what the original registered for its own end.
            unsafe { libc::_exit(code) }
        }
        Side::Parent(child) => {
            let ended = rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty())?;
            match ended.and_then(|(_, status)| status.exit_status()) {
                Some(0) => Ok(()),
                Some(code) => Err(io::Error::from_raw_os_error(code)),
                None => Err(io::Error::other("the kernel killed the attempt")),
            }
        }
    }
}

/// How many files a process may have open: now, and at most.
pub fn open_file_limits() -> (u64, u64) {
    let limits = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    (limits.current.unwrap_or(u64::MAX), limits.maximum.unwrap_or(u64::MAX))
}
