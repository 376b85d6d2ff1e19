//! The network service header, RFC 8300: a path through service functions, and where on it a packet is.

use crate::layout::{U16, U24, header};
use crate::malformed::{split, take};
use crate::{Emit, Fault, Malformed};
use zerocopy::IntoBytes;

const NAME: &str = "NSH";

header! {
    /// ```text
    ///  0                     2       3      4
    /// ┌───┬─┬─┬──────┬──────┬───┬───┬──────┐
    /// │ver│O│0│ TTL  │length│ 0 │MD │ next │
    /// ├───┴─┴─┴──────┴──────┴───┴───┼──────┤
    /// │        service path         │index │
    /// ├─────────────────────────────┴──────┤
    /// │              metadata              │
    /// └────────────────────────────────────┘
    /// ```
    pub struct Header as "nsh_header" {
        /// Version (2 bits), O, a reserved bit, TTL (6), length in words (6).
        pub version_ttl_length: U16,
        /// Four reserved bits, and the type of the metadata (4 bits).
        pub metadata_type: u8,
        /// What it carries: [`next`].
        pub next_protocol: u8,
        /// The path.
        pub service_path: U24,
        /// Where on the path: counted down by each service function.
        pub service_index: u8,
    }
}

/// What a network service header may carry, RFC 8300 section 11.2.5.
pub mod next {
    /// IPv4.
    pub const IPV4: u8 = 1;
    /// IPv6.
    pub const IPV6: u8 = 2;
    /// An Ethernet frame.
    pub const ETHERNET: u8 = 3;
    /// Another network service header.
    pub const NSH: u8 = 4;
    /// A stack of MPLS labels.
    pub const MPLS: u8 = 5;
}

/// Bytes of metadata of type 1.
pub const FIXED: usize = 16;
/// The largest length, in words, that six bits can say.
const MOST_WORDS: usize = 63;
/// The TTL of who says no other, RFC 8300 section 2.2.
pub const DEFAULT_TTL: u8 = 63;

/// What travels with a packet for service functions to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metadata<'a> {
    /// Type 1: sixteen bytes, as the operator means them.
    Fixed(&'a [u8; FIXED]),
    /// Type 2: a list, whose items [`Items`] walks; none perhaps.
    List(&'a [u8]),
}

/// A packet.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    header: &'a Header,
    metadata: Metadata<'a>,
    payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// A packet of some bytes.
    ///
    /// # Errors
    /// Another version than 0; metadata of another type than 1 and 2; a length that does not fit the type or the bytes;
    /// a list whose items overrun it.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, rest) = split::<Header>(bytes, NAME)?;
        let first = header.version_ttl_length.get();
        if first >> 14 != 0 {
            return Err(Fault::Version((first >> 14) as u8).of(NAME));
        }
        let length = usize::from(first & 0x3f) * 4;
        let metadata = length.checked_sub(Header::LENGTH).ok_or(Fault::Length(length).of(NAME))?;
        let (metadata, payload) = take(rest, metadata, NAME)?;
        let metadata = match header.metadata_type & 0xf {
            1 => Metadata::Fixed(metadata.try_into().map_err(|_| Fault::Length(length).of(NAME))?),
            2 => {
                Items(metadata).try_for_each(|item| item.map(drop))?;
                Metadata::List(metadata)
            }
            _ => return Err(Fault::Field("type of metadata").of(NAME)),
        };
        Ok(Self { header, metadata, payload })
    }

    /// Hops left.
    pub fn ttl(&self) -> u8 {
        (self.header.version_ttl_length.get() >> 6 & 0x3f) as u8
    }

    /// Whether it is a message for maintenance.
    pub fn is_maintenance(&self) -> bool {
        self.header.version_ttl_length.get() & 0x2000 != 0
    }

    /// The path, 24 bits.
    pub fn service_path(&self) -> u32 {
        self.header.service_path.get()
    }

    /// Where on the path.
    pub fn service_index(&self) -> u8 {
        self.header.service_index
    }

    /// What it carries: [`next`].
    pub fn next_protocol(&self) -> u8 {
        self.header.next_protocol
    }

    /// What travels with it.
    pub fn metadata(&self) -> Metadata<'a> {
        self.metadata
    }

    /// What it carries.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

/// An item of metadata of type 2, RFC 8300 section 2.5.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item<'a> {
    /// Who defines its type.
    pub class: u16,
    /// Its type.
    pub kind: u8,
    /// Its value, without padding.
    pub value: &'a [u8],
}

/// The items of a list of metadata.
#[derive(Debug, Clone, Copy)]
pub struct Items<'a>(pub &'a [u8]);

impl<'a> Iterator for Items<'a> {
    type Item = Result<Item<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let mut read = || {
            let (head, rest) = take(self.0, 4, NAME)?;
            let length = usize::from(head[3] & 0x7f);
            let (padded, rest) = take(rest, length.next_multiple_of(4), NAME)?;
            self.0 = rest;
            let class = u16::from_be_bytes([head[0], head[1]]);
            Ok(Item { class, kind: head[2], value: &padded[..length] })
        };
        let item = read();
        if item.is_err() {
            self.0 = &[];
        }
        Some(item)
    }
}

/// What a packet's header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repr<'a> {
    /// The path, 24 bits.
    pub service_path: u32,
    /// Where on the path.
    pub service_index: u8,
    /// Hops left, 6 bits.
    pub ttl: u8,
    /// What it carries: [`next`].
    pub next_protocol: u8,
    /// What travels with it. A list is at most 244 bytes long; more is left out.
    pub metadata: Metadata<'a>,
}

impl<'a> Repr<'a> {
    /// What a packet says.
    ///
    /// # Errors
    /// A message for maintenance.
    pub fn of(packet: &Packet<'a>) -> Result<Self, Malformed> {
        if packet.is_maintenance() {
            return Err(Fault::Field("flags").of(NAME));
        }
        Ok(Self {
            service_path: packet.service_path(),
            service_index: packet.service_index(),
            ttl: packet.ttl(),
            next_protocol: packet.next_protocol(),
            metadata: packet.metadata,
        })
    }

    fn bytes(&self) -> &'a [u8] {
        match self.metadata {
            Metadata::Fixed(bytes) => bytes,
            Metadata::List(bytes) => &bytes[..bytes.len().min(MOST_WORDS * 4 - Header::LENGTH) / 4 * 4],
        }
    }
}

impl Emit for Repr<'_> {
    fn length(&self) -> usize {
        Header::LENGTH + self.bytes().len()
    }

    fn emit(&self, header: &mut [u8], _: &[u8]) {
        let words = (self.length() / 4) as u16;
        let fields = Header {
            version_ttl_length: (u16::from(self.ttl & 0x3f) << 6 | words).into(),
            metadata_type: if matches!(self.metadata, Metadata::Fixed(_)) { 1 } else { 2 },
            next_protocol: self.next_protocol,
            service_path: U24::new(self.service_path),
            service_index: self.service_index,
        };
        let (fixed, metadata) = header.split_at_mut(Header::LENGTH);
        fixed.copy_from_slice(fields.as_bytes());
        metadata.copy_from_slice(self.bytes());
    }
}
