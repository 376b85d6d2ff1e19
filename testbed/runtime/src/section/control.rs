//! `control:` as written.

use plait_model_topology::document::Spanned;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;

/// Control applications that decide the routes of all nodes, in the order in which they run whenever links change.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Control(pub Vec<ControlApplication>);

/// A control application: the name of one that is compiled in, or a map with a component.
pub enum ControlApplication {
    /// By its name alone.
    Native(Spanned<String>),
    /// A component of WebAssembly.
    Component(ComponentFiles),
}

/// The files of a component.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComponentFiles {
    /// Path of the component beside the network file.
    pub application: Spanned<String>,
    /// Path of its manifest beside the network file: its name, and the views that it reads and writes.
    pub manifest: Spanned<String>,
}

impl<'de> Deserialize<'de> for ControlApplication {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A value with its place says what it is only once it is looked at: a map is tried where it is no text.
        let Spanned { value, span } = Spanned::<Form>::deserialize(deserializer)?;
        Ok(match value {
            Form::Name(name) => Self::Native(Spanned::new(name, span)),
            Form::Files(files) => Self::Component(files),
        })
    }
}

enum Form {
    Name(String),
    Files(ComponentFiles),
}

impl<'de> Deserialize<'de> for Form {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = Form;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an application's name, or a map with `application` and `manifest`")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Form, E> {
                String::deserialize(StrDeserializer::new(text)).map(Form::Name)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Form, A::Error> {
                ComponentFiles::deserialize(MapAccessDeserializer::new(map)).map(Form::Files)
            }
        }
        deserializer.deserialize_any(Written)
    }
}

impl JsonSchema for ControlApplication {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "ControlApplication".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let component = generator.subschema_for::<ComponentFiles>();
        json_schema!({ "anyOf": [
            { "enum": plait_control_routing::NATIVE, "description": "One that is compiled in." },
            component,
        ] })
    }
}
