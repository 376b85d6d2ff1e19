//! What a node is, from its own keys, its group's, its kind's and the defaults.
//!
//! The nearest wins: node, group, kind, defaults. Lists (`exec`, `binds`) are joined and maps (`sysctls`) are
//! merged, the farthest first.

use super::super::hint::remedy;
use super::super::values::word;
use crate::diagnostic::Diagnostic;
use crate::document::{Entry, Map, Span, Value};
use std::collections::HashMap;

/// More inherited entries than any lab has; a few long lists inherited by many nodes would fill the memory.
const MOST_INHERITED: usize = 1_000_000;

/// Keys by name, so that long maps are searched once.
type Keys<'a> = HashMap<&'a str, &'a Entry>;

/// All that nodes may inherit.
pub(super) struct Definitions<'a> {
    defaults: Keys<'a>,
    kinds: HashMap<&'a str, Keys<'a>>,
    groups: HashMap<&'a str, Keys<'a>>,
    nodes: &'a [Entry],
}

/// A node with all it inherits.
pub(super) struct Definition<'d, 'a> {
    pub name: &'a str,
    pub span: Span,
    pub kind: &'a str,
    own: Keys<'a>,
    /// The others, the nearest first.
    inherited: Vec<&'d Keys<'a>>,
}

impl<'a> Definitions<'a> {
    pub fn new(topology: &'a Map) -> Result<Self, Diagnostic> {
        let named = |key: &str| -> Result<HashMap<&'a str, Keys<'a>>, Diagnostic> {
            let entries = entries(topology.get(key), key)?.iter();
            entries.map(|entry| Ok((entry.key.as_str(), keys(Some(&entry.value), &entry.key)?))).collect()
        };
        let nodes = entries(topology.get("nodes"), "nodes")?;
        if nodes.is_empty() {
            return Err(Diagnostic::new(super::start(topology), "this lab has no nodes")
                .help("add `nodes: {a: {kind: linux}}` under `topology`"));
        }
        let defaults = keys(topology.get("defaults"), "defaults")?;
        Ok(Self { defaults, kinds: named("kinds")?, groups: named("groups")?, nodes })
    }

    /// Every node in the order of the file.
    pub fn nodes(&self) -> impl Iterator<Item = Result<Definition<'_, 'a>, Diagnostic>> {
        let mut budget = MOST_INHERITED;
        self.nodes.iter().map(move |entry| self.node(entry, &mut budget))
    }

    fn node(&self, entry: &'a Entry, budget: &mut usize) -> Result<Definition<'_, 'a>, Diagnostic> {
        let own = keys(Some(&entry.value), &entry.key)?;
        let group = match value(&own, "group").or_else(|| value(&self.defaults, "group")) {
            None => None,
            Some((name, span)) => Some(self.groups.get(name).ok_or_else(|| {
                Diagnostic::new(span, format!("unknown group `{name}`"))
                    .help(remedy(name, self.groups.keys().copied()))
            })?),
        };
        let layers = [Some(&own), group, Some(&self.defaults)];
        let kind = layers.into_iter().flatten().find_map(|layer| value(layer, "kind"));
        let Some((kind, _)) = kind else {
            return Err(Diagnostic::new(entry.key_span, format!("node `{}` has no kind", entry.key))
                .help("add `kind: linux`"));
        };
        let inherited = [group, self.kinds.get(kind), Some(&self.defaults)];
        let inherited: Vec<_> = inherited.into_iter().flatten().filter(|keys| !keys.is_empty()).collect();
        let size = |entry: &&Entry| match &entry.value {
            Value::List(items, _) => items.len(),
            Value::Map(map) => map.entries.len(),
            Value::Scalar(..) => 1,
        };
        let all: usize = inherited.iter().flat_map(|keys| keys.values()).map(size).sum();
        *budget = budget.checked_sub(all).ok_or_else(|| {
            Diagnostic::new(entry.key_span, "this lab inherits too much").help("give a smaller lab")
        })?;
        Ok(Definition { name: &entry.key, span: entry.key_span, kind, own, inherited })
    }
}

impl<'a> Definition<'_, 'a> {
    /// The nearest value of a key.
    pub fn word(&self, key: &str) -> Option<(&'a str, Span)> {
        value(&self.own, key).or_else(|| self.inherited.iter().find_map(|keys| value(keys, key)))
    }

    /// All values of a key, the farthest first.
    pub fn all(&self, key: &str) -> impl Iterator<Item = &'a Value> {
        let own = self.own.get(key).copied();
        let inherited = self.inherited.iter().rev().filter_map(|keys| keys.get(key).copied());
        inherited.chain(own).map(|entry| &entry.value).collect::<Vec<_>>().into_iter()
    }

    /// Every key with its place, in the order of the file.
    pub fn entries(&self) -> Vec<&'a Entry> {
        let layers = self.inherited.iter().copied().chain([&self.own]);
        let mut entries: Vec<&Entry> = layers.flat_map(|keys| keys.values().copied()).collect();
        entries.sort_unstable_by_key(|entry| entry.key_span);
        entries
    }
}

fn value<'a>(keys: &Keys<'a>, key: &str) -> Option<(&'a str, Span)> {
    let value = &keys.get(key)?.value;
    word(value).filter(|word| !word.trim().is_empty()).map(|word| (word, value.span()))
}

fn entries<'a>(value: Option<&'a Value>, what: &str) -> Result<&'a [Entry], Diagnostic> {
    match value {
        None | Some(Value::Scalar(crate::document::Scalar::Null, _)) => Ok(&[]),
        Some(Value::Map(map)) => Ok(&map.entries),
        Some(other) => {
            Err(Diagnostic::new(other.span(), format!("`{what}` is a map, not {}", other.describe()))
                .help(format!("write keys and values under `{what}:`")))
        }
    }
}

fn keys<'a>(value: Option<&'a Value>, what: &str) -> Result<Keys<'a>, Diagnostic> {
    Ok(entries(value, what)?.iter().map(|entry| (entry.key.as_str(), entry)).collect())
}
