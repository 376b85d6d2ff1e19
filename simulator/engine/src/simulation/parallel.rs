//! Several threads on one network.
//!
//! ```text
//!  each thread:  say when its next event is ─► meet ─► work on the window ─► post packets that cross ─► meet ─► take them
//!                      ▲                                                                                   │
//!                      └───────────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! The window begins at the earliest event of all and is as long as a packet is on any cut link at least: what crosses
//! in it can only matter after it. Every direction has one sender, so its packets are taken in the order in which they
//! were sent, and all is as if one thread had done it.

use crate::cut::lookahead;
use crate::fabric::Fabric;
use crate::partition::{Crossing, NEVER, Partition};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// What threads share: when each one's next event is, and what crosses from each to each.
struct Meeting {
    next: Vec<AtomicU64>,
    mail: Vec<Vec<Mutex<Vec<Crossing>>>>,
    barrier: SpinBarrier,
    window: u64,
    end: u64,
}

pub(super) fn run(fabric: &Fabric, partitions: &mut [Partition], end: u64) {
    let count = partitions.len();
    let window = window(fabric, partitions);
    if window == 0 {
        // Conditions were changed so that a packet may cross at once.
        return in_turn(fabric, partitions, end);
    }
    let meeting = Meeting {
        next: (0..count).map(|_| AtomicU64::new(NEVER)).collect(),
        mail: (0..count).map(|_| (0..count).map(|_| Mutex::default()).collect()).collect(),
        barrier: SpinBarrier::new(count),
        window,
        end,
    };
    std::thread::scope(|scope| {
        let (first, others) = partitions.split_first_mut().expect("a simulation has a part");
        for partition in others {
            let meeting = &meeting;
            scope.spawn(move || work(fabric, partition, meeting));
        }
        work(fabric, first, &meeting);
    });
}

/// How long a packet is on any cut link at least.
fn window(fabric: &Fabric, partitions: &[Partition]) -> u64 {
    let directions = partitions
        .iter()
        .flat_map(|partition| partition.directions.iter().map(move |state| (partition.index, state)));
    let cut = directions.filter(|(index, state)| {
        let [from, _] = crate::fabric::ends(&fabric.links, state.number());
        fabric.nodes[from as usize].place.partition != *index
    });
    cut.map(|(_, state)| lookahead(state.conditions())).min().unwrap_or(NEVER)
}

/// One event after the other, by one thread.
fn in_turn(fabric: &Fabric, partitions: &mut [Partition], end: u64) {
    let first = |partition: &mut Partition| {
        let (at, number) = partition.queue.first()?;
        Some((at, partition.rank(number), partition.index))
    };
    while let Some((.., index)) = partitions.iter_mut().filter_map(first).min()
        && let Some((at, number)) = partitions[index as usize].queue.take_before(end)
    {
        partitions[index as usize].step(fabric, at, number);
        for to in 0..partitions.len() {
            for Crossing { at, direction, packet } in
                std::mem::take(&mut partitions[index as usize].outboxes[to])
            {
                partitions[to].enter(fabric.directions[direction as usize].local as usize, at, packet);
            }
        }
    }
}

fn work(fabric: &Fabric, partition: &mut Partition, meeting: &Meeting) {
    let own = partition.index as usize;
    let _attendance = Attendance(&meeting.barrier);
    loop {
        let next = partition.queue.first().map_or(NEVER, |(at, _)| at);
        meeting.next[own].store(next, Ordering::Relaxed);
        meeting.barrier.wait();
        let begin = meeting.next.iter().map(|next| next.load(Ordering::Relaxed)).min().unwrap_or(NEVER);
        if begin >= meeting.end {
            return;
        }
        partition.run(fabric, begin.saturating_add(meeting.window).min(meeting.end));
        for (to, outbox) in partition.outboxes.iter_mut().enumerate().filter(|(_, out)| !out.is_empty()) {
            let mut mail = meeting.mail[own][to].lock().expect("no thread panics while it holds mail");
            std::mem::swap(&mut *mail, outbox);
        }
        meeting.barrier.wait();
        for from in (0..meeting.mail.len()).filter(|from| *from != own) {
            let mut mail = meeting.mail[from][own].lock().expect("no thread panics while it holds mail");
            for Crossing { at, direction, packet } in mail.drain(..) {
                partition.enter(fabric.directions[direction as usize].local as usize, at, packet);
            }
        }
    }
}

/// A place where threads wait for each other, a few thousand times a second: they spin for a moment, then let others run.
struct SpinBarrier {
    threads: usize,
    arrived: AtomicUsize,
    round: AtomicUsize,
    broken: AtomicBool,
}

/// Lets no thread wait for one that panicked.
struct Attendance<'a>(&'a SpinBarrier);

impl Drop for Attendance<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::Release);
        }
    }
}

impl SpinBarrier {
    fn new(threads: usize) -> Self {
        Self {
            threads,
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
        }
    }

    fn wait(&self) {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.round.store(round + 1, Ordering::Release);
            return;
        }
        let mut turns = 0;
        while self.round.load(Ordering::Acquire) == round {
            assert!(!self.broken.load(Ordering::Acquire), "another thread of the simulation panicked");
            turns += 1;
            if turns < 2_000 { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
    }
}
