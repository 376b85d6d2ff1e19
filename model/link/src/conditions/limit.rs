//! How much may wait in a queue: time, bytes or packets.

use plait_model_quantity::{ByteCount, QuantityError, TimeSpan};
use std::fmt;
use std::str::FromStr;

/// How much may wait in a queue: `50ms` at the link's rate, `64KiB`, or `100p` (packets).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueLimit {
    /// What the link sends in this time.
    Time(TimeSpan),
    /// Bytes of whole frames.
    Bytes(ByteCount),
    /// Packets.
    Packets(u64),
}

impl FromStr for QueueLimit {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let trimmed = text.trim();
        let unit = trimmed.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').trim();
        match unit {
            "p" | "packets" => {
                trimmed[..trimmed.len() - unit.len()].trim().parse().map(Self::Packets).map_err(|_| {
                    QuantityError::NotANumber {
                        text: text.to_owned(),
                        what: "queue in whole packets",
                        example: "100p",
                    }
                })
            }
            _ if unit.ends_with('B') => trimmed.parse().map(Self::Bytes),
            _ if trimmed.parse::<TimeSpan>().is_ok() && !unit.is_empty() => trimmed.parse().map(Self::Time),
            "" if trimmed.parse::<f64>().is_ok() => Err(QuantityError::NoUnit {
                text: text.to_owned(),
                units: "ms, KiB, p (packets)",
                example: format!("{trimmed}p"),
            }),
            _ if trimmed.starts_with(|c: char| c.is_ascii_digit()) => Err(QuantityError::UnknownUnit {
                unit: unit.to_owned(),
                what: "queue",
                units: "us, ms, s, B, KiB, MiB, kB, MB, p (packets)",
            }),
            _ => Err(QuantityError::NotANumber { text: text.to_owned(), what: "queue", example: "50ms" }),
        }
    }
}

impl fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(time) => time.fmt(f),
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Packets(packets) => write!(f, "{packets}p"),
        }
    }
}

impl serde::Serialize for QueueLimit {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for QueueLimit {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::spec::written::text(deserializer, "a queue limit, for example `50ms`, `64KiB` or `100p`")
    }
}

impl schemars::JsonSchema for QueueLimit {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "QueueLimit".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": r"^[0-9]+(\.[0-9]+)? ?(h|min|m|s|ms|us|µs|ns|[kKMG]?B|[KMG]iB|p|packets)$",
            "examples": ["50ms", "64KiB", "100p"],
        })
    }
}
