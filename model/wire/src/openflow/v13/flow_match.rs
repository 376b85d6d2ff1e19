//! Which packets a flow of 1.3 is for: section 7.2.3.1.

use super::NAME;
use super::oxm::{Fields, Oxm};
use crate::openflow::codec::{Reader, Wire, Writer, padding};
use crate::openflow::tables::choice;
use crate::{Fault, Malformed};

choice! {
    /// Which packets: those that have every field.
    pub enum Match: u16 {
        /// Match fields. No field: every packet.
        Oxm(Vec<Oxm>) = 1;
    }
}

impl Match {
    /// Every packet.
    pub const ANY: Self = Self::Oxm(Vec::new());

    /// Its fields, none if it is of another type.
    pub fn fields(&self) -> &[Oxm] {
        match self {
            Self::Oxm(fields) => fields,
            Self::Unknown { .. } => &[],
        }
    }
}

impl Wire for Match {
    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let before = from.left();
        let (kind, mut body) = from.tagged()?;
        let fields = Self::read_as(kind, &mut body)?;
        from.pad(padding(before - from.left()))?;
        Ok(fields)
    }

    fn write(&self, to: &mut Writer<'_>) {
        let start = to.place();
        to.tagged(self.kind(), |to| self.write_body(to));
        to.align(start);
    }
}

/// Writes a match of some fields.
pub(crate) fn write(fields: &[Oxm], to: &mut Writer<'_>) {
    let start = to.place();
    to.tagged(1, |to| Oxm::write_all(fields, to));
    to.align(start);
}

/// A match's fields where they lie, and what follows its padding.
pub(crate) fn split(bytes: &[u8]) -> Result<(Fields<'_>, &[u8]), Malformed> {
    let mut from = Reader::new(bytes, NAME);
    let (kind, mut body) = from.tagged()?;
    if kind != 1 {
        return Err(Fault::Field("match type").of(NAME));
    }
    from.pad(padding(bytes.len() - from.left()))?;
    Ok((Fields::parse(body.rest())?, from.rest()))
}
