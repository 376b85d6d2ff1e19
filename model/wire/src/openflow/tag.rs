//! Actions and instructions as they lie in a message: a type, a length, and what it covers.

use super::codec::Reader;
use crate::Malformed;

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tagged<'a> {
    /// Its type.
    pub kind: u16,
    /// What follows type and length.
    pub body: &'a [u8],
}

/// Several of them in a row, checked to be whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tags<'a>(&'a [u8]);

impl<'a> Tags<'a> {
    /// All of some bytes.
    ///
    /// # Errors
    /// A length that is beyond the bytes, or too short for itself.
    pub(crate) fn parse(bytes: &'a [u8], name: &'static str) -> Result<Self, Malformed> {
        let mut from = Reader::new(bytes, name);
        while from.left() > 0 {
            from.tagged()?;
        }
        Ok(Self(bytes))
    }

    /// As they lie in the message.
    pub fn bytes(&self) -> &'a [u8] {
        self.0
    }

    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = Tagged<'a>> + use<'a> {
        let mut from = Reader::new(self.0, "OpenFlow");
        std::iter::from_fn(move || {
            let (kind, mut body) = from.tagged().ok()?;
            Some(Tagged { kind, body: body.rest() })
        })
    }
}
