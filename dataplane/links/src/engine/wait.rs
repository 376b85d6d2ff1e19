//! Waiting for the next packet or the next due time, whichever comes first, and waking up on time.

use crate::sys::{Epoll, monotonic};
use std::time::Duration;

/// Decides between sleeping, napping and spinning.
///
/// A timer wakes a thread some 30 us late, so the last stretch before a due time is spun out. Where a hypervisor takes
/// longer to wake a processor, the stretch grows until one wake-up in two hundred is later. Spinning is on a budget: a
/// real-time thread that never sleeps is stopped by the kernel for 50 ms of every second, and while packets come so
/// often that every gap is shorter than the stretch, all of the time would be burnt.
#[derive(Debug)]
pub(crate) struct Wait {
    window_start: u64,
    spun: u64,
    packets: u64,
    bytes: u64,
    crowded: bool,
    tick_start: u64,
    slept: u64,
    stretch: u64,
}

/// The last stretch before a due time: at least, at most, and how it follows the lateness of wake-ups. A step up for
/// each that is later, and two hundred times less down for each that is not, meet where one in two hundred is later.
const SPIN: u64 = 50_000;
const MOST_SPIN: u64 = 500_000;
const LONGER: u64 = 40_000;
const SHORTER: u64 = LONGER / 200;
/// How long a thread that spins through a longer stretch looks away from what comes.
const SLICE: u64 = 20_000;
/// A rehearsal takes less than this.
const REHEARSAL: u64 = 25_000;
/// The time over which spinning is counted, and how much of it may be spun.
const WINDOW: u64 = 20_000_000;
const BUDGET: u64 = WINDOW * 2 / 5;
/// How much of it may go to stretches longer than the least.
const LONG_BUDGET: u64 = WINDOW / 5;
/// From this many packets in a window (25,000 a second) on, the thread naps between looks instead of being woken: a
/// wake-up for each packet costs the sender more than the packet itself. Stamps keep arrivals exact meanwhile. Trains
/// of segments are worth a wake-up each: packets of this size on the average are trains.
const CROWD: u64 = 500;
const TRAIN: u64 = 4096;
const NAP: u64 = 30_000;
/// Of each tick the thread sleeps at least this much, however much there is to do: the kernel takes a twentieth of
/// every second from real-time threads that starve the others, and it takes it in one piece.
const TICK: u64 = 1_000_000;
const REST: u64 = 70_000;

impl Wait {
    pub fn new(now: u64) -> Self {
        Self {
            window_start: now,
            spun: 0,
            packets: 0,
            bytes: 0,
            crowded: false,
            tick_start: now,
            slept: 0,
            stretch: SPIN,
        }
    }

    /// Notes that packets came.
    pub fn count(&mut self, packets: usize, bytes: u64) {
        self.packets += packets as u64;
        self.bytes += bytes;
    }

    /// Waits until `due`, or until a descriptor is ready; says how many are. Calls `rehearse` shortly before `due`, if
    /// there is time.
    pub fn wait(&mut self, epoll: &mut Epoll, due: Option<u64>, rehearse: impl FnOnce()) -> usize {
        let mut now = monotonic();
        if now - self.tick_start > TICK {
            if self.slept < REST {
                std::thread::sleep(Duration::from_nanos(REST));
                now = monotonic();
            }
            (self.tick_start, self.slept) = (now, 0);
        }
        if now - self.window_start > WINDOW {
            self.crowded = self.packets > CROWD && self.bytes / self.packets < TRAIN;
            (self.window_start, self.spun, self.packets, self.bytes) = (now, 0, 0, 0);
        }
        let stretch = match self.spun {
            spun if spun > BUDGET => 0,
            spun if spun > LONG_BUDGET => SPIN,
            _ => self.stretch,
        };
        match due.map(|due| (due, due.saturating_sub(now))) {
            None => self.sleep(epoll, None),
            Some((_, left)) if left > stretch => self.sleep(epoll, Some(left - stretch)),
            Some((due, left)) => {
                // Look whether anything came, then spin: a slice of a long stretch, or all that is left.
                let ready = epoll.wait(Some(0));
                if ready == 0 && left > SPIN {
                    self.spin(now + (left - SPIN).min(SLICE));
                } else if ready == 0 {
                    if left > REHEARSAL {
                        self.spin(due - REHEARSAL);
                        rehearse();
                    }
                    self.spin(due);
                }
                ready
            }
        }
    }

    fn sleep(&mut self, epoll: &mut Epoll, most: Option<u64>) -> usize {
        let begun = monotonic();
        let ready = if self.crowded {
            match epoll.wait(Some(0)) {
                0 => {
                    std::thread::sleep(Duration::from_nanos(most.unwrap_or(NAP).min(NAP)));
                    epoll.wait(Some(0))
                }
                ready => ready,
            }
        } else {
            epoll.wait(most)
        };
        let slept = monotonic() - begun;
        self.slept += slept;
        if let (0, false, Some(most)) = (ready, self.crowded, most) {
            self.follow(slept.saturating_sub(most));
        }
        ready
    }

    /// A timer woke the thread this late.
    fn follow(&mut self, late: u64) {
        let next = if late > self.stretch { self.stretch + LONGER } else { self.stretch - SHORTER };
        self.stretch = next.clamp(SPIN, MOST_SPIN);
    }

    fn spin(&mut self, due: u64) {
        let begun = monotonic();
        let mut now = begun;
        while now < due {
            std::hint::spin_loop();
            now = monotonic();
        }
        self.spun += now - begun;
    }
}
