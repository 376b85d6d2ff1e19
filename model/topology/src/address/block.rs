//! Aligned blocks of addresses, IPv4 and IPv6 alike.

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An IP version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Family {
    V4,
    V6,
}

impl Family {
    pub const BOTH: [Self; 2] = [Self::V4, Self::V6];

    pub fn of(net: &IpNet) -> Self {
        match net {
            IpNet::V4(_) => Self::V4,
            IpNet::V6(_) => Self::V6,
        }
    }

    pub fn bits(self) -> u8 {
        match self {
            Self::V4 => 32,
            Self::V6 => 128,
        }
    }

    pub fn address(self, number: u128) -> IpAddr {
        match self {
            Self::V4 => IpAddr::V4(Ipv4Addr::from(number as u32)),
            Self::V6 => IpAddr::V6(Ipv6Addr::from(number)),
        }
    }

    pub fn net(self, number: u128, length: u8) -> IpNet {
        match self.address(number) {
            IpAddr::V4(address) => IpNet::V4(Ipv4Net::new_assert(address, length)),
            IpAddr::V6(address) => IpNet::V6(Ipv6Net::new_assert(address, length)),
        }
    }
}

pub(crate) fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(u32::from(address)),
        IpAddr::V6(address) => u128::from(address),
    }
}

/// The addresses of a prefix that an interface may have.
///
/// IPv4 leaves out the network's own and the broadcast address, except in /31 (RFC 3021) and /32. IPv6 leaves out the
/// subnet-router anycast address (RFC 4291, 2.6.1), except in /127 (RFC 6164) and /128.
pub(crate) fn usable(prefix: &IpNet) -> std::ops::RangeInclusive<u128> {
    let (first, last) = (number(prefix.network()), number(prefix.broadcast()));
    match prefix {
        IpNet::V4(net) if net.prefix_len() >= 31 => first..=last,
        IpNet::V4(_) => first + 1..=last - 1,
        IpNet::V6(net) if net.prefix_len() >= 127 => first..=last,
        IpNet::V6(_) => first + 1..=last,
    }
}

pub(crate) fn overlaps(a: &IpNet, b: &IpNet) -> bool {
    a.contains(&b.network()) || b.contains(&a.network())
}

/// How many bits of block a segment takes from a pool.
pub(crate) fn block_bits(family: Family, point_to_point: bool, members: usize) -> u8 {
    match (family, point_to_point) {
        // RFC 3021.
        (Family::V4, true) => 1,
        // Choice: room for as many again, so that adding a host to a LAN does not renumber it.
        (Family::V4, false) => (2 * members as u64 + 2).max(8).next_power_of_two().ilog2() as u8,
        // RFC 6164 numbers a link with a /127, and its section 6 keeps the whole /64 for it.
        (Family::V6, _) => 64,
    }
}

/// The prefix length configured on a segment.
pub(crate) fn prefix_length(family: Family, point_to_point: bool, bits: u8) -> u8 {
    match (family, point_to_point) {
        (Family::V6, true) => 127,
        _ => family.bits() - bits,
    }
}
