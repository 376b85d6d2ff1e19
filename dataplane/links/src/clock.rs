//! From the clock that kernel stamps are on to the one that never jumps.

use crate::sys::{monotonic, realtime};

/// Follows the distance between CLOCK_REALTIME, on which kernels stamp packets, and CLOCK_MONOTONIC, on which links
/// live. Somebody may set the first at any moment; the stamps on the way then lie.
#[derive(Debug)]
pub(crate) struct Clock {
    offset: i128,
    checked: u64,
    /// How often CLOCK_REALTIME was set since the start.
    pub jumps: u64,
}

/// A distance that moved by more than this was set, not slewed: NTP slews at most 500 us a second.
const JUMP: u128 = 200_000;

/// How often the distance is looked at.
const CHECK_EVERY: u64 = 1_000_000;

/// A packet that waited longer than this was not stamped on the clock we think.
const LONGEST_WAIT: u64 = 1_000_000_000;

impl Clock {
    pub fn new() -> Self {
        let (offset, checked) = measure();
        Self { offset, checked, jumps: 0 }
    }

    /// When a packet arrived on the monotonic clock, given the kernel's stamp and the time now.
    pub fn arrival(&mut self, stamp: Option<u64>, now: u64) -> u64 {
        let Some(stamp) = stamp else { return now };
        if now.saturating_sub(self.checked) > CHECK_EVERY {
            self.check();
        }
        let arrival = i128::from(stamp) - self.offset;
        match u64::try_from(arrival) {
            Ok(arrival) if arrival <= now && now - arrival < LONGEST_WAIT => arrival,
            _ => {
                self.check();
                now
            }
        }
    }

    fn check(&mut self) {
        let (offset, checked) = measure();
        if self.offset.abs_diff(offset) > JUMP {
            self.jumps += 1;
            tracing::warn!("CLOCK_REALTIME was set; packets on their way count as arriving now");
        }
        (self.offset, self.checked) = (offset, checked);
    }
}

/// The distance, and when it was measured. Of three tries the one with the shortest gap between its two looks at the
/// monotonic clock is the least disturbed.
fn measure() -> (i128, u64) {
    let tries = [(); 3].map(|()| {
        let before = monotonic();
        let real = realtime();
        let after = monotonic();
        (after - before, i128::from(real) - i128::from(before + (after - before) / 2), after)
    });
    let (_, offset, at) = tries.into_iter().min().expect("three tries");
    (offset, at)
}
