//! The messages of ICMP (RFC 792, RFC 1191) and ICMPv6 (RFC 4443) that say a packet was too big.

use crate::checksum::Sum;
use crate::layout::{U16, U32, header};
use crate::malformed::split;
use crate::number::protocol;
use crate::{Emit, Fault, Malformed};
use std::net::{IpAddr, Ipv6Addr};
use zerocopy::IntoBytes;

const NAME: &str = "ICMP";

header! {
    /// ```text
    ///  0      1      2          4
    /// ┌──────┬──────┬──────────┐
    /// │ type │ code │ checksum │
    /// ├──────┴──────┴──────────┤
    /// │   MTU: 32 bits of v6,  │
    /// │   the lower 16 of v4   │
    /// ├────────────────────────┤
    /// │ as much of the packet  │
    /// │        as fits         │
    /// └────────────────────────┘
    /// ```
    pub struct Header as "icmp_header" {
        /// 3 for IPv4, 2 for IPv6.
        pub kind: u8,
        /// 4 for IPv4, 0 for IPv6.
        pub code: u8,
        /// Checksum of the message; of IPv6 with a pseudo header.
        pub checksum: U16,
        /// The MTU of the next hop.
        pub mtu: U32,
    }
}

/// Of a packet that was too big the first bytes go back: for IPv4 so that the message has at most 576 bytes (RFC 1812
/// section 4.3.2.3), for IPv6 at most 1280 (RFC 4443 section 3.2).
pub const QUOTED: [usize; 2] = [576 - 20 - Header::LENGTH, 1280 - 40 - Header::LENGTH];

/// That a packet was too big.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TooBig {
    /// Destination unreachable, fragmentation needed, of RFC 1191.
    V4 {
        /// The MTU of the next hop; 0 from routers older than that.
        mtu: u16,
    },
    /// Packet too big, of RFC 4443 section 3.2.
    V6 {
        /// The MTU of the next hop.
        mtu: u32,
        /// Who sends the message, for its checksum.
        source: Ipv6Addr,
        /// Whom it is for.
        destination: Ipv6Addr,
    },
}

impl TooBig {
    /// The message and the quoted packet, if that is what an ICMP message between these addresses says.
    ///
    /// # Errors
    /// Addresses of two families; another message; a checksum that does not fit.
    pub fn of(bytes: &[u8], source: IpAddr, destination: IpAddr) -> Result<(Self, &[u8]), Malformed> {
        let (header, quoted) = split::<Header>(bytes, NAME)?;
        let (message, pseudo) = match (source, destination, header.kind, header.code) {
            (IpAddr::V4(_), IpAddr::V4(_), 3, 4) => (Self::V4 { mtu: header.mtu.get() as u16 }, Sum::new()),
            (IpAddr::V6(from), IpAddr::V6(to), 2, 0) => {
                let message = Self::V6 { mtu: header.mtu.get(), source: from, destination: to };
                (message, Sum::new().add_pseudo_header(source, destination, protocol::ICMPV6, bytes.len()))
            }
            _ => return Err(Fault::Field("type").of(NAME)),
        };
        match pseudo.add(bytes).folded() {
            0xffff => Ok((message, quoted)),
            _ => Err(Fault::Checksum.of(NAME)),
        }
    }
}

impl Emit for TooBig {
    fn length(&self) -> usize {
        Header::LENGTH
    }

    fn emit(&self, header: &mut [u8], payload: &[u8]) {
        let (mut fields, pseudo) = match *self {
            Self::V4 { mtu } => {
                (Header { kind: 3, code: 4, mtu: u32::from(mtu).into(), ..Header::default() }, Sum::new())
            }
            Self::V6 { mtu, source, destination } => {
                let length = Header::LENGTH + payload.len();
                let (source, destination) = (source.into(), destination.into());
                let pseudo = Sum::new().add_pseudo_header(source, destination, protocol::ICMPV6, length);
                (Header { kind: 2, code: 0, mtu: mtu.into(), ..Header::default() }, pseudo)
            }
        };
        fields.checksum = pseudo.add(fields.as_bytes()).add(payload).checksum().into();
        header.copy_from_slice(fields.as_bytes());
    }
}
