//! A node as written.

use crate::document::Spanned;
use indexmap::IndexMap;
use ipnet::IpNet;
use schemars::JsonSchema;
use serde::Deserialize;
use std::net::IpAddr;

/// A node.
#[derive(Default, Deserialize, JsonSchema)]
pub(crate) struct NodeFile {
    /// What the node is: `host` when not given.
    pub kind: Option<Spanned<String>>,
    /// Groups whose keys it inherits; a later group wins over an earlier one, the node (or group) over both.
    #[serde(default)]
    #[allow(dead_code, reason = "read as a value, because groups are laid under the node before decoding")]
    pub groups: Vec<Spanned<String>>,
    /// Interfaces with addresses given by hand, by name.
    #[serde(default)]
    pub interfaces: IndexMap<Spanned<String>, InterfaceFile>,
    /// Shell commands run in order when the node is up.
    #[serde(default)]
    pub commands: Vec<Spanned<String>>,
    /// Files the node sees, by absolute path: their text, or `{source: path}` beside the network file.
    #[serde(default)]
    pub files: IndexMap<Spanned<String>, Spanned<ContentFile>>,
    /// Kernel parameters of its namespace, such as `net.ipv4.tcp_ecn: 1`.
    #[serde(default)]
    pub sysctls: IndexMap<Spanned<String>, Spanned<SysctlValue>>,
    /// Routes given by hand.
    #[serde(default)]
    pub routes: Vec<Spanned<RouteFile>>,
}

/// An interface with what the file fixes of it.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct InterfaceFile {
    /// Addresses with their prefix length, such as `10.0.0.1/24`.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub addresses: Vec<Spanned<IpNet>>,
}

/// A route given by hand.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RouteFile {
    /// Where it leads: a prefix, or `default`.
    #[schemars(with = "String")]
    pub to: Destination,
    /// The next hop.
    #[schemars(with = "String")]
    pub via: IpAddr,
}

/// A prefix, or everything.
pub(crate) enum Destination {
    Default,
    Prefix(IpNet),
}

impl<'de> Deserialize<'de> for Destination {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == "default" {
            return Ok(Self::Default);
        }
        text.parse().map(Self::Prefix).map_err(|_| {
            serde::de::Error::custom(format_args!(
                "expected a prefix such as `10.0.0.0/8`, or `default`, found `{text}`"
            ))
        })
    }
}

/// The text of a file, or where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ContentFile {
    Text(String),
    Source(String),
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SourceFile {
    /// Path beside the network file.
    source: String,
}

impl<'de> Deserialize<'de> for ContentFile {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl<'de> serde::de::Visitor<'de> for Written {
            type Value = ContentFile;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("the file's text, or `{source: path}`")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<ContentFile, E> {
                Ok(ContentFile::Text(text.to_owned()))
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<ContentFile, A::Error> {
                SourceFile::deserialize(serde::de::value::MapAccessDeserializer::new(map))
                    .map(|file| ContentFile::Source(file.source))
            }
        }
        deserializer.deserialize_any(Written)
    }
}

impl JsonSchema for ContentFile {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "FileContent".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let source = generator.subschema_for::<SourceFile>();
        schemars::json_schema!({ "anyOf": [{ "type": "string" }, source] })
    }
}

/// A kernel parameter's value: text or a number.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SysctlValue(pub String);

impl<'de> Deserialize<'de> for SysctlValue {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl serde::de::Visitor<'_> for Written {
            type Value = SysctlValue;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number or text")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<SysctlValue, E> {
                Ok(SysctlValue(text.to_owned()))
            }
            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<SysctlValue, E> {
                Ok(SysctlValue(number.to_string()))
            }
            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<SysctlValue, E> {
                Ok(SysctlValue(number.to_string()))
            }
        }
        deserializer.deserialize_any(Written)
    }
}

impl JsonSchema for SysctlValue {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SysctlValue".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": ["string", "integer"] })
    }
}
