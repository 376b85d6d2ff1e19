//! Families of addresses: a packet's own, and that of the headers before it.

use super::tables::family;
use plait_model_wire::number::{ether_type, protocol};
use plait_model_wire::{ipv4, ipv6};
use std::net::{IpAddr, Ipv6Addr};

/// A family of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// RFC 791.
    Ipv4,
    /// RFC 8200.
    Ipv6,
}

impl Family {
    /// All there are.
    pub const ALL: [Self; 2] = [Self::Ipv4, Self::Ipv6];

    /// An address's.
    pub fn of(address: IpAddr) -> Self {
        if address.is_ipv4() { Self::Ipv4 } else { Self::Ipv6 }
    }

    /// A packet's, by its version.
    pub fn of_packet(packet: &[u8]) -> Option<Self> {
        match packet.first()? >> 4 {
            4 => Some(Self::Ipv4),
            6 => Some(Self::Ipv6),
            _ => None,
        }
    }

    /// As it stands in tables.
    pub fn number(self) -> u32 {
        match self {
            Self::Ipv4 => family::IPV4,
            Self::Ipv6 => family::IPV6,
        }
    }

    /// Its EtherType, in GRE as well.
    pub fn ether_type(self) -> u16 {
        match self {
            Self::Ipv4 => ether_type::IPV4,
            Self::Ipv6 => ether_type::IPV6,
        }
    }

    /// Its protocol number where IP carries it.
    pub fn protocol(self) -> u8 {
        match self {
            Self::Ipv4 => protocol::IPV4,
            Self::Ipv6 => protocol::IPV6,
        }
    }

    /// Bytes of its header, without options.
    pub fn header(self) -> usize {
        match self {
            Self::Ipv4 => ipv4::Header::LENGTH,
            Self::Ipv6 => ipv6::Header::LENGTH,
        }
    }
}

/// An address as tables hold it: one of IPv4 as RFC 4291 section 2.5.5.2 maps it.
pub fn mapped(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

/// The address that tables hold so.
pub fn unmapped(address: [u8; 16]) -> IpAddr {
    Ipv6Addr::from(address).to_canonical()
}
