//! Bits onto the wire, one after the other, at the rate.

use crate::{Rate, RateTrace};

/// Knows when the wire is free; its rate is the link's. Its end is kept as a fraction of a nanosecond, so that rounding never adds up: a busy
/// second at any rate carries exactly that rate.
#[derive(Debug, Clone)]
pub(crate) struct Serialiser {
    /// When the rate trace began.
    epoch: u64,
    /// The wire is busy until here, and `fraction / rate` nanoseconds more.
    busy_until: u64,
    fraction: u64,
}

/// When a packet has the wire.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot {
    pub begun: u64,
    pub bits: u64,
    /// When the last bit leaves, rounded up.
    pub finish: u64,
}

/// Bits times this is work; work over bits per second is nanoseconds.
const NANOS: u64 = 1_000_000_000;

impl Serialiser {
    pub fn new(epoch: u64) -> Self {
        Self { epoch, busy_until: 0, fraction: 0 }
    }

    /// Until when the wire is busy, and the fraction.
    #[inline]
    pub fn state(&self) -> (u64, u64) {
        (self.busy_until, self.fraction)
    }

    /// Goes back to a state that it had.
    pub fn restore(&mut self, (busy_until, fraction): (u64, u64)) {
        (self.busy_until, self.fraction) = (busy_until, fraction);
    }

    /// Sends `bits` from `start` on, or from when the wire is free.
    #[inline]
    pub fn send(&mut self, rate: &Rate, start: u64, bits: u64) -> Slot {
        let begun = if start <= self.end() { self.busy_until } else { start };
        (self.busy_until, self.fraction) = self.after(rate, start, bits);
        Slot { begun, bits, finish: self.end() }
    }

    /// When `bits` that are sent from `start` on would have left, rounded up.
    #[inline]
    pub fn finish_of(&self, rate: &Rate, start: u64, bits: u64) -> u64 {
        let (end, fraction) = self.after(rate, start, bits);
        end.saturating_add(u64::from(fraction > 0))
    }

    /// Until when the wire is busy, and the fraction, once `bits` were sent from `start` on.
    #[inline]
    fn after(&self, rate: &Rate, start: u64, bits: u64) -> (u64, u64) {
        let (begun, fraction) =
            if start <= self.end() { (self.busy_until, self.fraction) } else { (start, 0) };
        match rate {
            Rate::Unlimited => (begun.saturating_add(u64::from(fraction > 0)), 0),
            Rate::Constant(rate) => {
                let rate = rate.bits_per_second();
                match bits.checked_mul(NANOS).and_then(|work| work.checked_add(fraction)) {
                    Some(work) => (begun.saturating_add(work / rate), work % rate),
                    None => {
                        let work = u128::from(bits) * u128::from(NANOS) + u128::from(fraction);
                        (
                            begun.saturating_add((work / u128::from(rate)) as u64),
                            (work % u128::from(rate)) as u64,
                        )
                    }
                }
            }
            Rate::Trace(trace) => (trace_end(trace, self.epoch, begun, bits), 0),
        }
    }

    /// Changes the rate at `now`, in the middle of what is being sent: the bits left go on at the new rate.
    pub fn change(&mut self, [before, after]: [&Rate; 2], now: u64, sending: Option<&mut Slot>) {
        let left =
            sending.map(|slot| (slot.bits.saturating_sub(self.bits_between(before, slot.begun, now)), slot));
        *self = Self { epoch: now, busy_until: now, fraction: 0 };
        if let Some((bits, slot)) = left {
            *slot = self.send(after, now, bits);
        }
    }

    /// When the wire is free, rounded up.
    #[inline]
    pub fn end(&self) -> u64 {
        self.busy_until.saturating_add(u64::from(self.fraction > 0))
    }

    fn bits_between(&self, rate: &Rate, from: u64, to: u64) -> u64 {
        let span = u128::from(to.saturating_sub(from));
        match rate {
            Rate::Unlimited => u64::MAX,
            Rate::Constant(rate) => (span * u128::from(rate.bits_per_second()) / u128::from(NANOS)) as u64,
            Rate::Trace(trace) => {
                let mut work = 0;
                let mut at = from;
                while at < to {
                    let (rate, until) = step_at(trace, self.epoch, at);
                    work += u128::from(until.min(to) - at) * u128::from(rate);
                    at = until.min(to);
                }
                (work / u128::from(NANOS)) as u64
            }
        }
    }
}

/// When `bits` sent from `from` on are through, under a trace that began at `epoch`.
fn trace_end(trace: &RateTrace, epoch: u64, from: u64, bits: u64) -> u64 {
    let mut work = u128::from(bits) * u128::from(NANOS);
    let mut at = from;
    while work > 0 {
        let (rate, until) = step_at(trace, epoch, at);
        let possible = u128::from(rate) * u128::from(until - at);
        if rate > 0 && (work <= possible || until == u64::MAX) {
            let span = u64::try_from(work.div_ceil(u128::from(rate))).unwrap_or(u64::MAX);
            return at.saturating_add(span);
        }
        if until == u64::MAX {
            return u64::MAX;
        }
        work -= possible;
        at = until;
    }
    at
}

/// The rate at `now` and when it ends.
fn step_at(trace: &RateTrace, epoch: u64, now: u64) -> (u64, u64) {
    let steps = trace.steps();
    let period = trace.period().as_nanos();
    let since = now.saturating_sub(epoch);
    let (lap, within) = (since / period, since % period);
    let index = steps.partition_point(|step| step.at.as_nanos() <= within) - 1;
    let end = steps.get(index + 1).map_or(period, |next| next.at.as_nanos());
    let until = epoch.saturating_add((lap * period).saturating_add(end));
    (steps[index].rate.bits_per_second(), until.max(now.saturating_add(1)))
}
