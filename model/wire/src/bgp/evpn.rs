//! Routes of EVPN, RFC 7432 section 7: types 2 and 3.

use super::{array, take};
use crate::ethernet::Mac;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const MAC_IP: u8 = 2;
const MULTICAST: u8 = 3;

/// What keeps the routes of one speaker and virtual network apart from others' (a route distinguisher, RFC 4364 section
/// 4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Distinguisher(pub [u8; 8]);

impl Distinguisher {
    /// Type 1: an IPv4 address and a number.
    pub fn of(address: Ipv4Addr, number: u16) -> Self {
        let [a, b, c, d] = address.octets();
        let [high, low] = number.to_be_bytes();
        Self([0, 1, a, b, c, d, high, low])
    }
}

impl fmt::Display for Distinguisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [kind_high, kind, a, b, c, d, e, g] = self.0;
        match [kind_high, kind] {
            [0, 0] => write!(f, "{}:{}", u16::from_be_bytes([a, b]), u32::from_be_bytes([c, d, e, g])),
            [0, 1] => write!(f, "{a}.{b}.{c}.{d}:{}", u16::from_be_bytes([e, g])),
            [0, 2] => write!(f, "{}:{}", u32::from_be_bytes([a, b, c, d]), u16::from_be_bytes([e, g])),
            _ => write!(f, "{:016x}", u64::from_be_bytes(self.0)),
        }
    }
}

/// A route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Route {
    /// Type 2: where a station is.
    MacIp(MacIp),
    /// Type 3: who wants what is for all (an inclusive multicast Ethernet tag route).
    Multicast(Multicast),
}

/// Where a station is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacIp {
    /// Whose.
    pub distinguisher: Distinguisher,
    /// The Ethernet segment; all noughts of a station with one way to it.
    pub segment: [u8; 10],
    /// The Ethernet tag; 0 where the VNI says all.
    pub tag: u32,
    /// The station.
    pub mac: Mac,
    /// One of its addresses.
    pub ip: Option<IpAddr>,
    /// The VNI, which stands where others have an MPLS label (RFC 8365 section 5.1.3).
    pub vni: u32,
    /// The VNI of routed packets.
    pub routed_vni: Option<u32>,
}

/// Who wants what is for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Multicast {
    /// Whose.
    pub distinguisher: Distinguisher,
    /// The Ethernet tag; 0 where the VNI says all.
    pub tag: u32,
    /// Who announced it first.
    pub originator: IpAddr,
}

/// What tells a route from others: one with the same key takes its place (RFC 7432 sections 7.2 and 7.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RouteKey {
    /// Of a station.
    MacIp(Distinguisher, u32, Mac, Option<IpAddr>),
    /// Of who wants what is for all.
    Multicast(Distinguisher, u32, IpAddr),
}

impl Route {
    /// What tells it from others.
    pub fn key(&self) -> RouteKey {
        match self {
            Self::MacIp(route) => RouteKey::MacIp(route.distinguisher, route.tag, route.mac, route.ip),
            Self::Multicast(route) => RouteKey::Multicast(route.distinguisher, route.tag, route.originator),
        }
    }

    /// Reads one off the front: none of a type that is not known here, which RFC 7606 section 5.4 has left out. Nothing
    /// where the bytes are no route, nor anything after them.
    #[allow(clippy::option_option, reason = "no route is not the same as a route of no interest")]
    pub(super) fn parse(bytes: &mut &[u8]) -> Option<Option<Self>> {
        let [kind, length] = array(bytes)?;
        let mut rest = take(bytes, length.into())?;
        let route = match kind {
            MAC_IP => {
                let distinguisher = Distinguisher(array(&mut rest)?);
                let segment = array(&mut rest)?;
                let tag = u32::from_be_bytes(array(&mut rest)?);
                let [48] = array(&mut rest)? else { return None };
                let mac = Mac(array(&mut rest)?);
                let [bits] = array(&mut rest)?;
                let ip = if bits == 0 { None } else { Some(address(bits, &mut rest)?) };
                let vni = number(array(&mut rest)?);
                let routed_vni = if rest.is_empty() { None } else { Some(number(array(&mut rest)?)) };
                Self::MacIp(MacIp { distinguisher, segment, tag, mac, ip, vni, routed_vni })
            }
            MULTICAST => {
                let distinguisher = Distinguisher(array(&mut rest)?);
                let tag = u32::from_be_bytes(array(&mut rest)?);
                let [bits] = array(&mut rest)?;
                let originator = address(bits, &mut rest)?;
                Self::Multicast(Multicast { distinguisher, tag, originator })
            }
            _ => return Some(None),
        };
        rest.is_empty().then_some(Some(route))
    }

    pub(super) fn emit(&self, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        match self {
            Self::MacIp(route) => {
                bytes.extend([MAC_IP, 0]);
                bytes.extend(route.distinguisher.0);
                bytes.extend(route.segment);
                bytes.extend(route.tag.to_be_bytes());
                bytes.push(48);
                bytes.extend(route.mac.0);
                match route.ip {
                    None => bytes.push(0),
                    Some(ip) => put_address(ip, bytes),
                }
                bytes.extend(&route.vni.to_be_bytes()[1..]);
                if let Some(vni) = route.routed_vni {
                    bytes.extend(&vni.to_be_bytes()[1..]);
                }
            }
            Self::Multicast(route) => {
                bytes.extend([MULTICAST, 0]);
                bytes.extend(route.distinguisher.0);
                bytes.extend(route.tag.to_be_bytes());
                put_address(route.originator, bytes);
            }
        }
        bytes[start + 1] = (bytes.len() - start - 2) as u8;
    }
}

fn address(bits: u8, rest: &mut &[u8]) -> Option<IpAddr> {
    match bits {
        32 => Some(Ipv4Addr::from(array::<4>(rest)?).into()),
        128 => Some(Ipv6Addr::from(array::<16>(rest)?).into()),
        _ => None,
    }
}

/// An address behind its length in bits.
fn put_address(address: IpAddr, bytes: &mut Vec<u8>) {
    match address {
        IpAddr::V4(four) => {
            bytes.push(32);
            bytes.extend(four.octets());
        }
        IpAddr::V6(six) => {
            bytes.push(128);
            bytes.extend(six.octets());
        }
    }
}

/// A VNI where others have a label: all of its 24 bits.
pub(super) fn number([high, middle, low]: [u8; 3]) -> u32 {
    u32::from_be_bytes([0, high, middle, low])
}
