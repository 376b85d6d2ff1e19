//! What can go wrong while decoding, in the words of a person who writes the file.

use super::around::Place;
use crate::diagnostic::{Diagnostic, suggest};
use crate::document::{Map, Span, Value};
use serde::de::{self, Unexpected};
use std::fmt;

/// A fault met while decoding.
#[derive(Debug)]
pub struct DecodeError {
    span: Option<Span>,
    message: String,
    help: Option<String>,
    /// The key whose absence is the fault.
    pub(super) missing: Option<&'static str>,
    /// Whether the fault is there only because something was left out.
    pub(super) consequence: bool,
    /// The values around the fault, the innermost first.
    pub(super) trail: Vec<Place>,
}

impl DecodeError {
    pub(super) fn at(mut self, span: Span) -> Self {
        self.span.get_or_insert(span);
        self
    }

    /// The same fault, met within a value of a list or map.
    pub(super) fn within(mut self, value: &Value, span: Span) -> Self {
        self.trail.push(Place::of(value));
        self.at(span)
    }

    /// The same fault of a map's own: a key that is written is missing only because it was left out.
    pub(super) fn beside(mut self, map: &Map) -> Self {
        let written = |key| map.get(key).is_some();
        self.consequence |= self.trail.is_empty() && self.missing.is_some_and(written);
        self
    }

    fn new(message: String, help: Option<String>) -> Self {
        Self { span: None, message, help, missing: None, consequence: false, trail: Vec::new() }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for DecodeError {}

impl de::Error for DecodeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message.to_string(), None)
    }
    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        let found = match unexpected {
            Unexpected::Unit => "nothing".to_owned(),
            Unexpected::Seq => "a list".to_owned(),
            Unexpected::Map => "a map".to_owned(),
            Unexpected::Str(text) => format!("`{text}`"),
            other => other.to_string(),
        };
        Self::custom(format_args!("expected {expected}, found {found}"))
    }
    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let help = suggest(field, expected.iter().copied());
        Self::new(format!("unknown key `{field}`"), Some(help))
    }
    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let help = suggest(variant, expected.iter().copied());
        Self::new(format!("unknown value `{variant}`"), Some(help))
    }
    fn missing_field(field: &'static str) -> Self {
        let error = Self::new(format!("`{field}` is missing"), Some(format!("add `{field}:` here")));
        Self { missing: Some(field), ..error }
    }
}

impl From<DecodeError> for Diagnostic {
    fn from(error: DecodeError) -> Self {
        let diagnostic = Diagnostic::new(error.span.unwrap_or_default(), error.message);
        match error.help {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        }
    }
}
