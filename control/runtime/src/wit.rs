//! How Rust's types are WIT's: [`Wit`], and [`wit!`](crate::wit) that derives it.

use crate::{Mismatch, Name, Type, Value};
use rpds::{HashTrieMapSync, RedBlackTreeMapSync};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

/// A Rust type with a type of WIT, and the way from one to the other and back.
///
/// Maps are `list<tuple<key, value>>`, sets lists, a [`Duration`] its nanoseconds in a `u64` (which holds 584 years; a
/// longer one becomes that), an IPv4 address a `u32` and an IPv6 address a tuple of two `u64`, the more significant
/// first, and an address of either a variant of both.
///
/// Choice: a trait and a `macro_rules!` over a type's fields, which finds their types by inference, instead of a
/// derive: it adds no crate of macros to build.
pub trait Wit: Sized {
    /// The type.
    fn schema() -> Type;
    /// The value as one of that type.
    fn to_value(&self) -> Value;
    /// The value that `value` stands for.
    fn from_value(value: &Value) -> Result<Self, Mismatch>;
}

/// Implements [`Wit`] for a struct (a `record`), an enum without payloads (an `enum`) or with (a `variant`). Names
/// become WIT's: `next_hop` and `NextHop` are `next-hop`.
///
/// ```
/// use plait_control_runtime::{Wit, wit};
///
/// pub struct Link { pub from: u32, pub to: u32, pub state: State }
/// pub enum State { Down, Up }
/// pub enum Verdict { Drop, Forward(u32) }
/// wit!(struct Link { from, to, state });
/// wit!(enum State { Down, Up });
/// wit!(variant Verdict { Drop, Forward(_) });
/// assert_eq!(Link::schema().to_string(), "record { from: u32, to: u32, state: enum { down, up } }");
/// assert_eq!(Verdict::schema().to_string(), "variant { drop, forward(u32) }");
/// ```
#[macro_export]
macro_rules! wit {
    (struct $name:ident { $($field:ident),+ $(,)? }) => {
        impl $crate::Wit for $name {
            fn schema() -> $crate::Type {
                fn of<S, T: $crate::Wit>(_: fn(&S) -> &T) -> $crate::Type { T::schema() }
                $crate::Type::Record(vec![
                    $(($crate::Name::of_rust(stringify!($field)), of(|whole: &Self| &whole.$field))),+
                ])
            }
            fn to_value(&self) -> $crate::Value {
                $crate::Value::Record([$($crate::Wit::to_value(&self.$field)),+].into())
            }
            fn from_value(value: &$crate::Value) -> Result<Self, $crate::Mismatch> {
                match value {
                    $crate::Value::Record(fields) => {
                        let mut fields = fields.iter();
                        let whole = Self {
                            $($field: $crate::Wit::from_value(
                                fields.next().ok_or_else(|| $crate::Mismatch::new(Self::schema(), value))?
                            ).map_err(|fault| fault.inside(concat!(".", stringify!($field))))?),+
                        };
                        match fields.next() {
                            None => Ok(whole),
                            Some(_) => Err($crate::Mismatch::new(Self::schema(), value)),
                        }
                    }
                    _ => Err($crate::Mismatch::new(Self::schema(), value)),
                }
            }
        }
    };
    (enum $name:ident { $($case:ident),+ $(,)? }) => {
        impl $crate::Wit for $name {
            fn schema() -> $crate::Type {
                $crate::Type::Enum(vec![$($crate::Name::of_rust(stringify!($case))),+])
            }
            fn to_value(&self) -> $crate::Value {
                let cases = [$(stringify!($case)),+];
                let own = match self { $(Self::$case => stringify!($case)),+ };
                let place = cases.iter().position(|case| *case == own).unwrap_or(0);
                $crate::Value::Enum(place as u32)
            }
            fn from_value(value: &$crate::Value) -> Result<Self, $crate::Mismatch> {
                if let $crate::Value::Enum(case) = value {
                    let mut place = 0;
                    $(
                        if *case == place { return Ok(Self::$case); }
                        place += 1;
                    )+
                    let _ = place;
                }
                Err($crate::Mismatch::new(Self::schema(), value))
            }
        }
    };
    (variant $name:ident { $($case:ident $(($payload:tt))?),+ $(,)? }) => {
        impl $crate::Wit for $name {
            fn schema() -> $crate::Type {
                #[allow(dead_code)]
                fn of<S, T: $crate::Wit>(_: fn(T) -> S) -> Option<$crate::Type> { Some(T::schema()) }
                $crate::Type::Variant(vec![
                    $(($crate::Name::of_rust(stringify!($case)), $crate::wit!(@schema $case $(($payload))?))),+
                ])
            }
            fn to_value(&self) -> $crate::Value {
                let cases = [$(stringify!($case)),+];
                let place = |own| cases.iter().position(|case| *case == own).unwrap_or(0) as u32;
                $($crate::wit!(@encode self place $case $(($payload))?);)+
                unreachable!("every case was asked")
            }
            fn from_value(value: &$crate::Value) -> Result<Self, $crate::Mismatch> {
                if let $crate::Value::Variant(case, payload) = value {
                    let mut place = 0;
                    $(
                        if *case == place { $crate::wit!(@decode payload $case $(($payload))?); }
                        place += 1;
                    )+
                    let _ = place;
                }
                Err($crate::Mismatch::new(Self::schema(), value))
            }
        }
    };
    (@schema $case:ident) => { None };
    (@schema $case:ident ($payload:tt)) => { of(Self::$case) };
    (@encode $self:ident $place:ident $case:ident) => {
        if let Self::$case = $self {
            return $crate::Value::Variant($place(stringify!($case)), None);
        }
    };
    (@encode $self:ident $place:ident $case:ident ($payload:tt)) => {
        if let Self::$case(payload) = $self {
            let payload = Some(std::sync::Arc::new($crate::Wit::to_value(payload)));
            return $crate::Value::Variant($place(stringify!($case)), payload);
        }
    };
    (@decode $found:ident $case:ident) => {
        if $found.is_none() { return Ok(Self::$case); }
    };
    (@decode $found:ident $case:ident ($payload:tt)) => {
        if let Some(payload) = $found {
            return $crate::Wit::from_value(payload).map(Self::$case);
        }
    };
}

