//! Jitter as written: `jitter: 2ms` or a map.

use super::written::{OrNone, text_or_map};
use plait_model_quantity::{QuantityError, TimeSpan};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// Variation of the delay: `2ms` (uniform, ±2 ms) or a map with a distribution.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum JitterSpec {
    /// Uniform within ± this much, without overtaking; `none` for no jitter.
    Spread(#[schemars(with = "super::written::SchemaOrNone<TimeSpan>")] TimeSpan),
    /// The full form.
    Shape(JitterShape),
}

/// Variation of the delay in full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JitterShape {
    /// How far packets deviate: half the width (uniform) or the standard deviation (normal, pareto). Not given with a
    /// trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<TimeSpan>,
    /// What the deviations look like; uniform unless said otherwise.
    #[serde(default)]
    pub distribution: DistributionSpec,
    /// Whether a packet may overtake one sent before it; no unless said otherwise.
    #[serde(default)]
    pub overtake: bool,
}

/// What the deviations look like.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DistributionSpec {
    /// All values from `-spread` to `+spread` equally likely.
    #[default]
    Uniform,
    /// The bell curve with standard deviation `spread`.
    Normal,
    /// A long tail of late packets: Pareto of shape 3, mean 0, standard deviation `spread`.
    Pareto,
    /// A file with one delay a line; each packet takes one of them at random on top of the delay.
    Trace(String),
}

impl std::str::FromStr for JitterSpec {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        <TimeSpan as OrNone>::parse(text).map(Self::Spread)
    }
}

impl From<JitterShape> for JitterSpec {
    fn from(shape: JitterShape) -> Self {
        Self::Shape(shape)
    }
}

impl<'de> Deserialize<'de> for JitterSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text_or_map::<D, Self, JitterShape>(
            deserializer,
            "a time such as `2ms`, or a map with `spread`, `distribution` and `overtake`",
        )
    }
}
