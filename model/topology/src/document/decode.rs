//! Values to types, by serde, with errors that know their place.

use super::spanned::MARKER;
use super::{Map, Scalar, Span, Value};
use crate::diagnostic::{Diagnostic, suggest};
use serde::de::{self, DeserializeOwned, DeserializeSeed, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use std::fmt;

/// A fault met while decoding.
#[derive(Debug)]
pub struct DecodeError {
    span: Option<Span>,
    message: String,
    help: Option<String>,
}

impl DecodeError {
    fn at(mut self, span: Span) -> Self {
        self.span.get_or_insert(span);
        self
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
        Self { span: None, message: message.to_string(), help: None }
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
        Self { span: None, message: format!("unknown key `{field}`"), help: Some(help) }
    }
    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let help = suggest(variant, expected.iter().copied());
        Self { span: None, message: format!("unknown value `{variant}`"), help: Some(help) }
    }
    fn missing_field(field: &'static str) -> Self {
        Self {
            span: None,
            message: format!("`{field}` is missing"),
            help: Some(format!("add `{field}:` here")),
        }
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

/// Decodes a value; a key the type does not know is an error if the type denies unknown fields.
pub fn decode<T: DeserializeOwned>(value: &Value) -> Result<T, Diagnostic> {
    T::deserialize(Decoder { value, open: None }).map_err(|error| error.at(value.span()).into())
}

/// Decodes a map whose key set is open: the keys that `T` knows are decoded, the others are returned as they are.
pub fn decode_open<T: DeserializeOwned>(map: &Map) -> Result<(T, Map), Diagnostic> {
    let value = Value::Map(map.clone());
    let mut rest = Map { entries: Vec::new(), span: map.span };
    let decoded = T::deserialize(Decoder { value: &value, open: Some(&mut rest) })
        .map_err(|error| error.at(map.span))?;
    Ok((decoded, rest))
}

struct Decoder<'a, 'r> {
    value: &'a Value,
    /// Where unknown keys of the outermost struct go; without it they are the type's to refuse.
    open: Option<&'r mut Map>,
}

impl<'de> de::Deserializer<'de> for Decoder<'_, '_> {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let span = self.value.span();
        match self.value {
            Value::Scalar(Scalar::Null, _) => visitor.visit_unit(),
            Value::Scalar(Scalar::Bool(value), _) => visitor.visit_bool(*value),
            Value::Scalar(Scalar::Int(value, _), _) => match u64::try_from(*value) {
                Ok(value) => visitor.visit_u64(value),
                Err(_) => visitor.visit_i64(*value),
            },
            Value::Scalar(Scalar::Float(value, _), _) => visitor.visit_f64(*value),
            Value::Scalar(Scalar::Text(text), _) => visitor.visit_str(text),
            Value::List(items, _) => visitor.visit_seq(Items(items.iter())),
            Value::Map(map) => visitor.visit_map(Entries { entries: map.entries.iter(), value: None }),
        }
        .map_err(|error: DecodeError| error.at(span))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.value {
            Value::Scalar(Scalar::Null, _) => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        if name == MARKER {
            return visitor.visit_seq(SpanParts { value: self.value, next: 0 });
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let (Some(rest), Value::Map(map)) = (self.open, self.value) else {
            return Decoder { value: self.value, open: None }.deserialize_any(visitor);
        };
        let (known, others): (Vec<_>, Vec<_>) =
            map.entries.iter().partition(|entry| fields.contains(&entry.key.as_str()));
        rest.entries = others.into_iter().cloned().collect();
        visitor
            .visit_map(Entries { entries: known.into_iter(), value: None })
            .map_err(|error| error.at(map.span))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let span = self.value.span();
        match self.value {
            Value::Scalar(Scalar::Text(text), _) => visitor.visit_enum(text.as_str().into_deserializer()),
            Value::Map(map) if map.entries.len() == 1 => {
                visitor.visit_enum(de::value::MapAccessDeserializer::new(Entries {
                    entries: map.entries.iter(),
                    value: None,
                }))
            }
            other => Err(de::Error::custom(format_args!(
                "expected a name, or a map with one key, found {}",
                other.describe()
            ))),
        }
        .map_err(|error: DecodeError| error.at(span))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier ignored_any
    }
}

struct Items<'a>(std::slice::Iter<'a, Value>);

impl<'de> de::SeqAccess<'de> for Items<'_> {
    type Error = DecodeError;
    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DecodeError> {
        let Some(value) = self.0.next() else { return Ok(None) };
        seed.deserialize(Decoder { value, open: None }).map(Some).map_err(|error| error.at(value.span()))
    }
    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

struct Entries<'a, I> {
    entries: I,
    value: Option<&'a super::Entry>,
}

impl<'a, 'de, I: Iterator<Item = &'a super::Entry>> de::MapAccess<'de> for Entries<'a, I> {
    type Error = DecodeError;
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, DecodeError> {
        let Some(entry) = self.entries.next() else { return Ok(None) };
        self.value = Some(entry);
        // Keys carry a span of their own where the type asks for one.
        let key = Value::Scalar(Scalar::Text(entry.key.clone()), entry.key_span);
        seed.deserialize(Decoder { value: &key, open: None })
            .map(Some)
            .map_err(|error| error.at(entry.key_span))
    }
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, DecodeError> {
        let entry =
            self.value.take().ok_or_else(|| de::Error::custom("a value was asked for before its key"))?;
        // An empty value stands nowhere: its key stands for it.
        let span = match entry.value.span() {
            span if span.end > span.start => span,
            _ => entry.key_span,
        };
        seed.deserialize(Decoder { value: &entry.value, open: None }).map_err(|error| error.at(span))
    }
}

struct SpanParts<'a> {
    value: &'a Value,
    next: u8,
}

impl<'de> de::SeqAccess<'de> for SpanParts<'_> {
    type Error = DecodeError;
    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DecodeError> {
        let span = self.value.span();
        self.next += 1;
        match self.next {
            1 => seed.deserialize(span.start.into_deserializer()).map(Some),
            2 => seed.deserialize(span.end.into_deserializer()).map(Some),
            3 => seed
                .deserialize(Decoder { value: self.value, open: None })
                .map(Some)
                .map_err(|error| error.at(span)),
            _ => Ok(None),
        }
    }
}
