//! How the kernel wakes the calling thread.

/// Lets timers of this thread fire on time instead of up to 50 us late.
pub(crate) fn tighten_timers() {
    // SAFETY: PR_SET_TIMERSLACK takes a number.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1u64) };
}
