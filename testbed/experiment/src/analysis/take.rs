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
        let mut taken = self.begin();
        samples.iter().for_each(|(second, value)| taken.push(*second, *value));
        taken.value()
    }

    /// The value of samples that come one by one.
    pub fn begin(self) -> Taken {
        let (ends, extremes) = (None, (f64::INFINITY, f64::NEG_INFINITY));
        Taken { take: self, ends, extremes, sum: 0.0, count: 0, all: Vec::new() }
    }
}

/// What is kept of samples until their value is asked for: of a quantile all of them, else a few numbers.
#[derive(Debug, Clone)]
pub struct Taken {
    take: Take,
    /// The first and the last, each with its second.
    ends: Option<[(f64, f64); 2]>,
    /// The smallest and the largest.
    extremes: (f64, f64),
    sum: f64,
    count: u64,
    all: Vec<f64>,
}

impl Taken {
    /// Takes a sample, no earlier than those before.
    pub fn push(&mut self, second: f64, value: f64) {
        let sample = (second, value);
        self.ends = Some([self.ends.map_or(sample, |[first, _]| first), sample]);
        self.extremes = (self.extremes.0.min(value), self.extremes.1.max(value));
        self.sum += value;
        self.count += 1;
        if matches!(self.take, Take::Quantile(_)) {
            self.all.push(value);
        }
    }

    /// The latest value.
    pub fn last(&self) -> Option<f64> {
        self.ends.map(|[_, (_, value)]| value)
    }

    /// The value of all; none where there are too few.
    pub fn value(mut self) -> Option<f64> {
        let [first, last] = self.ends?;
        let value = match self.take {
            Take::Mean => self.sum / self.count as f64,
            Take::Min => self.extremes.0,
            Take::Max => self.extremes.1,
            Take::First => first.1,
            Take::Last => last.1,
            Take::Sum => self.sum,
            Take::Rate => (last.1 - first.1) / (last.0 - first.0),
            Take::Quantile(share) => {
                self.all.sort_unstable_by(f64::total_cmp);
                quantile(&self.all, share)
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
