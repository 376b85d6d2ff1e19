//! The top level of a file.

use crate::document::{Spanned, Value};
use plait_model_quantity::TimeSpan;
use schemars::JsonSchema;
use serde::Deserialize;

/// A network file.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct RootFile {
    /// Version of the file format; this is version 1.
    #[allow(dead_code, reason = "checked before anything else is decoded")]
    pub plait: Spanned<u64>,
    /// Name of the network: letters, digits, `-`, `_` and `.`.
    pub name: Option<Spanned<String>>,
    /// Seed of every random choice. The same file and seed meet the same fates.
    pub seed: Option<u64>,
    /// What nodes, links and addresses are unless they say otherwise.
    pub defaults: Option<DefaultsFile>,
    /// Who fills the routing tables.
    pub routing: Option<RoutingFile>,
}

/// What holds unless a node or link says otherwise.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DefaultsFile {
    /// Keys of every node.
    #[schemars(with = "Option<std::collections::BTreeMap<String, serde_json::Value>>")]
    #[serde(default, deserialize_with = "ignore")]
    #[allow(dead_code, reason = "read as a value, because it is laid under every node before decoding")]
    pub node: (),
    /// Keys of every link.
    #[schemars(with = "Option<std::collections::BTreeMap<String, serde_json::Value>>")]
    #[serde(default, deserialize_with = "ignore")]
    #[allow(dead_code, reason = "read as a value, because it is laid under every link before decoding")]
    pub link: (),
    /// Keys of every LAN.
    #[schemars(with = "Option<std::collections::BTreeMap<String, serde_json::Value>>")]
    #[serde(default, deserialize_with = "ignore")]
    #[allow(dead_code, reason = "read as a value, because it is laid under every LAN before decoding")]
    pub lan: (),
    /// Pool of assigned IPv4 addresses, or `off`.
    pub ipv4: Option<Spanned<Pool>>,
    /// Pool of assigned IPv6 addresses, or `off` (the default).
    pub ipv6: Option<Spanned<Pool>>,
}

fn ignore<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    serde::de::IgnoredAny::deserialize(deserializer).map(drop)
}

/// An address pool: a prefix, `on` for the usual one, or `off`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pool {
    Off,
    On,
    Prefix(ipnet::IpNet),
}

impl<'de> Deserialize<'de> for Pool {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl serde::de::Visitor<'_> for Written {
            type Value = Pool;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a prefix such as `10.0.0.0/8`, `on` or `off`")
            }
            fn visit_bool<E: serde::de::Error>(self, on: bool) -> Result<Pool, E> {
                Ok(if on { Pool::On } else { Pool::Off })
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Pool, E> {
                match text {
                    "on" => Ok(Pool::On),
                    "off" => Ok(Pool::Off),
                    _ => text
                        .parse()
                        .map(Pool::Prefix)
                        .map_err(|_| E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(Written)
    }
}

impl JsonSchema for Pool {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Pool".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": ["string", "boolean"], "examples": ["10.0.0.0/8", "off"] })
    }
}

/// Who fills the routing tables: a name, or a map that says more.
#[derive(Clone, Debug)]
pub(crate) enum RoutingFile {
    Named(Protocol),
    Detailed(RoutingDetail),
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Protocol {
    /// FRR's OSPF in every router.
    Frr,
    /// Only connected routes and those given by hand.
    None,
    /// Shortest paths computed by Plait.
    Static,
}

/// Routing in detail.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RoutingDetail {
    /// Who fills the routing tables.
    pub protocol: Protocol,
    /// With `frr`: the daemons to run; OSPF when not given.
    pub daemons: Option<Vec<Daemon>>,
    /// With `frr`: OSPF hello interval and BGP keepalive, in whole seconds.
    pub hello: Option<Spanned<TimeSpan>>,
    /// With `frr`: OSPF dead interval and BGP hold time, in whole seconds.
    pub dead: Option<Spanned<TimeSpan>>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Daemon {
    /// BGP, each router an autonomous system of its own.
    Bgp,
    /// OSPF in one area.
    Ospf,
}

impl<'de> Deserialize<'de> for RoutingFile {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl<'de> serde::de::Visitor<'de> for Written {
            type Value = RoutingFile;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("`static`, `frr`, `none`, or a map with `protocol`")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<RoutingFile, E> {
                let protocol = Protocol::deserialize(serde::de::value::StrDeserializer::<E>::new(text))?;
                Ok(RoutingFile::Named(protocol))
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<RoutingFile, A::Error> {
                RoutingDetail::deserialize(serde::de::value::MapAccessDeserializer::new(map))
                    .map(RoutingFile::Detailed)
            }
        }
        deserializer.deserialize_any(Written)
    }
}

impl JsonSchema for RoutingFile {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Routing".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let named = generator.subschema_for::<Protocol>();
        let detailed = generator.subschema_for::<RoutingDetail>();
        schemars::json_schema!({ "anyOf": [named, detailed] })
    }
}

/// The keys of the top level that are decoded one by one, because what they hold is open.
pub(crate) const OPEN_KEYS: [&str; 4] = ["groups", "nodes", "links", "lans"];

/// A child of a map value, when both are there.
pub(crate) fn child<'a>(value: Option<&'a Value>, key: &str) -> Option<&'a Value> {
    match value {
        Some(Value::Map(map)) => map.get(key),
        _ => None,
    }
}
