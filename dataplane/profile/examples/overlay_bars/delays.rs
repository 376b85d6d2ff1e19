//! How long a datagram takes, and how much of a processor.

use crate::measure::{HEADERS, sockets, stay_on};
use crate::ratio::{median, variance};
use crate::speeds::Machine;
use plait_dataplane_profile::lab::Way;
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::time::Instant;

/// Packets of a way before the next one has its turn: some hundred microseconds, in which a processor keeps its speed.
const TURN: usize = 60;
/// The first of a turn, which find the caches as another way left them and count for nothing.
const COLD: usize = 10;

/// What a datagram takes by one thread that sends it and receives it.
#[derive(Debug, Clone, Copy)]
pub struct Taken {
    /// Microseconds from before the call that sends to after the one that receives: the median.
    pub one_way: f64,
    /// Microseconds that one differs by from the one before it: the median.
    pub jitter: f64,
    /// The variance of the same, in square microseconds, which the paper calls jitter.
    pub variance: f64,
    /// Microseconds of processor: the median of turns.
    pub cpu: f64,
}

/// Packets of each way, and of each where nobody waits for good figures.
const PACKETS: usize = 10_000;
const FEW: usize = 2_000;

/// Some packets by each way, and again, until each way has had so many: a processor of a virtual machine may have another speed
/// from one second to the next, which meets all ways alike then.
pub fn in_turn<'a>(
    machine: Machine,
    ways: impl IntoIterator<Item = &'a Way>,
    frame: usize,
) -> io::Result<Vec<Taken>> {
    stay_on(0);
    let count = if machine.is_patient { PACKETS } else { FEW };
    let payload = vec![0; frame - HEADERS];
    let mut buffer = [0; 2048];
    let ends: Vec<_> = ways.into_iter().map(sockets).collect::<io::Result<_>>()?;
    let mut told = vec![(Vec::new(), Vec::new(), Vec::new()); ends.len()];
    let used = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
    };
    for _ in 0..count.div_ceil(TURN) {
        for ((sender, receiver), (delays, steps, costs)) in ends.iter().zip(&mut told) {
            let mut before = None;
            for packet in 0..TURN + COLD {
                let start = Instant::now();
                sender.send(&payload)?;
                receiver.recv(&mut buffer)?;
                if packet >= COLD {
                    let delay = start.elapsed().as_nanos() as f64 / 1000.0;
                    steps.extend(before.replace(delay).map(|before: f64| delay - before));
                    delays.push(delay);
                }
            }
            // Once more without a look at the clock for each.
            let before = used();
            for _ in 0..TURN {
                sender.send(&payload)?;
                receiver.recv(&mut buffer)?;
            }
            costs.push((used() - before) / TURN as f64);
        }
    }
    let taken = |(delays, steps, costs): &(Vec<_>, Vec<f64>, Vec<_>)| Taken {
        one_way: median(delays),
        jitter: median(&steps.iter().map(|step| step.abs()).collect::<Vec<_>>()),
        variance: variance(steps),
        cpu: median(costs),
    };
    Ok(told.iter().map(taken).collect())
}
