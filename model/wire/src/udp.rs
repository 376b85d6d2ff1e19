//! UDP, RFC 768.

use crate::checksum::Sum;
use crate::layout::{U16, header};
use crate::malformed::split;
use crate::number::protocol;
use crate::{Emit, Fault, Malformed};
use std::net::IpAddr;
use zerocopy::IntoBytes;

const NAME: &str = "UDP";

header! {
    /// ```text
    ///  0        2           4        6          8
    /// ┌────────┬───────────┬────────┬──────────┐
    /// │ source │destination│ length │ checksum │
    /// └────────┴───────────┴────────┴──────────┘
    /// ```
    pub struct Header as "udp_header" {
        /// Port of the sender; of a tunnel, the flow's entropy.
        pub source: U16,
        /// Port of the receiver; of a tunnel, which protocol it is.
        pub destination: U16,
        /// Length of header and payload.
        pub length: U16,
        /// Checksum over a pseudo header, header and payload; 0 for none.
        pub checksum: U16,
    }
}

/// A datagram.
#[derive(Debug, Clone, Copy)]
pub struct Datagram<'a> {
    header: &'a Header,
    payload: &'a [u8],
}

impl<'a> Datagram<'a> {
    /// A datagram of some bytes, of which those behind its length are none of it.
    ///
    /// # Errors
    /// A length below that of the header or beyond the bytes.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, _) = split::<Header>(bytes, NAME)?;
        let length = usize::from(header.length.get());
        if length < Header::LENGTH {
            return Err(Fault::Length(length).of(NAME));
        }
        let whole =
            bytes.get(..length).ok_or(Fault::Truncated { need: length, have: bytes.len() }.of(NAME))?;
        Ok(Self { header, payload: &whole[Header::LENGTH..] })
    }

    /// Port of the sender.
    pub fn source(&self) -> u16 {
        self.header.source.get()
    }

    /// Port of the receiver.
    pub fn destination(&self) -> u16 {
        self.header.destination.get()
    }

    /// What it carries.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Whether it carries a checksum.
    pub fn has_checksum(&self) -> bool {
        self.header.checksum.get() != 0
    }

    /// Whether the checksum, if there is one, fits a datagram between these addresses.
    pub fn checksum_fits(&self, source: IpAddr, destination: IpAddr) -> bool {
        let length = Header::LENGTH + self.payload.len();
        let sum = Sum::new().add_pseudo_header(source, destination, protocol::UDP, length);
        !self.has_checksum() || sum.add(self.header.as_bytes()).add(self.payload).folded() == 0xffff
    }
}

/// What a datagram's header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repr {
    /// Port of the sender.
    pub source: u16,
    /// Port of the receiver.
    pub destination: u16,
    /// Addresses that the checksum covers; no checksum without them, as tunnels have it (RFC 6935 for IPv6).
    pub checked: Option<(IpAddr, IpAddr)>,
}

impl Repr {
    /// What a datagram between these addresses says.
    ///
    /// # Errors
    /// A checksum that does not fit.
    pub fn of(datagram: &Datagram<'_>, source: IpAddr, destination: IpAddr) -> Result<Self, Malformed> {
        if !datagram.checksum_fits(source, destination) {
            return Err(Fault::Checksum.of(NAME));
        }
        Ok(Self {
            source: datagram.source(),
            destination: datagram.destination(),
            checked: datagram.has_checksum().then_some((source, destination)),
        })
    }
}

impl Emit for Repr {
    fn length(&self) -> usize {
        Header::LENGTH
    }

    fn emit(&self, header: &mut [u8], payload: &[u8]) {
        let length = Header::LENGTH + payload.len();
        let mut fields = Header {
            source: self.source.into(),
            destination: self.destination.into(),
            length: u16::try_from(length).unwrap_or(u16::MAX).into(),
            checksum: 0.into(),
        };
        if let Some((source, destination)) = self.checked {
            let sum = Sum::new().add_pseudo_header(source, destination, protocol::UDP, length);
            let sum = sum.add(fields.as_bytes()).add(payload).checksum();
            // 0 would say that there is none; its twin means the same sum.
            fields.checksum = if sum == 0 { 0xffff } else { sum }.into();
        }
        header.copy_from_slice(fields.as_bytes());
    }
}
