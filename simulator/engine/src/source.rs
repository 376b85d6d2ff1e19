//! The half of a flow that sends.

use crate::flow::{Arrivals, FlowSpec, Size};
use crate::packet::{Packet, headers};
use plait_model_quantity::Bandwidth;
use plait_model_topology::random::SplitMix64;
use std::time::Duration;

/// A source at work.
#[derive(Debug)]
pub(crate) struct Source {
    /// The packet that it sends over and over; of it only size, number and instant change.
    pub template: Packet,
    pub node: u32,
    /// Bytes of relays' headers.
    stack: u32,
    arrivals: Arrivals,
    size: Size,
    stop: u64,
    left: u64,
    sent: u64,
    /// A sequence of its own, so that nobody else's draws change its datagrams.
    random: SplitMix64,
    /// What the division of the last gap left over, so that an even rate is exact.
    carry: u64,
    on_until: u64,
}

const NANOS: u64 = 1_000_000_000;

impl Source {
    pub fn new(spec: &FlowSpec, template: Packet, node: u32, stack: u32, seed: u64) -> Self {
        let mut source = Self {
            template,
            node,
            stack,
            arrivals: spec.arrivals,
            size: spec.size,
            stop: spec.stop.map_or(u64::MAX, nanos),
            sent: 0,
            left: spec.limit.map_or(u64::MAX, u64::from),
            random: SplitMix64::new(seed),
            carry: 0,
            on_until: 0,
        };
        if let Arrivals::OnOff { on, .. } = spec.arrivals {
            source.on_until = nanos(spec.start).saturating_add(source.exponential(nanos(on)));
        }
        source
    }

    /// The first instant at which it sends.
    pub fn first(&mut self, start: Duration) -> Option<u64> {
        let start = nanos(start);
        let at = match self.arrivals {
            Arrivals::Poisson(rate) => start.saturating_add(self.poisson_gap(rate)),
            _ => start,
        };
        (self.left > 0 && at < self.stop).then_some(at)
    }

    /// The packet that leaves at `now`, and when the next one does.
    pub fn send(&mut self, now: u64) -> (Packet, Option<u64>) {
        let payload = match self.size {
            Size::Constant(bytes) => bytes,
            Size::Exponential(mean) => self.exponential(mean.into()).min(LARGEST) as u32,
        };
        let plain = payload.saturating_add(headers(self.template.is_ipv6()));
        let mut packet = self.template.clone();
        packet.frame = plain.saturating_add(self.stack);
        packet.sent = now;
        self.template.number = self.template.number.wrapping_add(1);
        self.left -= 1;
        self.sent += 1;
        let next = match self.arrivals {
            Arrivals::Constant(rate) => now.saturating_add(self.even_gap(plain, rate)),
            Arrivals::Poisson(rate) => now.saturating_add(self.poisson_gap(rate)),
            Arrivals::OnOff { rate, on, off } => {
                let mut next = now.saturating_add(self.even_gap(plain, rate));
                while next > self.on_until && next < self.stop {
                    // The gap goes on where it stopped when the source fell silent.
                    let off = self.exponential(nanos(off));
                    next = next.saturating_add(off);
                    let on = self.exponential(nanos(on)).max(1);
                    self.on_until = self.on_until.saturating_add(off).saturating_add(on);
                }
                next
            }
        };
        (packet, (self.left > 0 && next < self.stop).then_some(next))
    }

    /// How many datagrams it sent.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Makes room for other relays' headers.
    pub fn set_stack_length(&mut self, bytes: u32) {
        self.stack = bytes;
    }

    fn even_gap(&mut self, frame: u32, rate: Bandwidth) -> u64 {
        let rate = rate.bits_per_second().max(1);
        let work = u128::from(frame) * 8 * u128::from(NANOS) + u128::from(self.carry);
        match u64::try_from(work) {
            Ok(work) => {
                self.carry = work % rate;
                work / rate
            }
            Err(_) => {
                self.carry = (work % u128::from(rate)) as u64;
                u64::try_from(work / u128::from(rate)).unwrap_or(u64::MAX)
            }
        }
    }

    fn poisson_gap(&mut self, rate: Bandwidth) -> u64 {
        let (Size::Constant(mean) | Size::Exponential(mean)) = self.size;
        let frame = f64::from(mean) + f64::from(headers(self.template.is_ipv6()));
        let gap = frame * 8e9 / rate.bits_per_second().max(1) as f64;
        (gap * self.deviation()) as u64
    }

    /// An exponentially distributed number, rounded down.
    fn exponential(&mut self, mean: u64) -> u64 {
        (mean as f64 * self.deviation()) as u64
    }

    /// An exponentially distributed number of mean 1, by inversion. The logarithm is libm's in Rust, not the platform's,
    /// so that every machine draws the same.
    fn deviation(&mut self) -> f64 {
        -libm::log(1.0 - self.random.unit())
    }
}

/// The largest datagram that is drawn: what a link counts of one (16 MiB) is more.
const LARGEST: u64 = 16_000_000;

pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
