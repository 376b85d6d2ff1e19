//! What a view's values look like: the types of WIT, the WebAssembly component model's interface language.
//!
//! <https://component-model.bytecodealliance.org/design/wit.html>. Resources, futures and streams are left out: they
//! are handles to something that lives elsewhere, and a view's value is all there is.

use crate::{Name, Value};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A type of WIT. Two schemas are the same exactly if they are equal: names of records' fields and of cases count,
/// as does their order.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Type {
    /// True or false.
    Bool,
    /// 8 bits without a sign.
    U8,
    /// 16 bits without a sign.
    U16,
    /// 32 bits without a sign.
    U32,
    /// 64 bits without a sign.
    U64,
    /// 8 bits with a sign.
    S8,
    /// 16 bits with a sign.
    S16,
    /// 32 bits with a sign.
    S32,
    /// 64 bits with a sign.
    S64,
    /// IEEE 754 single precision.
    F32,
    /// IEEE 754 double precision.
    F64,
    /// A Unicode scalar value.
    Char,
    /// Text.
    String,
    /// Any number of one type.
    List(Box<Type>),
    /// Fields, each with its name.
    Record(Vec<(Name, Type)>),
    /// Fields by their place.
    Tuple(Vec<Type>),
    /// One of several cases, each with or without a payload.
    Variant(Vec<(Name, Option<Type>)>),
    /// One of several names.
    Enum(Vec<Name>),
    /// One or none.
    Option(Box<Type>),
    /// What went well, or the error.
    Result {
        /// What there is if it went well.
        ok: Option<Box<Type>>,
        /// What there is if not.
        err: Option<Box<Type>>,
    },
    /// Any of at most 32 names.
    Flags(Vec<Name>),
}

/// A value that is not of its type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {found} where {expected} is due")]
pub struct Mismatch {
    /// Where inside the value, as `.links[3].cost`; empty for the value as a whole.
    pub place: String,
    /// What is due, in WIT.
    pub expected: String,
    /// What was found.
    pub found: String,
}

impl Mismatch {
    /// `found` where `expected` is due.
    pub fn new(expected: impl fmt::Display, found: &Value) -> Self {
        Self { place: String::new(), expected: expected.to_string(), found: found.kind().to_owned() }
    }

    /// The same, seen from the value that has this one at `place`.
    pub fn inside(mut self, place: impl fmt::Display) -> Self {
        self.place.insert_str(0, &place.to_string());
        self
    }
}

impl Type {
    /// Whether a value is of this type. Cost: the value's size.
    pub fn check(&self, value: &Value) -> Result<(), Mismatch> {
        let no = || Err(Mismatch::new(self, value));
        match (self, value) {
            (Type::Bool, Value::Bool(_))
            | (Type::U8, Value::U8(_))
            | (Type::U16, Value::U16(_))
            | (Type::U32, Value::U32(_))
            | (Type::U64, Value::U64(_))
            | (Type::S8, Value::S8(_))
            | (Type::S16, Value::S16(_))
            | (Type::S32, Value::S32(_))
            | (Type::S64, Value::S64(_))
            | (Type::F32, Value::F32(_))
            | (Type::F64, Value::F64(_))
            | (Type::Char, Value::Char(_))
            | (Type::String, Value::String(_)) => Ok(()),
            (Type::List(item), Value::List(items)) => {
                for (place, value) in items.iter().enumerate() {
                    item.check(value).map_err(|fault| fault.inside(format_args!("[{place}]")))?;
                }
                Ok(())
            }
            (Type::Record(fields), Value::Record(values)) if fields.len() == values.len() => {
                for ((name, field), value) in fields.iter().zip(values.iter()) {
                    field.check(value).map_err(|fault| fault.inside(format_args!(".{name}")))?;
                }
                Ok(())
            }
            (Type::Tuple(fields), Value::Tuple(values)) if fields.len() == values.len() => {
                for (place, (field, value)) in fields.iter().zip(values.iter()).enumerate() {
                    field.check(value).map_err(|fault| fault.inside(format_args!(".{place}")))?;
                }
                Ok(())
            }
            (Type::Variant(cases), Value::Variant(case, payload)) => match cases.get(*case as usize) {
                Some((name, due)) => optional(due.as_ref(), payload.as_deref(), &no)
                    .map_err(|fault| fault.inside(format_args!(".{name}"))),
                None => no(),
            },
            (Type::Enum(names), Value::Enum(case)) if (*case as usize) < names.len() => Ok(()),
            (Type::Option(some), Value::Option(value)) => match value {
                Some(value) => some.check(value),
                None => Ok(()),
            },
            (Type::Result { ok, .. }, Value::Result(Ok(value))) => {
                optional(ok.as_deref(), value.as_deref(), &no)
            }
            (Type::Result { err, .. }, Value::Result(Err(value))) => {
                optional(err.as_deref(), value.as_deref(), &no)
            }
            (Type::Flags(names), Value::Flags(set)) if u64::from(*set) < 1 << names.len() => Ok(()),
            _ => no(),
        }
    }
}

fn optional(
    due: Option<&Type>,
    value: Option<&Value>,
    no: &dyn Fn() -> Result<(), Mismatch>,
) -> Result<(), Mismatch> {
    match (due, value) {
        (None, None) => Ok(()),
        (Some(due), Some(value)) => due.check(value),
        _ => no(),
    }
}

/// Written as in WIT, records and their like in place of a name: `list<record { from: u32, to: u32 }>`.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Bool => f.write_str("bool"),
            Type::U8 => f.write_str("u8"),
            Type::U16 => f.write_str("u16"),
            Type::U32 => f.write_str("u32"),
            Type::U64 => f.write_str("u64"),
            Type::S8 => f.write_str("s8"),
            Type::S16 => f.write_str("s16"),
            Type::S32 => f.write_str("s32"),
            Type::S64 => f.write_str("s64"),
            Type::F32 => f.write_str("f32"),
            Type::F64 => f.write_str("f64"),
            Type::Char => f.write_str("char"),
            Type::String => f.write_str("string"),
            Type::List(item) => write!(f, "list<{item}>"),
            Type::Option(some) => write!(f, "option<{some}>"),
            Type::Record(fields) => {
                braces(f, "record", fields, |f, (name, field)| write!(f, "{name}: {field}"))
            }
            Type::Variant(cases) => braces(f, "variant", cases, |f, (name, payload)| match payload {
                Some(payload) => write!(f, "{name}({payload})"),
                None => write!(f, "{name}"),
            }),
            Type::Enum(names) => braces(f, "enum", names, |f, name| write!(f, "{name}")),
            Type::Flags(names) => braces(f, "flags", names, |f, name| write!(f, "{name}")),
            Type::Tuple(fields) => {
                f.write_str("tuple<")?;
                for (place, field) in fields.iter().enumerate() {
                    write!(f, "{}{field}", if place == 0 { "" } else { ", " })?;
                }
                f.write_str(">")
            }
            Type::Result { ok, err } => match (ok, err) {
                (None, None) => f.write_str("result"),
                (Some(ok), None) => write!(f, "result<{ok}>"),
                (None, Some(err)) => write!(f, "result<_, {err}>"),
                (Some(ok), Some(err)) => write!(f, "result<{ok}, {err}>"),
            },
        }
    }
}

fn braces<T>(
    f: &mut fmt::Formatter<'_>,
    keyword: &str,
    items: &[T],
    mut each: impl FnMut(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    write!(f, "{keyword} {{ ")?;
    for (place, item) in items.iter().enumerate() {
        f.write_str(if place == 0 { "" } else { ", " })?;
        each(f, item)?;
    }
    f.write_str(" }")
}
