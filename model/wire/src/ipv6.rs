//! IPv6, RFC 8200.

use crate::layout::{U16, U32, header};
use crate::malformed::{split, take};
use crate::{Emit, Fault, Malformed};
use std::net::Ipv6Addr;
use zerocopy::IntoBytes;

const NAME: &str = "IPv6";

header! {
    /// ```text
    ///  0                  4                8
    /// ┌─┬───────┬────────┬────────┬────┬───┐
    /// │6│ class │  flow  │ length │next│hop│
    /// ├─┴───────┴────────┴────────┴────┴───┤
    /// │          source, 16 bytes          │
    /// ├────────────────────────────────────┤
    /// │        destination, 16 bytes       │
    /// └────────────────────────────────────┘
    /// ```
    pub struct Header as "ipv6_header" {
        /// Version (4 bits), traffic class (8: DSCP and ECN), flow label (20, RFC 6437).
        pub version_class_flow: U32,
        /// Length of what follows this header.
        pub payload_length: U16,
        /// What it carries: [`protocol`](crate::number::protocol), or an extension header.
        pub next_header: u8,
        /// Hops left.
        pub hop_limit: u8,
        /// Who sent it.
        pub source: [u8; 16],
        /// Who it is for.
        pub destination: [u8; 16],
    }
}

/// A packet.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    header: &'a Header,
    payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// A packet of some bytes, of which those behind its length are none of it.
    ///
    /// # Errors
    /// Another version; a length beyond the bytes.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, rest) = split::<Header>(bytes, NAME)?;
        let version = (header.version_class_flow.get() >> 28) as u8;
        if version != 6 {
            return Err(Fault::Version(version).of(NAME));
        }
        let (payload, _) = take(rest, usize::from(header.payload_length.get()), NAME)?;
        Ok(Self { header, payload })
    }

    /// Who sent it.
    pub fn source(&self) -> Ipv6Addr {
        self.header.source.into()
    }

    /// Who it is for.
    pub fn destination(&self) -> Ipv6Addr {
        self.header.destination.into()
    }

    /// What it carries, an extension header perhaps.
    pub fn next_header(&self) -> u8 {
        self.header.next_header
    }

    /// Hops left.
    pub fn hop_limit(&self) -> u8 {
        self.header.hop_limit
    }

    /// DSCP and ECN.
    pub fn traffic_class(&self) -> u8 {
        (self.header.version_class_flow.get() >> 20) as u8
    }

    /// The flow's label, 20 bits.
    pub fn flow_label(&self) -> u32 {
        self.header.version_class_flow.get() & 0xf_ffff
    }

    /// What it carries.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

/// What a packet's header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repr {
    /// Who sends it.
    pub source: Ipv6Addr,
    /// Who it is for.
    pub destination: Ipv6Addr,
    /// What it carries.
    pub next_header: u8,
    /// Hops left.
    pub hop_limit: u8,
    /// DSCP and ECN.
    pub traffic_class: u8,
    /// The flow's label, of which 20 bits are sent.
    pub flow_label: u32,
}

impl Repr {
    /// What a packet says.
    pub fn of(packet: &Packet<'_>) -> Self {
        Self {
            source: packet.source(),
            destination: packet.destination(),
            next_header: packet.next_header(),
            hop_limit: packet.hop_limit(),
            traffic_class: packet.traffic_class(),
            flow_label: packet.flow_label(),
        }
    }

    /// The header before a payload of so many bytes. Those beyond what 16 bits can say are left out of its length.
    pub fn header(&self, payload: usize) -> Header {
        let first = 6 << 28 | u32::from(self.traffic_class) << 20 | self.flow_label & 0xf_ffff;
        Header {
            version_class_flow: first.into(),
            payload_length: u16::try_from(payload).unwrap_or(u16::MAX).into(),
            next_header: self.next_header,
            hop_limit: self.hop_limit,
            source: self.source.octets(),
            destination: self.destination.octets(),
        }
    }
}

impl Emit for Repr {
    fn length(&self) -> usize {
        Header::LENGTH
    }

    fn emit(&self, header: &mut [u8], payload: &[u8]) {
        header.copy_from_slice(self.header(payload.len()).as_bytes());
    }
}
