//! Ethernet II frames, without preamble and checksum.

use crate::layout::{U16, header};
use crate::malformed::split;
use crate::{Emit, Malformed};
use std::fmt;
use std::str::FromStr;
use zerocopy::IntoBytes;

header! {
    /// ```text
    ///  0               6              12     14
    /// ┌───────────────┬───────────────┬──────┐
    /// │  destination  │    source     │ type │
    /// └───────────────┴───────────────┴──────┘
    /// ```
    pub struct Header as "ethernet_header" {
        /// Who it is for.
        pub destination: [u8; 6],
        /// Who sent it.
        pub source: [u8; 6],
        /// What it carries: [`ether_type`](crate::number::ether_type).
        pub ether_type: U16,
    }
}

/// A hardware address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// All stations.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// Whether it is a group's, broadcast among them.
    pub fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// Six pairs of hexadecimal digits, with `:` or `-` between them or nothing.
impl FromStr for Mac {
    type Err = NoMac;

    fn from_str(text: &str) -> Result<Self, NoMac> {
        let digits: Vec<u8> = match text.len() {
            12 => text.bytes().collect(),
            17 => {
                let separator = text.as_bytes()[2];
                let at_places = (2..17).step_by(3).all(|at| text.as_bytes()[at] == separator);
                if !(matches!(separator, b':' | b'-') && at_places) {
                    return Err(NoMac);
                }
                text.bytes().enumerate().filter(|(at, _)| at % 3 != 2).map(|(_, digit)| digit).collect()
            }
            _ => return Err(NoMac),
        };
        let digit = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8).ok_or(NoMac);
        let mut address = [0; 6];
        for (byte, pair) in address.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Ok(Self(address))
    }
}

/// A text that is no hardware address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a hardware address such as 02:00:00:00:00:01")]
pub struct NoMac;

/// A frame.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    header: &'a Header,
    payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// A frame of some bytes.
    ///
    /// # Errors
    /// Fewer than fourteen.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, payload) = split(bytes, "Ethernet")?;
        Ok(Self { header, payload })
    }

    /// Who it is for.
    #[inline]
    pub fn destination(&self) -> Mac {
        Mac(self.header.destination)
    }

    /// Who sent it.
    #[inline]
    pub fn source(&self) -> Mac {
        Mac(self.header.source)
    }

    /// What it carries.
    pub fn ether_type(&self) -> u16 {
        self.header.ether_type.get()
    }

    /// What it carries, padding included.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

/// What a frame's header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repr {
    /// Who it is for.
    pub destination: Mac,
    /// Who sends it.
    pub source: Mac,
    /// What it carries.
    pub ether_type: u16,
}

impl Repr {
    /// What a frame says.
    pub fn of(frame: &Frame<'_>) -> Self {
        Self { destination: frame.destination(), source: frame.source(), ether_type: frame.ether_type() }
    }
}

impl Emit for Repr {
    fn length(&self) -> usize {
        Header::LENGTH
    }

    fn emit(&self, header: &mut [u8], _: &[u8]) {
        let Self { destination, source, ether_type } = *self;
        let fields = Header { destination: destination.0, source: source.0, ether_type: ether_type.into() };
        header.copy_from_slice(fields.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_people_write_them() {
        let mac = Mac([0x3c, 0x15, 0xc2, 0xc4, 0xf5, 0x88]);
        for text in ["3c:15:c2:c4:f5:88", "3C-15-C2-C4-F5-88", "3c15c2c4f588"] {
            assert_eq!(text.parse(), Ok(mac));
        }
        assert_eq!(mac.to_string(), "3c:15:c2:c4:f5:88");
        for text in
            ["", "3c:15:c2:c4:f5", "3c:15:c2:c4:f5:8g", "3c:15-c2:c4:f5:88", "3c15c2c4f58", "äääääääää"]
        {
            assert_eq!(text.parse::<Mac>(), Err(NoMac), "{text}");
        }
    }
}
