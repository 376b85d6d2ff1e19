//! A share of packets.

use crate::QuantityError;
use crate::number::written;

/// A probability from 0 to 1, written in per cent.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd)]
pub struct Probability(f64);

impl Probability {
    /// Never.
    pub const ZERO: Self = Self(0.0);
    /// Always.
    pub const ONE: Self = Self(1.0);

    /// A probability, or `None` outside 0 to 1.
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Self(value))
    }

    /// The value from 0 to 1.
    pub const fn value(self) -> f64 {
        self.0
    }

    /// Whether a draw from the whole range of `u64` falls inside: true for a share of [`value`](Self::value) of draws.
    #[inline]
    pub fn hits(self, draw: u64) -> bool {
        self.bound().is_none_or(|bound| draw < bound)
    }

    /// The least draw that does not [hit](Self::hits); none where all do.
    #[inline]
    pub fn bound(self) -> Option<u64> {
        // 2^64 is exact in binary floating point, so 0 never hits and 1 always does: a share of 1 is no 64-bit number.
        (self.0 < 1.0).then_some((self.0 * 18_446_744_073_709_551_616.0) as u64)
    }
}

impl std::str::FromStr for Probability {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        const WHAT: &str = "probability";
        let trimmed = text.trim();
        let Some(number) = trimmed.strip_suffix('%') else {
            return match trimmed.parse::<f64>() {
                Ok(0.0) => Ok(Self::ZERO),
                Ok(_) => Err(QuantityError::NoUnit {
                    text: text.to_owned(),
                    units: "%",
                    example: format!("{trimmed}%"),
                }),
                Err(_) => Err(QuantityError::NotANumber { text: text.to_owned(), what: WHAT, example: "1%" }),
            };
        };
        let percent: f64 = number.trim().parse().map_err(|_| QuantityError::NotANumber {
            text: text.to_owned(),
            what: WHAT,
            example: "1%",
        })?;
        Self::new(percent / 100.0).ok_or_else(|| QuantityError::OutOfRange {
            text: text.to_owned(),
            what: WHAT,
            range: "0% to 100%",
        })
    }
}

impl std::fmt::Display for Probability {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The shortest text that reads back as the same share.
        for digits in 0..17 {
            let text = format!("{:.digits$}%", self.0 * 100.0);
            if text.parse() == Ok(*self) {
                return f.write_str(&text);
            }
        }
        write!(f, "{}%", self.0 * 100.0)
    }
}

written!(Probability, r"^[0-9]+(\.[0-9]+)? ?%$", "1%");