macro_rules! scalar {
    ($($rust:ty, $case:ident;)+) => {$(
        impl Wit for $rust {
            fn schema() -> Type { Type::$case }
            fn to_value(&self) -> Value { Value::$case(*self) }
            fn from_value(value: &Value) -> Result<Self, Mismatch> {
                match value {
                    Value::$case(found) => Ok(*found),
                    _ => Err(Mismatch::new(Type::$case, value)),
                }
            }
        }
    )+};
}

scalar! {
    bool, Bool;
    u8, U8;
    u16, U16;
    u32, U32;
    u64, U64;
    i8, S8;
    i16, S16;
    i32, S32;
    i64, S64;
    char, Char;
}

/// A type that is written as another one.
macro_rules! by {
    ($($rust:ty as $other:ty: $to:expr, $from:expr;)+) => {$(
        impl Wit for $rust {
            fn schema() -> Type { <$other>::schema() }
            fn to_value(&self) -> Value { let to: fn(&$rust) -> $other = $to; to(self).to_value() }
            fn from_value(value: &Value) -> Result<Self, Mismatch> { <$other>::from_value(value).map($from) }
        }
    )+};
}

by! {
    Duration as u64: |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Duration::from_nanos;
    Ipv4Addr as u32: |address| address.to_bits(), Ipv4Addr::from_bits;
    Ipv6Addr as (u64, u64): |address| ((address.to_bits() >> 64) as u64, address.to_bits() as u64),
        |(high, low)| Ipv6Addr::from_bits(u128::from(high) << 64 | u128::from(low));
}

wit!(variant IpAddr { V4(_), V6(_) });

impl Wit for f32 {
    fn schema() -> Type {
        Type::F32
    }
    fn to_value(&self) -> Value {
        Value::F32(self.to_bits())
    }
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        match value {
            Value::F32(bits) => Ok(f32::from_bits(*bits)),
            _ => Err(Mismatch::new(Type::F32, value)),
        }
    }
}

impl Wit for f64 {
    fn schema() -> Type {
        Type::F64
    }
    fn to_value(&self) -> Value {
        Value::F64(self.to_bits())
    }
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        match value {
            Value::F64(bits) => Ok(f64::from_bits(*bits)),
            _ => Err(Mismatch::new(Type::F64, value)),
        }
    }
}

impl Wit for Arc<str> {
    fn schema() -> Type {
        Type::String
    }
    fn to_value(&self) -> Value {
        Value::String(self.clone())
    }
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        match value {
            Value::String(text) => Ok(text.clone()),
            _ => Err(Mismatch::new(Type::String, value)),
        }
    }
}

impl Wit for String {
    fn schema() -> Type {
        Type::String
    }
    fn to_value(&self) -> Value {
        Value::String(self.as_str().into())
    }
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        <Arc<str>>::from_value(value).map(|text| text.as_ref().to_owned())
    }
}

impl Wit for Name {
    fn schema() -> Type {
        Type::String
    }
    fn to_value(&self) -> Value {
        Value::String(self.as_str().into())
    }
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        String::from_value(value)?.parse().map_err(|_| Mismatch::new("a name", value))
    }
}

impl<T: Wit> Wit for Option<T> {
    fn schema() -> Type {
        Type::Option(Box::new(T::schema()))
    }
    fn to_value(&self) -> Value {
        Value::Option(self.as_ref().map(|some| Arc::new(some.to_value())))
    }
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        match value {
            Value::Option(some) => some.as_deref().map(T::from_value).transpose(),
            _ => Err(Mismatch::new(Self::schema(), value)),
        }
    }
}

