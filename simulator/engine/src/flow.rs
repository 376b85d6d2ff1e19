//! Traffic: a source that sends datagrams without content, and what its sink saw of them.

use crate::encapsulation::Encapsulation;
use crate::fabric::Place;
use plait_model_quantity::Bandwidth;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::time::Duration;

/// A flow by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowIndex(pub u32);

/// A flow of UDP datagrams.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowSpec {
    /// The sender's address; a node of the simulation has it.
    pub source: IpAddr,
    /// The receiver's address.
    pub destination: IpAddr,
    /// Ports of sender and receiver.
    pub ports: [u16; 2],
    /// When datagrams leave.
    pub arrivals: Arrivals,
    /// How long they are.
    pub size: Size,
    /// From when on, on the simulation's clock.
    pub start: Duration,
    /// Until when.
    pub stop: Option<Duration>,
    /// At most so many datagrams.
    pub limit: Option<u32>,
    /// Relays that they go by.
    pub relays: Option<Relays>,
    /// Whether they can carry congestion marks.
    pub ecn_capable: bool,
}

/// When datagrams leave. Rates count frames: UDP payload, and the headers of UDP, IP and Ethernet, but no stack.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Evenly at a rate: each leaves when the one before it would have been sent at that rate.
    Constant(Bandwidth),
    /// Independently of each other (a Poisson process), at a rate on average.
    Poisson(Bandwidth),
    /// Evenly at a rate while on; on and off for exponentially distributed times.
    OnOff {
        /// The rate while on.
        rate: Bandwidth,
        /// How long it is on, on average.
        on: Duration,
        /// How long it is off, on average.
        off: Duration,
    },
}

/// How long datagrams are: bytes of UDP payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Size {
    /// All alike.
    Constant(u32),
    /// Exponentially distributed with this mean, rounded down.
    Exponential(u32),
}

/// Relays that a flow goes by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Relays {
    /// Their headers.
    pub encapsulation: Encapsulation,
    /// The outer source address of all headers.
    pub source: IpAddr,
    /// The relays, the first of which is outermost.
    pub relays: Vec<IpAddr>,
}

impl FlowSpec {
    /// Datagrams of 1,000 bytes at an even rate from now on.
    pub fn constant(source: IpAddr, destination: IpAddr, ports: [u16; 2], rate: Bandwidth) -> Self {
        Self {
            source,
            destination,
            ports,
            arrivals: Arrivals::Constant(rate),
            size: Size::Constant(1000),
            start: Duration::ZERO,
            stop: None,
            limit: None,
            relays: None,
            ecn_capable: false,
        }
    }
}

/// What a flow's sink saw. Delays are from sending to the last bit's arrival.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowCounters {
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams received.
    pub received: u64,
    /// Bytes of UDP payload received.
    pub bytes: u64,
    /// Datagrams that came after one that was sent later.
    pub reordered: u64,
    /// Datagrams with a congestion mark.
    pub marked: u64,
    /// The sum of all delays, in nanoseconds.
    pub delay_sum: u64,
    /// The shortest delay, in nanoseconds.
    pub delay_least: u64,
    /// The longest delay, in nanoseconds.
    pub delay_most: u64,
    /// When the last datagram came, in nanoseconds.
    pub last: u64,
}

impl FlowCounters {
    /// Counts a datagram that came at `now`, by when it was sent, both in nanoseconds.
    #[inline]
    pub fn arrive(&mut self, now: u64, sent: u64, bytes: u64) {
        let delay = now.saturating_sub(sent);
        self.delay_least = if self.received == 0 { delay } else { self.delay_least.min(delay) };
        self.delay_most = self.delay_most.max(delay);
        self.delay_sum = self.delay_sum.saturating_add(delay);
        self.received += 1;
        self.bytes += bytes;
        self.last = now;
    }

    /// The mean delay, in nanoseconds.
    pub fn mean_delay(&self) -> Option<f64> {
        (self.received > 0).then(|| self.delay_sum as f64 / self.received as f64)
    }
}

/// Where a flow's two halves are.
#[derive(Debug)]
pub(crate) struct FlowPlace {
    pub source: Place,
    pub sink: Place,
}

/// What a sink keeps of its flow.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    pub counters: FlowCounters,
    /// The highest number seen, and one more.
    pub next: u32,
}
