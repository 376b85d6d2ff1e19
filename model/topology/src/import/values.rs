//! What importers ask of YAML values.

use crate::document::{Map, Scalar, Value};

/// A text, a number or a truth value, as written.
pub(super) fn word(value: &Value) -> Option<&str> {
    match value {
        Value::Scalar(Scalar::Text(text) | Scalar::Int(_, text) | Scalar::Float(_, text), _) => Some(text),
        Value::Scalar(Scalar::Bool(true), _) => Some("true"),
        Value::Scalar(Scalar::Bool(false), _) => Some("false"),
        _ => None,
    }
}

/// The text or number of a key.
pub(super) fn word_of<'a>(map: &'a Map, key: &str) -> Option<&'a str> {
    map.get(key).and_then(word)
}

/// The items of a list; anything else has none.
pub(super) fn items(value: Option<&Value>) -> &[Value] {
    match value {
        Some(Value::List(items, _)) => items,
        _ => &[],
    }
}
