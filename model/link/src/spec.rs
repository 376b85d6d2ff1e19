//! Conditions as a person writes them.

use crate::{Conditions, Discipline, Distribution, GilbertElliott, Jitter, Loss, Queue, QueueLimit, Rate};
use crate::{RateTrace, Red, TraceError, trace};
use plait_model_quantity::{Bandwidth, Probability, TimeSpan};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

mod jitter;
mod loss;
mod queue;
mod settings;
pub(crate) mod written;

pub use jitter::{DistributionSpec, JitterShape, JitterSpec};
pub use loss::{GilbertElliottSpec, LossModel, LossSpec};
pub use queue::{AqmSpec, CodelSpec, DisciplineSpec, QueueShape, QueueSpec, RedSpec};
pub use settings::SETTINGS;
use written::{SchemaOrNone, or_none};

/// One direction of a link as written in a network file. What is not given is inherited, and in the end absent:
/// a link of which nothing is asked is a wire. `none` takes back what would be inherited.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConditionsSpec {
    /// How fast bits leave, counted over whole Ethernet frames: `10Mbit`. Served exactly, without bursts.
    #[serde(with = "or_none", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<SchemaOrNone<Bandwidth>>")]
    pub rate: Option<Bandwidth>,
    /// A file with lines of `time rate` (`20ms 10Mbit`), replayed from the start of the link and repeated. Instead of
    /// `rate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_trace: Option<String>,
    /// One-way delay: `20ms`.
    #[serde(with = "or_none", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<SchemaOrNone<TimeSpan>>")]
    pub delay: Option<TimeSpan>,
    /// Variation of the delay: `2ms` (uniform, ±2 ms), or a map with `spread`, `distribution` and `overtake`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<JitterSpec>,
    /// Which packets vanish: `1%`, or a map with `gilbert_elliott` or `packets`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossSpec>,
    /// The share of packets that skip delay and jitter and so overtake others: `1%`. Needs a `delay`.
    #[serde(with = "or_none", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<SchemaOrNone<Probability>>")]
    pub reorder: Option<Probability>,
    /// The share of packets that arrive twice: `0.1%`.
    #[serde(with = "or_none", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<SchemaOrNone<Probability>>")]
    pub duplicate: Option<Probability>,
    /// The share of packets that arrive with one bit flipped: `0.01%`.
    #[serde(with = "or_none", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<SchemaOrNone<Probability>>")]
    pub corrupt: Option<Probability>,
    /// What may wait for the rate: `50ms`, `64KiB`, `100p` (packets), or a map with `limit` and `discipline`. 50 ms
    /// drop-tail unless given; never less than two full frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueSpec>,
}

/// Why conditions could not be used. `field` says which key of the file is at fault.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConditionsError {
    /// `rate` and `rate_trace` together.
    #[error("`rate` and `rate_trace` exclude each other: keep one")]
    TwoRates,
    /// A trace that could not be opened.
    #[error("trace `{path}` for `{field}`: {reason}")]
    Unreadable {
        /// The key.
        field: &'static str,
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
    /// A trace with a bad line.
    #[error("trace `{path}` for `{field}`, {error}")]
    Trace {
        /// The key.
        field: &'static str,
        /// The file.
        path: String,
        /// The line and what is wrong with it.
        error: TraceError,
    },
    /// A value that is well written but means nothing.
    #[error("{reason}")]
    Senseless {
        /// The key.
        field: &'static str,
        /// What is wrong and what to write.
        reason: String,
    },
    /// A `key=value` setting with a key that does not exist.
    #[error("`{key}` is not a link setting: use one of {list}", list = SETTINGS.join(", "))]
    UnknownSetting {
        /// The key as given.
        key: String,
    },
    /// A `key=value` setting with a value that cannot be read.
    #[error("{key}: {reason}")]
    BadSetting {
        /// The key.
        key: String,
        /// What is wrong and what to write.
        reason: String,
    },
}

