//! A packet's fate: which vanish, double, break, hurry or dawdle. All of it follows from the seed and the packet's
//! number, none of it from time.

use crate::draw::{Stream, draw_from, stream_start};
use crate::{Conditions, Distribution, Loss};
use plait_model_quantity::{Probability, TimeSpan};

/// The streams of one direction, and the one thing that is remembered from packet to packet: the state of the chain.
#[derive(Debug)]
pub(crate) struct Fates {
    starts: [u64; STREAMS],
    chain_is_bad: bool,
}

/// Numbers from here on belong to housekeeping packets.
pub(crate) const HOUSEKEEPING: u64 = 1 << 63;

const STREAMS: usize = Stream::Red as usize + 1;

impl Fates {
    pub fn new(seed: u64) -> Self {
        const ALL: [Stream; 10] = [
            Stream::Loss,
            Stream::LossState,
            Stream::Duplicate,
            Stream::Corrupt,
            Stream::CorruptCopy,
            Stream::CorruptBit,
            Stream::Reorder,
            Stream::Jitter,
            Stream::JitterAngle,
            Stream::Red,
        ];
        let mut starts = [0; STREAMS];
        for stream in ALL {
            starts[stream as usize] = stream_start(seed, stream);
        }
        Self { starts, chain_is_bad: false }
    }

    /// Where the sequence of a stream starts.
    pub fn start(&self, stream: Stream) -> u64 {
        self.starts[stream as usize]
    }

    #[inline]
    pub fn draw(&self, stream: Stream, number: u64) -> u64 {
        draw_from(self.starts[stream as usize], number)
    }

    #[inline]
    fn hits(&self, share: Probability, stream: Stream, number: u64) -> bool {
        share != Probability::ZERO && share.hits(self.draw(stream, number))
    }

    /// Whether the packet is lost. `number` counts from 0.
    #[inline]
    pub fn is_lost(&mut self, loss: &Loss, number: u64) -> bool {
        match loss {
            Loss::None => false,
            Loss::Independent(share) => self.hits(*share, Stream::Loss, number),
            Loss::GilbertElliott(chain) => {
                let (change, loss) =
                    if self.chain_is_bad { (chain.r, chain.bad_loss) } else { (chain.p, chain.good_loss) };
                let lost = self.hits(loss, Stream::Loss, number);
                // Housekeeping meets the chain as it stands, but moves it no further.
                self.chain_is_bad ^= number < HOUSEKEEPING && self.hits(change, Stream::LossState, number);
                lost
            }
            Loss::Packets(numbers) => numbers.binary_search(&(number + 1)).is_ok(),
        }
    }

    /// Whether the packet is doubled.
    #[inline]
    pub fn is_duplicated(&self, conditions: &Conditions, number: u64) -> bool {
        self.hits(conditions.duplicate, Stream::Duplicate, number)
    }

    /// Whether the packet is damaged, or its copy.
    #[inline]
    pub fn is_damaged(&self, conditions: &Conditions, stream: Stream, number: u64) -> bool {
        self.hits(conditions.corrupt, stream, number)
    }

    /// The number that chooses the bit to flip of a packet that is damaged. It is drawn anew where it is asked for: simulated
    /// networks have millions of packets, and eight bytes less for each.
    pub fn bit(&self, number: u64) -> u64 {
        self.draw(Stream::CorruptBit, number)
    }

    /// Whether the packet skips the delay.
    #[inline]
    pub fn is_reordered(&self, conditions: &Conditions, number: u64) -> bool {
        self.hits(conditions.reorder, Stream::Reorder, number)
    }

    /// Delay and jitter, in nanoseconds.
    #[inline]
    pub fn delay(&self, conditions: &Conditions, number: u64) -> u64 {
        let delay = conditions.delay.as_nanos();
        let Some(jitter) = &conditions.jitter else { return delay };
        let draw = self.draw(Stream::Jitter, number);
        match &jitter.distribution {
            Distribution::Uniform(spread) => {
                let spread = spread.as_nanos().min(LONGEST);
                (delay + scale(draw, 2 * spread + 1)).saturating_sub(spread)
            }
            Distribution::Normal(spread) => {
                deviate(delay, *spread, normal(draw, self.draw(Stream::JitterAngle, number)))
            }
            Distribution::Pareto(spread) => deviate(delay, *spread, pareto(draw)),
            Distribution::Samples(samples) => {
                delay + samples[scale(draw, samples.len() as u64) as usize].as_nanos().min(LONGEST)
            }
        }
    }
}

/// A bound on what is added to a delay, so that sums stay far from overflow: a century.
const LONGEST: u64 = 3_155_760_000_000_000_000;

/// A draw scaled to `0..below`.
fn scale(draw: u64, below: u64) -> u64 {
    ((u128::from(draw) * u128::from(below)) >> 64) as u64
}

/// A draw as a number in (0, 1].
fn unit(draw: u64) -> f64 {
    ((draw >> 11) + 1) as f64 / 9_007_199_254_740_992.0
}

/// `delay` moved by `deviation` standard deviations of `spread`, not below nought.
fn deviate(delay: u64, spread: TimeSpan, deviation: f64) -> u64 {
    let moved = delay as f64 + libm::rint(spread.as_nanos() as f64 * deviation);
    moved.clamp(0.0, LONGEST as f64) as u64
}

/// A standard normal deviation by the Box–Muller transform (1958). The functions are libm's in Rust, not the
/// platform's, so that every machine gives a packet the same delay.
fn normal(radius: u64, angle: u64) -> f64 {
    libm::sqrt(-2.0 * libm::log(unit(radius))) * libm::cos(2.0 * std::f64::consts::PI * unit(angle))
}

/// A Pareto deviation of shape 3 (netem's), moved and scaled to mean 0 and standard deviation 1: the plain one with
/// minimum 1 has mean 3/2 and variance 3/4.
fn pareto(draw: u64) -> f64 {
    const DEVIATION: f64 = 0.866_025_403_784_438_6;
    (1.0 / libm::cbrt(unit(draw)) - 1.5) / DEVIATION
}
