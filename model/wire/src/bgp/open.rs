//! OPEN, RFC 4271 section 4.2, with capabilities, RFC 5492.

use super::{Violation, array, code, take};
use std::net::Ipv4Addr;

/// What stands in two bytes for an AS number of four, RFC 6793.
const AS_TRANS: u16 = 23456;
/// The optional parameter that holds capabilities.
const CAPABILITIES: u8 = 2;
/// The length, and the type, of optional parameters that are longer than 255 bytes, RFC 9072.
const EXTENDED: u8 = 255;

/// A family of addresses, RFC 4760.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Family {
    /// The address family.
    pub afi: u16,
    /// The subsequent one.
    pub safi: u8,
}

impl Family {
    /// EVPN, RFC 7432.
    pub const EVPN: Self = Self { afi: 25, safi: 70 };
}

/// What a speaker says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Open {
    /// Its AS.
    pub as_number: u32,
    /// Seconds of silence after which the session ends; 0 never. Of both sides the smaller counts.
    pub hold: u16,
    /// Its identifier.
    pub id: Ipv4Addr,
    /// What it can, but for AS numbers of four bytes, which go with `as_number`.
    pub capabilities: Vec<Capability>,
    /// Whether it can AS numbers of four bytes, RFC 6793.
    pub has_long_as: bool,
}

/// What a speaker can.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Capability {
    /// Routes of a family.
    MultiProtocol(Family),
    /// To be asked for all routes once more, RFC 2918.
    RouteRefresh,
    /// To start again while its packets go on, RFC 4724; who can says End-of-RIB, too.
    GracefulRestart {
        /// Whether it did just now.
        is_restarting: bool,
        /// Seconds in which it will be back.
        time: u16,
        /// Families, and of each whether packets went on.
        families: Vec<(Family, bool)>,
    },
    /// What is not known here.
    Other {
        /// Its code.
        code: u8,
        /// What belongs to it.
        value: Vec<u8>,
    },
}

impl Open {
    pub(super) fn parse(body: &[u8]) -> Result<Self, Violation> {
        let malformed = || Violation::new(code::OPEN, 0, "an OPEN whose lengths do not fit");
        let mut rest = body;
        let fixed: [u8; 10] = array(&mut rest).ok_or_else(malformed)?;
        if fixed[0] != 4 {
            return Err(Violation::new(code::OPEN, 1, "another version of BGP").showing(&[0, 4]));
        }
        let hold = u16::from_be_bytes([fixed[3], fixed[4]]);
        if matches!(hold, 1 | 2) {
            return Err(Violation::new(code::OPEN, 6, "a hold time below three seconds"));
        }
        let id = Ipv4Addr::new(fixed[5], fixed[6], fixed[7], fixed[8]);
        if id.is_unspecified() {
            return Err(Violation::new(code::OPEN, 3, "0.0.0.0 identifies nobody"));
        }
        let is_extended = fixed[9] == EXTENDED && rest.first() == Some(&EXTENDED);
        let length = if is_extended {
            rest = &rest[1..];
            usize::from(u16::from_be_bytes(array(&mut rest).ok_or_else(malformed)?))
        } else {
            usize::from(fixed[9])
        };
        if length != rest.len() {
            return Err(malformed());
        }
        let mut open = Self {
            as_number: u16::from_be_bytes([fixed[1], fixed[2]]).into(),
            hold,
            id,
            capabilities: Vec::new(),
            has_long_as: false,
        };
        while !rest.is_empty() {
            let [kind] = array(&mut rest).ok_or_else(malformed)?;
            let length = match is_extended {
                true => usize::from(u16::from_be_bytes(array(&mut rest).ok_or_else(malformed)?)),
                false => usize::from(array::<1>(&mut rest).ok_or_else(malformed)?[0]),
            };
            let value = take(&mut rest, length).ok_or_else(malformed)?;
            if kind != CAPABILITIES {
                return Err(Violation::new(code::OPEN, 4, "an optional parameter that is none"));
            }
            open.take_capabilities(value).ok_or_else(malformed)?;
        }
        if open.as_number == 0 {
            return Err(Violation::new(code::OPEN, 2, "0 is no AS"));
        }
        Ok(open)
    }

    fn take_capabilities(&mut self, mut rest: &[u8]) -> Option<()> {
        while !rest.is_empty() {
            let [code, length] = array(&mut rest)?;
            let value = take(&mut rest, length.into())?;
            match (code, value) {
                (1, [afi @ .., _, safi]) => {
                    let family = Family { afi: u16::from_be_bytes(afi.try_into().ok()?), safi: *safi };
                    self.capabilities.push(Capability::MultiProtocol(family));
                }
                (2, []) => self.capabilities.push(Capability::RouteRefresh),
                (64, [flags, seconds, families @ ..]) if families.len().is_multiple_of(4) => {
                    let of = |family: &[u8]| {
                        let afi = u16::from_be_bytes([family[0], family[1]]);
                        (Family { afi, safi: family[2] }, family[3] & 0x80 != 0)
                    };
                    self.capabilities.push(Capability::GracefulRestart {
                        is_restarting: flags & 0x80 != 0,
                        time: u16::from_be_bytes([flags & 0xf, *seconds]),
                        families: families.chunks_exact(4).map(of).collect(),
                    });
                }
                (65, value) => {
                    self.as_number = u32::from_be_bytes(value.try_into().ok()?);
                    self.has_long_as = true;
                }
                (code, value) => self.capabilities.push(Capability::Other { code, value: value.to_vec() }),
            }
        }
        Some(())
    }

    pub(super) fn emit(&self, bytes: &mut Vec<u8>) {
        bytes.push(4);
        bytes.extend(u16::try_from(self.as_number).unwrap_or(AS_TRANS).to_be_bytes());
        bytes.extend(self.hold.to_be_bytes());
        bytes.extend(self.id.octets());
        let mut capabilities = Vec::new();
        let mut put = |code: u8, value: &[u8]| {
            capabilities.extend([code, value.len() as u8]);
            capabilities.extend(value);
        };
        for capability in &self.capabilities {
            match capability {
                Capability::MultiProtocol(Family { afi, safi }) => {
                    let [high, low] = afi.to_be_bytes();
                    put(1, &[high, low, 0, *safi]);
                }
                Capability::RouteRefresh => put(2, &[]),
                Capability::GracefulRestart { is_restarting, time, families } => {
                    let [high, low] = time.to_be_bytes();
                    let mut value = vec![high & 0xf | u8::from(*is_restarting) << 7, low];
                    for (Family { afi, safi }, goes_on) in families {
                        value.extend(afi.to_be_bytes());
                        value.extend([*safi, u8::from(*goes_on) << 7]);
                    }
                    put(64, &value);
                }
                Capability::Other { code, value } => put(*code, value),
            }
        }
        if self.has_long_as {
            put(65, &self.as_number.to_be_bytes());
        }
        // RFC 9072: what is longer than a byte can say has lengths of two.
        match u8::try_from(capabilities.len()) {
            Ok(0) => bytes.push(0),
            Ok(length) if length <= EXTENDED - 3 => bytes.extend([length + 2, CAPABILITIES, length]),
            _ => {
                bytes.extend([EXTENDED, EXTENDED]);
                bytes.extend((capabilities.len() as u16 + 3).to_be_bytes());
                bytes.push(CAPABILITIES);
                bytes.extend((capabilities.len() as u16).to_be_bytes());
            }
        }
        bytes.extend(capabilities);
    }
}
