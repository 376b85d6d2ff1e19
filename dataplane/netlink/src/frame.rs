//! Messages as they lie one behind another in what was read at once.

use netlink_packet_core::{NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use std::io;

/// A message, whole.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    pub kind: u16,
    pub flags: u16,
    pub sequence: u32,
    bytes: &'a [u8],
}

/// The messages of what was read; what is cut off at its end is none.
pub fn frames(mut rest: &[u8]) -> impl Iterator<Item = Frame<'_>> {
    std::iter::from_fn(move || {
        let (header, _) = rest.split_at_checked(16)?;
        let number =
            |at: usize| u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let word = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
        let length = number(0) as usize;
        let bytes = rest.get(..length).filter(|_| length >= 16)?;
        let frame = Frame { kind: word(4), flags: word(6), sequence: number(8), bytes };
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        Some(frame)
    })
}

impl Frame<'_> {
    /// What it says, unless this version of the library cannot read that.
    pub fn payload(&self) -> Option<NetlinkPayload<RouteNetlinkMessage>> {
        NetlinkMessage::deserialize(self.bytes).ok().map(|message| message.payload)
    }

    /// Of an acknowledgement: the kernel's reason, in its own words where it gives any, or nothing where all was done. None of
    /// any other message.
    pub fn acknowledges(&self) -> Option<Option<io::Error>> {
        if self.kind != libc::NLMSG_ERROR as u16 {
            return None;
        }
        let code = i32::from_ne_bytes(self.bytes.get(16..20)?.try_into().ok()?);
        Some((code != 0).then(|| {
            let error = io::Error::from_raw_os_error(code.wrapping_neg());
            match extended(self.bytes) {
                Some(text) => io::Error::new(error.kind(), format!("{error} ({text})")),
                None => error,
            }
        }))
    }
}

/// The kernel's own words about a refused request (NLMSGERR_ATTR_MSG), where it gives any.
fn extended(message: &[u8]) -> Option<String> {
    const MESSAGE: u16 = 1;
    // Header, error code, and the request's header, to which NETLINK_CAP_ACK cuts the echo.
    let mut rest = message.get(16 + 4 + 16..)?;
    while rest.len() >= 4 {
        let length = usize::from(u16::from_ne_bytes([rest[0], rest[1]]));
        let kind = u16::from_ne_bytes([rest[2], rest[3]]) & 0x3fff;
        let value = rest.get(4..length)?;
        if kind == MESSAGE {
            return Some(String::from_utf8_lossy(value).trim_end_matches('\0').to_owned());
        }
        rest = rest.get(length.next_multiple_of(4)..)?;
    }
    None
}
