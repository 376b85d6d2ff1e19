//! Bits per second.

use crate::number::{Grammar, written};
use crate::{ByteCount, QuantityError, TimeSpan};

const GRAMMAR: Grammar = Grammar {
    what: "bandwidth",
    units: &[
        ("Tbit", 1_000_000_000_000),
        ("Gbit", 1_000_000_000),
        ("Mbit", 1_000_000),
        ("kbit", 1_000),
        ("bit", 1),
    ],
    aliases: &[
        ("Gbit/s", 1_000_000_000),
        ("Mbit/s", 1_000_000),
        ("Kbit", 1_000),
        ("kbit/s", 1_000),
        ("Kbit/s", 1_000),
        ("bit/s", 1),
    ],
    list: "bit, kbit, Mbit, Gbit, Tbit (per second)",
    example: "10Mbit",
    range: "1bit to 9000000Tbit",
};

/// A rate in bits per second, counted over whole Ethernet frames without preamble, gap and checksum.
///
/// Choice: `bps` is refused. `tc` reads it as bytes per second, everyone else as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bandwidth(u64);

impl Bandwidth {
    /// A rate of `bits` per second.
    pub const fn from_bits_per_second(bits: u64) -> Self {
        Self(bits)
    }

    /// Bits per second.
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }

    /// How long `size` takes at this rate, rounded up to a nanosecond. A rate of nought takes for ever.
    pub fn time_for(self, size: ByteCount) -> TimeSpan {
        if self.0 == 0 {
            return TimeSpan::MAX;
        }
        let nanos = (u128::from(size.bytes()) * 8 * 1_000_000_000).div_ceil(u128::from(self.0));
        TimeSpan::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// How many whole bytes pass in `time` at this rate.
    pub fn bytes_in(self, time: TimeSpan) -> ByteCount {
        let bytes = u128::from(self.0) * u128::from(time.as_nanos()) / 8_000_000_000;
        ByteCount::new(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

impl std::str::FromStr for Bandwidth {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        GRAMMAR.parse(text).map(Self)
    }
}

impl std::fmt::Display for Bandwidth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        GRAMMAR.print(self.0, f)
    }
}

written!(Bandwidth, r"^[0-9]+(\.[0-9]+)? ?([TGMkK]?bit(/s)?)$", "10Mbit");
