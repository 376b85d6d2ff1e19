//! What methods take where a network file has a value.

use crate::place::Place;
use plait_model_link::ConditionsSpec;
use plait_model_quantity::{Bandwidth, ByteCount, Probability, TimeSpan};
use plait_model_topology::document::{self, Entry, Scalar, Source};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// A value as a network file would have it, with the lines of the program that wrote it.
///
/// Every method that takes `impl Into<Written>` takes a text as in the file (`"10Mbit"`, `"$rate"` for a
/// factor's level), a number, a typed quantity ([`Bandwidth`], [`TimeSpan`], [`ByteCount`], [`Probability`],
/// [`std::time::Duration`]), a list of any of these, or [`serde_json::Value`] for everything else.
#[derive(Debug, Clone)]
pub struct Written {
    value: Value,
    /// By JSON pointers from here. A later one wins over an earlier one of the same pointer.
    places: Vec<(String, Place)>,
}

impl Written {
    /// An empty map, to which keys are added.
    pub(crate) fn map() -> Self {
        Self { value: Value::Object(Map::new()), places: Vec::new() }
    }

    /// A parsed document; each part was written where it stands in the text.
    pub(crate) fn of_document(document: &document::Value, source: &Source) -> Self {
        let mut written = Self::from(Value::Null);
        written.places.push((String::new(), Place { file: source.name.clone(), line: 1, column: 1 }));
        written.value = transcribe(document, source, "", &mut written.places);
        written
    }

    pub(crate) fn value(&self) -> &Value {
        &self.value
    }

    pub(crate) fn places(&self) -> &[(String, Place)] {
        &self.places
    }

    /// Gives a key its value; the last value wins.
    pub(crate) fn set(&mut self, key: &str, value: impl Into<Written>, place: Place) {
        let value = self.taken(&pointer(&[key]), value.into(), place);
        self.object().insert(key.to_owned(), value);
    }

    /// Gives a key of the map under a key its value; the last value wins.
    pub(crate) fn set_under(&mut self, key: &str, name: &str, value: impl Into<Written>, place: Place) {
        let value = self.taken(&pointer(&[key, name]), value.into(), place);
        let under = self.object().entry(key).or_insert_with(|| json!({}));
        if !under.is_object() {
            *under = json!({});
        }
        under[name] = value;
    }

    /// Adds to the list under a key.
    pub(crate) fn push(&mut self, key: &str, value: impl Into<Written>, place: Place) {
        let count = self.value[key].as_array().map_or(0, Vec::len);
        let value = self.taken(&pointer(&[key, &count.to_string()]), value.into(), place);
        match self.object().entry(key).or_insert_with(|| json!([])) {
            Value::Array(items) => items.push(value),
            other => *other = json!([value]),
        }
    }

    /// Puts a value where a JSON pointer (RFC 6901) leads; maps on the way are made.
    pub(crate) fn put(&mut self, at: &str, value: impl Into<Written>, place: Place) {
        let value = self.taken(at, value.into(), place);
        let mut target = &mut self.value;
        for part in at.split('/').skip(1) {
            target = enter(target, &part.replace("~1", "/").replace("~0", "~"));
        }
        *target = value;
    }

    /// Adds the keys of another map; those that are there already are written anew.
    pub(crate) fn lay(&mut self, over: Written) {
        let Value::Object(keys) = over.value else { return };
        self.object().extend(keys);
        self.places.extend(over.places);
    }

    /// Where the entry of a name under a key was written, if it is there.
    pub(crate) fn place_under(&self, key: &str, name: &str) -> Option<Place> {
        self.value.get(key)?.get(name)?;
        let wanted = pointer(&[key, name]);
        self.places.iter().rev().find(|(at, _)| *at == wanted).map(|(_, place)| place.clone())
    }

    fn object(&mut self) -> &mut Map<String, Value> {
        if !self.value.is_object() {
            self.value = json!({});
        }
        self.value.as_object_mut().expect("just made")
    }

    /// Takes over where the parts of a value were written.
    fn taken(&mut self, at: &str, value: Written, place: Place) -> Value {
        self.places.push((at.to_owned(), place));
        self.places.extend(value.places.into_iter().map(|(inner, place)| (format!("{at}{inner}"), place)));
        value.value
    }
}

