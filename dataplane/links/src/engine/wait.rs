//! Waiting for the next packet or the next due time, whichever comes first, and waking up on time.

use crate::sys::{Epoll, monotonic};

/// Decides between sleeping and spinning.
///
/// A timer wakes a thread some ten microseconds late, so the last stretch before a due time is spun out. Spinning is
/// bounded: a real-time thread that never sleeps is stopped by the kernel for 50 ms of every second, and while packets
/// come often, every gap is shorter than the stretch and all of it would be burnt.
#[derive(Debug)]
pub(crate) struct Wait {
    window_start: u64,
    packets: u64,
    calm: bool,
}

/// The last stretch before a due time.
const SPIN: u64 = 50_000;
/// How often the packet rate is looked at.
const WINDOW: u64 = 100_000_000;
/// Above this many packets in a window (5000 a second) nothing is spun.
const CALM: u64 = 500;

impl Wait {
    pub fn new(now: u64) -> Self {
        Self { window_start: now, packets: 0, calm: true }
    }

    /// Notes that packets came.
    pub fn count(&mut self, packets: usize) {
        self.packets += packets as u64;
        // The burst itself ends the calm, not only the look back at it.
        self.calm &= self.packets <= CALM;
    }

    /// Waits until `due`, or until a descriptor is ready; says how many are.
    pub fn wait(&mut self, epoll: &mut Epoll, due: Option<u64>) -> usize {
        let now = monotonic();
        if now - self.window_start > WINDOW {
            self.calm = self.packets <= CALM;
            (self.window_start, self.packets) = (now, 0);
        }
        let Some(due) = due else { return epoll.wait(None) };
        let left = due.saturating_sub(now);
        if !self.calm {
            return epoll.wait(Some(left));
        }
        if left > SPIN {
            return epoll.wait(Some(left - SPIN));
        }
        // Look once whether anything came, then spin.
        let ready = epoll.wait(Some(0));
        if ready == 0 {
            while monotonic() < due {
                std::hint::spin_loop();
            }
        }
        ready
    }
}
