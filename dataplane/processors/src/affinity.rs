//! Where a thread may run.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;

/// Numbers of the processors that the calling thread may run on; none if the kernel does not tell.
pub fn allowed() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|processor| set.is_set(*processor)).collect()
}

/// Keeps the calling thread on one processor. Two are never equally fast, and a thread that wanders measures both.
///
/// # Errors
/// When there is no such processor, or it is not this process's.
pub fn stay_on(processor: usize) -> io::Result<()> {
    let mut only = CpuSet::new();
    only.set(processor);
    Ok(sched_setaffinity(None, &only)?)
}
