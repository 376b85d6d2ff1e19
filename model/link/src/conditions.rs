//! Conditions as the machinery uses them: checked, complete, traces read.

use crate::RateTrace;
use plait_model_quantity::{Bandwidth, ByteCount, Probability, TimeSpan};
use serde::{Deserialize, Serialize};

mod limit;
mod longest;
mod text;

pub use limit::QueueLimit;

/// The largest frame an Ethernet link of MTU 1500 carries, without its checksum: 1500 + 14 bytes.
pub const MTU_FRAME: ByteCount = ByteCount::new(1514);

/// What one direction of a link does to packets, in the order they meet it: loss, duplication and corruption, then
/// delay and jitter, then the queue, then the rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// How fast bits leave the queue.
    pub rate: Rate,
    /// Constant one-way delay.
    pub delay: TimeSpan,
    /// Variation around `delay`.
    pub jitter: Option<Jitter>,
    /// Which packets vanish.
    pub loss: Loss,
    /// The share of packets that skip delay and jitter and so overtake others.
    pub reorder: Probability,
    /// The share of packets that arrive twice.
    pub duplicate: Probability,
    /// The share of packets that arrive with one bit flipped.
    pub corrupt: Probability,
    /// What waits for the rate.
    pub queue: Queue,
}

/// How fast bits leave the queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rate {
    /// As fast as they come.
    Unlimited,
    /// The same at all times.
    Constant(Bandwidth),
    /// As a file says, over time.
    Trace(RateTrace),
}

/// Variation of the delay from packet to packet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Jitter {
    /// Where the variation comes from.
    pub distribution: Distribution,
    /// Whether a packet may overtake one that was sent before it. Without it a packet waits for its predecessor.
    pub overtake: bool,
}

/// Where a packet's deviation from the constant delay is drawn from. A delay never falls below nought: what a draw
/// would take below it is cut off.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Any deviation from `-spread` to `+spread`, all equally likely.
    Uniform(TimeSpan),
    /// Normal with mean 0 and this standard deviation.
    Normal(TimeSpan),
    /// Pareto of shape 3 as in netem, shifted to mean 0, with this standard deviation.
    Pareto(TimeSpan),
    /// One of these values, all equally likely, on top of the delay.
    Samples(Vec<TimeSpan>),
}

/// Which packets vanish.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// None.
    None,
    /// Each with this probability, independently.
    Independent(Probability),
    /// In bursts.
    GilbertElliott(GilbertElliott),
    /// Exactly these, counted from 1; sorted, without repetition.
    Packets(Vec<u64>),
}

/// The two-state Markov chain of Gilbert (1960) and Elliott (1963), stepped once a packet.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GilbertElliott {
    /// From good to bad.
    pub p: Probability,
    /// From bad to good.
    pub r: Probability,
    /// Loss while good.
    pub good_loss: Probability,
    /// Loss while bad.
    pub bad_loss: Probability,
}

/// What waits for the rate, and what happens when it grows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Queue {
    /// How much may wait. A packet being sent counts until its last bit has left.
    pub limit: QueueLimit,
    /// Whether packets are dropped or marked before the limit is reached.
    pub discipline: Discipline,
    /// The largest frame of the link. A queue holds two at least, or a full frame would never pass.
    #[serde(default = "usual_frame", skip_serializing_if = "is_usual_frame")]
    pub frame: ByteCount,
}

fn usual_frame() -> ByteCount {
    MTU_FRAME
}

fn is_usual_frame(frame: &ByteCount) -> bool {
    *frame == MTU_FRAME
}

/// Whether packets are dropped or marked before the queue's limit is reached.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Discipline {
    /// Only the limit drops.
    DropTail,
    /// Random early detection.
    Red(Red),
    /// CoDel, RFC 8289.
    Codel {
        /// The standing delay that is acceptable.
        target: TimeSpan,
        /// How long it must stand before the first drop.
        interval: TimeSpan,
        /// Mark packets that can carry a mark, drop the others.
        ecn: bool,
    },
}

/// Random early detection, Floyd and Jacobson 1993.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Red {
    /// The average queue below which nothing is dropped.
    pub min: QueueLimit,
    /// The average queue above which everything is dropped.
    pub max: QueueLimit,
    /// The drop probability just below `max`.
    pub probability: Probability,
    /// The weight of a new sample in the average.
    pub weight: Probability,
    /// Mark packets that can carry a mark, drop the others.
    pub ecn: bool,
}

