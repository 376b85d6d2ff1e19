//! Values, into a component and out of it.

use plait_control_runtime::{Mismatch, Name, Type, Value};
use std::sync::Arc;
use wasmtime::component::Val;

/// A view's value as the component takes it.
pub(crate) fn lower(due: &Type, value: &Value) -> Result<Val, Mismatch> {
    let no = || Mismatch::new(due, value);
    let payload = |due: Option<&Type>, value: &Option<Arc<Value>>| match (due, value) {
        (Some(due), Some(value)) => Ok(Some(Box::new(lower(due, value)?))),
        (None, None) => Ok(None),
        _ => Err(no()),
    };
    Ok(match (due, value) {
        (Type::Bool, Value::Bool(value)) => Val::Bool(*value),
        (Type::U8, Value::U8(value)) => Val::U8(*value),
        (Type::U16, Value::U16(value)) => Val::U16(*value),
        (Type::U32, Value::U32(value)) => Val::U32(*value),
        (Type::U64, Value::U64(value)) => Val::U64(*value),
        (Type::S8, Value::S8(value)) => Val::S8(*value),
        (Type::S16, Value::S16(value)) => Val::S16(*value),
        (Type::S32, Value::S32(value)) => Val::S32(*value),
        (Type::S64, Value::S64(value)) => Val::S64(*value),
        (Type::F32, Value::F32(bits)) => Val::Float32(f32::from_bits(*bits)),
        (Type::F64, Value::F64(bits)) => Val::Float64(f64::from_bits(*bits)),
        (Type::Char, Value::Char(value)) => Val::Char(*value),
        (Type::String, Value::String(value)) => Val::String(value.as_ref().to_owned()),
        (Type::List(item), Value::List(items)) => {
            Val::List(items.iter().map(|value| lower(item, value)).collect::<Result<_, _>>()?)
        }
        (Type::Record(fields), Value::Record(values)) if fields.len() == values.len() => {
            let field = |((name, due), value): (&(Name, Type), &Value)| {
                Ok((name.as_str().to_owned(), lower(due, value)?))
            };
            Val::Record(fields.iter().zip(values.iter()).map(field).collect::<Result<_, _>>()?)
        }
        (Type::Tuple(fields), Value::Tuple(values)) if fields.len() == values.len() => {
            let each = fields.iter().zip(values.iter()).map(|(due, value)| lower(due, value));
            Val::Tuple(each.collect::<Result<_, _>>()?)
        }
        (Type::Variant(cases), Value::Variant(case, value)) => {
            let (name, due) = cases.get(*case as usize).ok_or_else(no)?;
            Val::Variant(name.as_str().to_owned(), payload(due.as_ref(), value)?)
        }
        (Type::Enum(names), Value::Enum(case)) => {
            Val::Enum(names.get(*case as usize).ok_or_else(no)?.as_str().to_owned())
        }
        (Type::Option(due), Value::Option(value)) => Val::Option(match value {
            Some(value) => Some(Box::new(lower(due, value)?)),
            None => None,
        }),
        (Type::Result { ok, .. }, Value::Result(Ok(value))) => {
            Val::Result(Ok(payload(ok.as_deref(), value)?))
        }
        (Type::Result { err, .. }, Value::Result(Err(value))) => {
            Val::Result(Err(payload(err.as_deref(), value)?))
        }
        (Type::Flags(names), Value::Flags(set)) => {
            let is_set = |(place, _): &(usize, &Name)| place < &32 && set & (1 << place) != 0;
            let set = names.iter().enumerate().filter(is_set);
            Val::Flags(set.map(|(_, name)| name.as_str().to_owned()).collect())
        }
        _ => return Err(no()),
    })
}

/// What the component gave as a view's value. `None` if it is not of that type, which the component's own type
/// precludes.
pub(crate) fn lift(due: &Type, found: Val) -> Option<Value> {
    let payload = |due: Option<&Type>, found: Option<Box<Val>>| match (due, found) {
        (Some(due), Some(found)) => Some(Some(Arc::new(lift(due, *found)?))),
        (None, None) => Some(None),
        _ => None,
    };
    let case = |names: &mut dyn Iterator<Item = &Name>, found: &str| {
        let (place, _) = names.enumerate().find(|(_, name)| name.as_str() == found)?;
        u32::try_from(place).ok()
    };
    Some(match (due, found) {
        (Type::Bool, Val::Bool(found)) => Value::Bool(found),
        (Type::U8, Val::U8(found)) => Value::U8(found),
        (Type::U16, Val::U16(found)) => Value::U16(found),
        (Type::U32, Val::U32(found)) => Value::U32(found),
        (Type::U64, Val::U64(found)) => Value::U64(found),
        (Type::S8, Val::S8(found)) => Value::S8(found),
        (Type::S16, Val::S16(found)) => Value::S16(found),
        (Type::S32, Val::S32(found)) => Value::S32(found),
        (Type::S64, Val::S64(found)) => Value::S64(found),
        (Type::F32, Val::Float32(found)) => Value::F32(found.to_bits()),
        (Type::F64, Val::Float64(found)) => Value::F64(found.to_bits()),
        (Type::Char, Val::Char(found)) => Value::Char(found),
        (Type::String, Val::String(found)) => Value::String(found.into()),
        (Type::List(item), Val::List(found)) => {
            Value::List(found.into_iter().map(|found| lift(item, found)).collect::<Option<_>>()?)
        }
        (Type::Record(fields), Val::Record(found)) if fields.len() == found.len() => {
            let each = fields.iter().zip(found).map(|((_, due), (_, found))| lift(due, found));
            Value::Record(each.collect::<Option<_>>()?)
        }
        (Type::Tuple(fields), Val::Tuple(found)) if fields.len() == found.len() => Value::Tuple(
            fields.iter().zip(found).map(|(due, found)| lift(due, found)).collect::<Option<_>>()?,
        ),
        (Type::Variant(cases), Val::Variant(name, found)) => {
            let place = case(&mut cases.iter().map(|(name, _)| name), &name)?;
            Value::Variant(place, payload(cases[place as usize].1.as_ref(), found)?)
        }
        (Type::Enum(names), Val::Enum(found)) => Value::Enum(case(&mut names.iter(), &found)?),
        (Type::Option(_), Val::Option(None)) => Value::Option(None),
        (Type::Option(due), Val::Option(Some(found))) => Value::Option(Some(Arc::new(lift(due, *found)?))),
        (Type::Result { ok, .. }, Val::Result(Ok(found))) => {
            Value::Result(Ok(payload(ok.as_deref(), found)?))
        }
        (Type::Result { err, .. }, Val::Result(Err(found))) => {
            Value::Result(Err(payload(err.as_deref(), found)?))
        }
        (Type::Flags(names), Val::Flags(found)) => {
            let bit = |name: String| 1u32.checked_shl(case(&mut names.iter(), &name)?);
            Value::Flags(found.into_iter().map(bit).try_fold(0, |set, bit| Some(set | bit?))?)
        }
        _ => return None,
    })
}
