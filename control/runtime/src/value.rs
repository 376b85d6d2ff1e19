//! Values of WIT's types: what crosses from one application to another whatever language they are written in.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A value of a [`Type`](crate::Type), immutable. A copy shares everything with what it was copied from.
///
/// Floats are kept as their IEEE 754 bits, so that a value is equal to itself, NaN too, and so that a recording holds
/// all of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Value {
    /// `bool`
    Bool(bool),
    /// `u8`
    U8(u8),
    /// `u16`
    U16(u16),
    /// `u32`
    U32(u32),
    /// `u64`
    U64(u64),
    /// `s8`
    S8(i8),
    /// `s16`
    S16(i16),
    /// `s32`
    S32(i32),
    /// `s64`
    S64(i64),
    /// `f32`, its bits
    F32(u32),
    /// `f64`, its bits
    F64(u64),
    /// `char`
    Char(char),
    /// `string`
    String(Arc<str>),
    /// `list<…>`; bytes are written as hexadecimal digits
    List(#[serde(with = "list")] Arc<[Value]>),
    /// `record`: its fields' values in their order
    Record(Arc<[Value]>),
    /// `tuple<…>`
    Tuple(Arc<[Value]>),
    /// `variant`: the case's number, and its payload
    Variant(u32, Option<Arc<Value>>),
    /// `enum`: the case's number
    Enum(u32),
    /// `option<…>`
    Option(Option<Arc<Value>>),
    /// `result<…>`
    Result(Result<Option<Arc<Value>>, Option<Arc<Value>>>),
    /// `flags`: the first name's bit is the least
    Flags(u32),
}

impl Value {
    /// What it is, in a word of WIT.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Bool(_) => "a bool",
            Value::U8(_) => "a u8",
            Value::U16(_) => "a u16",
            Value::U32(_) => "a u32",
            Value::U64(_) => "a u64",
            Value::S8(_) => "an s8",
            Value::S16(_) => "an s16",
            Value::S32(_) => "an s32",
            Value::S64(_) => "an s64",
            Value::F32(_) => "an f32",
            Value::F64(_) => "an f64",
            Value::Char(_) => "a char",
            Value::String(_) => "a string",
            Value::List(_) => "a list",
            Value::Record(_) => "a record",
            Value::Tuple(_) => "a tuple",
            Value::Variant(..) => "a variant",
            Value::Enum(_) => "an enum",
            Value::Option(_) => "an option",
            Value::Result(_) => "a result",
            Value::Flags(_) => "flags",
        }
    }
}

/// A list as it is written: of bytes, which packets are, two digits each in place of a map each.
mod list {
    use super::Value;
    use crate::hexadecimal;
    use serde::de::{Error, SeqAccess, Visitor};
    use serde::{Deserializer, Serialize, Serializer};
    use std::fmt;
    use std::sync::Arc;

    pub fn serialize<S: Serializer>(items: &Arc<[Value]>, serializer: S) -> Result<S::Ok, S::Error> {
        let byte = |item: &Value| if let Value::U8(byte) = item { Some(*byte) } else { None };
        match items.iter().map(byte).collect::<Option<Vec<u8>>>() {
            Some(bytes) if !bytes.is_empty() => hexadecimal::serialize(&bytes, serializer),
            _ => items.serialize(serializer),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<[Value]>, D::Error> {
        struct Items;
        impl<'de> Visitor<'de> for Items {
            type Value = Arc<[Value]>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of values, or bytes as pairs of hexadecimal digits")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Arc<[Value]>, E> {
                let bytes = hexadecimal::read(text).map_err(E::custom)?;
                Ok(bytes.into_iter().map(Value::U8).collect())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Arc<[Value]>, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = all.next_element()? {
                    items.push(item);
                }
                Ok(items.into())
            }
        }
        deserializer.deserialize_any(Items)
    }
}
