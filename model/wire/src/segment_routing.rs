//! IPv6's segment routing header, RFC 8754.

use crate::layout::{U16, header};
use crate::malformed::{split, take};
use crate::{Emit, Fault, Malformed};
use std::net::Ipv6Addr;
use zerocopy::IntoBytes;

const NAME: &str = "SRH";
/// The routing type (RFC 8754 section 8).
pub const KIND: u8 = 4;

header! {
    /// ```text
    ///  0      1        2      3      4
    /// ┌──────┬────────┬──────┬──────┐
    /// │ next │ length │  4   │ left │
    /// ├──────┼────────┼──────┴──────┤
    /// │ last │ flags  │     tag     │
    /// ├──────┴────────┴─────────────┤
    /// │ segments, the last one first│
    /// └─────────────────────────────┘
    /// ```
    pub struct Header as "segment_routing_header" {
        /// What comes next: [`protocol`](crate::number::protocol).
        pub next: u8,
        /// Length in units of eight bytes, without the first.
        pub length: u8,
        /// [`KIND`].
        pub kind: u8,
        /// Segments still to be visited: the index of the one that the packet is on its way to. That of the first one is beyond
        /// the list where the outer header alone has it.
        pub left: u8,
        /// Index of the last segment of the list.
        pub last: u8,
        /// Sent as 0.
        pub flags: u8,
        /// Sent as 0.
        pub tag: U16,
    }
}

/// A header, and what follows it.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    header: &'a Header,
    segments: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// A header of some bytes. What stands behind the segments (TLVs) is passed over.
    ///
    /// # Errors
    /// Another routing type; a length that does not fit the bytes or the segments; more segments left than there are, with the
    /// one that a reduced list (RFC 8986 section 5.2) has in the outer header alone.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, rest) = split::<Header>(bytes, NAME)?;
        if header.kind != KIND {
            return Err(Fault::Field("type").of(NAME));
        }
        let (behind, payload) = take(rest, usize::from(header.length) * 8, NAME)?;
        let (segments, _) = take(behind, (usize::from(header.last) + 1) * 16, NAME)?;
        if usize::from(header.left) > usize::from(header.last) + 1 {
            return Err(Fault::Field("segments left").of(NAME));
        }
        Ok(Self { header, segments, payload })
    }

    /// What comes next.
    pub fn next(&self) -> u8 {
        self.header.next
    }

    /// Segments still to be visited.
    pub fn left(&self) -> u8 {
        self.header.left
    }

    /// The segments in the order in which they are visited.
    pub fn segments(&self) -> impl Iterator<Item = Ipv6Addr> + use<'a> {
        let (chunks, _) = self.segments.as_chunks::<16>();
        chunks.iter().rev().map(|segment| Ipv6Addr::from(*segment))
    }

    /// What it carries.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

/// What a header says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repr {
    /// What comes next.
    pub next: u8,
    /// Segments still to be visited.
    pub left: u8,
    /// From 1 to 127 in the order in which they are visited.
    pub segments: Vec<Ipv6Addr>,
}

impl Repr {
    /// What a header says.
    pub fn of(packet: &Packet<'_>) -> Self {
        Self { next: packet.next(), left: packet.left(), segments: packet.segments().collect() }
    }
}

impl Emit for Repr {
    fn length(&self) -> usize {
        Header::LENGTH + self.segments.len() * 16
    }

    fn emit(&self, header: &mut [u8], _: &[u8]) {
        let count = self.segments.len() as u8;
        let fields = Header {
            next: self.next,
            length: count.saturating_mul(2),
            kind: KIND,
            left: self.left,
            last: count.saturating_sub(1),
            ..Header::default()
        };
        let (front, behind) = header.split_at_mut(Header::LENGTH);
        front.copy_from_slice(fields.as_bytes());
        for (place, segment) in behind.chunks_exact_mut(16).zip(self.segments.iter().rev()) {
            place.copy_from_slice(&segment.octets());
        }
    }
}
