//! All faults of a value at once: what holds one is left out, and the rest is decoded again.
//!
//! Serde stops at the first fault. The innermost value that holds it is then left out as if it were not written, until
//! nothing is at fault or nothing is left. A fault in a value of which a part was left out may come of that, and is not
//! told.

use super::{DecodeError, Decoder};
use crate::diagnostic::Diagnostic;
use crate::document::{Map, Value};
use serde::de::DeserializeOwned;
use std::collections::HashSet;

/// Of so many faults in one value the rest would not be read.
const MOST: usize = 100;

/// What could be read of a value, and all that is wrong with it.
pub struct Decoded<T> {
    /// The value without the parts at fault; nothing if they cannot be left out.
    pub value: Option<T>,
    /// The faults; none if the value is whole.
    pub faults: Vec<Diagnostic>,
}

/// A value by its place in memory, since one that stands in two lists is two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Place(usize);

impl Place {
    pub fn of(value: &Value) -> Self {
        Self(std::ptr::from_ref(value).addr())
    }
}

/// Values that count as not written.
#[derive(Default)]
pub(super) struct LeftOut {
    values: HashSet<Place>,
    /// The values around them.
    around: HashSet<Place>,
}

impl LeftOut {
    pub fn holds(&self, value: &Value) -> bool {
        self.values.contains(&Place::of(value))
    }

    /// Whether a fault may come of what was left out.
    fn explains(&self, error: &DecodeError, root: Place) -> bool {
        error.consequence
            || self.around.contains(error.trail.first().unwrap_or(&root)) && error.missing.is_none()
    }

    /// Leaves out what holds a fault; false if that is the whole.
    fn leave_out(&mut self, error: &DecodeError, root: Place) -> bool {
        let Some((innermost, outer)) = error.trail.split_first() else { return false };
        self.around.extend(outer);
        self.around.insert(root);
        self.values.insert(*innermost)
    }
}

pub(super) fn decode_around<T: DeserializeOwned>(value: &Value, mut open: Option<&mut Map>) -> Decoded<T> {
    let root = Place::of(value);
    let mut left_out = LeftOut::default();
    let mut faults = Vec::new();
    loop {
        let decoder = Decoder { value, open: open.as_deref_mut(), left_out: &left_out };
        let error = match T::deserialize(decoder) {
            Ok(value) => return Decoded { value: Some(value), faults },
            Err(error) => error.at(value.span()),
        };
        let told = !left_out.explains(&error, root);
        let goes_on = left_out.leave_out(&error, root);
        if told {
            faults.push(error.into());
        }
        if !goes_on || faults.len() == MOST {
            return Decoded { value: None, faults };
        }
    }
}
