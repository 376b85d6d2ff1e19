//! BGP-4, RFC 4271, as far as a speaker of EVPN needs it.
//!
//! A stream of messages: [`length`] says how long the first one is, [`Message::parse`] reads it, [`Message::emit`] writes
//! one. Unlike packets, messages are read into values whole: nobody forwards them, and what they say is kept.
//!
//! | file | what |
//! |---|---|
//! | `open` | [`Open`] and what speakers can ([`Capability`], RFC 5492) |
//! | `update` | [`Update`]: routes that came and went, read as RFC 7606 asks |
//! | `attribute` | [`Attributes`] of routes, with extended communities (RFC 4360, RFC 7432, RFC 9012) and tunnels (RFC 6514) |
//! | `evpn` | [`Route`]s of EVPN (RFC 7432): types 2 and 3, whose labels are VNIs (RFC 8365) |
//!
//! Choice: AS numbers have four bytes (RFC 6793) on both sides. EVPN is younger than they are.
//!
//! Choice: written here. The library that was looked at closely, rustbgpd-wire, has all of this and asks for a newer Rust
//! than the workspace does.

mod attribute;
mod evpn;
mod open;
mod update;

pub use attribute::{AsPath, Attributes, ExtendedCommunity, Tunnel, origin, tunnel};
pub use evpn::{Distinguisher, MacIp, Multicast, Route, RouteKey};
pub use open::{Capability, Family, Open};
pub use update::Update;

use std::fmt;
use thiserror::Error;

/// The TCP port of BGP speakers.
pub const PORT: u16 = 179;
/// Bytes of a message's header: a marker of sixteen ones, the length, the type.
pub const HEADER: usize = 19;
/// Bytes of the longest message.
pub const LARGEST: usize = 4096;

mod kind {
    pub const OPEN: u8 = 1;
    pub const UPDATE: u8 = 2;
    pub const NOTIFICATION: u8 = 3;
    pub const KEEPALIVE: u8 = 4;
    pub const ROUTE_REFRESH: u8 = 5;
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// The first of each side.
    Open(Open),
    /// Routes.
    Update(Update),
    /// The last: why a session ends.
    Notification(Notification),
    /// That the speaker lives.
    Keepalive,
    /// Asks for all routes of a family once more, RFC 2918.
    RouteRefresh(Family),
}

/// Why a session ends, RFC 4271 section 4.5.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// What kind of reason: [`code`].
    pub code: u8,
    /// Which of these.
    pub subcode: u8,
    /// What shows it.
    pub data: Vec<u8>,
}

/// Kinds of reasons to end a session.
pub mod code {
    /// A header that cannot be.
    pub const HEADER: u8 = 1;
    /// An OPEN that is not taken.
    pub const OPEN: u8 = 2;
    /// An UPDATE that cannot be read.
    pub const UPDATE: u8 = 3;
    /// Nothing was heard for the hold time.
    pub const HOLD_TIMER: u8 = 4;
    /// A message that does not belong there.
    pub const STATE: u8 = 5;
    /// The speaker wants it so.
    pub const CEASE: u8 = 6;
}

/// A message that ends the session, and the notification that says why.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{why} ({notification})")]
pub struct Violation {
    /// What the other side is told.
    pub notification: Notification,
    /// In words.
    pub why: &'static str,
}

impl Violation {
    /// One of a kind.
    pub fn new(code: u8, subcode: u8, why: &'static str) -> Self {
        Self { notification: Notification { code, subcode, data: Vec::new() }, why }
    }

    fn showing(mut self, data: &[u8]) -> Self {
        self.notification.data = data.to_vec();
        self
    }
}

impl fmt::Display for Notification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.code {
            code::HEADER => "message header error",
            code::OPEN => "OPEN message error",
            code::UPDATE => "UPDATE message error",
            code::HOLD_TIMER => "hold timer expired",
            code::STATE => "finite state machine error",
            code::CEASE => "cease",
            _ => "unknown",
        };
        write!(f, "{kind}, {}/{}", self.code, self.subcode)
    }
}

/// Bytes of the message that a stream begins with; none while its header is not whole.
///
/// # Errors
/// No header of a message; nothing after it can be read.
pub fn length(stream: &[u8]) -> Result<Option<usize>, Violation> {
    let Some(header) = stream.first_chunk::<HEADER>() else { return Ok(None) };
    if header[..16] != [0xff; 16] {
        return Err(Violation::new(code::HEADER, 1, "the marker is not all ones"));
    }
    let length = usize::from(u16::from_be_bytes([header[16], header[17]]));
    let least = match header[18] {
        kind::OPEN => HEADER + 10,
        kind::UPDATE => HEADER + 4,
        kind::NOTIFICATION => HEADER + 2,
        kind::KEEPALIVE => HEADER,
        kind::ROUTE_REFRESH => HEADER + 4,
        other => return Err(Violation::new(code::HEADER, 3, "an unknown type of message").showing(&[other])),
    };
    let most = if header[18] == kind::KEEPALIVE { HEADER } else { LARGEST };
    match (least..=most).contains(&length) {
        true => Ok(Some(length)),
        false => Err(Violation::new(code::HEADER, 2, "a length that cannot be").showing(&header[16..18])),
    }
}

impl Message {
    /// Reads a whole message, as [`length`] cut it from its stream.
    ///
    /// # Errors
    /// A message that ends the session. Faults that only concern its routes do not: [`Update`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Violation> {
        let whole = length(bytes)?.is_some_and(|length| length == bytes.len());
        let Some((header, body)) = bytes.split_first_chunk::<HEADER>().filter(|_| whole) else {
            return Err(Violation::new(code::HEADER, 2, "a message that is not whole"));
        };
        Ok(match header[18] {
            kind::OPEN => Self::Open(Open::parse(body)?),
            kind::UPDATE => Self::Update(Update::parse(body)?),
            kind::NOTIFICATION => {
                let (code, subcode, data) = (body[0], body[1], body[2..].to_vec());
                Self::Notification(Notification { code, subcode, data })
            }
            kind::ROUTE_REFRESH => {
                Self::RouteRefresh(Family { afi: u16::from_be_bytes([body[0], body[1]]), safi: body[3] })
            }
            _ => Self::Keepalive,
        })
    }

    /// The message's bytes.
    ///
    /// # Panics
    /// If it would be longer than [`LARGEST`].
    pub fn emit(&self) -> Vec<u8> {
        let mut bytes = vec![0xff; 16];
        bytes.extend([0; 3]);
        let kind = match self {
            Self::Open(open) => {
                open.emit(&mut bytes);
                kind::OPEN
            }
            Self::Update(update) => {
                update.emit(&mut bytes);
                kind::UPDATE
            }
            Self::Notification(Notification { code, subcode, data }) => {
                bytes.extend([*code, *subcode]);
                bytes.extend(data);
                kind::NOTIFICATION
            }
            Self::Keepalive => kind::KEEPALIVE,
            Self::RouteRefresh(family) => {
                bytes.extend(family.afi.to_be_bytes());
                bytes.extend([0, family.safi]);
                kind::ROUTE_REFRESH
            }
        };
        assert!(bytes.len() <= LARGEST, "a message of {} bytes", bytes.len());
        let length = bytes.len() as u16;
        bytes[16..18].copy_from_slice(&length.to_be_bytes());
        bytes[18] = kind;
        bytes
    }
}

/// So many bytes, off the front.
fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (first, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(first)
}

/// So many bytes as an array, off the front.
fn array<const COUNT: usize>(bytes: &mut &[u8]) -> Option<[u8; COUNT]> {
    take(bytes, COUNT)?.try_into().ok()
}
