//! A name, or a list of names.

use plait_model_topology::diagnostic::{Diagnostic, suggest};
use plait_model_topology::document::Spanned;
use plait_model_topology::network::Network;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use std::fmt;

/// One name as text (or a number, since a node may be called `1`).
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Name(pub String);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl Visitor<'_> for Written {
            type Value = Name;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Name, E> {
                Ok(Name(text.to_owned()))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Name, E> {
                Ok(Name(number.to_string()))
            }
        }
        deserializer.deserialize_any(Written)
    }
}

impl JsonSchema for Name {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Name".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": ["string", "integer"] })
    }
}

/// `a`, or `[a, b]`. A single name stands where the whole value stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Names {
    One(String),
    Many(Vec<Spanned<Name>>),
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = Names;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a node, or a list of nodes")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Names, E> {
                Ok(Names::One(text.to_owned()))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Names, E> {
                Ok(Names::One(number.to_string()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Names, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = items.next_element()? {
                    names.push(name);
                }
                Ok(Names::Many(names))
            }
        }
        deserializer.deserialize_any(Written)
    }
}

impl JsonSchema for Names {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Names".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "anyOf": [
            { "type": ["string", "integer"] },
            { "type": "array", "items": { "type": ["string", "integer"] }, "minItems": 1 }] })
    }
}

/// The nodes that names stand for, or the faults in them.
pub(super) fn nodes(names: &Spanned<Names>, network: &Network) -> Result<Vec<String>, Vec<Diagnostic>> {
    let named: Vec<Spanned<&str>> = match &names.value {
        Names::One(name) => vec![Spanned::new(name.as_str(), names.span)],
        Names::Many(list) => list.iter().map(|name| Spanned::new(name.0.as_str(), name.span)).collect(),
    };
    if named.is_empty() {
        return Err(vec![Diagnostic::new(names.span, "this list names no node").help("name at least one")]);
    }
    let mut faults = Vec::new();
    for name in &named {
        if let Some(fault) = unknown_node(name, network) {
            faults.push(fault);
        }
    }
    if faults.is_empty() { Ok(named.iter().map(|name| name.value.to_owned()).collect()) } else { Err(faults) }
}

/// The fault in a node's name, if it has one.
pub(super) fn unknown_node(name: &Spanned<&str>, network: &Network) -> Option<Diagnostic> {
    network.node(name.value).is_none().then(|| {
        let known: Vec<&str> = network.nodes.iter().map(|node| node.name.as_str()).collect();
        Diagnostic::new(name.span, format!("unknown node `{}`", name.value))
            .help(suggest(name.value, known.iter().copied()))
    })
}
