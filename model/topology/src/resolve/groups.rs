//! Groups with what they inherit from other groups.

use super::Resolver;
use crate::diagnostic::{Diagnostic, suggest};
use crate::document::{Entry, Map, Scalar, Spanned, Value, decode_parts};
use indexmap::IndexMap;

/// Choice: nobody nests groups deeper by hand, and a program that does would not be told how deep it may go.
const DEEPEST: usize = 32;

/// Groups by name, each with its keys over those of the groups that it names.
pub(super) type Groups = IndexMap<String, Map>;

impl Resolver<'_> {
    /// All groups of a file, also those that no node names.
    pub(super) fn groups(&mut self, groups: Option<&Value>) -> Groups {
        let mut done = Groups::new();
        match groups {
            None => {}
            Some(Value::Map(written)) => {
                for entry in &written.entries {
                    self.group(entry, written, &mut done, &mut Vec::new());
                }
            }
            Some(other) => self.fault(Diagnostic::new(
                other.span(),
                format!("`groups` is a map of names, not {}", other.describe()),
            )),
        }
        done
    }

    /// One group, and those before it that it inherits from. `within` are the groups on the way here.
    fn group<'a>(
        &mut self,
        entry: &'a Entry,
        written: &'a Map,
        done: &mut Groups,
        within: &mut Vec<&'a str>,
    ) {
        if done.contains_key(&entry.key) {
            return;
        }
        let own = self.own_keys("group", entry);
        let named = self.named_groups(own.get("groups"));
        within.push(&entry.key);
        for name in &named {
            let Some(other) = written.entries.iter().find(|other| other.key == **name) else { continue };
            if within.contains(&other.key.as_str()) {
                self.fault(
                    Diagnostic::new(name.span, format!("group `{}` would inherit from itself", other.key))
                        .note(other.key_span, "the group")
                        .help(format!("take `{}` out of this list", other.key)),
                );
            } else if within.len() == DEEPEST {
                self.fault(Diagnostic::new(name.span, format!("groups inherit at most {DEEPEST} deep")));
            } else {
                self.group(other, written, done, within);
            }
        }
        within.pop();
        let known = written.entries.iter().map(|entry| entry.key.as_str());
        let under = self.inherit(&named, done, known, Map::default());
        done.insert(entry.key.clone(), own.over(under));
    }

    /// The groups that a list names.
    pub(super) fn named_groups(&mut self, list: Option<&Value>) -> Vec<Spanned<String>> {
        list.and_then(|list| self.keep(decode_parts(list))).unwrap_or_default()
    }

    /// The keys of groups over those that lie under all of them; a later group wins over an earlier one. `known` are
    /// the groups of the file.
    pub(super) fn inherit<'a>(
        &mut self,
        named: &[Spanned<String>],
        groups: &Groups,
        known: impl Iterator<Item = &'a str> + Clone,
        mut under: Map,
    ) -> Map {
        for name in named {
            match groups.get(&name.value) {
                Some(keys) => under = keys.clone().over(under),
                None if known.clone().any(|known| known == name.value) => {}
                None => self.fault(
                    Diagnostic::new(name.span, format!("unknown group `{}`", name.value))
                        .help(suggest(name, known.clone())),
                ),
            }
        }
        under
    }

    /// What a node or group says itself.
    pub(super) fn own_keys(&mut self, what: &str, entry: &Entry) -> Map {
        match &entry.value {
            Value::Map(map) => map.clone(),
            Value::Scalar(Scalar::Null, _) => Map { entries: Vec::new(), span: entry.key_span },
            // `a: router` is `a: {kind: router}`.
            Value::Scalar(Scalar::Text(_), span) => Map {
                entries: vec![Entry { key: "kind".to_owned(), key_span: *span, value: entry.value.clone() }],
                span: *span,
            },
            other => {
                self.fault(
                    Diagnostic::new(
                        other.span(),
                        format!("a {what} is a map of keys, not {}", other.describe()),
                    )
                    .help(format!("write `{}: {{kind: host}}`", entry.key)),
                );
                Map::default()
            }
        }
    }
}
