//! Match fields where they lie in a message.

use super::super::{NAME, PortNumber};
use super::Class;
use crate::Malformed;
use crate::openflow::codec::{Reader, Wire};

/// A field as it lies in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View<'a> {
    /// Whose field it is.
    pub class: Class,
    /// Which of them, 7 bits.
    pub field: u8,
    /// Whether a mask of the value's length follows the value.
    pub has_mask: bool,
    /// Of an experimenter's field who that is, then value and mask.
    pub payload: &'a [u8],
}

/// A message's match fields, where they lie, checked to be whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut from = Reader::new(bytes, NAME);
        while from.left() > 0 {
            next(&mut from)?;
        }
        Ok(Self(bytes))
    }

    /// As they lie in the message.
    pub fn bytes(&self) -> &'a [u8] {
        self.0
    }

    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = View<'a>> + use<'a> {
        let mut from = Reader::new(self.0, NAME);
        std::iter::from_fn(move || next(&mut from).ok())
    }

    /// The port that the packet came by, which every packet-in says.
    pub fn in_port(&self) -> Option<PortNumber> {
        self.iter().find_map(|view| match (view.class, view.field, view.has_mask, view.payload) {
            (Class::OPENFLOW_BASIC, 0, false, payload) => {
                payload.try_into().ok().map(|number| PortNumber(u32::from_be_bytes(number)))
            }
            _ => None,
        })
    }
}

pub(super) fn next<'a>(from: &mut Reader<'a>) -> Result<View<'a>, Malformed> {
    let class = Class::read(from)?;
    let [field, length] = from.array()?;
    let payload = from.take(length.into())?;
    Ok(View { class, field: field >> 1, has_mask: field & 1 == 1, payload })
}
