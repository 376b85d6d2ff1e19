//! Bytes.

use crate::QuantityError;
use crate::number::{Grammar, written};

const GRAMMAR: Grammar = Grammar {
    what: "byte count",
    units: &[("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)],
    aliases: &[("kB", 1_000), ("KB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000)],
    list: "B, kB, MB, GB, KiB, MiB, GiB",
    example: "1500B",
    range: "0B to 8000000000GB",
};

/// A number of bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteCount(u64);

impl ByteCount {
    /// `bytes` bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The number of bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

impl std::str::FromStr for ByteCount {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        GRAMMAR.parse(text).map(Self)
    }
}

impl std::fmt::Display for ByteCount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        GRAMMAR.print(self.0, f)
    }
}

written!(ByteCount, r"^[0-9]+(\.[0-9]+)? ?([kKMG]?B|[KMG]iB)$", "64KiB");
