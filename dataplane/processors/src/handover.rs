//! How near two processors are to each other.

use crate::stay_on;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use std::{hint, io, thread};

/// Turns of a batch, and batches, of which the median counts: some milliseconds in all.
const TURNS: u32 = 4_000;
const BATCHES: usize = 7;

/// What a handover takes at most between processors that are near each other. Choice: between the 40 ns and the 158 ns that were met
/// on an AMD EPYC, one within a cache of the third level and one across.
pub const NEAR: Duration = Duration::from_nanos(80);

/// How long a cache line that one processor has written takes until another has read it: some tens of nanoseconds where
/// they share a cache, and some hundreds where they do not.
///
/// A hypervisor moves a virtual machine's processors about, so that it may be the one now and the other a minute later, and
/// what is handed from processor to processor, as a stream's bytes are, is as fast as that.
///
/// # Errors
/// When a thread may not stay on one of the two, or is not to be had.
pub fn handover(one: usize, other: usize) -> io::Result<Duration> {
    let line = Line(AtomicU32::new(0));
    thread::scope(|scope| {
        let answering = thread::Builder::new().spawn_scoped(scope, || answer(&line, other))?;
        let asking = thread::Builder::new().spawn_scoped(scope, || ask(&line, one));
        // Nobody would ask who answers, which waits for it.
        let asking = asking.inspect_err(|_| line.0.store(GIVEN_UP, Ordering::Release))?;
        let taken = asking.join().unwrap_or_else(|_| Err(io::Error::other("who asks panicked")));
        let answered = answering.join().unwrap_or_else(|_| Err(io::Error::other("who answers panicked")));
        answered.and(taken)
    })
}

/// A counter with a cache line of its own. Whoever finds it odd answers.
#[repr(align(128))]
struct Line(AtomicU32);

/// What it has when one of both cannot do its part.
const GIVEN_UP: u32 = u32::MAX;

fn ask(line: &Line, processor: usize) -> io::Result<Duration> {
    stay_on(processor).inspect_err(|_| line.0.store(GIVEN_UP, Ordering::Release))?;
    let mut batches = [Duration::ZERO; BATCHES];
    let mut at = 0;
    for batch in &mut batches {
        let began = Instant::now();
        for _ in 0..TURNS {
            // Who answers may have given up meanwhile: that is not written over.
            if line.0.compare_exchange(at, at + 1, Ordering::AcqRel, Ordering::Acquire).is_err() {
                return Err(io::Error::other("the other processor does not answer"));
            }
            at += 2;
            wait_for(line, at)?;
        }
        *batch = began.elapsed() / (2 * TURNS);
    }
    batches.sort();
    Ok(batches[BATCHES / 2])
}

fn answer(line: &Line, processor: usize) -> io::Result<()> {
    stay_on(processor).inspect_err(|_| line.0.store(GIVEN_UP, Ordering::Release))?;
    for turn in 0..TURNS * BATCHES as u32 {
        wait_for(line, 2 * turn + 1)?;
        line.0.store(2 * turn + 2, Ordering::Release);
    }
    Ok(())
}

fn wait_for(line: &Line, value: u32) -> io::Result<()> {
    loop {
        match line.0.load(Ordering::Acquire) {
            now if now == value => return Ok(()),
            GIVEN_UP => return Err(io::Error::other("the other processor is not to be had")),
            _ => hint::spin_loop(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_line_takes_longer_to_another_processor_than_within_one() {
        let allowed = crate::allowed();
        let [one, other, ..] = allowed[..] else { return };
        let taken = handover(one, other).expect("both are this process's");
        // A load that the own cache answers takes about a nanosecond, whatever machine it is.
        assert!(taken > Duration::from_nanos(2), "{taken:?}");
    }

    #[test]
    fn a_processor_that_is_not_there_is_an_error_from_either_side() {
        let here = crate::allowed()[0];
        assert!(handover(here, 1023).is_err());
        assert!(handover(1023, here).is_err());
    }
}
