//! An event as written.

use super::Expect;
use crate::section::names::{Name, Names};
use crate::world::Direction;
use plait_model_link::ConditionsSpec;
use plait_model_quantity::TimeSpan;
use plait_model_topology::document::Spanned;
use schemars::JsonSchema;
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;

/// A command (`on`, `exec`) or a change (`link` or `node`) at an instant, or a wait (`until`).
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Event", extend("anyOf" = [{ "required": ["at"] }, { "required": ["until"] }]))]
pub(in crate::section) struct EventFile {
    /// When, from the start of the run: `2s`. The run's clock stands still while the run waits. A wait without it
    /// follows the event written before it; every other event needs it.
    pub at: Option<Spanned<TimeSpan>>,
    /// The run goes on when this is so: `port 80 open on server`, `udp port 53 open on server`, `routes stable`, or
    /// `passes`, which is when the `exec` exits with 0.
    pub until: Option<Spanned<String>>,
    /// The node, or nodes, on which `exec` runs.
    pub on: Option<Spanned<Names>>,
    /// A command line for the shell.
    pub exec: Option<Spanned<String>>,
    /// When the command is stopped if it has not ended, `10min` unless given; when a wait has failed, `30s` unless
    /// given.
    pub timeout: Option<Spanned<TimeSpan>>,
    /// What to call the command in the results; the program's name when not given.
    pub name: Option<Spanned<String>>,
    /// The exit code that counts as success (0 unless given), or `any`.
    pub expect: Option<Spanned<Expect>>,
    /// The command accompanies the run, such as a server: the run does not wait for it, and stops it at the end.
    pub background: Option<Spanned<bool>>,
    /// The link that changes.
    pub link: Option<Spanned<String>>,
    /// Which direction of the link: `forward` (in the order of its name), `reverse`, or `both` unless given.
    pub direction: Option<Spanned<Direction>>,
    /// Conditions laid over those the link has: `{delay: 50ms}`.
    pub set: Option<Spanned<ConditionsSpec>>,
    /// The node that fails or recovers.
    pub node: Option<Spanned<Name>>,
    /// The link or node fails.
    pub fail: Option<Spanned<bool>>,
    /// The link or node works again.
    pub recover: Option<Spanned<bool>>,
}

impl<'de> Deserialize<'de> for Expect {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl Visitor<'_> for Written {
            type Value = Expect;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an exit code from 0 to 255, or `any`")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Expect, E> {
                match text {
                    "any" => Ok(Expect::Any),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
            fn visit_u64<E: de::Error>(self, code: u64) -> Result<Expect, E> {
                u8::try_from(code)
                    .map(|code| Expect::Code(code.into()))
                    .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(code), &self))
            }
        }
        deserializer.deserialize_any(Written)
    }
}

impl Serialize for Expect {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Code(code) => serializer.serialize_i32(*code),
            Self::Any => serializer.serialize_str("any"),
        }
    }
}

impl JsonSchema for Expect {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Expect".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "anyOf": [
            { "type": "integer", "minimum": 0, "maximum": 255 }, { "const": "any" }] })
    }
}
