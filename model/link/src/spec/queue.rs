//! The queue as written: `queue: 50ms`, `64KiB`, `100p`, or a map.

use super::written::text_or_map;
use crate::QueueLimit;
use plait_model_quantity::{Probability, QuantityError, TimeSpan};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The queue in front of the rate: `50ms` at the rate, `64KiB`, `100p` (packets), or a map with a discipline.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(untagged)]
pub enum QueueSpec {
    /// The default queue, 50 ms drop-tail; written `none`.
    #[schemars(with = "NoneWord")]
    Default,
    /// A drop-tail queue of this size.
    Limit(QueueLimit),
    /// The full form.
    Shape(QueueShape),
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case", inline)]
#[expect(dead_code, reason = "only its schema is used")]
enum NoneWord {
    None,
}

/// A queue in full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueShape {
    /// How much may wait; 50 ms at the rate unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<QueueLimit>,
    /// Whether packets are dropped or marked before the limit is reached; drop-tail unless given.
    #[serde(default)]
    pub discipline: DisciplineSpec,
}

/// The queue's discipline: `drop_tail`, `codel`, or a map with `red` or `codel` and its parameters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum DisciplineSpec {
    /// `drop_tail`: only the limit drops.
    #[default]
    #[serde(serialize_with = "drop_tail")]
    #[schemars(with = "DropTailWord")]
    DropTail,
    /// An active discipline with its parameters.
    Aqm(AqmSpec),
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case", inline)]
#[expect(dead_code, reason = "only its schema is used")]
enum DropTailWord {
    DropTail,
    Codel,
}

/// An active discipline with its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AqmSpec {
    /// Random early detection (Floyd and Jacobson 1993).
    Red(RedSpec),
    /// Controlled delay (RFC 8289).
    Codel(CodelSpec),
}

/// Parameters of RED.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RedSpec {
    /// The average queue below which nothing is dropped, in the unit of the queue's limit.
    pub min: QueueLimit,
    /// The average queue above which everything is dropped.
    pub max: QueueLimit,
    /// The drop probability just below `max`; 2 % unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<Probability>,
    /// The weight of a new sample in the average; 0.2 % unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<Probability>,
    /// Mark packets that can carry a mark instead of dropping them.
    #[serde(default)]
    pub ecn: bool,
}

/// Parameters of CoDel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CodelSpec {
    /// The standing delay that is acceptable; 5 ms unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<TimeSpan>,
    /// How long it must stand before the first drop; 100 ms unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<TimeSpan>,
    /// Mark packets that can carry a mark instead of dropping them.
    #[serde(default)]
    pub ecn: bool,
}

impl std::str::FromStr for QueueSpec {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        match text.trim() {
            "none" => Ok(Self::Default),
            text => text.parse().map(Self::Limit),
        }
    }
}

impl From<QueueShape> for QueueSpec {
    fn from(shape: QueueShape) -> Self {
        Self::Shape(shape)
    }
}

impl Serialize for QueueSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Default => serializer.serialize_str("none"),
            Self::Limit(limit) => limit.serialize(serializer),
            Self::Shape(shape) => shape.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for QueueSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text_or_map::<D, Self, QueueShape>(
            deserializer,
            "a queue such as `50ms`, `64KiB` or `100p`, or a map with `limit` and `discipline`",
        )
    }
}

impl std::str::FromStr for DisciplineSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "drop_tail" => Ok(Self::DropTail),
            "codel" => Ok(Self::Aqm(AqmSpec::Codel(CodelSpec::default()))),
            "red" => Err("`red` needs its thresholds: `red: {min: 5ms, max: 15ms}`".to_owned()),
            other => Err(format!(
                "`{other}` is not a discipline: use drop_tail, codel, or a map with red or codel"
            )),
        }
    }
}

impl From<AqmSpec> for DisciplineSpec {
    fn from(aqm: AqmSpec) -> Self {
        Self::Aqm(aqm)
    }
}

impl<'de> Deserialize<'de> for DisciplineSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text_or_map::<D, Self, AqmSpec>(
            deserializer,
            "`drop_tail`, `codel`, or a map with `red` or `codel` and its parameters",
        )
    }
}

fn drop_tail<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str("drop_tail")
}
