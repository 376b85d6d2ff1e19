//! Hello, RFC 2328 appendix A.3.2.

use super::{address, all, array};
use crate::Malformed;
use std::net::Ipv4Addr;

/// The bits of options, RFC 2328 appendix A.2 with those of RFC 3101 and RFC 5250.
pub mod options {
    /// Routes from outside are taken.
    pub const EXTERNAL: u8 = 0x02;
    /// The area is not so stubby.
    pub const NSSA: u8 = 0x08;
    /// Opaque advertisements are passed on.
    pub const OPAQUE: u8 = 0x40;
}

/// That a router is there, and whom it hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// The mask of the link's addresses.
    pub mask: Ipv4Addr,
    /// Seconds between two of these.
    pub interval: u16,
    /// What it can: [`options`].
    pub options: u8,
    /// How much it wants to be designated; 0 for not at all.
    pub priority: u8,
    /// Seconds without any after which it is taken for dead.
    pub dead_interval: u32,
    /// The designated router's address on the link, or 0.0.0.0.
    pub designated: Ipv4Addr,
    /// That of its backup.
    pub backup: Ipv4Addr,
    /// IDs of the routers that it hears.
    pub neighbors: Vec<Ipv4Addr>,
}

impl Hello {
    pub(super) fn parse(mut bytes: &[u8]) -> Result<Self, Malformed> {
        let rest = &mut bytes;
        let mask = address(rest)?;
        let interval = u16::from_be_bytes(array(rest)?);
        let [options, priority] = array(rest)?;
        Ok(Self {
            mask,
            interval,
            options,
            priority,
            dead_interval: u32::from_be_bytes(array(rest)?),
            designated: address(rest)?,
            backup: address(rest)?,
            neighbors: all(rest, address)?,
        })
    }

    pub(super) fn emit(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.mask.octets());
        bytes.extend(self.interval.to_be_bytes());
        bytes.extend([self.options, self.priority]);
        bytes.extend(self.dead_interval.to_be_bytes());
        bytes.extend(self.designated.octets());
        bytes.extend(self.backup.octets());
        bytes.extend(self.neighbors.iter().flat_map(Ipv4Addr::octets));
    }
}
