//! UPDATE, RFC 4271 section 4.3, with routes of EVPN in it as RFC 4760 has them.

use super::attribute::{OPTIONAL, has_its_flags, kind, next, put};
use super::{Attributes, Family, Route, Violation, array, code, take};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Routes that came and went.
///
/// What is wrong with attributes alone ends no session (RFC 7606): the routes that came with them are treated as
/// withdrawn, and [`fault`](Self::fault) says why.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Update {
    /// Routes that lead there from now on, to the next hop, with these attributes.
    pub reached: Vec<Route>,
    /// Where their packets are sent.
    pub next_hop: Option<IpAddr>,
    /// What is said of them.
    pub attributes: Attributes,
    /// Routes that lead nowhere any more.
    pub withdrawn: Vec<Route>,
    /// Whether this says that all there is of EVPN was told (End-of-RIB, RFC 4724).
    pub is_end: bool,
    /// What was wrong with the attributes of routes that are treated as withdrawn.
    pub fault: Option<&'static str>,
}

impl Update {
    /// That all there is was told.
    pub fn end() -> Self {
        Self { is_end: true, ..Self::default() }
    }

    pub(super) fn parse(body: &[u8]) -> Result<Self, Violation> {
        let malformed = || Violation::new(code::UPDATE, 1, "an UPDATE whose lengths do not fit");
        let mut rest = body;
        let mut field = || -> Option<&[u8]> {
            let length = u16::from_be_bytes(array(&mut rest)?);
            take(&mut rest, length.into())
        };
        // Routes of IPv4 stand outside the attributes. They were not asked for, and are not looked at.
        let _withdrawn = field().ok_or_else(malformed)?;
        let mut attributes = field().ok_or_else(malformed)?;

        let mut update = Self::default();
        let mut seen = BTreeSet::new();
        while !attributes.is_empty() {
            let Some((flags, kind, value)) = next(&mut attributes) else {
                update.fault = Some("an attribute overruns its message");
                break;
            };
            let is_first = seen.insert(kind);
            match kind {
                kind::REACH | kind::UNREACH if !is_first => return Err(malformed()),
                // Of what is said twice the first counts.
                _ if !is_first => continue,
                kind::REACH => update.take_reached(value)?,
                kind::UNREACH => update.take_withdrawn(value)?,
                // MED and NEXT_HOP, whose part next hops within REACH have, are known and not needed.
                3 | 4 => {}
                _ if flags & OPTIONAL == 0 && !is_known(kind) => {
                    return Err(Violation::new(
                        code::UPDATE,
                        2,
                        "an unknown attribute that everybody must know",
                    ));
                }
                _ if update.attributes.take(kind, value).is_none() => {
                    update.fault = Some("an attribute is malformed")
                }
                _ => {}
            }
            if !has_its_flags(flags, kind) {
                update.fault = Some("an attribute has flags that it cannot have");
            }
        }
        if !update.reached.is_empty() {
            for kind in [kind::ORIGIN, kind::AS_PATH] {
                if !seen.contains(&kind) {
                    update.fault = Some("an attribute is missing");
                }
            }
        }
        if update.fault.is_some() {
            let reached = std::mem::take(&mut update.reached);
            update.withdrawn.extend(reached);
        }
        Ok(update)
    }

    fn take_reached(&mut self, mut value: &[u8]) -> Result<(), Violation> {
        let malformed = || Violation::new(code::UPDATE, 9, "routes that cannot be read");
        let [afi, afi_low, safi, length] = array(&mut value).ok_or_else(malformed)?;
        let next_hop = take(&mut value, length.into()).ok_or_else(malformed)?;
        let _reserved: [u8; 1] = array(&mut value).ok_or_else(malformed)?;
        if (Family { afi: u16::from_be_bytes([afi, afi_low]), safi }) != Family::EVPN {
            return Ok(());
        }
        self.reached = routes(value)?;
        self.next_hop = match next_hop.len() {
            4 => next_hop.try_into().ok().map(|bytes: [u8; 4]| Ipv4Addr::from(bytes).into()),
            // Behind an address of everywhere may stand one of the link (RFC 2545 section 3).
            16 | 32 => next_hop.first_chunk::<16>().map(|bytes| Ipv6Addr::from(*bytes).into()),
            _ => None,
        };
        if self.next_hop.is_none() {
            self.fault = Some("a next hop is no address");
        }
        Ok(())
    }

    fn take_withdrawn(&mut self, mut value: &[u8]) -> Result<(), Violation> {
        let malformed = || Violation::new(code::UPDATE, 9, "routes that cannot be read");
        let [afi, afi_low, safi] = array(&mut value).ok_or_else(malformed)?;
        if (Family { afi: u16::from_be_bytes([afi, afi_low]), safi }) != Family::EVPN {
            return Ok(());
        }
        self.is_end = value.is_empty();
        self.withdrawn = routes(value)?;
        Ok(())
    }

    pub(super) fn emit(&self, bytes: &mut Vec<u8>) {
        let Family { afi, safi } = Family::EVPN;
        let family = [afi.to_be_bytes()[0], afi.to_be_bytes()[1], safi];
        let mut attributes = Vec::new();
        if !self.withdrawn.is_empty() || self.is_end {
            let mut value = family.to_vec();
            self.withdrawn.iter().for_each(|route| route.emit(&mut value));
            put(&mut attributes, OPTIONAL, kind::UNREACH, &value);
        }
        if let Some(next_hop) = self.next_hop.filter(|_| !self.reached.is_empty()) {
            let mut value = family.to_vec();
            match next_hop {
                IpAddr::V4(four) => {
                    value.push(4);
                    value.extend(four.octets());
                }
                IpAddr::V6(six) => {
                    value.push(16);
                    value.extend(six.octets());
                }
            }
            value.push(0);
            self.reached.iter().for_each(|route| route.emit(&mut value));
            put(&mut attributes, OPTIONAL, kind::REACH, &value);
            self.attributes.emit(&mut attributes);
        }
        bytes.extend([0, 0]);
        bytes.extend((attributes.len() as u16).to_be_bytes());
        bytes.extend(attributes);
    }
}

fn is_known(kind: u8) -> bool {
    matches!(kind, kind::ORIGIN | kind::AS_PATH | kind::LOCAL_PREFERENCE)
        // ATOMIC_AGGREGATE says nothing that matters here.
        || kind == 6
}

fn routes(mut bytes: &[u8]) -> Result<Vec<Route>, Violation> {
    let mut routes = Vec::new();
    while !bytes.is_empty() {
        match Route::parse(&mut bytes) {
            Some(route) => routes.extend(route),
            None => return Err(Violation::new(code::UPDATE, 10, "a route that cannot be")),
        }
    }
    Ok(routes)
}
