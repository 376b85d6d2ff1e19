//! The two clocks: one that never jumps, and the one that kernel stamps are on.

/// Nanoseconds of CLOCK_MONOTONIC.
pub(crate) fn monotonic() -> u64 {
    nanoseconds(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds of CLOCK_REALTIME.
pub(crate) fn realtime() -> u64 {
    nanoseconds(libc::CLOCK_REALTIME)
}

fn nanoseconds(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec that outlives the call. It cannot fail for these clocks.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
