//! What a route says of itself beyond where it leads.

use super::evpn::number;
use super::{array, take};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Where a route came from, RFC 4271 section 5.1.1: the smaller the better.
pub mod origin {
    /// From inside its AS.
    pub const IGP: u8 = 0;
    /// From the exterior gateway protocol of old.
    pub const EGP: u8 = 1;
    /// From elsewhere.
    pub const INCOMPLETE: u8 = 2;
}

/// How packets reach many, RFC 6514 section 5.
pub mod tunnel {
    /// A copy to each (ingress replication).
    pub const INGRESS_REPLICATION: u8 = 6;
}

/// Types of tunnels that packets are sent in, RFC 9012 section 3.1.
const VXLAN: u16 = 8;

/// What a route says of itself, as far as a speaker that passes none on has to know it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Attributes {
    /// Where it came from: [`origin`].
    pub origin: u8,
    /// The ASes it came through.
    pub as_path: AsPath,
    /// How its AS prefers it, within that AS.
    pub local_preference: Option<u32>,
    /// Who announced it first, where reflectors passed it on (RFC 4456).
    pub originator: Option<Ipv4Addr>,
    /// The clusters of the reflectors it came through.
    pub clusters: Vec<Ipv4Addr>,
    /// Marks.
    pub communities: Vec<ExtendedCommunity>,
    /// How what is for all is sent there.
    pub tunnel: Option<Tunnel>,
}

/// The ASes that a route came through, the nearest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AsPath {
    /// All of them.
    pub numbers: Vec<u32>,
    /// How long the path counts as: a set as one, a confederation's own not at all (RFC 4271 section 9.1.2.2, RFC 5065).
    pub length: usize,
}

/// A mark of eight bytes, RFC 4360.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExtendedCommunity {
    /// Who shall take the route: an AS of two bytes, and a number.
    RouteTarget {
        /// The AS.
        as_number: u16,
        /// The number.
        number: u32,
    },
    /// In what packets are sent there, RFC 9012 section 4.1.
    Encapsulation(u16),
    /// How often a station has moved, RFC 7432 section 7.7.
    MacMobility {
        /// It never moves.
        is_sticky: bool,
        /// The number of its moves.
        sequence: u32,
    },
    /// What is not known here.
    Other([u8; 8]),
}

impl ExtendedCommunity {
    /// Packets are sent in VXLAN, RFC 8365 section 5.1.3.
    pub const VXLAN: Self = Self::Encapsulation(VXLAN);

    fn of(bytes: [u8; 8]) -> Self {
        let [kind, of_kind, a, b, c, d, e, g] = bytes;
        let number = u32::from_be_bytes([c, d, e, g]);
        match (kind, of_kind) {
            (0x00, 0x02) => Self::RouteTarget { as_number: u16::from_be_bytes([a, b]), number },
            (0x03, 0x0c) => Self::Encapsulation(u16::from_be_bytes([e, g])),
            (0x06, 0x00) => Self::MacMobility { is_sticky: a & 1 != 0, sequence: number },
            _ => Self::Other(bytes),
        }
    }

    fn bytes(self) -> [u8; 8] {
        let put = |kind: u8, of_kind: u8, [a, b]: [u8; 2], number: u32| {
            let [c, d, e, g] = number.to_be_bytes();
            [kind, of_kind, a, b, c, d, e, g]
        };
        match self {
            Self::RouteTarget { as_number, number } => put(0, 2, as_number.to_be_bytes(), number),
            Self::Encapsulation(kind) => put(3, 0xc, [0, 0], kind.into()),
            Self::MacMobility { is_sticky, sequence } => put(6, 0, [is_sticky.into(), 0], sequence),
            Self::Other(bytes) => bytes,
        }
    }
}

/// How what is for all is sent to who wants it (a PMSI tunnel, RFC 6514 section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tunnel {
    /// How: [`tunnel`].
    pub kind: u8,
    /// The VNI, where others have a label.
    pub vni: u32,
    /// Where to, of ingress replication.
    pub endpoint: Option<IpAddr>,
}

pub(super) mod kind {
    pub const ORIGIN: u8 = 1;
    pub const AS_PATH: u8 = 2;
    pub const LOCAL_PREFERENCE: u8 = 5;
    pub const ORIGINATOR: u8 = 9;
    pub const CLUSTERS: u8 = 10;
    pub const REACH: u8 = 14;
    pub const UNREACH: u8 = 15;
    pub const COMMUNITIES: u8 = 16;
    pub const TUNNEL: u8 = 22;
}

pub(super) const OPTIONAL: u8 = 0x80;
const TRANSITIVE: u8 = 0x40;
const EXTENDED_LENGTH: u8 = 0x10;

