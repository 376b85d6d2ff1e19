//! Hello, by which both sides find the version that they share: OpenFlow 1.3.5 section 7.5.1. Of whichever version the
//! header is, a hello is read.

use super::codec::{Reader, Wire, Writer, padding};
use super::tables::choice;
use crate::Malformed;

choice! {
    /// An element of a hello.
    pub enum Element: u16 {
        /// Versions that the sender speaks, 32 a word: bit `n % 32` of word `n / 32` stands for version `n`.
        Versions(Vec<u32>) = 1;
    }
}

impl Wire for Element {
    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let before = from.left();
        let (kind, mut body) = from.tagged()?;
        let element = Self::read_as(kind, &mut body)?;
        body.finish()?;
        from.pad(padding(before - from.left()))?;
        Ok(element)
    }

    fn write(&self, to: &mut Writer<'_>) {
        let start = to.place();
        to.tagged(self.kind(), |to| self.write_body(to));
        to.align(start);
    }
}

/// What a hello says beside the version in its header.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hello {
    /// What the sender says of itself.
    pub elements: Vec<Element>,
    /// From where on the bytes are no elements. A hello of 1.0 may hold anything, and whoever reads it has to bear that.
    pub rest: Vec<u8>,
}

impl Hello {
    /// A hello of who speaks these versions, each below 32.
    pub fn speaking(versions: &[u8]) -> Self {
        let bits = versions.iter().filter_map(|version| 1u32.checked_shl((*version).into()));
        let bits = bits.fold(0, |all, bit| all | bit);
        Self { elements: vec![Element::Versions(vec![bits])], rest: Vec::new() }
    }

    /// What the body of a hello says, of whichever version.
    pub fn of(body: &[u8]) -> Self {
        let mut from = Reader::new(body, "OpenFlow hello");
        let mut elements = Vec::new();
        while from.left() > 0 {
            let mut ahead = from.clone();
            let Ok(element) = Element::read(&mut ahead) else { break };
            elements.push(element);
            from = ahead;
        }
        Self { elements, rest: from.rest().to_vec() }
    }

    /// Whether the sender of a hello whose header says `header` speaks `version`: if it lists its versions, those; if it
    /// does not, that of its header and, since it will take the lower of both, all below.
    pub fn speaks(&self, header: u8, version: u8) -> bool {
        let listed = self.elements.iter().find_map(|element| match element {
            Element::Versions(words) => Some(words),
            Element::Unknown { .. } => None,
        });
        match listed {
            Some(words) => {
                words.get(usize::from(version / 32)).is_some_and(|word| word >> (version % 32) & 1 == 1)
            }
            None => version <= header,
        }
    }
}

impl Wire for Hello {
    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self::of(from.rest()))
    }

    fn write(&self, to: &mut Writer<'_>) {
        self.elements.write(to);
        to.put(&self.rest);
    }
}
