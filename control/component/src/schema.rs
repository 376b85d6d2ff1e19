//! The component model's types as views' schemas.

use plait_control_runtime::{Name, Type};
use wasmtime::component::types;

/// A type that no view can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoSchema {
    /// A handle to something that lives elsewhere.
    #[error("{0}, which is a handle, where only values are passed")]
    Handle(&'static str),
    /// A name that is none of ours.
    #[error(transparent)]
    Name(#[from] plait_control_runtime::NoName),
}

/// The schema of a component's type.
pub(crate) fn schema(found: &types::Type) -> Result<Type, NoSchema> {
    let boxed = |found: types::Type| schema(&found).map(Box::new);
    let names = |names: &mut dyn Iterator<Item = &str>| -> Result<Vec<Name>, NoSchema> {
        names.map(|name| Ok(name.parse()?)).collect()
    };
    Ok(match found {
        types::Type::Bool => Type::Bool,
        types::Type::S8 => Type::S8,
        types::Type::U8 => Type::U8,
        types::Type::S16 => Type::S16,
        types::Type::U16 => Type::U16,
        types::Type::S32 => Type::S32,
        types::Type::U32 => Type::U32,
        types::Type::S64 => Type::S64,
        types::Type::U64 => Type::U64,
        types::Type::Float32 => Type::F32,
        types::Type::Float64 => Type::F64,
        types::Type::Char => Type::Char,
        types::Type::String => Type::String,
        types::Type::List(list) => Type::List(boxed(list.ty())?),
        types::Type::Record(record) => {
            let field = |field: types::Field<'_>| Ok((field.name.parse()?, schema(&field.ty)?));
            Type::Record(record.fields().map(field).collect::<Result<_, NoSchema>>()?)
        }
        types::Type::Tuple(tuple) => {
            Type::Tuple(tuple.types().map(|part| schema(&part)).collect::<Result<_, _>>()?)
        }
        types::Type::Variant(variant) => {
            let case = |case: types::Case<'_>| {
                Ok((case.name.parse()?, case.ty.map(|payload| schema(&payload)).transpose()?))
            };
            Type::Variant(variant.cases().map(case).collect::<Result<_, NoSchema>>()?)
        }
        types::Type::Enum(cases) => Type::Enum(names(&mut cases.names())?),
        types::Type::Option(some) => Type::Option(boxed(some.ty())?),
        types::Type::Result(result) => Type::Result {
            ok: result.ok().map(boxed).transpose()?,
            err: result.err().map(boxed).transpose()?,
        },
        types::Type::Flags(flags) => Type::Flags(names(&mut flags.names())?),
        types::Type::Own(_) | types::Type::Borrow(_) => return Err(NoSchema::Handle("a resource")),
        types::Type::Future(_) => return Err(NoSchema::Handle("a future")),
        types::Type::Stream(_) => return Err(NoSchema::Handle("a stream")),
        types::Type::ErrorContext => return Err(NoSchema::Handle("an error-context")),
    })
}
