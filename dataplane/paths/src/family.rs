//! Addresses that there is one of in each family.

use plait_dataplane_reference::paths::Family;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The source of stacks of IPv4 where none is named. Choice: of a block that nobody may use (RFC 5737), as the thesis has "a
/// non-existent address" and names none.
pub const SHARED_SOURCE: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);

/// The source of stacks of IPv6 where none is named. Choice: of the discard-only prefix (RFC 6666), which routers may
/// forward as a source, and to which answers are thrown away; the documentation prefix is one that routers may refuse.
pub const SHARED_SOURCE_IPV6: Ipv6Addr = Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 1);

/// The sources of all stacks, nobody's addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sources {
    /// Of stacks of IPv4.
    pub ipv4: Ipv4Addr,
    /// Of stacks of IPv6.
    pub ipv6: Ipv6Addr,
}

impl Default for Sources {
    fn default() -> Self {
        Self { ipv4: SHARED_SOURCE, ipv6: SHARED_SOURCE_IPV6 }
    }
}

impl Sources {
    /// That of a family.
    pub fn of(self, family: Family) -> IpAddr {
        match family {
            Family::Ipv4 => self.ipv4.into(),
            Family::Ipv6 => self.ipv6.into(),
        }
    }

    /// These, with another one of an address's family.
    pub fn with(self, source: IpAddr) -> Self {
        match source {
            IpAddr::V4(ipv4) => Self { ipv4, ..self },
            IpAddr::V6(ipv6) => Self { ipv6, ..self },
        }
    }
}

/// One is named, and the other is the usual one.
impl<A: Into<IpAddr>> From<A> for Sources {
    fn from(source: A) -> Self {
        Self::default().with(source.into())
    }
}

/// The addresses of a relay, which headers name it by: one of each family at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RelayAddresses {
    /// For stacks of IPv4.
    pub ipv4: Option<Ipv4Addr>,
    /// For stacks of IPv6.
    pub ipv6: Option<Ipv6Addr>,
}

impl RelayAddresses {
    /// These, with one more of a family that had none.
    pub fn with(self, own: IpAddr) -> Self {
        match own {
            IpAddr::V4(own) => Self { ipv4: Some(own), ..self },
            IpAddr::V6(own) => Self { ipv6: Some(own), ..self },
        }
    }

    /// These but for one.
    pub fn without(self, gone: IpAddr) -> Self {
        Self {
            ipv4: self.ipv4.filter(|own| gone != IpAddr::from(*own)),
            ipv6: self.ipv6.filter(|own| gone != IpAddr::from(*own)),
        }
    }

    /// All there are.
    pub fn iter(self) -> impl Iterator<Item = IpAddr> {
        self.ipv4.map(IpAddr::from).into_iter().chain(self.ipv6.map(IpAddr::from))
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }
}

impl<A: Into<IpAddr>> From<A> for RelayAddresses {
    fn from(own: A) -> Self {
        Self::default().with(own.into())
    }
}
