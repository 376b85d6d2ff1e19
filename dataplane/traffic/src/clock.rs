//! The clock that sources and sinks live by.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// How often sources and sinks look whether they shall go on.
pub(crate) const LOOK: u64 = 50_000_000;

/// Nanoseconds of a clock that never jumps.
pub fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Waits until an instant, or a little longer.
pub(crate) fn sleep_until(instant: u64) {
    let rest = instant.saturating_sub(now());
    if rest > 0 {
        std::thread::sleep(Duration::from_nanos(rest));
    }
}
