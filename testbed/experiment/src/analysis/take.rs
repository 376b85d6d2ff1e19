//! One value from the samples of a run.

use schemars::JsonSchema;
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// How the samples of a run become its one value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Take {
    /// Their mean.
    Mean,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// The first.
    First,
    /// The last.
    Last,
    /// Their sum.
    Sum,
    /// The growth of a counter: what it gained, by the seconds between its first and last sample.
    Rate,
    /// The value below which this part of them lies, between two samples by their distance (Hyndman and Fan's type 7).
    Quantile(f64),
}

impl Take {
    /// The value of samples, each with its second; none where there are too few.
    pub fn of(self, samples: &[(f64, f64)]) -> Option<f64> {
        let values = || samples.iter().map(|(_, value)| *value);
        let (first, last) = (samples.first()?, samples.last()?);
        let value = match self {
            Self::Mean => values().sum::<f64>() / samples.len() as f64,
            Self::Min => values().fold(f64::INFINITY, f64::min),
            Self::Max => values().fold(f64::NEG_INFINITY, f64::max),
            Self::First => first.1,
            Self::Last => last.1,
            Self::Sum => values().sum(),
            Self::Rate => (last.1 - first.1) / (last.0 - first.0),
            Self::Quantile(share) => {
                let mut sorted: Vec<f64> = values().collect();
                sorted.sort_unstable_by(f64::total_cmp);
                quantile(&sorted, share)
            }
        };
        value.is_finite().then_some(value)
    }
}

/// A quantile of sorted values, of which there is one at least.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    low + (high - low) * place.fract()
}

impl FromStr for Take {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Ok(match text {
            "mean" => Self::Mean,
            "median" => Self::Quantile(0.5),
            "min" => Self::Min,
            "max" => Self::Max,
            "first" => Self::First,
            "last" => Self::Last,
            "sum" => Self::Sum,
            "rate" => Self::Rate,
            _ => {
                let percent: f64 = text.strip_prefix('p').and_then(|digits| digits.parse().ok()).ok_or(())?;
                if !(0.0..=100.0).contains(&percent) {
                    return Err(());
                }
                Self::Quantile(percent / 100.0)
            }
        })
    }
}

impl fmt::Display for Take {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mean => f.write_str("mean"),
            Self::Min => f.write_str("min"),
            Self::Max => f.write_str("max"),
            Self::First => f.write_str("first"),
            Self::Last => f.write_str("last"),
            Self::Sum => f.write_str("sum"),
            Self::Rate => f.write_str("rate"),
            Self::Quantile(share) => write!(f, "p{}", share * 100.0),
        }
    }
}

impl Serialize for Take {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Take {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl Visitor<'_> for Written {
            type Value = Take;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`mean`, `median`, `min`, `max`, `first`, `last`, `sum`, `rate`, or a percentile such as `p95`")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Take, E> {
                text.parse().map_err(|()| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_any(Written)
    }
}

impl JsonSchema for Take {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Take".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string",
            "pattern": "^(mean|median|min|max|first|last|sum|rate|p[0-9]{1,3}(\\.[0-9]+)?)$" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_become_one_value() {
        let samples = [(1.0, 10.0), (2.0, 40.0), (3.0, 30.0), (5.0, 20.0)];
        let of = |text: &str| text.parse::<Take>().unwrap().of(&samples).unwrap();
        let values =
            ["mean", "median", "min", "max", "first", "last", "sum", "rate", "p0", "p100", "p75"].map(of);
        assert_eq!(values, [25.0, 25.0, 10.0, 40.0, 10.0, 20.0, 100.0, 2.5, 10.0, 40.0, 32.5]);
        assert_eq!(Take::Mean.of(&[]), None);
        assert_eq!(Take::Rate.of(&samples[..1]), None, "one sample has no growth");
        assert_eq!(Take::Last.of(&samples[..1]), Some(10.0));
        for wrong in ["", "p", "p101", "p-1", "average", "pinf"] {
            assert_eq!(wrong.parse::<Take>(), Err(()), "{wrong}");
        }
        for text in ["mean", "p95", "p99.9", "rate"] {
            assert_eq!(text.parse::<Take>().unwrap().to_string(), text);
        }
    }
}