impl Attributes {
    /// Reads the value of an attribute; nothing of one that is malformed. What is not known is left out.
    pub(super) fn take(&mut self, kind: u8, mut value: &[u8]) -> Option<()> {
        match kind {
            kind::ORIGIN => match value {
                [word @ origin::IGP..=origin::INCOMPLETE] => self.origin = *word,
                _ => return None,
            },
            kind::AS_PATH => self.as_path = AsPath::parse(value)?,
            kind::LOCAL_PREFERENCE => {
                self.local_preference = Some(u32::from_be_bytes(value.try_into().ok()?))
            }
            kind::ORIGINATOR => {
                let address: [u8; 4] = value.try_into().ok()?;
                self.originator = Some(address.into());
            }
            kind::CLUSTERS => {
                let (clusters, []) = value.as_chunks::<4>() else { return None };
                self.clusters = clusters.iter().map(|cluster| Ipv4Addr::from(*cluster)).collect();
            }
            kind::COMMUNITIES => {
                let (communities, []) = value.as_chunks::<8>() else { return None };
                self.communities = communities.iter().map(|bytes| ExtendedCommunity::of(*bytes)).collect();
            }
            kind::TUNNEL => {
                let [_flags, kind, high, middle, low] = array(&mut value)?;
                let endpoint = match (kind, value.len()) {
                    (tunnel::INGRESS_REPLICATION, 4) => Some(Ipv4Addr::from(array::<4>(&mut value)?).into()),
                    (tunnel::INGRESS_REPLICATION, 16) => {
                        Some(Ipv6Addr::from(array::<16>(&mut value)?).into())
                    }
                    (tunnel::INGRESS_REPLICATION, _) => return None,
                    _ => None,
                };
                self.tunnel = Some(Tunnel { kind, vni: number([high, middle, low]), endpoint });
            }
            _ => {}
        }
        Some(())
    }

    pub(super) fn emit(&self, bytes: &mut Vec<u8>) {
        put(bytes, TRANSITIVE, kind::ORIGIN, &[self.origin]);
        put(bytes, TRANSITIVE, kind::AS_PATH, &self.as_path.bytes());
        if let Some(preference) = self.local_preference {
            put(bytes, TRANSITIVE, kind::LOCAL_PREFERENCE, &preference.to_be_bytes());
        }
        if let Some(originator) = self.originator {
            put(bytes, OPTIONAL, kind::ORIGINATOR, &originator.octets());
        }
        if !self.clusters.is_empty() {
            let clusters: Vec<u8> = self.clusters.iter().flat_map(|cluster| cluster.octets()).collect();
            put(bytes, OPTIONAL, kind::CLUSTERS, &clusters);
        }
        if !self.communities.is_empty() {
            let communities: Vec<u8> = self.communities.iter().flat_map(|mark| mark.bytes()).collect();
            put(bytes, OPTIONAL | TRANSITIVE, kind::COMMUNITIES, &communities);
        }
        if let Some(Tunnel { kind, vni, endpoint }) = self.tunnel {
            let mut value = vec![0, kind];
            value.extend(&vni.to_be_bytes()[1..]);
            match endpoint {
                Some(IpAddr::V4(four)) => value.extend(four.octets()),
                Some(IpAddr::V6(six)) => value.extend(six.octets()),
                None => {}
            }
            put(bytes, OPTIONAL | TRANSITIVE, kind::TUNNEL, &value);
        }
    }
}

impl AsPath {
    /// A path through these, the nearest first.
    pub fn of(numbers: Vec<u32>) -> Self {
        Self { length: numbers.len(), numbers }
    }

    fn parse(mut value: &[u8]) -> Option<Self> {
        let mut path = Self::default();
        while !value.is_empty() {
            let [kind, count] = array(&mut value)?;
            if count == 0 {
                return None;
            }
            let (segment, []) = take(&mut value, usize::from(count) * 4)?.as_chunks::<4>() else {
                return None;
            };
            path.numbers.extend(segment.iter().map(|number| u32::from_be_bytes(*number)));
            path.length += match kind {
                // A set, a sequence, and those of confederations.
                1 => 1,
                2 => usize::from(count),
                3 | 4 => 0,
                _ => return None,
            };
        }
        Some(path)
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for sequence in self.numbers.chunks(255) {
            bytes.extend([2, sequence.len() as u8]);
            bytes.extend(sequence.iter().flat_map(|number| number.to_be_bytes()));
        }
        bytes
    }
}

/// An attribute behind its flags, type and length.
pub(super) fn put(bytes: &mut Vec<u8>, flags: u8, kind: u8, value: &[u8]) {
    match u8::try_from(value.len()) {
        Ok(length) => bytes.extend([flags, kind, length]),
        Err(_) => {
            bytes.extend([flags | EXTENDED_LENGTH, kind]);
            bytes.extend((value.len() as u16).to_be_bytes());
        }
    }
    bytes.extend(value);
}

/// An attribute off the front: flags, type, value. Nothing where it overruns its message.
pub(super) fn next<'a>(bytes: &mut &'a [u8]) -> Option<(u8, u8, &'a [u8])> {
    let [flags, kind] = array(bytes)?;
    let length = match flags & EXTENDED_LENGTH {
        0 => usize::from(array::<1>(bytes)?[0]),
        _ => usize::from(u16::from_be_bytes(array(bytes)?)),
    };
    Some((flags, kind, take(bytes, length)?))
}

/// Whether flags are those that an attribute known here has (RFC 7606 section 3 c).
pub(super) fn has_its_flags(flags: u8, kind: u8) -> bool {
    let wanted = match kind {
        kind::ORIGIN | kind::AS_PATH | kind::LOCAL_PREFERENCE => TRANSITIVE,
        kind::ORIGINATOR | kind::CLUSTERS | kind::REACH | kind::UNREACH => OPTIONAL,
        kind::COMMUNITIES | kind::TUNNEL => OPTIONAL | TRANSITIVE,
        _ => return true,
    };
    flags & (OPTIONAL | TRANSITIVE) == wanted
}