impl<T: Wit, E: Wit> Wit for Result<T, E> {
    fn schema() -> Type {
        Type::Result { ok: Some(Box::new(T::schema())), err: Some(Box::new(E::schema())) }
    }
    fn to_value(&self) -> Value {
        Value::Result(match self {
            Ok(value) => Ok(Some(Arc::new(value.to_value()))),
            Err(error) => Err(Some(Arc::new(error.to_value()))),
        })
    }
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        match value {
            Value::Result(Ok(Some(value))) => T::from_value(value).map(Ok),
            Value::Result(Err(Some(error))) => E::from_value(error).map(Err),
            _ => Err(Mismatch::new(Self::schema(), value)),
        }
    }
}

/// A list of what an iterator gives.
fn list<'a, T: Wit + 'a>(items: impl IntoIterator<Item = &'a T>) -> Value {
    Value::List(items.into_iter().map(Wit::to_value).collect())
}

/// A collection from a list's values.
fn collect<C: FromIterator<T>, T: Wit>(value: &Value) -> Result<C, Mismatch> {
    let Value::List(items) = value else { return Err(Mismatch::new(<Vec<T>>::schema(), value)) };
    let item = |(place, item)| T::from_value(item).map_err(|fault| fault.inside(format_args!("[{place}]")));
    items.iter().enumerate().map(item).collect()
}

/// A list of pairs.
fn pairs<'a, K: Wit + 'a, V: Wit + 'a>(items: impl IntoIterator<Item = (&'a K, &'a V)>) -> Value {
    let pair = |(key, value): (&K, &V)| Value::Tuple([key.to_value(), value.to_value()].into());
    Value::List(items.into_iter().map(pair).collect())
}

impl<T: Wit> Wit for Vec<T> {
    fn schema() -> Type {
        Type::List(Box::new(T::schema()))
    }
    fn to_value(&self) -> Value {
        list(self)
    }
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        collect(value)
    }
}

impl<T: Wit + Ord> Wit for BTreeSet<T> {
    fn schema() -> Type {
        <Vec<T>>::schema()
    }
    fn to_value(&self) -> Value {
        list(self)
    }
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        collect(value)
    }
}

impl<K: Wit + Ord, V: Wit> Wit for BTreeMap<K, V> {
    fn schema() -> Type {
        <Vec<(K, V)>>::schema()
    }
    fn to_value(&self) -> Value {
        pairs(self)
    }
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        collect(value)
    }
}

/// A map that changes by sharing: a new one costs the logarithm of its size, and the old one stays.
impl<K: Wit + Ord, V: Wit> Wit for RedBlackTreeMapSync<K, V> {
    fn schema() -> Type {
        <Vec<(K, V)>>::schema()
    }
    fn to_value(&self) -> Value {
        pairs(self)
    }
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        collect(value)
    }
}

/// As the ordered one, and faster to look up in. It is written in the order of its keys, so that equal maps are
/// written equally.
impl<K: Wit + Ord + Hash, V: Wit> Wit for HashTrieMapSync<K, V> {
    fn schema() -> Type {
        <Vec<(K, V)>>::schema()
    }
    fn to_value(&self) -> Value {
        pairs(self.iter().collect::<BTreeMap<_, _>>())
    }
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        collect(value)
    }
}

/// A tuple of as many.
impl<T: Wit, const N: usize> Wit for [T; N] {
    fn schema() -> Type {
        Type::Tuple(vec![T::schema(); N])
    }
    fn to_value(&self) -> Value {
        Value::Tuple(self.iter().map(Wit::to_value).collect())
    }
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        let Value::Tuple(parts) = value else { return Err(Mismatch::new(Self::schema(), value)) };
        let part =
            |(place, part)| T::from_value(part).map_err(|fault| fault.inside(format_args!(".{place}")));
        let parts: Vec<T> = parts.iter().enumerate().map(part).collect::<Result<_, _>>()?;
        parts.try_into().map_err(|_| Mismatch::new(Self::schema(), value))
    }
}

/// What it points to.
impl<T: Wit> Wit for Arc<T> {
    fn schema() -> Type {
        T::schema()
    }
    fn to_value(&self) -> Value {
        T::to_value(self)
    }
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        T::from_value(value).map(Self::new)
    }
}

macro_rules! tuple {
    ($($part:ident $place:tt),+) => {
        impl<$($part: Wit),+> Wit for ($($part,)+) {
            fn schema() -> Type {
                Type::Tuple(vec![$($part::schema()),+])
            }
            fn to_value(&self) -> Value {
                Value::Tuple([$(self.$place.to_value()),+].into())
            }
            fn from_value(value: &Value) -> Result<Self, Mismatch> {
                match value {
                    Value::Tuple(parts) if parts.len() == [$($place),+].len() => Ok(($(
                        $part::from_value(&parts[$place])
                            .map_err(|fault| fault.inside(concat!(".", stringify!($place))))?,
                    )+)),
                    _ => Err(Mismatch::new(Self::schema(), value)),
                }
            }
        }
    };
}

tuple!(A 0);
tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);
tuple!(A 0, B 1, C 2, D 3, E 4);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5);
