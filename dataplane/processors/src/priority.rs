//! How the kernel schedules threads.

use std::io;

/// Asks for SCHED_FIFO, so that the calling thread runs when its timer fires.
///
/// # Errors
/// Without privilege or an `rtprio` limit.
pub fn become_real_time(priority: i32) -> io::Result<()> {
    be_scheduled(0, libc::SCHED_FIFO, priority)
}

/// Asks for SCHED_IDLE: the calling thread runs where a processor has nothing else to do.
pub(crate) fn give_way() -> io::Result<()> {
    be_scheduled(0, libc::SCHED_IDLE, 0)
}

/// Lets a process run as any other that gave way before: to die it has to run once more, for which it may have to wait for
/// seconds otherwise.
///
/// # Errors
/// When there is no such process, or it is somebody else's.
pub fn hurry(process: i32) -> io::Result<()> {
    be_scheduled(process, libc::SCHED_OTHER, 0)?;
    Ok(rustix::process::setpriority_process(rustix::process::Pid::from_raw(process), 0)?)
}

/// The calling thread where the process is 0.
fn be_scheduled(process: i32, class: i32, priority: i32) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the pointer is to a sched_param that outlives the call.
    match unsafe { libc::sched_setscheduler(process, class, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
