//! Loss as written: `loss: 1%` or a map.

use super::written::{OrNone, text_or_map};
use plait_model_quantity::{Probability, QuantityError};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// Which packets vanish: `1%` (each on its own), or a map with one model.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum LossSpec {
    /// Each packet with this probability; `none` for no loss.
    Independent(#[schemars(with = "super::written::SchemaOrNone<Probability>")] Probability),
    /// A model with memory, or a list.
    Model(LossModel),
}

/// Loss with memory, or by list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LossModel {
    /// Bursts: a two-state Markov chain, stepped once a packet.
    GilbertElliott(GilbertElliottSpec),
    /// Exactly these packets of the direction, counted from 1.
    Packets(Vec<u64>),
}

/// The Gilbert–Elliott chain.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliottSpec {
    /// The probability to go from good to bad at a packet.
    pub p: Probability,
    /// The probability to go from bad to good at a packet; bursts last 1/r packets on average.
    pub r: Probability,
    /// Loss while good; none unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub good_loss: Option<Probability>,
    /// Loss while bad; everything unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bad_loss: Option<Probability>,
}

impl std::str::FromStr for LossSpec {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        <Probability as OrNone>::parse(text).map(Self::Independent)
    }
}

impl From<LossModel> for LossSpec {
    fn from(model: LossModel) -> Self {
        Self::Model(model)
    }
}

impl<'de> Deserialize<'de> for LossSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text_or_map::<D, Self, LossModel>(
            deserializer,
            "a share such as `1%`, or a map with `gilbert_elliott` or `packets`",
        )
    }
}
