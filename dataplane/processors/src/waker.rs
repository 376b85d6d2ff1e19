//! A process that keeps a processor from halting.
//!
//! A processor of a virtual machine that halts is given to others, and comes back when the host's scheduler gets to it:
//! some tens of microseconds later, or some tens of milliseconds where the host is full. One that never halts is left
//! alone. Kernels know the remedy as `idle=poll`, which a machine has to be booted with; this is the same for as long as
//! somebody measures.
//!
//! What `idle=poll` has and a busy process has not: a processor that becomes idle looks at once whether another has programs
//! that wait there, and takes one over (the kernel's "newidle" balance). A processor that is never idle looks when its tick says
//! so, in some tens of milliseconds; for so long a program may be left behind a real-time one that has nine tenths of another
//! processor. So each waker sleeps a little now and then: its processor looks around, and is back before the host gave it away.

use crate::affinity::stay_on;
use crate::priority::give_way;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitOptions, getpid, getppid, kill_process, setpgid, waitpid};
use rustix::thread::{nanosleep, set_current_timer_slack};
use rustix::time::Timespec;
use std::fs::File;
use std::io::{self, Read};
use std::num::NonZeroU64;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// How often a processor that has nothing else to do looks whether others have.
const LOOKS: Duration = Duration::from_millis(1);
/// For how long it sleeps for that. A timer that fires before the process has left its processor makes it look at nothing, as
/// those of 1 microsecond do, and some of 3.
const NAP: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000 };
/// Pauses between two looks at the clock, some microseconds.
const BETWEEN: u32 = 64;

/// Keeps one processor awake while it lives. Its process runs in the scheduling class of those that nobody waits for, and
/// weighs 3 there beside a program of 1024.
#[derive(Debug)]
pub struct Waker {
    process: Pid,
}

impl Waker {
    /// Starts it. `group` is the open `cgroup.procs` of a control group whose `cpu.idle` is 1, without which the process
    /// gives way to those of its own group and session alone (sched(7), "The autogroup feature").
    ///
    /// # Errors
    /// When there is no such processor, the group takes no process, or the kernel makes none.
    pub fn start(processor: usize, group: Option<BorrowedFd<'_>>) -> io::Result<Self> {
        // What keeps it from beginning comes back by this, as the kernel's number; an end without a word is that it began.
        let (answer, told) = pipe_with(PipeFlags::CLOEXEC)?;
        let original = getpid();
        // SAFETY: this process may have other threads, so between here and its end the copy makes system calls alone, and
        // touches no memory that was not there before.
        let id = unsafe { libc::fork() };
        if id < 0 {
            return Err(io::Error::last_os_error());
        }
        let Some(process) = Pid::from_raw(id) else { be_the_copy(original, processor, group, &told) };
        let begun = Self { process };
        drop(told);
        let mut reason = [0; 4];
        match File::from(answer).read(&mut reason)? {
            0 => Ok(begun),
            _ => Err(io::Error::from_raw_os_error(i32::from_ne_bytes(reason))),
        }
    }

    /// Its process ID.
    pub fn id(&self) -> i32 {
        self.process.as_raw_nonzero().get()
    }

    /// Leaves the process to somebody else, who ends it and waits for it.
    pub fn into_id(self) -> i32 {
        let id = self.id();
        std::mem::forget(self);
        id
    }
}

impl Drop for Waker {
    fn drop(&mut self) {
        let _ = kill_process(self.process, Signal::KILL);
        let _ = waitpid(Some(self.process), WaitOptions::empty());
    }
}

/// All that the copy ever does, until the original ends.
fn be_the_copy(original: Pid, processor: usize, group: Option<BorrowedFd<'_>>, told: &OwnedFd) -> ! {
    let begin = || -> io::Result<()> {
        // "0" means the writer itself.
        group.map(|group| rustix::io::write(group, b"0")).transpose()?;
        rustix::thread::set_name(c"plait-waker")?;
        // What is typed at a terminal is not for it. It stays in the session, for whose other processes it would not give way if it
        // had one of its own.
        setpgid(None, None)?;
        stay_on(processor)?;
        // Which weighs nothing in this class; who reads how busy processors are sees that nobody waits for it.
        rustix::process::setpriority_process(None, 19)?;
        // A sleep ends when it is over, not up to 50 microseconds later.
        set_current_timer_slack(NonZeroU64::new(1))?;
        give_way()
    };
    // What the copy has of the original's files would keep them open: who waits for the end of one that the original holds
    // would wait for this process too. All but the one that tells.
    let close_others = || -> io::Result<()> {
        let kept = told.as_raw_fd().cast_unsigned();
        for (first, last) in [(0, kept.checked_sub(1)), (kept + 1, Some(u32::MAX))] {
            // SAFETY: the copy uses no descriptor from here on but the one between.
            if last.is_some_and(|last| unsafe { libc::close_range(first, last, 0) } != 0) {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    };
    if let Err(error) = begin().and_then(|()| close_others()) {
        let reason = error.raw_os_error().unwrap_or(libc::EIO).to_ne_bytes();
        // SAFETY: the pointer is to four bytes of this frame, and the descriptor is open; `_exit` runs nothing that the
        // original registered for its own end.
        unsafe {
            libc::write(told.as_raw_fd(), reason.as_ptr().cast(), reason.len());
            libc::_exit(1)
        }
    }
    // SAFETY: the descriptor is open, and the copy uses none from here on; that it closes says that it began.
    unsafe { libc::close(told.as_raw_fd()) };
    // The clock is read without a lock, and without memory of its own.
    while getppid() == Some(original) {
        let looked = Instant::now();
        while looked.elapsed() < LOOKS {
            (0..BETWEEN).for_each(|_| std::hint::spin_loop());
        }
        let _ = nanosleep(&NAP);
    }
    // SAFETY: as above, nothing of the original's is run.
    unsafe { libc::_exit(0) }
}