/// A JSON pointer (RFC 6901).
pub(crate) fn pointer(parts: &[&str]) -> String {
    parts.iter().map(|part| format!("/{}", part.replace('~', "~0").replace('/', "~1"))).collect()
}

/// A part of a value, which is made where it is not there: in a list at its end, else in a map.
fn enter<'v>(value: &'v mut Value, key: &str) -> &'v mut Value {
    match value {
        Value::Array(items) => {
            let position = key.parse().unwrap_or(items.len()).min(items.len());
            if position == items.len() {
                items.push(Value::Null);
            }
            &mut items[position]
        }
        other => {
            if !other.is_object() {
                *other = json!({});
            }
            other.as_object_mut().expect("just made").entry(key).or_insert(Value::Null)
        }
    }
}

fn transcribe(
    value: &document::Value,
    source: &Source,
    at: &str,
    places: &mut Vec<(String, Place)>,
) -> Value {
    match value {
        document::Value::Map(map) => {
            let mut entry = |Entry { key, key_span, value }: &Entry| {
                let (line, column) = source.position(key_span.start);
                let inner = format!("{at}{}", pointer(&[key]));
                places.push((inner.clone(), Place { file: source.name.clone(), line, column }));
                (key.clone(), transcribe(value, source, &inner, places))
            };
            Value::Object(map.entries.iter().map(&mut entry).collect())
        }
        document::Value::List(items, _) => {
            let mut item = |(position, item): (usize, &document::Value)| {
                let (line, column) = source.position(item.span().start);
                let inner = format!("{at}/{position}");
                places.push((inner.clone(), Place { file: source.name.clone(), line, column }));
                transcribe(item, source, &inner, places)
            };
            Value::Array(items.iter().enumerate().map(&mut item).collect())
        }
        document::Value::Scalar(scalar, _) => match scalar {
            Scalar::Null => Value::Null,
            Scalar::Bool(value) => json!(value),
            Scalar::Int(value, _) => json!(value),
            Scalar::Float(value, _) => json!(value),
            Scalar::Text(text) => json!(text),
        },
    }
}

impl From<Value> for Written {
    fn from(value: Value) -> Self {
        Self { value, places: Vec::new() }
    }
}

/// As they are: texts and numbers.
macro_rules! plain {
    ($($type:ty)*) => { $(
        impl From<$type> for Written {
            fn from(value: $type) -> Self {
                json!(value).into()
            }
        }
    )* };
}
plain! { &str &String String bool u8 u16 u32 u64 usize i8 i16 i32 i64 f64 }

/// In their written form, which reads back as the same.
macro_rules! quantity {
    ($($type:ty)*) => { $(
        impl From<$type> for Written {
            fn from(value: $type) -> Self {
                value.to_string().into()
            }
        }
    )* };
}
quantity! { Bandwidth ByteCount Probability TimeSpan std::net::IpAddr }

impl From<Duration> for Written {
    fn from(duration: Duration) -> Self {
        TimeSpan::from(duration).into()
    }
}

impl From<ConditionsSpec> for Written {
    fn from(conditions: ConditionsSpec) -> Self {
        json!(conditions).into()
    }
}

impl<T: Into<Written>> From<Vec<T>> for Written {
    fn from(list: Vec<T>) -> Self {
        let mut written = Self::from(json!([]));
        let items = list.into_iter().map(Into::into).enumerate();
        let items = items.map(|(position, item): (usize, Written)| {
            let places = item.places.into_iter().map(|(at, place)| (format!("/{position}{at}"), place));
            written.places.extend(places);
            item.value
        });
        let items: Vec<Value> = items.collect();
        Self { value: Value::Array(items), ..written }
    }
}

impl<T: Into<Written>, const N: usize> From<[T; N]> for Written {
    fn from(list: [T; N]) -> Self {
        Vec::from(list).into()
    }
}

impl<T: Clone + Into<Written>> From<&[T]> for Written {
    fn from(list: &[T]) -> Self {
        list.to_vec().into()
    }
}
