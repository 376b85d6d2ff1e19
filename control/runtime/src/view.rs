//! Views: named subsets of the network's state, and what they hold.

use crate::{Mismatch, Type, Value, ViewId, Wit};
use serde::{Deserialize, Serialize};
use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// What becomes of a view's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The latest value counts and is kept in the environment. Who reads it meets that, and may miss one in between.
    #[default]
    State,
    /// A batch of requests, replies or messages. Each reaches each of its readers once and is kept nowhere, so that
    /// nobody can conflict over it.
    Stream,
}

/// A Rust type that is a view: the unit in which applications share state (thesis §3.2.1).
///
/// It should be cheap to change by sharing: a struct of [`rpds`](https://docs.rs/rpds) maps rather than of `std`'s,
/// where it is large.
pub trait View: Wit + Send + Sync + 'static {
    /// Its name, a [`Name`](crate::Name).
    const NAME: &'static str;
    /// The version of its schema, from 1.
    const VERSION: u32 = 1;
    /// What becomes of its values.
    const KIND: Kind = Kind::State;

    /// Name and version.
    ///
    /// # Panics
    ///
    /// If the name is none, or the version 0.
    fn id() -> ViewId {
        let id = format!("{}@{}", Self::NAME, Self::VERSION);
        id.parse().unwrap_or_else(|fault| panic!("{fault}"))
    }
}

/// What a view holds at one time: immutable, shared by whoever has it, in Rust's form or WIT's. Each is made from the
/// other when it is first asked for, so that two native applications pass a pointer, and a component pays for its
/// translation once.
#[derive(Clone)]
pub struct Content(Arc<Form>);

enum Form {
    Native { value: Erased, schema: fn() -> Type, encode: fn(&Erased) -> Value, encoded: OnceLock<Value> },
    Plain { value: Value, decoded: OnceLock<Erased> },
}

type Erased = Arc<dyn Any + Send + Sync>;

impl Content {
    /// A Rust value.
    pub fn new<T: View>(value: T) -> Self {
        Self::shared(Arc::new(value))
    }

    /// A Rust value that somebody else has, too.
    pub fn shared<T: View>(value: Arc<T>) -> Self {
        let encode = |value: &Erased| match value.downcast_ref::<T>() {
            Some(value) => value.to_value(),
            None => unreachable!("the function was kept beside the value that it is for"),
        };
        Self(Arc::new(Form::Native { value, schema: T::schema, encode, encoded: OnceLock::new() }))
    }

    /// A value of WIT.
    pub fn plain(value: Value) -> Self {
        Self(Arc::new(Form::Plain { value, decoded: OnceLock::new() }))
    }

    /// The content as a Rust value. Free if it was made from one, or read before.
    pub fn read<T: View>(&self) -> Result<Arc<T>, Mismatch> {
        match &*self.0 {
            Form::Native { value, .. } => match value.clone().downcast() {
                Ok(value) => Ok(value),
                // Another Rust type of the same schema.
                Err(_) => T::from_value(self.value()).map(Arc::new),
            },
            Form::Plain { value, decoded } => {
                if let Some(Ok(known)) = decoded.get().map(|known| known.clone().downcast()) {
                    return Ok(known);
                }
                let fresh = Arc::new(T::from_value(value)?);
                let _ = decoded.set(fresh.clone());
                Ok(fresh)
            }
        }
    }

    /// The content as a value of WIT.
    pub fn value(&self) -> &Value {
        match &*self.0 {
            Form::Native { value, encode, encoded, .. } => encoded.get_or_init(|| encode(value)),
            Form::Plain { value, .. } => value,
        }
    }

    /// Whether it is of a type. Cost: for a Rust value its schema's size, for another its own.
    pub fn check(&self, due: &Type) -> Result<(), Mismatch> {
        match &*self.0 {
            Form::Native { value, schema, .. } => match known_schema((**value).type_id(), *schema) {
                found if found == due => Ok(()),
                found => Err(Mismatch {
                    place: String::new(),
                    expected: due.to_string(),
                    found: found.to_string(),
                }),
            },
            Form::Plain { value, .. } => due.check(value),
        }
    }

    /// Whether both are known to be the same without translating anything: a view that is written with what it holds
    /// has not changed.
    pub fn same(&self, other: &Self) -> bool {
        if Arc::ptr_eq(&self.0, &other.0) {
            return true;
        }
        match (&*self.0, &*other.0) {
            (Form::Native { value: left, .. }, Form::Native { value: right, .. }) => Arc::ptr_eq(left, right),
            (Form::Plain { value: left, .. }, Form::Plain { value: right, .. }) => left == right,
            _ => false,
        }
    }
}

/// The schema of a Rust type, which is made once and kept: it is asked for with every batch of a stream.
fn known_schema(of: TypeId, schema: fn() -> Type) -> &'static Type {
    static KNOWN: RwLock<BTreeMap<TypeId, &'static Type>> = RwLock::new(BTreeMap::new());
    if let Some(known) = KNOWN.read().unwrap_or_else(PoisonError::into_inner).get(&of) {
        return known;
    }
    // A program has so many types and no more: what is never let go is bounded.
    let fresh: &'static Type = Box::leak(Box::new(schema()));
    KNOWN.write().unwrap_or_else(PoisonError::into_inner).entry(of).or_insert(fresh)
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value().fmt(f)
    }
}

/// A view as an application or a driver declares it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Port {
    /// Which view.
    pub view: ViewId,
    /// What becomes of its values.
    pub kind: Kind,
    /// Its schema.
    pub schema: Type,
    /// Read: it need not be there yet. Written: it may be left as it is.
    pub optional: bool,
}

impl Port {
    /// A view of Rust.
    pub fn of<T: View>() -> Self {
        Self { view: T::id(), kind: T::KIND, schema: T::schema(), optional: false }
    }

    /// The same, which need not be there.
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }
}
