//! How many datagrams a second get there.

use crate::measure::{HEADERS, TURNS, send_for, sockets, stay_on};
use crate::ratio::median;
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

/// Datagrams a second that arrive by each way when one thread sends what it can and another reads: the medians of their turns.
pub fn rates<'a>(ways: impl IntoIterator<Item = &'a Way>, frame: usize) -> io::Result<Vec<f64>> {
    let ends: Vec<_> = ways.into_iter().map(sockets).collect::<io::Result<_>>()?;
    let arrived: Vec<AtomicU64> = ends.iter().map(|_| AtomicU64::new(0)).collect();
    let done = AtomicBool::new(false);
    let payload = vec![0; frame - HEADERS];
    let mut rates = vec![Vec::new(); ends.len()];
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
        for _ in 0..TURNS {
            for (((sender, _), arrived), rates) in ends.iter().zip(&arrived).zip(&mut rates) {
                send_for(sender, &payload, WARM);
                let (before, start) = (arrived.load(Ordering::Relaxed), Instant::now());
                send_for(sender, &payload, TURN);
                let (after, took) = (arrived.load(Ordering::Relaxed), start.elapsed());
                rates.push((after - before) as f64 / took.as_secs_f64());
                thread::sleep(REST);
            }
        }
        done.store(true, Ordering::Relaxed);
        // Whoever waits for one more gets it.
        for (sender, _) in &ends {
            let _ = sender.send(&payload);
        }
    });
    Ok(rates.iter().map(|rates| median(rates)).collect())
}
