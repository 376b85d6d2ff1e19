//! The JSON Schema of a network file, composed of the core's types and the keys that rooms registered.

use crate::file::{LanFile, LinkFile, NodeFile, RootFile};
use crate::vocabulary::{Place, Vocabulary};
use plait_model_link::ConditionsSpec;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// The schema of a file that uses this vocabulary, for editors (JSON Schema 2020-12).
pub fn json_schema(vocabulary: &Vocabulary) -> Value {
    let mut generator = SchemaGenerator::default();
    let node = place(&mut generator, vocabulary, Place::Node, &[object::<NodeFile>]);
    let node = with_kinds(node, vocabulary);
    let link =
        place(&mut generator, vocabulary, Place::Link, &[object::<LinkFile>, object::<ConditionsSpec>]);
    let lan = place(&mut generator, vocabulary, Place::Lan, &[object::<LanFile>, object::<ConditionsSpec>]);
    let mut root = place(&mut generator, vocabulary, Place::File, &[object::<RootFile>]);

    let properties = root["properties"].as_object_mut().expect("a struct has properties");
    let kind_or_node =
        json!({ "anyOf": [{ "$ref": "#/$defs/Node" }, { "$ref": "#/$defs/Kind" }, { "type": "null" }] });
    properties.insert(
        "nodes".into(),
        json!({ "description": "The nodes: a map from name to node, or a list of names.", "anyOf": [
            { "type": "object", "additionalProperties": kind_or_node.clone() },
            { "type": "array", "items": { "type": ["string", "integer"] } }] }),
    );
    properties.insert(
        "groups".into(),
        json!({ "description": "Keys that nodes inherit, by group.", "type": "object",
            "additionalProperties": kind_or_node }),
    );
    properties.insert(
        "links".into(),
        json!({ "description": "Point-to-point links: `a-b`, or a map.", "type": "array", "items": { "anyOf": [
            { "type": "string", "pattern": "^[^-]+(-[^-]+)+$" }, { "$ref": "#/$defs/Link" }] } }),
    );
    properties.insert(
        "lans".into(),
        json!({ "description": "Shared segments, by name.", "type": "object", "additionalProperties": { "anyOf": [
            { "$ref": "#/$defs/Lan" }, { "type": "array", "items": { "type": "string" } }] } }),
    );
    let mut definitions: Map<String, Value> = generator.take_definitions(true);
    for (key, target) in [("node", "Node"), ("link", "Link"), ("lan", "Lan")] {
        definitions["DefaultsFile"]["properties"][key] = without_required(target);
    }
    definitions.insert("Kind".into(), kinds(vocabulary));
    definitions.insert("Node".into(), node);
    definitions.insert("Link".into(), link);
    definitions.insert("Lan".into(), lan);
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!("Plait network file");
    // Which names stand for levels is for the room to say that fills documents; where a value is written, a name may
    // be.
    definitions.values_mut().for_each(or_named);
    or_named(&mut root);
    definitions.insert(
        "Named".into(),
        json!({ "description": "What a factor of `experiment:` stands for.", "type": "string",
            "pattern": "^\\$[A-Za-z_][A-Za-z0-9_]*$" }),
    );
    root["$defs"] = Value::Object(definitions);
    root
}

/// Lets a `$name` stand wherever a schema wants a scalar of a certain form.
fn or_named(schema: &mut Value) {
    if let Value::Array(schemas) = schema {
        schemas.iter_mut().for_each(or_named);
        return;
    }
    let Value::Object(map) = schema else { return };
    let scalar = |kind: &Value| matches!(kind.as_str(), Some("integer" | "number" | "boolean"));
    let formed = ["pattern", "enum", "const", "oneOf"].iter().any(|word| map.contains_key(*word))
        || map.get("type").is_some_and(|kind| {
            scalar(kind) || kind.as_array().is_some_and(|kinds| kinds.iter().any(scalar))
        });
    if formed {
        // The description stays outside, where editors look for it.
        let description = map.shift_remove("description");
        let formed = std::mem::take(map);
        map.extend(description.map(|text| ("description".to_owned(), text)));
        map.insert("anyOf".into(), json!([formed, { "$ref": "#/$defs/Named" }]));
        return;
    }
    for word in ["properties", "items", "additionalProperties", "anyOf", "allOf"] {
        match map.get_mut(word) {
            Some(Value::Object(named)) if word == "properties" => named.values_mut().for_each(or_named),
            Some(inner) => or_named(inner),
            None => {}
        }
    }
}

/// A struct's own schema as a value.
fn object<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    T::json_schema(generator).to_value()
}

/// One object schema with the properties of several types and of the registered keys of a place.
fn place(
    generator: &mut SchemaGenerator,
    vocabulary: &Vocabulary,
    place: Place,
    types: &[fn(&mut SchemaGenerator) -> Value],
) -> Value {
    let mut whole = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    let mut required = Vec::new();
    for (position, make) in types.iter().enumerate() {
        let part = make(generator);
        if position == 0
            && let Some(description) = part.get("description")
        {
            whole["description"] = description.clone();
        }
        for (key, schema) in part["properties"].as_object().into_iter().flatten() {
            whole["properties"][key] = schema.clone();
        }
        required.extend(part["required"].as_array().into_iter().flatten().cloned());
    }
    for (name, key) in vocabulary.keys(place) {
        whole["properties"][name] = (key.schema)(generator).to_value();
    }
    if !required.is_empty() {
        whole["required"] = Value::Array(required);
    }
    whole
}

/// What stands under `defaults` has the same keys, none of them required.
fn without_required(target: &str) -> Value {
    json!({ "description": format!("Keys of every {}.", target.to_lowercase()),
        "type": "object", "propertyNames": { "type": "string" } })
}

fn kinds(vocabulary: &Vocabulary) -> Value {
    let choices: Vec<Value> = vocabulary
        .kinds()
        .map(|(name, kind)| json!({ "const": name, "description": kind.summary }))
        .collect();
    json!({ "oneOf": choices })
}

fn with_kinds(mut node: Value, _: &Vocabulary) -> Value {
    node["properties"]["kind"] = json!({ "description": "What the node is: `host` when not given.",
        "$ref": "#/$defs/Kind" });
    node
}
