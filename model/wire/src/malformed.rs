//! Why bytes are no packet.

use thiserror::Error;

/// Bytes that are not what their protocol asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("malformed {protocol}: {fault}")]
pub struct Malformed {
    /// The protocol, as people call it.
    pub protocol: &'static str,
    /// What is wrong.
    pub fault: Fault,
}

/// What is wrong with a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Fault {
    /// There are fewer bytes than the header, or a length in it, asks for.
    #[error("{have} bytes where {need} belong")]
    Truncated {
        /// Bytes that belong there.
        need: usize,
        /// Bytes that are there.
        have: usize,
    },
    /// A version that this is not a parser for.
    #[error("version {0}")]
    Version(u8),
    /// A length that contradicts the header's own size.
    #[error("its length says {0}")]
    Length(usize),
    /// The checksum does not fit the bytes.
    #[error("its checksum does not fit")]
    Checksum,
    /// A field that must have another value: a flag that must be set, a reserved bit that must not.
    #[error("its {0} must not be so")]
    Field(&'static str),
}

impl Fault {
    pub(crate) fn of(self, protocol: &'static str) -> Malformed {
        Malformed { protocol, fault: self }
    }
}

/// The first bytes as a header, and what follows.
#[inline]
pub(crate) fn split<'a, H>(bytes: &'a [u8], protocol: &'static str) -> Result<(&'a H, &'a [u8]), Malformed>
where
    H: zerocopy::FromBytes + zerocopy::Immutable + zerocopy::KnownLayout + zerocopy::Unaligned,
{
    H::ref_from_prefix(bytes)
        .map_err(|_| Fault::Truncated { need: size_of::<H>(), have: bytes.len() }.of(protocol))
}

/// So many bytes, and what follows.
#[inline]
pub(crate) fn take<'a>(
    bytes: &'a [u8],
    need: usize,
    protocol: &'static str,
) -> Result<(&'a [u8], &'a [u8]), Malformed> {
    bytes.split_at_checked(need).ok_or(Fault::Truncated { need, have: bytes.len() }.of(protocol))
}
