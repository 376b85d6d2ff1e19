//! `paths:` as written.

use super::NodeName;
use indexmap::IndexMap;
use plait_dataplane_paths::Encapsulation;
use plait_dataplane_paths::protocol::Policy;
use plait_model_quantity::TimeSpan;
use plait_model_topology::document::Spanned;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;

/// Paths that hosts choose for their packets, through routers that take headers off.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Paths {
    /// The hosts that choose; all hosts when not given.
    #[schemars(with = "Option<Vec<String>>")]
    pub hosts: Option<Vec<Spanned<NodeName>>>,
    /// The routers that take headers off; all routers when not given.
    #[schemars(with = "Option<Vec<String>>")]
    pub relays: Option<Vec<Spanned<NodeName>>>,
    /// Who says which paths there are: `file` with `routing: static`, `ospf` with `routing: frr`, when not given.
    pub learn: Option<Spanned<LearnWord>>,
    /// What stands between headers: `gre` when not given.
    #[serde(rename = "type")]
    #[schemars(with = "Option<PathTypeWord>")]
    pub encapsulation: Option<Spanned<PathTypeWord>>,
    /// Which of the paths a flow goes by: `hash` when not given.
    pub select: Option<Spanned<SelectWord>>,
    /// How many paths to each router; 8 when not given.
    pub k: Option<Spanned<u8>>,
    /// How relays are found: `sure` when not given.
    pub method: Option<Spanned<MethodWord>>,
    /// The source of all headers, an address that nobody has; 203.0.113.1 or 100::1 when not given.
    #[schemars(with = "Option<String>")]
    pub source: Option<Spanned<IpAddr>>,
    /// The prefix that relays' addresses are of, in the order of the relays, and headers of its family; when not given
    /// 10.255.0.0/16, with `type: srv6` and in networks of IPv6 alone fd00:255::/64.
    #[schemars(with = "Option<String>")]
    pub network: Option<Spanned<ipnet::IpNet>>,
    /// By how much a packet may be later by one path than by another: what a flow that moves waits for; 10ms when not given.
    pub spread: Option<Spanned<TimeSpan>>,
    /// A flow that was silent for longer is forgotten, and what comes then is another one; when not given, flows are known
    /// until others need their places.
    pub idle: Option<Spanned<TimeSpan>>,
    /// Lists by hand: of hosts, of prefixes, each a list of relays, or a map with `lists` and `select`. They count before
    /// what is learnt.
    #[schemars(
        with = "Option<std::collections::BTreeMap<String, std::collections::BTreeMap<String, PrefixWays>>>"
    )]
    pub lists: Option<IndexMap<Spanned<String>, ListsByPrefix>>,
    /// Interfaces that lead outside, as `router:eth0`: nothing may come in by them with the headers' source. When not given, those
    /// that lead to hosts alone which are not among `hosts`.
    #[schemars(with = "Option<Vec<String>>")]
    pub borders: Option<Vec<Spanned<String>>>,
}

/// What is said of prefixes.
pub type ListsByPrefix = IndexMap<Spanned<String>, PrefixWays>;

/// By which lists what is for a prefix goes: a list of them, or a map.
pub struct PrefixWays(pub WrittenWays);

/// By which lists what is for a prefix goes, and how flows are shared among them.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PathsOfPrefix")]
pub struct WrittenWays {
    /// Which of the lists a flow goes by; what `select` of all paths says when not given. Without `lists` it is said of those within
    /// the prefix, too.
    pub select: Option<Spanned<SelectWord>>,
    /// The lists; when not given, those that are learnt.
    pub lists: Option<Vec<RelayListForm>>,
}

/// A list of relays, or a map with its weight.
pub struct RelayListForm(pub WrittenList);

/// A relay list with its share of the flows.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "WeightedList")]
pub struct WrittenList {
    /// The relays, the first one first; none is plain routing.
    #[schemars(with = "Vec<String>")]
    pub relays: Vec<Spanned<NodeName>>,
    /// Its share, by `select: weighted`; 1 when not given.
    pub weight: Option<Spanned<u32>>,
}

/// Who says which paths there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LearnWord {
    /// Plait, once: from the file's links.
    File,
    /// iplbd in each host, from the OSPF of the routers.
    Ospf,
    /// Nobody: by hand alone.
    None,
}

/// How relays are found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MethodWord {
    /// The fewest that lead along the path whatever the routers' hashes do.
    #[default]
    Sure,
    /// As the thesis has it, which some packets leave.
    Faithful,
    /// In a fat-tree all shortest paths, each by one relay.
    FatTree,
    /// The fewest that lead along the path by the routers' routes and hash, as virtual time has them.
    Known,
}

/// What stands between headers, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathTypeWord(pub Encapsulation);

/// Which of the paths a flow goes by, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SelectWord(pub Policy);

impl<'de> Deserialize<'de> for PathTypeWord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map(Self).map_err(serde::de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for SelectWord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map(Self).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for PathTypeWord {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "PathType".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": Encapsulation::ALL.map(Encapsulation::name) })
    }
}

impl JsonSchema for SelectWord {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "PathSelect".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": Policy::ALL.map(Policy::name) })
    }
}

impl<'de> Deserialize<'de> for PrefixWays {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = PrefixWays;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of relay lists, or a map with `lists` and `select`")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<PrefixWays, A::Error> {
                let lists = Vec::deserialize(SeqAccessDeserializer::new(seq))?;
                Ok(PrefixWays(WrittenWays { lists: Some(lists), ..WrittenWays::default() }))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<PrefixWays, A::Error> {
                WrittenWays::deserialize(MapAccessDeserializer::new(map)).map(PrefixWays)
            }
        }
        deserializer.deserialize_any(Written)
    }
}

impl<'de> Deserialize<'de> for RelayListForm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = RelayListForm;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of routers, or a map with `relays` and `weight`")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<RelayListForm, A::Error> {
                let relays = Vec::deserialize(SeqAccessDeserializer::new(seq))?;
                Ok(RelayListForm(WrittenList { relays, weight: None }))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RelayListForm, A::Error> {
                WrittenList::deserialize(MapAccessDeserializer::new(map)).map(RelayListForm)
            }
        }
        deserializer.deserialize_any(Written)
    }
}

impl JsonSchema for PrefixWays {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "PrefixWays".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let map = generator.subschema_for::<WrittenWays>();
        let list = generator.subschema_for::<RelayListForm>();
        json_schema!({ "anyOf": [{ "type": "array", "items": list }, map] })
    }
}

impl JsonSchema for RelayListForm {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "RelayList".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let map = generator.subschema_for::<WrittenList>();
        json_schema!({ "anyOf": [{ "type": "array", "items": { "type": "string" } }, map] })
    }
}
