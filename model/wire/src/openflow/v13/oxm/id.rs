//! Match fields that a table knows, as its features name them: section 7.3.5.5.2.

use super::Class;
use crate::Malformed;
use crate::openflow::codec::{Reader, Wire, Writer};

/// A field that a table can match or set: its header without a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Id {
    /// Whose field it is.
    pub class: Class,
    /// Which of them, 7 bits.
    pub field: u8,
    /// Whether it may have a mask.
    pub has_mask: bool,
    /// Bytes of what would follow.
    pub length: u8,
    /// Whose it is, of [`Class::EXPERIMENTER`] and of no other.
    pub experimenter: Option<u32>,
}

impl Wire for Id {
    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let class = Class::read(from)?;
        let [field, length] = from.array()?;
        let experimenter = if class == Class::EXPERIMENTER { Some(u32::read(from)?) } else { None };
        Ok(Self { class, field: field >> 1, has_mask: field & 1 == 1, length, experimenter })
    }

    fn write(&self, to: &mut Writer<'_>) {
        self.class.write(to);
        to.put(&[self.field << 1 | u8::from(self.has_mask), self.length]);
        if let Some(experimenter) = self.experimenter {
            experimenter.write(to);
        }
    }
}
