//! Values to types, by serde, with errors that know their place.

use super::spanned::MARKER;
use super::{Entry, Map, Scalar, Value};
use crate::diagnostic::Diagnostic;
use around::{LeftOut, decode_around};
use serde::de::{self, DeserializeOwned, DeserializeSeed, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

mod around;
mod error;

pub use around::Decoded;
pub use error::DecodeError;

/// Decodes a value; a key the type does not know is an error if the type denies unknown fields.
///
/// # Errors
/// The first fault. [`decode_parts`] knows all.
pub fn decode<T: DeserializeOwned>(value: &Value) -> Result<T, Diagnostic> {
    let decoder = Decoder { value, open: None, left_out: &LeftOut::default() };
    T::deserialize(decoder).map_err(|error| error.at(value.span()).into())
}

/// Decodes a value as [`decode`] does, and goes on where a part is at fault.
pub fn decode_parts<T: DeserializeOwned>(value: &Value) -> Decoded<T> {
    decode_around(value, None)
}

/// Decodes a map whose key set is open: the keys that `T` knows are decoded, the others are returned as they are.
pub fn decode_open<T: DeserializeOwned>(map: &Map) -> (Decoded<T>, Map) {
    let value = Value::Map(map.clone());
    let mut rest = Map { entries: Vec::new(), span: map.span };
    (decode_around(&value, Some(&mut rest)), rest)
}

struct Decoder<'a, 'r> {
    value: &'a Value,
    /// Where unknown keys of the outermost struct go; without it they are the type's to refuse.
    open: Option<&'r mut Map>,
    left_out: &'a LeftOut,
}

impl<'a> Decoder<'a, '_> {
    fn inner(value: &'a Value, left_out: &'a LeftOut) -> Self {
        Self { value, open: None, left_out }
    }

    fn entries(&self, map: &'a Map) -> impl Iterator<Item = &'a Entry> + use<'a> {
        let left_out = self.left_out;
        map.entries.iter().filter(move |entry| !left_out.holds(&entry.value))
    }
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
            Value::List(items, _) => {
                visitor.visit_seq(Items { items: items.iter(), left_out: self.left_out })
            }
            Value::Map(map) => visitor
                .visit_map(Entries { entries: self.entries(map), value: None, left_out: self.left_out })
                .map_err(|error| error.beside(map)),
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
            return visitor.visit_seq(SpanParts { value: self.value, next: 0, left_out: self.left_out });
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
            return Decoder::inner(self.value, self.left_out).deserialize_any(visitor);
        };
        let (known, others): (Vec<_>, Vec<_>) =
            map.entries.iter().partition(|entry| fields.contains(&entry.key.as_str()));
        rest.entries = others.into_iter().cloned().collect();
        let left_out = self.left_out;
        let known = known.into_iter().filter(|entry| !left_out.holds(&entry.value));
        visitor
            .visit_map(Entries { entries: known, value: None, left_out })
            .map_err(|error| error.beside(map).at(map.span))
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
            Value::Map(map) if self.entries(map).count() == 1 => {
                visitor.visit_enum(de::value::MapAccessDeserializer::new(Entries {
                    entries: self.entries(map),
                    value: None,
                    left_out: self.left_out,
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

struct Items<'a> {
    items: std::slice::Iter<'a, Value>,
    left_out: &'a LeftOut,
}

impl<'de> de::SeqAccess<'de> for Items<'_> {
    type Error = DecodeError;
    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DecodeError> {
        let left_out = self.left_out;
        let Some(value) = self.items.find(|value| !left_out.holds(value)) else { return Ok(None) };
        seed.deserialize(Decoder::inner(value, left_out))
            .map(Some)
            .map_err(|error| error.within(value, value.span()))
    }
    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

struct Entries<'a, I> {
    entries: I,
    value: Option<&'a Entry>,
    left_out: &'a LeftOut,
}

impl<'a, 'de, I: Iterator<Item = &'a Entry>> de::MapAccess<'de> for Entries<'a, I> {
    type Error = DecodeError;
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, DecodeError> {
        let Some(entry) = self.entries.next() else { return Ok(None) };
        self.value = Some(entry);
        // Keys carry a span of their own where the type asks for one.
        let key = Value::Scalar(Scalar::Text(entry.key.clone()), entry.key_span);
        seed.deserialize(Decoder::inner(&key, self.left_out))
            .map(Some)
            .map_err(|error| error.within(&entry.value, entry.key_span))
    }
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, DecodeError> {
        let entry =
            self.value.take().ok_or_else(|| de::Error::custom("a value was asked for before its key"))?;
        // An empty value stands nowhere: its key stands for it.
        let span = match entry.value.span() {
            span if span.end > span.start => span,
            _ => entry.key_span,
        };
        seed.deserialize(Decoder::inner(&entry.value, self.left_out))
            .map_err(|error| error.within(&entry.value, span))
    }
}

struct SpanParts<'a> {
    value: &'a Value,
    next: u8,
    left_out: &'a LeftOut,
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
                .deserialize(Decoder::inner(self.value, self.left_out))
                .map(Some)
                .map_err(|error| error.at(span)),
            _ => Ok(None),
        }
    }
}
