//! The tree: scalars, lists and maps, each with its place in the text.

use std::sync::Arc;

/// A text with the name people know it by.
#[derive(Debug, Clone)]
pub struct Source {
    /// The file's name as the user gave it.
    pub name: Arc<str>,
    /// The whole text.
    pub text: Arc<str>,
}

impl Source {
    /// A source named `name`.
    pub fn new(name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), text: text.into() }
    }

    /// Line and column of a byte offset, both from 1; the column counts characters.
    pub fn position(&self, offset: usize) -> (usize, usize) {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
        (line, column)
    }
}

/// A range of bytes in a [`Source`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// A leaf of the tree, resolved by YAML 1.2's core schema.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar {
    /// `null`, `~` or nothing at all.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A float, with its written form.
    Float(f64, String),
    /// A whole number, with its written form.
    Int(i64, String),
    /// Anything else, and everything in quotes.
    Text(String),
}

/// A value and where it stands.
#[derive(Debug, Clone)]
pub enum Value {
    /// A list.
    List(Vec<Value>, Span),
    /// A map in the order of the file.
    Map(Map),
    /// A leaf.
    Scalar(Scalar, Span),
}

/// A map in the order of the file; keys are unique.
#[derive(Debug, Clone, Default)]
pub struct Map {
    /// The entries, in order.
    pub entries: Vec<Entry>,
    /// The whole map.
    pub span: Span,
}

/// A key, its place, and its value.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The key as text.
    pub key: String,
    /// Where the key stands.
    pub key_span: Span,
    /// The value.
    pub value: Value,
}

impl Value {
    /// Where the value stands.
    pub fn span(&self) -> Span {
        match self {
            Self::List(_, span) | Self::Scalar(_, span) => *span,
            Self::Map(map) => map.span,
        }
    }

    /// What the value is, in the words of an error message.
    pub fn describe(&self) -> String {
        match self {
            Self::List(..) => "a list".to_owned(),
            Self::Map(_) => "a map".to_owned(),
            Self::Scalar(Scalar::Null, _) => "nothing".to_owned(),
            Self::Scalar(Scalar::Bool(value), _) => format!("`{value}`"),
            Self::Scalar(Scalar::Float(_, text) | Scalar::Int(_, text), _) => format!("the number `{text}`"),
            Self::Scalar(Scalar::Text(text), _) => format!("`{text}`"),
        }
    }

    /// This value laid over `under`: maps merge key by key, anything else replaces. A null lays nothing over.
    pub fn over(self, under: Value) -> Value {
        match (self, under) {
            (Self::Map(over), Self::Map(under)) => Self::Map(over.over(under)),
            (Self::Scalar(Scalar::Null, _), under) => under,
            (over, _) => over,
        }
    }
}

impl Map {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    /// This map laid over another; the result keeps this one's span, and `under`'s keys come first.
    pub fn over(self, under: Map) -> Map {
        let span = self.span;
        let mut entries = under.entries;
        for entry in self.entries {
            match entries.iter_mut().find(|known| known.key == entry.key) {
                Some(known) => {
                    let below = std::mem::replace(&mut known.value, Value::Scalar(Scalar::Null, span));
                    known.key_span = entry.key_span;
                    known.value = entry.value.over(below);
                }
                None => entries.push(entry),
            }
        }
        Map { entries, span }
    }
}
