//! Which kinds and keys exist beyond the core, as told by the rooms that give them meaning.
//!
//! `model/topology` parses the core of a file and keeps every other key as a value with its place. A room that wants
//! keys of its own registers them here; `interface/library` composes all rooms into one vocabulary. A key that nobody
//! registered is the unknown-key error, and the published JSON Schema holds exactly what was registered.

use crate::diagnostic::Diagnostic;
use crate::document::{Value, decode_parts};
use crate::network::Network;
use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What a kind means for addressing and routing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Sends and receives; does not forward.
    Host,
    /// Forwards between its interfaces.
    Router,
    /// Bridges its interfaces into one segment and has no address of its own.
    Switch,
}

/// Where in a file a key may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// At the top level: a section.
    File,
    /// In a node.
    Node,
    /// In a link.
    Link,
    /// In a LAN.
    Lan,
}

type Parse = Box<dyn Fn(&Value) -> Vec<Diagnostic> + Send + Sync>;
type Check = Box<dyn Fn(&Value, &Network) -> Vec<Diagnostic> + Send + Sync>;
type MakeSchema = Box<dyn Fn(&mut SchemaGenerator) -> Schema + Send + Sync>;

pub(crate) struct Key {
    pub parse: Parse,
    pub check: Option<Check>,
    pub schema: MakeSchema,
}

/// A node kind.
#[derive(Debug, Clone)]
pub struct Kind {
    /// What it means for addressing and routing.
    pub role: Role,
    /// One line for people.
    pub summary: String,
}

/// The kinds and keys a file may use.
pub struct Vocabulary {
    kinds: IndexMap<String, Kind>,
    keys: IndexMap<(Place, String), Key>,
}

impl Vocabulary {
    /// The core: `host`, `router` and `switch`, and no keys beyond those of the file types.
    pub fn core() -> Self {
        let mut vocabulary = Self { kinds: IndexMap::new(), keys: IndexMap::new() };
        vocabulary.kind("host", Role::Host, "an end system with its own network stack");
        vocabulary.kind("router", Role::Router, "forwards packets between its interfaces");
        vocabulary.kind("switch", Role::Switch, "joins its interfaces into one Ethernet segment");
        vocabulary
    }

    /// Adds a node kind.
    pub fn kind(&mut self, name: &str, role: Role, summary: &str) -> &mut Self {
        self.kinds.insert(name.to_owned(), Kind { role, summary: summary.to_owned() });
        self
    }

    /// Adds a key with the type that reads it; the type's schema becomes part of the published one.
    pub fn key<T: DeserializeOwned + JsonSchema>(&mut self, place: Place, name: &str) -> &mut Self {
        self.insert::<T>(place, name, None)
    }

    /// Adds a key with the type that reads it and a check against the whole network.
    pub fn checked_key<T: DeserializeOwned + JsonSchema + 'static>(
        &mut self,
        place: Place,
        name: &str,
        check: impl Fn(&T, &Network) -> Vec<Diagnostic> + Send + Sync + 'static,
    ) -> &mut Self {
        // What does not decode was reported when it was parsed; the rest is checked.
        let check: Check = Box::new(move |value, network| {
            let whole = decode_parts::<T>(value).value;
            whole.map(|decoded| check(&decoded, network)).unwrap_or_default()
        });
        self.insert::<T>(place, name, Some(check))
    }

    fn insert<T: DeserializeOwned + JsonSchema>(
        &mut self,
        place: Place,
        name: &str,
        check: Option<Check>,
    ) -> &mut Self {
        let key = Key {
            parse: Box::new(|value| decode_parts::<T>(value).faults),
            check,
            schema: Box::new(|generator| generator.subschema_for::<T>()),
        };
        self.keys.insert((place, name.to_owned()), key);
        self
    }

    /// All kinds, in the order they were registered.
    pub fn kinds(&self) -> impl Iterator<Item = (&str, &Kind)> + Clone {
        self.kinds.iter().map(|(name, kind)| (name.as_str(), kind))
    }

    pub(crate) fn kind_named(&self, name: &str) -> Option<&Kind> {
        self.kinds.get(name)
    }

    pub(crate) fn keys(&self, place: Place) -> impl Iterator<Item = (&str, &Key)> + Clone {
        self.keys.iter().filter(move |((at, _), _)| *at == place).map(|((_, name), key)| (name.as_str(), key))
    }
}