impl ConditionsSpec {
    /// Whether nothing is written at all.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// These conditions over others: field by field, what is given here wins. `rate` and `rate_trace` count as one
    /// field.
    pub fn merge(&self, under: &Self) -> Self {
        let own_rate = self.rate.is_some() || self.rate_trace.is_some();
        let rates = if own_rate { self } else { under };
        Self {
            rate: rates.rate,
            rate_trace: rates.rate_trace.clone(),
            delay: self.delay.or(under.delay),
            jitter: self.jitter.clone().or_else(|| under.jitter.clone()),
            loss: self.loss.clone().or_else(|| under.loss.clone()),
            reorder: self.reorder.or(under.reorder),
            duplicate: self.duplicate.or(under.duplicate),
            corrupt: self.corrupt.or(under.corrupt),
            queue: self.queue.clone().or_else(|| under.queue.clone()),
        }
    }

    /// Checks the conditions, fills in defaults and reads traces. `traces` returns a file's text, or why it cannot.
    pub fn build(
        &self,
        traces: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Conditions, ConditionsError> {
        let delay = self.delay.unwrap_or(TimeSpan::ZERO);
        let reorder = self.reorder.unwrap_or(Probability::ZERO);
        if reorder != Probability::ZERO && delay == TimeSpan::ZERO {
            return Err(ConditionsError::Senseless {
                field: "reorder",
                reason: "`reorder` lets packets skip the delay, so it needs a `delay` to skip".to_owned(),
            });
        }
        Ok(Conditions {
            rate: self.build_rate(traces)?,
            delay,
            jitter: build_jitter(self.jitter.as_ref(), traces)?,
            loss: build_loss(self.loss.as_ref())?,
            reorder,
            duplicate: self.duplicate.unwrap_or(Probability::ZERO),
            corrupt: self.corrupt.unwrap_or(Probability::ZERO),
            queue: build_queue(self.queue.as_ref())?,
        })
    }

    /// This laid over conditions that were built before from `written`: what it does not name stays as it was built, so
    /// that no trace is read again.
    pub fn build_over(
        &self,
        written: &Self,
        built: &Conditions,
        traces: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<(Self, Conditions), ConditionsError> {
        let merged = self.merge(written);
        let mut changed = merged.clone();
        let same_rate = self.rate.is_none() && self.rate_trace.is_none();
        if same_rate {
            (changed.rate, changed.rate_trace) = (None, None);
        }
        let same_jitter = self.jitter.is_none();
        if same_jitter {
            changed.jitter = None;
        }
        let mut conditions = changed.build(traces)?;
        conditions.queue.frame = built.queue.frame;
        if same_rate {
            conditions.rate = built.rate.clone();
        }
        if same_jitter {
            conditions.jitter = built.jitter.clone();
        }
        Ok((merged, conditions))
    }

    /// The files that it names.
    pub fn traces(&self) -> Vec<&str> {
        let rate = self.rate_trace.as_deref().filter(|path| *path != "none");
        let jitter = match &self.jitter {
            Some(JitterSpec::Shape(JitterShape { distribution: DistributionSpec::Trace(path), .. })) => {
                Some(&path[..])
            }
            _ => None,
        };
        rate.into_iter().chain(jitter).collect()
    }

    fn build_rate(&self, traces: &dyn Fn(&str) -> Result<String, String>) -> Result<Rate, ConditionsError> {
        match (self.rate, self.rate_trace.as_deref()) {
            (Some(_), Some(_)) => Err(ConditionsError::TwoRates),
            (Some(rate), None) if rate.bits_per_second() > 0 => Ok(Rate::Constant(rate)),
            (_, None | Some("none")) => Ok(Rate::Unlimited),
            (None, Some(path)) => read("rate_trace", path, traces, RateTrace::parse).map(Rate::Trace),
        }
    }
}

fn build_jitter(
    spec: Option<&JitterSpec>,
    traces: &dyn Fn(&str) -> Result<String, String>,
) -> Result<Option<Jitter>, ConditionsError> {
    let shape = match spec {
        None => return Ok(None),
        Some(JitterSpec::Spread(spread)) => {
            JitterShape { spread: Some(*spread), distribution: DistributionSpec::Uniform, overtake: false }
        }
        Some(JitterSpec::Shape(shape)) => shape.clone(),
    };
    let senseless = |reason: &str| ConditionsError::Senseless { field: "jitter", reason: reason.to_owned() };
    let distribution = match (shape.distribution, shape.spread) {
        (DistributionSpec::Trace(_), Some(_)) => {
            return Err(senseless("a jitter trace gives the values itself: take `spread` away"));
        }
        (DistributionSpec::Trace(path), None) => {
            Distribution::Samples(read("jitter", &path, traces, trace::jitter_samples)?)
        }
        (_, None) => return Err(senseless("`jitter` needs a `spread`, for example `spread: 2ms`")),
        (_, Some(TimeSpan::ZERO)) => return Ok(None),
        (DistributionSpec::Uniform, Some(spread)) => Distribution::Uniform(spread),
        (DistributionSpec::Normal, Some(spread)) => Distribution::Normal(spread),
        (DistributionSpec::Pareto, Some(spread)) => Distribution::Pareto(spread),
    };
    Ok(Some(Jitter { distribution, overtake: shape.overtake }))
}

fn build_loss(spec: Option<&LossSpec>) -> Result<Loss, ConditionsError> {
    Ok(match spec {
        None => Loss::None,
        Some(LossSpec::Independent(share)) if *share == Probability::ZERO => Loss::None,
        Some(LossSpec::Independent(share)) => Loss::Independent(*share),
        Some(LossSpec::Model(LossModel::GilbertElliott(chain))) => Loss::GilbertElliott(GilbertElliott {
            p: chain.p,
            r: chain.r,
            good_loss: chain.good_loss.unwrap_or(Probability::ZERO),
            bad_loss: chain.bad_loss.unwrap_or(Probability::ONE),
        }),
        Some(LossSpec::Model(LossModel::Packets(packets))) => {
            if packets.contains(&0) {
                return Err(ConditionsError::Senseless {
                    field: "loss",
                    reason: "packets count from 1: there is no packet 0".to_owned(),
                });
            }
            let mut packets = packets.clone();
            packets.sort_unstable();
            packets.dedup();
            if packets.is_empty() { Loss::None } else { Loss::Packets(packets) }
        }
    })
}

fn build_queue(spec: Option<&QueueSpec>) -> Result<Queue, ConditionsError> {
    let default = Queue::default();
    let shape = match spec {
        None | Some(QueueSpec::Default) => return Ok(default),
        Some(QueueSpec::Limit(limit)) => return Ok(Queue { limit: *limit, ..default }),
        Some(QueueSpec::Shape(shape)) => shape,
    };
    let senseless = |reason: &str| ConditionsError::Senseless { field: "queue", reason: reason.to_owned() };
    let discipline = match shape.discipline {
        DisciplineSpec::DropTail => Discipline::DropTail,
        DisciplineSpec::Aqm(AqmSpec::Codel(codel)) => Discipline::Codel {
            // RFC 8289, section 4.3 and 4.4: 5 ms and 100 ms fit the open Internet.
            target: codel.target.unwrap_or(TimeSpan::from_millis(5)),
            interval: codel.interval.unwrap_or(TimeSpan::from_millis(100)),
            ecn: codel.ecn,
        },
        DisciplineSpec::Aqm(AqmSpec::Red(red)) => {
            let ordered = match (red.min, red.max) {
                (QueueLimit::Time(min), QueueLimit::Time(max)) => min < max,
                (QueueLimit::Bytes(min), QueueLimit::Bytes(max)) => min < max,
                (QueueLimit::Packets(min), QueueLimit::Packets(max)) => min < max,
                _ => return Err(senseless("write `min` and `max` of `red` in the same unit")),
            };
            if !ordered {
                return Err(senseless("`min` of `red` must be below `max`"));
            }
            Discipline::Red(Red {
                min: red.min,
                max: red.max,
                // Floyd and Jacobson 1993, sections 6 and 7: 1/50 and 0.002.
                probability: red.probability.unwrap_or_else(|| Probability::new(0.02).expect("a share")),
                weight: red.weight.unwrap_or_else(|| Probability::new(0.002).expect("a share")),
                ecn: red.ecn,
            })
        }
    };
    Ok(Queue { limit: shape.limit.unwrap_or(default.limit), discipline, ..default })
}

fn read<T>(
    field: &'static str,
    path: &str,
    traces: &dyn Fn(&str) -> Result<String, String>,
    parse: fn(&str) -> Result<T, TraceError>,
) -> Result<T, ConditionsError> {
    let text = traces(path).map_err(|reason| ConditionsError::Unreadable {
        field,
        path: path.to_owned(),
        reason,
    })?;
    parse(&text).map_err(|error| ConditionsError::Trace { field, path: path.to_owned(), error })
}