impl Default for Conditions {
    /// A wire: nothing happens to a packet.
    fn default() -> Self {
        Self {
            rate: Rate::Unlimited,
            delay: TimeSpan::ZERO,
            jitter: None,
            loss: Loss::None,
            reorder: Probability::ZERO,
            duplicate: Probability::ZERO,
            corrupt: Probability::ZERO,
            queue: Queue::default(),
        }
    }
}

impl Default for Queue {
    /// Choice: 50 ms, drop-tail. A limit in time fits every rate; fixed packet counts (the kernel's 1000) are 12 ms
    /// at 1 Gbit/s and three minutes at 64 kbit/s.
    fn default() -> Self {
        Self {
            limit: QueueLimit::Time(TimeSpan::from_millis(50)),
            discipline: Discipline::DropTail,
            frame: MTU_FRAME,
        }
    }
}

impl Conditions {
    /// Whether packets pass untouched, as on a wire.
    pub fn is_unimpaired(&self) -> bool {
        self.rate == Rate::Unlimited && self.touches_no_packet()
    }

    /// Whether a constant rate and a drop-tail queue are all there is, which a kernel's token bucket can do as well: it
    /// counts its queue in bytes.
    pub fn is_rate_only(&self) -> bool {
        matches!(self.rate, Rate::Constant(_))
            && !matches!(self.queue.limit, QueueLimit::Packets(_))
            && self.queue.discipline == Discipline::DropTail
            && self.touches_no_packet()
    }

    /// Whether a draw for each packet decides its fate, whatever stands in the queue.
    pub fn is_random(&self) -> bool {
        self.jitter.is_some()
            || self.loss != Loss::None
            || [self.reorder, self.duplicate, self.corrupt].iter().any(|share| *share != Probability::ZERO)
    }

    /// Whether packets keep their order and the queue drops at its tail alone, so that what becomes of a packet is known when
    /// it arrives.
    pub fn is_foreseeable(&self) -> bool {
        !self.may_overtake() && self.queue.discipline == Discipline::DropTail
    }

    /// Whether a packet may pass those before it.
    pub fn may_overtake(&self) -> bool {
        self.reorder != Probability::ZERO || self.jitter.as_ref().is_some_and(|jitter| jitter.overtake)
    }

    /// Whether each packet must come through as itself. Otherwise the sender may hand over trains of 64 KB (TSO),
    /// which is many times faster, but then one loss draw or one queue drop kills a whole train.
    ///
    /// Choice: a drop-tail queue counts as deep enough for trains from 200 ms at its rate. The constant delay alone
    /// needs no whole packets: a train arrives at one instant on a real link with offloads too.
    pub fn needs_whole_packets(&self) -> bool {
        const DEEP: TimeSpan = TimeSpan::from_millis(200);
        let shallow = || match (&self.rate, self.queue.limit) {
            (Rate::Unlimited, _) => false,
            (_, QueueLimit::Time(time)) => time < DEEP,
            (_, QueueLimit::Packets(_)) => true,
            (Rate::Constant(rate), QueueLimit::Bytes(bytes)) => rate.time_for(bytes) < DEEP,
            (Rate::Trace(trace), QueueLimit::Bytes(bytes)) => trace.fastest().time_for(bytes) < DEEP,
        };
        self.is_random()
            || (self.rate != Rate::Unlimited && self.queue.discipline != Discipline::DropTail)
            || shallow()
    }

    /// The queue's limit in bytes, and whether it had to be raised to two full frames to let anything pass: 50 ms at
    /// 64 kbit/s are 400 bytes. `None` if the limit counts packets.
    ///
    /// Choice: under a rate trace a limit in time means bytes at the trace's mean rate. A buffer does not shrink when
    /// the radio fades.
    pub fn queue_bytes(&self) -> Option<(ByteCount, bool)> {
        let asked = match self.queue.limit {
            QueueLimit::Bytes(bytes) => bytes,
            QueueLimit::Time(time) => self.bytes_in(time),
            QueueLimit::Packets(_) => return None,
        };
        let least = ByteCount::new(2 * self.queue.frame.bytes());
        Some((asked.max(least), asked < least))
    }

    /// What the rate carries in a time; under a trace, its mean rate.
    pub(crate) fn bytes_in(&self, time: TimeSpan) -> ByteCount {
        match &self.rate {
            Rate::Unlimited => ByteCount::new(u64::MAX),
            Rate::Constant(rate) => rate.bytes_in(time),
            Rate::Trace(trace) => trace.mean().bytes_in(time),
        }
    }

    fn touches_no_packet(&self) -> bool {
        self.delay == TimeSpan::ZERO
            && self.jitter.is_none()
            && self.loss == Loss::None
            && [self.reorder, self.duplicate, self.corrupt].iter().all(|share| *share == Probability::ZERO)
    }
}
