//! The clock that agents and their programs share.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Time of the monotonic clock, by which programs in the kernel note when they heard of something.
pub fn now() -> Duration {
    let time = clock_gettime(ClockId::Monotonic);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
