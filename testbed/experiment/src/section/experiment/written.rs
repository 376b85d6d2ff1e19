//! An experiment as written.

use indexmap::IndexMap;
use plait_model_topology::document::Spanned;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// What varies between runs of this network, and how often each is repeated.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Experiment")]
pub(in crate::section) struct ExperimentFile {
    /// What varies. `$NAME` stands for the level wherever a value is written.
    #[serde(default)]
    pub(super) factors: IndexMap<String, Spanned<FactorFile>>,
    /// Which combinations run: all of them unless said otherwise.
    #[serde(default)]
    pub(super) design: Option<Spanned<DesignFile>>,
    /// How often each runs: once unless said otherwise.
    #[serde(default)]
    pub(super) repeats: Option<Spanned<RepeatsFile>>,
    /// Seed of the order of runs and of space-filling designs: the file's unless said otherwise.
    #[serde(default)]
    pub(super) seed: Option<u64>,
}

/// Levels, or a range of them.
#[derive(Debug, Clone)]
pub(super) enum FactorFile {
    List(Vec<String>),
    Range(RangeFile),
}

/// Everything between two quantities.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Range")]
pub(super) struct RangeFile {
    /// The first level.
    pub(super) from: LevelFile,
    /// The last level.
    pub(super) to: LevelFile,
    /// How many levels a full design takes, its ends included: 2 unless said otherwise.
    #[serde(default)]
    pub(super) levels: Option<usize>,
    /// How levels lie between the ends: `linear` unless `log` is said.
    #[serde(default)]
    pub(super) scale: ScaleFile,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Scale")]
pub(super) enum ScaleFile {
    #[default]
    Linear,
    Log,
}

/// One level, as it is written.
#[derive(Debug, Clone)]
pub(super) struct LevelFile(pub(super) String);

impl<'de> Deserialize<'de> for LevelFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl Visitor<'_> for Written {
            type Value = LevelFile;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a level such as `10ms`, `cubic` or 3")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<LevelFile, E> {
                Ok(LevelFile(text.to_owned()))
            }
            fn visit_bool<E: de::Error>(self, value: bool) -> Result<LevelFile, E> {
                Ok(LevelFile(value.to_string()))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<LevelFile, E> {
                Ok(LevelFile(value.to_string()))
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<LevelFile, E> {
                Ok(LevelFile(value.to_string()))
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<LevelFile, E> {
                Ok(LevelFile(value.to_string()))
            }
        }
        deserializer.deserialize_any(Written)
    }
}

impl JsonSchema for LevelFile {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Level".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": ["string", "number", "boolean"] })
    }
}

impl<'de> Deserialize<'de> for FactorFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = FactorFile;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of levels, or a range `{from: 10ms, to: 200ms}`")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<FactorFile, A::Error> {
                let mut levels = Vec::new();
                while let Some(LevelFile(level)) = items.next_element()? {
                    levels.push(level);
                }
                Ok(FactorFile::List(levels))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<FactorFile, A::Error> {
                RangeFile::deserialize(de::value::MapAccessDeserializer::new(map)).map(FactorFile::Range)
            }
        }
        deserializer.deserialize_any(Written)
    }
}

impl JsonSchema for FactorFile {
    fn schema_name() -> Cow<'static, str> {
        "Factor".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let level = generator.subschema_for::<LevelFile>();
        let range = generator.subschema_for::<RangeFile>();
        schemars::json_schema!({ "anyOf": [{ "type": "array", "items": level, "minItems": 1 }, range] })
    }
}

/// `full`, or `{space_filling: 30}`.
#[derive(Debug, Clone, Copy)]
pub(super) enum DesignFile {
    Full,
    SpaceFilling(usize),
}

impl<'de> Deserialize<'de> for DesignFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Spread {
            space_filling: usize,
        }
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = DesignFile;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`full`, or `{space_filling: 30}`")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<DesignFile, E> {
                if text == "full" {
                    Ok(DesignFile::Full)
                } else {
                    Err(E::invalid_value(de::Unexpected::Str(text), &self))
                }
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<DesignFile, A::Error> {
                Spread::deserialize(de::value::MapAccessDeserializer::new(map))
                    .map(|spread| DesignFile::SpaceFilling(spread.space_filling))
            }
        }
        deserializer.deserialize_any(Written)
    }
}

impl JsonSchema for DesignFile {
    fn schema_name() -> Cow<'static, str> {
        "Design".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "anyOf": [
            { "const": "full" },
            { "type": "object", "properties": { "space_filling": {
                "description": "About how many cells, spread evenly over the ranges of all factors.",
                "type": "integer", "minimum": 1 } },
              "required": ["space_filling"], "additionalProperties": false }] })
    }
}

/// `5`, or `{until: 5%}`.
#[derive(Debug, Clone, Copy)]
pub(super) enum RepeatsFile {
    Fixed(usize),
    Until(f64),
}

impl<'de> Deserialize<'de> for RepeatsFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Until {
            until: plait_model_quantity::Probability,
        }
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = RepeatsFile;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of repeats, or `{until: 5%}`")
            }
            fn visit_u64<E: de::Error>(self, count: u64) -> Result<RepeatsFile, E> {
                Ok(RepeatsFile::Fixed(count as usize))
            }
            fn visit_i64<E: de::Error>(self, count: i64) -> Result<RepeatsFile, E> {
                usize::try_from(count)
                    .map(RepeatsFile::Fixed)
                    .map_err(|_| E::custom("repeats are at least 1"))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RepeatsFile, A::Error> {
                Until::deserialize(de::value::MapAccessDeserializer::new(map))
                    .map(|repeats| RepeatsFile::Until(repeats.until.value()))
            }
        }
        deserializer.deserialize_any(Written)
    }
}

impl JsonSchema for RepeatsFile {
    fn schema_name() -> Cow<'static, str> {
        "Repeats".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let share = generator.subschema_for::<plait_model_quantity::Probability>();
        schemars::json_schema!({ "anyOf": [
            { "type": "integer", "minimum": 1 },
            { "type": "object", "properties": { "until": share }, "required": ["until"], "additionalProperties": false }] })
    }
}
