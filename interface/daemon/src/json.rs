//! Any value of WIT as JSON, with the names that its type has.
//!
//! Choice: a list of pairs whose first part is a number or a text, which is how maps are written, becomes an object; a
//! list of bytes becomes hexadecimal digits. Everything else is what one would expect.

use plait_control_runtime::{Type, Value};
use serde_json::{Map, Number, Value as Json, json};

/// The value as JSON. What is not of the type, which the runtime does not let be, is null.
pub fn json(of: &Type, value: &Value) -> Json {
    match (of, value) {
        (_, Value::Bool(value)) => json!(value),
        (_, Value::U8(value)) => json!(value),
        (_, Value::U16(value)) => json!(value),
        (_, Value::U32(value)) => json!(value),
        (_, Value::U64(value)) => json!(value),
        (_, Value::S8(value)) => json!(value),
        (_, Value::S16(value)) => json!(value),
        (_, Value::S32(value)) => json!(value),
        (_, Value::S64(value)) => json!(value),
        (_, Value::F32(bits)) => {
            Number::from_f64(f32::from_bits(*bits).into()).map_or(Json::Null, Json::Number)
        }
        (_, Value::F64(bits)) => Number::from_f64(f64::from_bits(*bits)).map_or(Json::Null, Json::Number),
        (_, Value::Char(value)) => json!(value),
        (_, Value::String(value)) => json!(**value),
        (Type::List(item), Value::List(items)) => list(item, items),
        (Type::Record(fields), Value::Record(values)) => {
            let pairs = fields.iter().zip(values.iter());
            Json::Object(pairs.map(|((name, of), value)| (name.to_string(), json(of, value))).collect())
        }
        (Type::Tuple(types), Value::Tuple(values)) => {
            Json::Array(types.iter().zip(values.iter()).map(|(of, value)| json(of, value)).collect())
        }
        (Type::Variant(cases), Value::Variant(case, payload)) => match (cases.get(*case as usize), payload) {
            (Some((name, Some(of))), Some(payload)) => json!({ name.to_string(): json(of, payload) }),
            (Some((name, _)), _) => json!(name.to_string()),
            (None, _) => Json::Null,
        },
        (Type::Enum(names), Value::Enum(case)) => {
            names.get(*case as usize).map_or(Json::Null, |name| json!(name.to_string()))
        }
        (Type::Option(of), Value::Option(value)) => {
            value.as_ref().map_or(Json::Null, |value| json(of, value))
        }
        (Type::Result { ok, err }, Value::Result(value)) => {
            let part = |of: &Option<Box<Type>>, value: &Option<std::sync::Arc<Value>>| match (of, value) {
                (Some(of), Some(value)) => json(of, value),
                _ => Json::Null,
            };
            match value {
                Ok(value) => json!({ "ok": part(ok, value) }),
                Err(value) => json!({ "error": part(err, value) }),
            }
        }
        (Type::Flags(names), Value::Flags(bits)) => {
            let set = |(place, _): &(usize, _)| bits >> place & 1 == 1;
            names.iter().enumerate().filter(set).map(|(_, name)| json!(name.to_string())).collect()
        }
        _ => Json::Null,
    }
}

fn list(item: &Type, items: &[Value]) -> Json {
    if *item == Type::U8 {
        let digits = items.iter().map(|byte| if let Value::U8(byte) = byte { *byte } else { 0 });
        return Json::String(digits.map(|byte| format!("{byte:02x}")).collect());
    }
    if let Type::Tuple(parts) = item
        && let [key, of] = parts.as_slice()
        && matches!(key, Type::U8 | Type::U16 | Type::U32 | Type::U64 | Type::String)
    {
        let pair = |pair: &Value| {
            let Value::Tuple(pair) = pair else { return None };
            let name = match pair.first()? {
                // A datapath is known by its sixteen digits.
                Value::U64(number) => format!("{number:016x}"),
                Value::String(text) => text.to_string(),
                other => json(key, other).to_string(),
            };
            Some((name, json(of, pair.get(1)?)))
        };
        return Json::Object(items.iter().filter_map(pair).collect::<Map<_, _>>());
    }
    items.iter().map(|value| json(item, value)).collect()
}
