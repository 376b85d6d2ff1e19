//! Any value of WIT as JSON, with the names that its type has, and back.
//!
//! Choice: a list of pairs whose first part is a number or a text, which is how maps are written, becomes an object; a
//! list of bytes becomes hexadecimal digits. Everything else is what one would expect.

use plait_control_runtime::{Mismatch, Name, Type, Value, hexadecimal};
use serde_json::{Map, Number, Value as Json, json};
use std::sync::Arc;

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
            let part = |of: &Option<Box<Type>>, value: &Option<Arc<Value>>| match (of, value) {
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
        let bytes = items.iter().map(|byte| if let Value::U8(byte) = byte { *byte } else { 0 });
        return Json::String(hexadecimal::written(&bytes.collect::<Vec<_>>()));
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

/// The value that [`json()`] writes so. What is left out of a record is none, if it may be.
///
/// # Errors
/// Where it is not of the type.
pub fn value(of: &Type, from: &Json) -> Result<Value, Mismatch> {
    let no = || Mismatch { place: String::new(), expected: of.to_string(), found: shortened(from) };
    let whole = |most: u64| from.as_u64().filter(|number| *number <= most).ok_or_else(no);
    let signed = |bits: u32| {
        let number = from.as_i64().filter(|number| *number >> (bits - 1) == 0 || *number >> (bits - 1) == -1);
        number.ok_or_else(no)
    };
    Ok(match of {
        Type::Bool => Value::Bool(from.as_bool().ok_or_else(no)?),
        Type::U8 => Value::U8(whole(u8::MAX.into())? as u8),
        Type::U16 => Value::U16(whole(u16::MAX.into())? as u16),
        Type::U32 => Value::U32(whole(u32::MAX.into())? as u32),
        Type::U64 => Value::U64(whole(u64::MAX)?),
        Type::S8 => Value::S8(signed(8)? as i8),
        Type::S16 => Value::S16(signed(16)? as i16),
        Type::S32 => Value::S32(signed(32)? as i32),
        Type::S64 => Value::S64(from.as_i64().ok_or_else(no)?),
        Type::F32 => Value::F32((from.as_f64().ok_or_else(no)? as f32).to_bits()),
        Type::F64 => Value::F64(from.as_f64().ok_or_else(no)?.to_bits()),
        Type::Char => {
            let mut letters = from.as_str().ok_or_else(no)?.chars();
            Value::Char(letters.next().filter(|_| letters.next().is_none()).ok_or_else(no)?)
        }
        Type::String => Value::String(from.as_str().ok_or_else(no)?.into()),
        Type::List(item) => Value::List(items(item, from).ok_or_else(no)??),
        Type::Record(fields) => {
            let given = from.as_object().ok_or_else(no)?;
            if let Some(unknown) =
                given.keys().find(|key| fields.iter().all(|(name, _)| name.as_str() != **key))
            {
                let expected = fields.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
                let (place, found) = (String::new(), format!("a field {unknown}"));
                return Err(Mismatch { place, expected, found });
            }
            let field = |(name, of): &(Name, Type)| {
                value(of, given.get(name.as_str()).unwrap_or(&Json::Null))
                    .map_err(|fault| fault.inside(format_args!(".{name}")))
            };
            Value::Record(fields.iter().map(field).collect::<Result<_, _>>()?)
        }
        Type::Tuple(types) => {
            let given = from.as_array().filter(|given| given.len() == types.len()).ok_or_else(no)?;
            let part = |(place, (of, from)): (usize, (&Type, &Json))| {
                value(of, from).map_err(|fault| fault.inside(format_args!("[{place}]")))
            };
            Value::Tuple(types.iter().zip(given).enumerate().map(part).collect::<Result<_, _>>()?)
        }
        Type::Variant(cases) => {
            let (name, payload) = match from {
                Json::Object(given) if given.len() == 1 => given
                    .iter()
                    .next()
                    .map(|(name, payload)| (name.as_str(), Some(payload)))
                    .ok_or_else(no)?,
                other => (other.as_str().ok_or_else(no)?, None),
            };
            let place = cases.iter().position(|(case, _)| case.as_str() == name).ok_or_else(no)?;
            let payload = match (&cases[place].1, payload) {
                (Some(of), Some(payload)) => {
                    let inside = |fault: Mismatch| fault.inside(format_args!(".{name}"));
                    Some(Arc::new(value(of, payload).map_err(inside)?))
                }
                (None, None) => None,
                _ => return Err(no()),
            };
            Value::Variant(place as u32, payload)
        }
        Type::Enum(names) => {
            let name = from.as_str().ok_or_else(no)?;
            Value::Enum(names.iter().position(|own| own.as_str() == name).ok_or_else(no)? as u32)
        }
        Type::Option(_) if from.is_null() => Value::Option(None),
        Type::Option(of) => Value::Option(Some(Arc::new(value(of, from)?))),
        Type::Result { ok, err } => {
            let part = |of: &Option<Box<Type>>, from: &Json| match of {
                Some(of) => value(of, from).map(|value| Some(Arc::new(value))),
                None if from.is_null() => Ok(None),
                None => Err(no()),
            };
            let given = from.as_object().filter(|given| given.len() == 1).ok_or_else(no)?;
            Value::Result(match (given.get("ok"), given.get("error")) {
                (Some(found), _) => Ok(part(ok, found)?),
                (_, Some(found)) => Err(part(err, found)?),
                _ => return Err(no()),
            })
        }
        Type::Flags(names) => {
            let mut bits = 0;
            for name in from.as_array().ok_or_else(no)? {
                let place =
                    names.iter().position(|own| name.as_str() == Some(own.as_str())).ok_or_else(no)?;
                bits |= 1u32.checked_shl(place as u32).ok_or_else(no)?;
            }
            Value::Flags(bits)
        }
    })
}

/// A list's items; none of what is no list.
fn items(item: &Type, from: &Json) -> Option<Result<Arc<[Value]>, Mismatch>> {
    match (item, from) {
        (Type::U8, Json::String(digits)) => {
            let bytes = hexadecimal::read(digits).ok()?;
            Some(Ok(bytes.into_iter().map(Value::U8).collect()))
        }
        (Type::Tuple(parts), Json::Object(pairs)) => {
            let [key, of] = parts.as_slice() else { return None };
            let pair = |(name, from): (&String, &Json)| {
                let key = match key {
                    Type::U64 => u64::from_str_radix(name, 16).map(Value::U64).ok(),
                    Type::String => Some(Value::String(name.as_str().into())),
                    _ => name.parse::<u64>().ok().and_then(|number| value(key, &json!(number)).ok()),
                };
                let no =
                    || Mismatch { place: String::new(), expected: parts[0].to_string(), found: name.clone() };
                let of = value(of, from).map_err(|fault| fault.inside(format_args!("[{name}]")))?;
                Ok(Value::Tuple(Arc::new([key.ok_or_else(no)?, of])))
            };
            Some(pairs.iter().map(pair).collect())
        }
        (_, Json::Array(given)) => {
            let each = |(place, from): (usize, &Json)| {
                value(item, from).map_err(|fault| fault.inside(format_args!("[{place}]")))
            };
            Some(given.iter().enumerate().map(each).collect())
        }
        _ => None,
    }
}

/// JSON as a complaint shows it.
fn shortened(json: &Json) -> String {
    let text = json.to_string();
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, of: Type) -> (Name, Type) {
        (name.parse().unwrap(), of)
    }

    /// One field of each of WIT's kinds.
    fn all() -> Type {
        let names = || vec!["red".parse().unwrap(), "green".parse().unwrap()];
        let case = ("with".parse().unwrap(), Some(Type::U8));
        let map = |key| Type::List(Box::new(Type::Tuple(vec![key, Type::Bool])));
        Type::Record(vec![
            named("yes", Type::Bool),
            named("small", Type::S8),
            named("large", Type::U64),
            named("real", Type::F64),
            named("letter", Type::Char),
            named("text", Type::String),
            named("bytes", Type::List(Box::new(Type::U8))),
            named("list", Type::List(Box::new(Type::U16))),
            named("pairs", map(Type::U32)),
            named("switches", map(Type::U64)),
            named("variant", Type::Variant(vec![("plain".parse().unwrap(), None), case])),
            named("enum", Type::Enum(names())),
            named("maybe", Type::Option(Box::new(Type::U8))),
            named("result", Type::Result { ok: Some(Box::new(Type::U8)), err: None }),
            named("flags", Type::Flags(names())),
        ])
    }

    #[test]
    fn what_is_written_is_read_as_it_was() {
        let text = json!({
            "yes": true, "small": -3, "large": u64::MAX, "real": 0.5, "letter": "ü", "text": "so", "bytes": "00ff",
            "list": [1, 2], "pairs": {"7": true}, "switches": {"00000000000000ff": false},
            "variant": {"with": 9}, "enum": "green", "maybe": null, "result": {"ok": 1}, "flags": ["red"],
        });
        let read = value(&all(), &text).unwrap();
        assert_eq!(all().check(&read), Ok(()));
        assert_eq!(json(&all(), &read), text);
    }

    #[test]
    fn what_is_of_another_type_is_refused_by_its_place() {
        let good = json!({
            "yes": true, "small": 0, "large": 0, "real": 0.5, "letter": "x", "text": "", "bytes": "", "list": [],
            "pairs": {}, "switches": {}, "variant": "plain", "enum": "red", "result": {"error": null}, "flags": [],
        });
        assert!(value(&all(), &good).is_ok(), "what may be none may be left out");
        for (field, wrong, place) in [
            ("yes", json!(1), ".yes"),
            ("small", json!(128), ".small"),
            ("large", json!(-1), ".large"),
            ("letter", json!("xy"), ".letter"),
            ("bytes", json!("0"), ".bytes"),
            ("bytes", json!("zz"), ".bytes"),
            ("list", json!([1, 65536]), ".list[1]"),
            ("pairs", json!({"x": true}), ".pairs"),
            ("switches", json!({"1": 1}), ".switches[1]"),
            ("variant", json!({"with": 256}), ".variant.with"),
            ("variant", json!("with"), ".variant"),
            ("enum", json!("blue"), ".enum"),
            ("result", json!({}), ".result"),
            ("flags", json!(["blue"]), ".flags"),
            ("more", json!(1), ""),
        ] {
            let mut bad = good.clone();
            bad[field] = wrong;
            assert_eq!(value(&all(), &bad).unwrap_err().place, place, "{bad}");
        }
    }
}
