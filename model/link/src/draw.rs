//! Random numbers that depend on nothing but a seed, a purpose and a packet's number.
//!
//! A generator with hidden state would give a packet other numbers as soon as one more is drawn before it. Here
//! packet 7's loss draw is a function of (seed, loss, 7): turning jitter on never changes which packets are lost.

/// What a number is drawn for. Each purpose has its own sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u64)]
pub enum Stream {
    /// Whether the packet vanishes.
    Loss = 1,
    /// Whether the Gilbert–Elliott chain changes its state.
    LossState,
    /// Whether the packet is doubled.
    Duplicate,
    /// Whether the packet is damaged.
    Corrupt,
    /// Whether its copy is damaged.
    CorruptCopy,
    /// Which bit is damaged.
    CorruptBit,
    /// Whether the packet skips the delay.
    Reorder,
    /// How far its delay deviates.
    Jitter,
    /// The second number that a normal deviation needs.
    JitterAngle,
    /// Whether RED takes it.
    Red,
}

/// The number drawn for one purpose and one packet.
///
/// It is element `packet` of the SplitMix64 sequence (Steele, Lea and Flood, OOPSLA 2014) whose start is the stream's
/// own mix of the seed. The sequence can be entered anywhere, because its state is a plain counter.
pub fn draw(seed: u64, stream: Stream, packet: u64) -> u64 {
    draw_from(stream_start(seed, stream), packet)
}

/// Where the sequence of one purpose starts.
pub(crate) fn stream_start(seed: u64, stream: Stream) -> u64 {
    mix(seed ^ mix((stream as u64).wrapping_mul(GOLDEN_GAMMA)))
}

/// Element `packet` of the sequence that starts at `start`.
#[inline]
pub(crate) fn draw_from(start: u64, packet: u64) -> u64 {
    mix(start.wrapping_add(packet.wrapping_add(1).wrapping_mul(GOLDEN_GAMMA)))
}

/// The seed of one direction of a link (0 from its first end, 1 towards it), derived from the file's seed and the
/// link's name, so that adding a link to a file leaves the fate of packets on the others alone.
pub fn direction_seed(file_seed: u64, link: &str, direction: usize) -> u64 {
    let named = link.bytes().fold(mix(file_seed), |state, byte| mix(state ^ u64::from(byte)));
    mix(named ^ (direction as u64).wrapping_add(GOLDEN_GAMMA))
}

/// SplitMix64's odd increment, 2^64 divided by the golden ratio.
const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64's finaliser, variant 13 of Stafford's mixers.
#[inline]
pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
