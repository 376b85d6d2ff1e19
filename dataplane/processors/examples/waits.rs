//! How long this machine makes others wait, as JSON: a thread that sleeps, two that take turns, one that reads what another writes,
//! who asks for a grace period of RCU, and a busy one before which a real-time one stands. `studies/awake` compares it with
//! processors kept awake and without.

use plait_dataplane_processors::{Ticks, allowed, become_real_time, stay_on};
use rustix::thread::{CpuSet, MembarrierCommand, membarrier, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use std::hint::{black_box, spin_loop};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const PERIOD: Duration = Duration::from_millis(1);
/// What a busy thread has to have of a processor.
const WORK: Duration = Duration::from_millis(10);
/// How long the real-time thread before it runs at a time, and sleeps, as the engine of links does.
const OWN: (Duration, Duration) = (Duration::from_millis(1), Duration::from_micros(80));

/// How much of each wait is looked at.
struct Extent {
    sleeps: u32,
    turns: Duration,
    read: Duration,
    grace_periods: u32,
    /// Of the work of a busy thread.
    pieces: u32,
}

const WHOLE: Extent = Extent {
    sleeps: 2000,
    turns: Duration::from_secs(1),
    read: Duration::from_secs(2),
    grace_periods: 50,
    pieces: 40,
};
/// To see that it works.
const BRIEF: Extent = Extent {
    sleeps: 100,
    turns: Duration::from_millis(50),
    read: Duration::from_millis(50),
    grace_periods: 2,
    pieces: 2,
};

fn main() {
    let extent = if std::env::args().nth(1).is_some_and(|word| word == "--brief") { BRIEF } else { WHOLE };
    let began = Ticks::now();
    let turns = turns_a_second(extent.turns);
    let stream = stream_a_second(extent.read) / 1e9;
    let grace_ms = grace_period(extent.grace_periods).as_secs_f64() * 1e3;
    let behind_ms = behind_another(extent.pieces).as_secs_f64() * 1e3;
    // Last: what a real-time thread starts is real-time as well. Who may not be sleeps like any other.
    let _ = become_real_time(1);
    let mut late = lateness(extent.sleeps);
    late.sort_unstable();
    let micros = |share: f64| late[((late.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e6;
    let stolen = Ticks::now().since(began).map_or(0.0, |(stolen, _)| stolen);
    println!(
        r#"{{"late_p99_us": {:.1}, "late_most_us": {:.1}, "turns_per_s": {turns:.0}, "stream_gb_s": {stream:.3}, "grace_ms": {grace_ms:.3}, "behind_ms": {behind_ms:.2}, "stolen": {stolen:.4}}}"#,
        micros(0.99),
        micros(1.0),
    );
}

/// By how much each of so many sleeps until a moment was too long.
fn lateness(sleeps: u32) -> Vec<Duration> {
    let began = Instant::now();
    (1..=sleeps)
        .map(|number| {
            let due = began + PERIOD * number;
            thread::sleep(due.saturating_duration_since(Instant::now()));
            due.elapsed()
        })
        .collect()
}

/// How often two threads meet in a second, each of which looks a while whether the other is there and then offers its processor
/// (sched_yield(2)), as barriers and pools of threads do.
fn turns_a_second(during: Duration) -> f64 {
    let (turn, both) = (AtomicUsize::new(0), Barrier::new(2));
    let run = |own: usize| {
        both.wait();
        let began = Instant::now();
        let mut taken = 0_u32;
        while began.elapsed() < during {
            let mut looks = 0;
            while turn.load(Ordering::Acquire) % 2 != own {
                looks += 1;
                if looks < 100 {
                    spin_loop()
                } else {
                    thread::yield_now()
                }
                // The other may have stopped.
                if began.elapsed() > during {
                    return taken;
                }
            }
            // Ten microseconds of work, more or less, in which the other waits.
            (0..10_000_u32).for_each(|number| _ = black_box(number));
            turn.fetch_add(1, Ordering::Release);
            taken += 1;
        }
        taken
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| run(1));
        let own = run(0);
        f64::from(own + other.join().expect("it only counts")) / during.as_secs_f64()
    })
}

/// Bytes a second that one thread writes and another reads by a local stream, both of which sleep where they have to.
fn stream_a_second(during: Duration) -> f64 {
    let (mut from, mut to) = UnixStream::pair().expect("a process may open two sockets");
    thread::scope(|scope| {
        scope.spawn(move || {
            let block = [0; 1 << 16];
            // Until nobody reads any more.
            while to.write_all(&block).is_ok() {}
        });
        let (began, mut block, mut read) = (Instant::now(), vec![0; 1 << 16], 0);
        while began.elapsed() < during {
            read += from.read(&mut block).expect("the other end is open");
        }
        drop(from);
        read as f64 / during.as_secs_f64()
    })
}

/// How long until every processor has left whatever it read under RCU (membarrier(2), `MEMBARRIER_CMD_GLOBAL`), on average.
fn grace_period(count: u32) -> Duration {
    let began = Instant::now();
    for _ in 0..count {
        membarrier(MembarrierCommand::Global).expect("Linux has it since 4.3");
    }
    began.elapsed() / count
}

/// How long a thread takes for its work that may run anywhere, but is found where a real-time one runs most of the time; on
/// average. A processor with nothing to do takes it over at once, or sees to it when it next compares itself with others. Who
/// may not be real-time shares that processor, and there is less to see.
fn behind_another(pieces: u32) -> Duration {
    let (anywhere, first) = (sched_getaffinity(None).expect("it is this thread's own"), allowed()[0]);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            stay_on(first).expect("this process may run there");
            let _ = become_real_time(1);
            while !done.load(Ordering::Relaxed) {
                let began = Instant::now();
                while began.elapsed() < OWN.0 {
                    spin_loop();
                }
                thread::sleep(OWN.1);
            }
        });
        let busy = scope.spawn(|| (0..pieces).map(|_| piece(first, &anywhere)).sum::<Duration>());
        let took = busy.join();
        // Whatever became of it: the other goes on until then.
        done.store(true, Ordering::Relaxed);
        took.expect("it only counts") / pieces
    })
}

/// From when the calling thread may leave a processor to when it has done its work.
fn piece(from: usize, anywhere: &CpuSet) -> Duration {
    stay_on(from).expect("this process may run there");
    sched_setaffinity(None, anywhere).expect("where it ran before");
    let used = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
    };
    let (began, before) = (Instant::now(), used());
    while used() - before < WORK {
        spin_loop();
    }
    began.elapsed()
}
