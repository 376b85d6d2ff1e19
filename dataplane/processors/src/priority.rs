//! How the kernel schedules the calling thread.

use std::io;

/// Asks for SCHED_FIFO, so that the calling thread runs when its timer fires.
///
/// # Errors
/// Without privilege or an `rtprio` limit.
pub fn become_real_time(priority: i32) -> io::Result<()> {
    be_scheduled(libc::SCHED_FIFO, priority)
}

/// Asks for SCHED_IDLE: the calling thread runs where a processor has nothing else to do.
pub(crate) fn give_way() -> io::Result<()> {
    be_scheduled(libc::SCHED_IDLE, 0)
}

fn be_scheduled(class: i32, priority: i32) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the pointer is to a sched_param that outlives the call; 0 is the calling thread.
    match unsafe { libc::sched_setscheduler(0, class, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
