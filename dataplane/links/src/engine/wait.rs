//! Waiting for the next packet or the next due time, whichever comes first, and waking up on time.

use crate::sys::{Epoll, monotonic};

/// Decides between sleeping and spinning.
///
/// A timer wakes a thread some 30 us late, so the last stretch before a due time is spun out. Spinning is on a budget: a
/// real-time thread that never sleeps is stopped by the kernel for 50 ms of every second, and while packets come so
/// often that every gap is shorter than the stretch, all of the time would be burnt.
#[derive(Debug)]
pub(crate) struct Wait {
    window_start: u64,
    spun: u64,
}

/// The last stretch before a due time.
const SPIN: u64 = 50_000;
/// The time over which spinning is counted, and how much of it may be spun.
const WINDOW: u64 = 20_000_000;
const BUDGET: u64 = WINDOW * 2 / 5;

impl Wait {
    pub fn new(now: u64) -> Self {
        Self { window_start: now, spun: 0 }
    }

    /// Waits until `due`, or until a descriptor is ready; says how many are.
    pub fn wait(&mut self, epoll: &mut Epoll, due: Option<u64>) -> usize {
        let now = monotonic();
        if now - self.window_start > WINDOW {
            (self.window_start, self.spun) = (now, 0);
        }
        let Some(due) = due else { return epoll.wait(None) };
        let left = due.saturating_sub(now);
        if self.spun > BUDGET {
            return epoll.wait(Some(left));
        }
        if left > SPIN {
            return epoll.wait(Some(left - SPIN));
        }
        // Look once whether anything came, then spin.
        let ready = epoll.wait(Some(0));
        if ready == 0 {
            let begun = monotonic();
            let mut now = begun;
            while now < due {
                std::hint::spin_loop();
                now = monotonic();
            }
            self.spun += now - begun;
        }
        ready
    }
}
