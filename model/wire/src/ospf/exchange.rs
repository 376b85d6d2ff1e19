//! How two routers bring their databases into line: RFC 2328 appendices A.3.3 and A.3.4.

use super::{LsaHeader, LsaKey, NAME, all, array};
use crate::{Fault, Malformed};

/// The bits of [`Description::flags`].
pub mod description_flags {
    /// The sender is the master.
    pub const MASTER: u8 = 0x01;
    /// More follow.
    pub const MORE: u8 = 0x02;
    /// It is the first.
    pub const INITIAL: u8 = 0x04;
}

/// What is in its sender's database, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// The longest packet that the sender's interface takes.
    pub mtu: u16,
    /// What it can: [`options`](super::options).
    pub options: u8,
    /// [`description_flags`].
    pub flags: u8,
    /// Its number: the master counts, the slave repeats.
    pub sequence: u32,
    /// Advertisements, without what they say.
    pub headers: Vec<LsaHeader>,
}

impl Description {
    pub(super) fn parse(mut bytes: &[u8]) -> Result<Self, Malformed> {
        let rest = &mut bytes;
        let mtu = u16::from_be_bytes(array(rest)?);
        let [options, flags] = array(rest)?;
        let sequence = u32::from_be_bytes(array(rest)?);
        Ok(Self { mtu, options, flags, sequence, headers: all(rest, LsaHeader::take)? })
    }

    pub(super) fn emit(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.mtu.to_be_bytes());
        bytes.extend([self.options, self.flags]);
        bytes.extend(self.sequence.to_be_bytes());
        self.headers.iter().for_each(|header| header.emit(bytes));
    }
}

/// An advertisement that is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Request(pub LsaKey);

impl Request {
    pub(super) fn parse(bytes: &mut &[u8]) -> Result<Self, Malformed> {
        let kind = u32::from_be_bytes(array(bytes)?);
        let kind = u8::try_from(kind).map_err(|_| Fault::Field("type of advertisement").of(NAME))?;
        Ok(Self(LsaKey { kind, id: super::address(bytes)?, router: super::address(bytes)? }))
    }

    pub(super) fn emit(&self, bytes: &mut Vec<u8>) {
        bytes.extend(u32::from(self.0.kind).to_be_bytes());
        bytes.extend(self.0.id.octets());
        bytes.extend(self.0.router.octets());
    }
}
