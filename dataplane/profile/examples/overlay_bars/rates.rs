//! How many datagrams a second get there.

use crate::measure::{HEADERS, send_for, sockets, stay_on};
use crate::speeds::{Figures, Machine};
use plait_dataplane_profile::lab::Way;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Before a turn counts.
const WARM: Duration = Duration::from_millis(1);
/// A turn.
const TURN: Duration = Duration::from_millis(6);
/// Behind a turn, for what waits at the other end to be read.
const REST: Duration = Duration::from_micros(500);

/// Datagrams a second that arrive by each way when one thread sends what it can and another reads, in each cycle of turns.
pub fn rates<'a>(
    machine: Machine,
    ways: impl IntoIterator<Item = &'a Way>,
    frame: usize,
) -> io::Result<Figures> {
    let ends: Vec<_> = ways.into_iter().map(sockets).collect::<io::Result<_>>()?;
    let arrived: Vec<AtomicU64> = ends.iter().map(|_| AtomicU64::new(0)).collect();
    let done = AtomicBool::new(false);
    let payload = vec![0; frame - HEADERS];
    thread::scope(|scope| {
        for ((_, receiver), arrived) in ends.iter().zip(&arrived) {
            scope.spawn(|| {
                stay_on(1);
                let mut buffer = vec![0; frame.max(2048)];
                while !done.load(Ordering::Relaxed) {
                    if receiver.recv(&mut buffer).is_ok() {
                        arrived.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        stay_on(0);
        let cycles = machine.cycles(|first| {
            let mut rates = vec![0.0; ends.len()];
            for number in (0..ends.len()).map(|turn| (turn + first) % ends.len()) {
                let ((sender, _), arrived) = (&ends[number], &arrived[number]);
                send_for(sender, &payload, WARM);
                let (before, start) = (arrived.load(Ordering::Relaxed), Instant::now());
                send_for(sender, &payload, TURN);
                let (after, took) = (arrived.load(Ordering::Relaxed), start.elapsed());
                thread::sleep(REST);
                rates[number] = (after - before) as f64 / took.as_secs_f64();
            }
            Ok(rates)
        });
        done.store(true, Ordering::Relaxed);
        // Whoever waits for one more gets it.
        for (sender, _) in &ends {
            let _ = sender.send(&payload);
        }
        cycles
    })
}
