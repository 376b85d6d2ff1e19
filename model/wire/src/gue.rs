//! GUE, draft-ietf-intarea-gue-09: anything with an IP protocol number in UDP.
//!
//! Variant 0 has a header. Variant 1 has none: an IP packet stands there, told by its version's first bits.

use crate::layout::{U16, header};
use crate::malformed::{split, take};
use crate::number::protocol;
use crate::{Emit, Fault, Malformed};
use zerocopy::IntoBytes;

const NAME: &str = "GUE";

header! {
    /// Variant 0:
    ///
    /// ```text
    ///  0                1          2       4
    /// ┌─┬─┬────────────┬──────────┬───────┐
    /// │0│C│   length   │ protocol │ flags │
    /// ├─┴─┴────────────┴──────────┴───────┤
    /// │     fields that the flags name    │
    /// └───────────────────────────────────┘
    /// ```
    pub struct Header as "gue_header" {
        /// Variant (2 bits), C, and length of the fields in words (5 bits).
        pub variant_length: u8,
        /// IP protocol of what it carries; of a control message its type.
        pub protocol: u8,
        /// Which fields follow.
        pub flags: U16,
    }
}

/// A packet of either variant.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    protocol: u8,
    is_control: bool,
    flags: u16,
    is_bare: bool,
    fields: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// A packet of some bytes.
    ///
    /// # Errors
    /// Another variant than 0 and 1; variant 1 with neither IPv4 nor IPv6; fields beyond the bytes.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let first = *bytes.first().ok_or(Fault::Truncated { need: 1, have: 0 }.of(NAME))?;
        let bare = |protocol| Self {
            protocol,
            is_control: false,
            flags: 0,
            is_bare: true,
            fields: &[],
            payload: bytes,
        };
        match (first >> 6, first >> 4) {
            (0, _) => {}
            (_, 4) => return Ok(bare(protocol::IPV4)),
            (_, 6) => return Ok(bare(protocol::IPV6)),
            (variant, _) => return Err(Fault::Version(variant).of(NAME)),
        }
        let (header, rest) = split::<Header>(bytes, NAME)?;
        let (fields, payload) = take(rest, usize::from(header.variant_length & 0x1f) * 4, NAME)?;
        Ok(Self {
            protocol: header.protocol,
            is_control: header.variant_length & 0x20 != 0,
            flags: header.flags.get(),
            is_bare: false,
            fields,
            payload,
        })
    }

    /// IP protocol of what it carries.
    pub fn protocol(&self) -> u8 {
        self.protocol
    }

    /// Whether it is of variant 1, an IP packet without a header.
    pub fn is_bare(&self) -> bool {
        self.is_bare
    }

    /// Whether it is a control message.
    pub fn is_control(&self) -> bool {
        self.is_control
    }

    /// Which fields there are, and the fields.
    pub fn fields(&self) -> (u16, &'a [u8]) {
        (self.flags, self.fields)
    }

    /// What it carries.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

/// What a packet's header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repr {
    /// Variant 0, without fields.
    Header {
        /// IP protocol of what it carries.
        protocol: u8,
    },
    /// Variant 1: nothing.
    Bare,
}

impl Repr {
    /// What a packet says.
    ///
    /// # Errors
    /// A control message; a field, which would be lost, and none of which this parser knows (draft section 3.3: who
    /// does not know a flag drops the packet).
    pub fn of(packet: &Packet<'_>) -> Result<Self, Malformed> {
        if packet.is_bare {
            return Ok(Self::Bare);
        }
        if packet.is_control || packet.flags != 0 || !packet.fields.is_empty() {
            return Err(Fault::Field("flags").of(NAME));
        }
        Ok(Self::Header { protocol: packet.protocol })
    }
}

impl Emit for Repr {
    fn length(&self) -> usize {
        match self {
            Self::Header { .. } => Header::LENGTH,
            Self::Bare => 0,
        }
    }

    fn emit(&self, header: &mut [u8], _: &[u8]) {
        if let Self::Header { protocol } = *self {
            header.copy_from_slice(Header { protocol, ..Header::default() }.as_bytes());
        }
    }
}
