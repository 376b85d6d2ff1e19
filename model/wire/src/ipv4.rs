//! IPv4, RFC 791.

use crate::checksum::Sum;
use crate::layout::{U16, header};
use crate::malformed::split;
use crate::{Emit, Fault, Malformed};
use std::net::Ipv4Addr;
use zerocopy::IntoBytes;

const NAME: &str = "IPv4";

header! {
    /// ```text
    ///  0       1        2                4
    /// ┌───┬───┬────────┬─────────────────┐
    /// │ 4 │IHL│  TOS   │  total length   │
    /// ├───┴───┴────────┼───┬─────────────┤
    /// │ identification │flg│   offset    │
    /// ├───────┬────────┼───┴─────────────┤
    /// │  TTL  │protocol│    checksum     │
    /// ├───────┴────────┴─────────────────┤
    /// │              source              │
    /// ├──────────────────────────────────┤
    /// │           destination            │
    /// └──────────────────────────────────┘
    /// ```
    pub struct Header as "ipv4_header" {
        /// Version (4 bits), and length of the header in words (4 bits).
        pub version_ihl: u8,
        /// DSCP (6 bits, RFC 2474) and ECN (2 bits, RFC 3168).
        pub tos: u8,
        /// Length of header and payload.
        pub total_length: U16,
        /// Which packet a fragment is of.
        pub identification: U16,
        /// Reserved, don't fragment, more fragments; offset in eights of bytes (13 bits).
        pub fragment: U16,
        /// Hops left.
        pub ttl: u8,
        /// What it carries: [`protocol`](crate::number::protocol).
        pub protocol: u8,
        /// Checksum of the header.
        pub checksum: U16,
        /// Who sent it.
        pub source: [u8; 4],
        /// Who it is for.
        pub destination: [u8; 4],
    }
}

/// The bits of [`Header::fragment`].
pub mod fragment {
    /// Routers must not fragment it.
    pub const DONT: u16 = 0x4000;
    /// Another fragment follows.
    pub const MORE: u16 = 0x2000;
    /// Where this one belongs.
    pub const OFFSET: u16 = 0x1fff;
}

/// A packet.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    header: &'a Header,
    options: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// A packet of some bytes, of which those behind its total length are none of it. The checksum is looked at by
    /// [`Repr::of`] only, since hardware and kernels leave it to others.
    ///
    /// # Errors
    /// Another version; lengths that do not fit the bytes or each other.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, _) = split::<Header>(bytes, NAME)?;
        if header.version_ihl >> 4 != 4 {
            return Err(Fault::Version(header.version_ihl >> 4).of(NAME));
        }
        let (length, total) =
            (usize::from(header.version_ihl & 15) * 4, usize::from(header.total_length.get()));
        if length < Header::LENGTH {
            return Err(Fault::Length(length).of(NAME));
        }
        if total < length {
            return Err(Fault::Length(total).of(NAME));
        }
        let whole = bytes.get(..total).ok_or(Fault::Truncated { need: total, have: bytes.len() }.of(NAME))?;
        Ok(Self { header, options: &whole[Header::LENGTH..length], payload: &whole[length..] })
    }

    /// Who sent it.
    pub fn source(&self) -> Ipv4Addr {
        self.header.source.into()
    }

    /// Who it is for.
    pub fn destination(&self) -> Ipv4Addr {
        self.header.destination.into()
    }

    /// What it carries.
    pub fn protocol(&self) -> u8 {
        self.header.protocol
    }

    /// Hops left.
    pub fn ttl(&self) -> u8 {
        self.header.ttl
    }

    /// DSCP and ECN.
    pub fn tos(&self) -> u8 {
        self.header.tos
    }

    /// Whether routers must not fragment it.
    pub fn dont_fragment(&self) -> bool {
        self.header.fragment.get() & fragment::DONT != 0
    }

    /// Whether it is a fragment, the first or a later one.
    pub fn is_fragment(&self) -> bool {
        self.header.fragment.get() & (fragment::MORE | fragment::OFFSET) != 0
    }

    /// Options with their padding.
    pub fn options(&self) -> &'a [u8] {
        self.options
    }

    /// What it carries.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Whether the checksum fits the header.
    pub fn checksum_fits(&self) -> bool {
        Sum::new().add(self.header.as_bytes()).add(self.options).folded() == 0xffff
    }
}

/// What a packet's header says. Options are not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repr {
    /// Who sends it.
    pub source: Ipv4Addr,
    /// Who it is for.
    pub destination: Ipv4Addr,
    /// What it carries.
    pub protocol: u8,
    /// Hops left.
    pub ttl: u8,
    /// DSCP and ECN.
    pub tos: u8,
    /// Whether routers must not fragment it.
    pub dont_fragment: bool,
    /// Which packet fragments are of.
    pub identification: u16,
}

impl Repr {
    /// What a packet says.
    ///
    /// # Errors
    /// A checksum that does not fit; a fragment, which is no whole packet; options, which would be lost.
    pub fn of(packet: &Packet<'_>) -> Result<Self, Malformed> {
        if !packet.checksum_fits() {
            return Err(Fault::Checksum.of(NAME));
        }
        if packet.is_fragment() {
            return Err(Fault::Field("fragment").of(NAME));
        }
        if !packet.options.is_empty() {
            return Err(Fault::Field("options").of(NAME));
        }
        Ok(Self {
            source: packet.source(),
            destination: packet.destination(),
            protocol: packet.protocol(),
            ttl: packet.ttl(),
            tos: packet.tos(),
            dont_fragment: packet.dont_fragment(),
            identification: packet.header.identification.get(),
        })
    }

    /// The header before a payload of so many bytes. Those beyond what 16 bits can say are left out of its length.
    pub fn header(&self, payload: usize) -> Header {
        let mut header = Header {
            version_ihl: 0x45,
            tos: self.tos,
            total_length: (u16::try_from(Header::LENGTH + payload).unwrap_or(u16::MAX)).into(),
            identification: self.identification.into(),
            fragment: if self.dont_fragment { fragment::DONT } else { 0 }.into(),
            ttl: self.ttl,
            protocol: self.protocol,
            checksum: 0.into(),
            source: self.source.octets(),
            destination: self.destination.octets(),
        };
        header.checksum = Sum::new().add(header.as_bytes()).checksum().into();
        header
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
