//! Spans of time.

use crate::QuantityError;
use crate::number::{Grammar, written};
use std::time::Duration;

const GRAMMAR: Grammar = Grammar {
    what: "time",
    units: &[
        ("h", 3_600_000_000_000),
        ("min", 60_000_000_000),
        ("s", 1_000_000_000),
        ("ms", 1_000_000),
        ("us", 1_000),
        ("ns", 1),
    ],
    aliases: &[("µs", 1_000), ("m", 60_000_000_000)],
    list: "ns, us, ms, s, min, h",
    example: "20ms",
    range: "0ns to 2500000h",
};

/// A span of time with nanosecond resolution: [`Duration`] with a written form.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeSpan(u64);

impl TimeSpan {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span, used for "never".
    pub const MAX: Self = Self(u64::MAX);

    /// A span of `nanos` nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// A span of `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// The span in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The span in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl From<TimeSpan> for Duration {
    fn from(span: TimeSpan) -> Duration {
        Duration::from_nanos(span.0)
    }
}

impl From<Duration> for TimeSpan {
    /// A duration beyond 584 years becomes [`TimeSpan::MAX`].
    fn from(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl std::str::FromStr for TimeSpan {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        GRAMMAR.parse(text).map(Self)
    }
}

impl std::fmt::Display for TimeSpan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // People say 90s and 1500ms; whole minutes and hours only from where seconds stop helping.
        if self.0.is_multiple_of(1_000_000_000) && !self.0.is_multiple_of(60_000_000_000) {
            return write!(f, "{}s", self.0 / 1_000_000_000);
        }
        GRAMMAR.print(self.0, f)
    }
}

written!(TimeSpan, r"^[0-9]+(\.[0-9]+)? ?(h|min|m|s|ms|us|µs|ns)$", "20ms");
