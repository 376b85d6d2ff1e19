//! The header that every version has, and how a stream of bytes is cut into messages by it.

use crate::layout::{U16, U32};
use crate::malformed::{split, take};
use crate::{Fault, Malformed};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

pub(crate) const NAME: &str = "OpenFlow";

/// ```text
///  0         1      2        4                8
/// ┌─────────┬──────┬────────┬────────────────┐
/// │ version │ type │ length │  transaction   │
/// └─────────┴──────┴────────┴────────────────┘
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Header {
    /// [`v10::VERSION`](super::v10::VERSION), [`v13::VERSION`](super::v13::VERSION) or another.
    pub version: u8,
    /// What the message is, by the version's own table.
    pub kind: u8,
    /// Bytes of the message, these eight with it.
    pub length: U16,
    /// What a reply has from its request.
    pub xid: U32,
}

impl Header {
    /// Bytes on the wire.
    pub const LENGTH: usize = size_of::<Self>();
}

/// A message of any version and type: its header, and what follows.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    header: &'a Header,
    body: &'a [u8],
}

impl<'a> Frame<'a> {
    /// A message of exactly these bytes.
    ///
    /// # Errors
    /// Fewer or more bytes than its length says.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        match chop(bytes)? {
            Some((frame, [])) => Ok(frame),
            Some(_) => Err(Fault::Length(frame_length(bytes)).of(NAME)),
            None => {
                let need = frame_length(bytes).max(Header::LENGTH);
                Err(Fault::Truncated { need, have: bytes.len() }.of(NAME))
            }
        }
    }

    /// The version it is of, whichever that is.
    #[inline]
    pub fn version(&self) -> u8 {
        self.header.version
    }

    /// What it is, by the version's own table.
    #[inline]
    pub fn kind(&self) -> u8 {
        self.header.kind
    }

    /// What a reply has from its request.
    #[inline]
    pub fn xid(&self) -> u32 {
        self.header.xid.get()
    }

    /// What follows the header: of an echo, its data.
    #[inline]
    pub fn body(&self) -> &'a [u8] {
        self.body
    }
}

/// How many bytes the next message has, if its header has come already.
///
/// # Errors
/// A length that is shorter than a header. Whoever sent it has lost count: nothing after it can be found.
#[inline]
pub fn length_of_next(bytes: &[u8]) -> Result<Option<usize>, Malformed> {
    match Header::ref_from_prefix(bytes) {
        Err(_) => Ok(None),
        Ok((header, _)) if usize::from(header.length.get()) < Header::LENGTH => {
            Err(Fault::Length(header.length.get().into()).of(NAME))
        }
        Ok((header, _)) => Ok(Some(header.length.get().into())),
    }
}

/// The next message of a stream and the bytes after it; nothing if it has not come wholly.
///
/// # Errors
/// As of [`length_of_next`].
#[inline]
pub fn chop(bytes: &[u8]) -> Result<Option<(Frame<'_>, &[u8])>, Malformed> {
    let Some(length) = length_of_next(bytes)? else { return Ok(None) };
    let Ok((message, rest)) = take(bytes, length, NAME) else { return Ok(None) };
    let (header, body) = split::<Header>(message, NAME)?;
    Ok(Some((Frame { header, body }, rest)))
}

#[inline]
fn frame_length(bytes: &[u8]) -> usize {
    Header::ref_from_prefix(bytes).map_or(0, |(header, _)| header.length.get().into())
}
