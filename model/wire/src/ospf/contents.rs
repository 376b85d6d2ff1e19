//! What advertisements say, RFC 2328 appendices A.4.2 and A.4.3.

use super::{NAME, address, all, array, lsa_kind};
use crate::{Fault, Malformed};
use std::net::Ipv4Addr;

/// What an advertisement says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contents {
    /// A router's links.
    Router(RouterLinks),
    /// A network's members.
    Network(NetworkMembers),
    /// Of all other kinds the bytes.
    Other(Vec<u8>),
}

/// The bits of [`RouterLinks::bits`].
pub mod router_bits {
    /// It joins areas.
    pub const BORDER: u8 = 0x01;
    /// It knows routes to the outside.
    pub const BOUNDARY: u8 = 0x02;
    /// A virtual link ends at it.
    pub const VIRTUAL: u8 = 0x04;
}

/// A router's links.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RouterLinks {
    /// What it is: [`router_bits`].
    pub bits: u8,
    /// Its links.
    pub links: Vec<RouterLink>,
}

/// A link of a router. Metrics for types of service, which nobody has any more, are not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RouterLink {
    /// To another router.
    PointToPoint {
        /// Its router ID.
        neighbor: Ipv4Addr,
        /// The own address on it, or an interface's number.
        own: Ipv4Addr,
        /// What it costs.
        metric: u16,
    },
    /// To a network with other routers in it.
    Transit {
        /// The address of the network's designated router.
        designated: Ipv4Addr,
        /// The own address on it.
        own: Ipv4Addr,
        /// What it costs.
        metric: u16,
    },
    /// To a network where no other routers are.
    Stub {
        /// Its address.
        network: Ipv4Addr,
        /// Its mask.
        mask: Ipv4Addr,
        /// What it costs.
        metric: u16,
    },
    /// To another router through an area.
    Virtual {
        /// Its router ID.
        neighbor: Ipv4Addr,
        /// The own address.
        own: Ipv4Addr,
        /// What it costs.
        metric: u16,
    },
}

/// The members of a network. Its address is that of the advertisement's ID, under the mask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkMembers {
    /// The mask of its addresses.
    pub mask: Ipv4Addr,
    /// Router IDs of all in it, the designated one's included.
    pub routers: Vec<Ipv4Addr>,
}

impl Contents {
    pub(super) fn parse(kind: u8, mut bytes: &[u8]) -> Result<Self, Malformed> {
        let rest = &mut bytes;
        Ok(match kind {
            lsa_kind::ROUTER => {
                let [bits, _, high, low] = array(rest)?;
                let count = u16::from_be_bytes([high, low]);
                let links = (0..count).map(|_| RouterLink::take(rest)).collect::<Result<_, _>>()?;
                if !rest.is_empty() {
                    return Err(Fault::Length(rest.len()).of(NAME));
                }
                Self::Router(RouterLinks { bits, links })
            }
            lsa_kind::NETWORK => {
                Self::Network(NetworkMembers { mask: address(rest)?, routers: all(rest, address)? })
            }
            _ => Self::Other(rest.to_vec()),
        })
    }

    pub(super) fn emit(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Router(RouterLinks { bits, links }) => {
                let [high, low] = (links.len() as u16).to_be_bytes();
                bytes.extend([*bits, 0, high, low]);
                links.iter().for_each(|link| link.emit(bytes));
            }
            Self::Network(NetworkMembers { mask, routers }) => {
                bytes.extend(mask.octets());
                bytes.extend(routers.iter().flat_map(Ipv4Addr::octets));
            }
            Self::Other(other) => bytes.extend(other),
        }
    }
}

impl RouterLink {
    fn take(bytes: &mut &[u8]) -> Result<Self, Malformed> {
        let (id, data) = (address(bytes)?, address(bytes)?);
        let [kind, services, high, low] = array(bytes)?;
        let metric = u16::from_be_bytes([high, low]);
        for _ in 0..services {
            let _: [u8; 4] = array(bytes)?;
        }
        Ok(match kind {
            1 => Self::PointToPoint { neighbor: id, own: data, metric },
            2 => Self::Transit { designated: id, own: data, metric },
            3 => Self::Stub { network: id, mask: data, metric },
            4 => Self::Virtual { neighbor: id, own: data, metric },
            _ => return Err(Fault::Field("type of link").of(NAME)),
        })
    }

    fn emit(&self, bytes: &mut Vec<u8>) {
        let (id, data, kind, metric) = match *self {
            Self::PointToPoint { neighbor, own, metric } => (neighbor, own, 1, metric),
            Self::Transit { designated, own, metric } => (designated, own, 2, metric),
            Self::Stub { network, mask, metric } => (network, mask, 3, metric),
            Self::Virtual { neighbor, own, metric } => (neighbor, own, 4, metric),
        };
        bytes.extend(id.octets());
        bytes.extend(data.octets());
        let [high, low] = metric.to_be_bytes();
        bytes.extend([kind, 0, high, low]);
    }
}
