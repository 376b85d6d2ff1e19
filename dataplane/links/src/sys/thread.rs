//! How the kernel schedules the calling thread.

use super::check;
use std::io;

/// Asks for SCHED_FIFO, so that the thread runs when its timer fires. Refused without privilege or `rtprio` limit.
pub(crate) fn become_real_time(priority: i32) -> io::Result<()> {
    let parameter = libc::sched_param { sched_priority: priority };
    // SAFETY: the pointer is to a sched_param that outlives the call; 0 is the calling thread.
    check(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameter) }).map(drop)
}

/// Lets timers of this thread fire on time instead of up to 50 us late.
pub(crate) fn tighten_timers() {
    // SAFETY: PR_SET_TIMERSLACK takes a number.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1u64) };
}
