//! How values of a specification are written: as text, as text or a map, or as `none`.

use plait_model_quantity::{Bandwidth, Probability, TimeSpan};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::{Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

/// Reads a value written as text. A number is passed on as its text, so that the parser can name the missing unit.
pub(crate) fn text<'de, D, T>(deserializer: D, expecting: &'static str) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: fmt::Display>,
{
    struct Text<T>(&'static str, PhantomData<T>);
    impl<T: FromStr<Err: fmt::Display>> Visitor<'_> for Text<T> {
        type Value = T;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            text.parse().map_err(E::custom)
        }
        fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
            self.visit_str(&number.to_string())
        }
        fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
            self.visit_str(&number.to_string())
        }
        fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
            self.visit_str(&number.to_string())
        }
    }
    deserializer.deserialize_any(Text(expecting, PhantomData))
}

/// Reads a value written as text for the common case, or as a map `M` for the full form.
pub(crate) fn text_or_map<'de, D, T, M>(deserializer: D, expecting: &'static str) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: fmt::Display> + From<M>,
    M: Deserialize<'de>,
{
    struct TextOrMap<T, M>(&'static str, PhantomData<(T, M)>);
    impl<'de, T, M> Visitor<'de> for TextOrMap<T, M>
    where
        T: FromStr<Err: fmt::Display> + From<M>,
        M: Deserialize<'de>,
    {
        type Value = T;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            text.parse().map_err(E::custom)
        }
        fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
            self.visit_str(&number.to_string())
        }
        fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
            self.visit_str(&number.to_string())
        }
        fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
            self.visit_str(&number.to_string())
        }
        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
            M::deserialize(MapAccessDeserializer::new(map)).map(T::from)
        }
    }
    deserializer.deserialize_any(TextOrMap(expecting, PhantomData))
}

/// A quantity for which one value means that nothing is asked, written `none`.
pub(crate) trait OrNone: FromStr<Err: fmt::Display> + fmt::Display + PartialEq + Sized {
    /// The value that stands for nothing asked.
    const NONE: Self;

    /// Reads `none` or the quantity.
    fn parse(text: &str) -> Result<Self, Self::Err> {
        if text.trim() == "none" { Ok(Self::NONE) } else { text.parse() }
    }
}

impl OrNone for Bandwidth {
    // Choice: a rate of nought means no limit, as in netem. A link that passes nothing is a failed link.
    const NONE: Self = Self::from_bits_per_second(0);
}

impl OrNone for TimeSpan {
    const NONE: Self = Self::ZERO;
}

impl OrNone for Probability {
    const NONE: Self = Self::ZERO;
}

/// `#[serde(with)]` for an optional quantity that may be written `none`.
pub(crate) mod or_none {
    use super::*;

    struct Written<T>(T);

    impl<T: OrNone> FromStr for Written<T> {
        type Err = T::Err;
        fn from_str(text: &str) -> Result<Self, T::Err> {
            T::parse(text).map(Self)
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>, T: OrNone>(deserializer: D) -> Result<Option<T>, D::Error> {
        text(deserializer, "a value with its unit, or `none`").map(|Written(value)| Some(value))
    }

    pub fn serialize<S: Serializer, T: OrNone + Serialize>(
        value: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) if *value == T::NONE => serializer.serialize_str("none"),
            value => value.serialize(serializer),
        }
    }
}

/// The schema of a quantity that may be written `none`.
pub(crate) struct SchemaOrNone<T>(PhantomData<T>);

impl<T: schemars::JsonSchema> schemars::JsonSchema for SchemaOrNone<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("{}OrNone", T::schema_name()).into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let value = generator.subschema_for::<T>();
        schemars::json_schema!({ "anyOf": [value, { "const": "none" }] })
    }
}
