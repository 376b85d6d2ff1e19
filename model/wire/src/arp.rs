//! Address resolution for IPv4 over Ethernet, RFC 826.

use crate::ethernet::Mac;
use crate::layout::{U16, header};
use crate::malformed::split;
use crate::{Emit, Fault, Malformed};
use std::net::Ipv4Addr;
use zerocopy::IntoBytes;

const NAME: &str = "ARP";

header! {
    /// ```text
    ///  0          2          4      5      6           8
    /// ┌──────────┬──────────┬──────┬──────┬───────────┐
    /// │ hardware │ protocol │6 long│4 long│ operation │
    /// ├──────────┴──────────┴──────┼──────┴───────────┤
    /// │  sender's hardware address │ sender's address │
    /// ├────────────────────────────┼──────────────────┤
    /// │  target's hardware address │ target's address │
    /// └────────────────────────────┴──────────────────┘
    /// ```
    pub struct Header as "arp_header" {
        /// 1, Ethernet.
        pub hardware: U16,
        /// [`IPV4`](crate::number::ether_type::IPV4).
        pub protocol: U16,
        /// Bytes of a hardware address, 6.
        pub hardware_length: u8,
        /// Bytes of a protocol address, 4.
        pub protocol_length: u8,
        /// 1 asks, 2 answers.
        pub operation: U16,
        /// Hardware address of who sends it.
        pub sender_mac: [u8; 6],
        /// IPv4 address of who sends it.
        pub sender: [u8; 4],
        /// Hardware address of whom it is about; of no meaning in a request.
        pub target_mac: [u8; 6],
        /// IPv4 address of whom it is about.
        pub target: [u8; 4],
    }
}

/// Who has this address?
pub const REQUEST: u16 = 1;
/// It is mine.
pub const REPLY: u16 = 2;

/// A message.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    header: &'a Header,
}

impl<'a> Packet<'a> {
    /// A message of some bytes, of which those behind it are padding.
    ///
    /// # Errors
    /// Fewer than 28; other addresses than those of Ethernet and IPv4.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, _) = split::<Header>(bytes, NAME)?;
        let kinds = (header.hardware.get(), header.protocol.get());
        if kinds != (1, crate::number::ether_type::IPV4) {
            return Err(Fault::Field("type of address").of(NAME));
        }
        if (header.hardware_length, header.protocol_length) != (6, 4) {
            return Err(Fault::Field("length of addresses").of(NAME));
        }
        Ok(Self { header })
    }

    /// [`REQUEST`], [`REPLY`] or another.
    pub fn operation(&self) -> u16 {
        self.header.operation.get()
    }

    /// Who sends it.
    pub fn sender(&self) -> (Mac, Ipv4Addr) {
        (Mac(self.header.sender_mac), self.header.sender.into())
    }

    /// Whom it is about.
    pub fn target(&self) -> (Mac, Ipv4Addr) {
        (Mac(self.header.target_mac), self.header.target.into())
    }
}

/// What a message says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repr {
    /// [`REQUEST`], [`REPLY`] or another.
    pub operation: u16,
    /// Who sends it.
    pub sender: (Mac, Ipv4Addr),
    /// Whom it is about.
    pub target: (Mac, Ipv4Addr),
}

impl Repr {
    /// What a message says.
    pub fn of(packet: &Packet<'_>) -> Self {
        Self { operation: packet.operation(), sender: packet.sender(), target: packet.target() }
    }
}

impl Emit for Repr {
    fn length(&self) -> usize {
        Header::LENGTH
    }

    fn emit(&self, header: &mut [u8], _: &[u8]) {
        let fields = Header {
            hardware: 1.into(),
            protocol: crate::number::ether_type::IPV4.into(),
            hardware_length: 6,
            protocol_length: 4,
            operation: self.operation.into(),
            sender_mac: self.sender.0.0,
            sender: self.sender.1.octets(),
            target_mac: self.target.0.0,
            target: self.target.1.octets(),
        };
        header.copy_from_slice(fields.as_bytes());
    }
}
