//! The API server of FRR's `ospfd -a`: `ospfd/ospf_api.h` and `ospfclient` of FRR.
//!
//! A client connects to port 2607 from a port p of its own, and the server connects back to p + 1. Questions and replies go by
//! the first connection, notifications by the second. Of both [`ApiClient`] takes the bytes.

use super::Lsdb;
use plait_model_wire::ospf::Lsa;
use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::time::Duration;
use thiserror::Error;

/// The server's port.
pub const SYNC_PORT: u16 = 2607;

const VERSION: u8 = 1;
/// Version, type, length of the body, number.
const HEADER: usize = 8;
/// Longer ones are no messages: an advertisement has 64 KiB at most.
const LONGEST: usize = 0xffff;

mod kind {
    pub const REGISTER_EVENT: u8 = 3;
    pub const SYNC_LSDB: u8 = 4;
    pub const REPLY: u8 = 10;
    pub const LSA_UPDATE: u8 = 12;
    pub const LSA_DELETE: u8 = 13;
}

/// A message, as far as a listener needs them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApiMessage {
    /// Asks to be told of changes: advertisements of all kinds, origins and areas.
    RegisterEvent,
    /// Asks for all there is.
    SyncLsdb,
    /// The answer: 0, or what is wrong.
    Reply(i8),
    /// An advertisement that is new.
    Update {
        /// The area that it is of.
        area: Ipv4Addr,
        /// The advertisement.
        lsa: Lsa,
    },
    /// One that is gone.
    Delete {
        /// The area that it is of.
        area: Ipv4Addr,
        /// The advertisement.
        lsa: Lsa,
    },
    /// Anything else.
    Other {
        /// Its type.
        kind: u8,
        /// What it carries.
        body: Vec<u8>,
    },
}

/// What ends the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ApiError {
    /// Bytes of something else.
    #[error("version {0} of the API of ospfd: Plait speaks version {VERSION}")]
    Version(u8),
    /// A message that does not say what its type asks for.
    #[error("a message of type {0} of the API of ospfd that is malformed")]
    Malformed(u8),
    /// The server does not do what it is asked.
    #[error("ospfd's API server refuses with error {0}: does ospfd run OSPF (`router ospf`)?")]
    Refused(i8),
}

impl ApiMessage {
    /// The first message of a stream, its number, and how many bytes it took; none while it is not whole.
    ///
    /// # Errors
    /// No message; nothing after it can be read.
    pub fn parse(stream: &[u8]) -> Result<Option<(Self, u32, usize)>, ApiError> {
        let Some((header, rest)) = stream.split_first_chunk::<HEADER>() else { return Ok(None) };
        let [version, kind, high, low, number @ ..] = *header;
        if version != VERSION {
            return Err(ApiError::Version(version));
        }
        let length = usize::from(u16::from_be_bytes([high, low]));
        let Some(body) = rest.get(..length) else { return Ok(None) };
        let change = || {
            // Interface, area, whether it is the server's own, three bytes of nothing, the advertisement.
            let area = body.get(4..8).and_then(|area| <[u8; 4]>::try_from(area).ok());
            let lsa = body.get(12..).and_then(|lsa| Lsa::parse(lsa).ok());
            area.map(Ipv4Addr::from).zip(lsa).ok_or(ApiError::Malformed(kind))
        };
        let message = match kind {
            kind::REGISTER_EVENT => Self::RegisterEvent,
            kind::SYNC_LSDB => Self::SyncLsdb,
            kind::REPLY => Self::Reply(*body.first().ok_or(ApiError::Malformed(kind))? as i8),
            kind::LSA_UPDATE => change().map(|(area, lsa)| Self::Update { area, lsa })?,
            kind::LSA_DELETE => change().map(|(area, lsa)| Self::Delete { area, lsa })?,
            _ => Self::Other { kind, body: body.to_vec() },
        };
        Ok(Some((message, u32::from_be_bytes(number), HEADER + length)))
    }

    /// The message's bytes.
    pub fn emit(&self, number: u32) -> Vec<u8> {
        // A filter: a bit for each kind, any origin, no areas, which is all.
        const ALL: [u8; 4] = [0xff, 0xff, 2, 0];
        let change = |area: &Ipv4Addr, lsa: &Lsa| {
            let mut body = vec![0; 4];
            body.extend(area.octets());
            body.extend([0; 4]);
            lsa.emit(&mut body);
            body
        };
        let (kind, body) = match self {
            Self::RegisterEvent => (kind::REGISTER_EVENT, ALL.to_vec()),
            Self::SyncLsdb => (kind::SYNC_LSDB, ALL.to_vec()),
            Self::Reply(code) => (kind::REPLY, vec![*code as u8, 0, 0, 0]),
            Self::Update { area, lsa } => (kind::LSA_UPDATE, change(area, lsa)),
            Self::Delete { area, lsa } => (kind::LSA_DELETE, change(area, lsa)),
            Self::Other { kind, body } => (*kind, body.clone()),
        };
        let length = body.len().min(LONGEST);
        let mut bytes = vec![VERSION, kind];
        bytes.extend((length as u16).to_be_bytes());
        bytes.extend(number.to_be_bytes());
        bytes.extend(&body[..length]);
        bytes
    }
}

/// A client that asks for everything in an area, and keeps what it is told.
///
/// [`handle_connected`](Self::handle_connected) when both connections are there, the others for what they bring,
/// [`poll_transmit`](Self::poll_transmit) for what to write to the first, [`poll_timeout`](Self::poll_timeout) for when
/// [`handle_timeout`](Self::handle_timeout) is due.
#[derive(Debug)]
pub struct ApiClient {
    area: Ipv4Addr,
    lsdb: Lsdb,
    replies: Vec<u8>,
    notifications: Vec<u8>,
    number: u32,
    /// Replies to come.
    due: u32,
    /// When all is there, if nothing comes until then.
    settled: Option<Duration>,
    is_complete: bool,
    transmits: VecDeque<Vec<u8>>,
}

impl ApiClient {
    /// For an area.
    pub fn new(area: Ipv4Addr) -> Self {
        Self {
            area,
            lsdb: Lsdb::default(),
            replies: Vec::new(),
            notifications: Vec::new(),
            number: 0,
            due: 0,
            settled: None,
            is_complete: false,
            transmits: VecDeque::new(),
        }
    }

    /// The advertisements received.
    pub fn lsdb(&self) -> &Lsdb {
        &self.lsdb
    }

    /// For how long nothing comes when all was told. The server's replies do not wait for its notifications: each of both has a
    /// queue of its own, from which one message is written at a time (`ospf_apiserver_sync_write`, `ospf_apiserver_async_write`).
    /// Choice: a fifth of a second, in which ospfd is at nothing else for so long; nothing that it sends says where the end is.
    pub const QUIET: Duration = Duration::from_millis(200);

    /// Whether all was told: the server has answered, and nothing came since for as long as [`QUIET`](Self::QUIET) says.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due; none while nothing waits for time.
    pub fn poll_timeout(&self) -> Option<Duration> {
        self.settled
    }

    /// Time passed, and both connections are read empty.
    pub fn handle_timeout(&mut self, now: Duration) {
        if self.settled.take_if(|settled| *settled <= now).is_some() {
            self.is_complete = true;
        }
    }

    /// Both connections are there: what was known before is asked for anew.
    pub fn handle_connected(&mut self) {
        self.lsdb.clear();
        self.replies.clear();
        self.notifications.clear();
        (self.due, self.settled, self.is_complete) = (2, None, false);
        for question in [ApiMessage::RegisterEvent, ApiMessage::SyncLsdb] {
            self.number = self.number % 0x7fff_ffff + 1;
            self.transmits.push_back(question.emit(self.number));
        }
    }

    /// Bytes came by the first connection.
    ///
    /// # Errors
    /// What ends both connections.
    pub fn handle_replies(&mut self, bytes: &[u8], now: Duration) -> Result<(), ApiError> {
        self.replies.extend(bytes);
        while let Some((message, _, length)) = ApiMessage::parse(&self.replies)? {
            self.replies.drain(..length);
            match message {
                ApiMessage::Reply(0) => {
                    self.due = self.due.saturating_sub(1);
                    if self.due == 0 && !self.is_complete {
                        self.settled = Some(now + Self::QUIET);
                    }
                }
                ApiMessage::Reply(code) => return Err(ApiError::Refused(code)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Bytes came by the second connection.
    ///
    /// # Errors
    /// What ends both connections.
    pub fn handle_notifications(&mut self, bytes: &[u8], now: Duration) -> Result<(), ApiError> {
        self.notifications.extend(bytes);
        if !bytes.is_empty() {
            self.settled = self.settled.map(|_| now + Self::QUIET);
        }
        let mut read = 0;
        while let Some((message, _, length)) = ApiMessage::parse(&self.notifications[read..])? {
            read += length;
            match message {
                // What goes everywhere is of no area.
                ApiMessage::Update { area, lsa }
                    if area == self.area || matches!(lsa.header.key.kind, 5 | 11) =>
                {
                    // The server's word counts: what it tells is the newest there is.
                    self.lsdb.offer(lsa, now);
                }
                ApiMessage::Delete { area, lsa }
                    if area == self.area || matches!(lsa.header.key.kind, 5 | 11) =>
                {
                    self.lsdb.remove(&lsa.header.key);
                }
                _ => {}
            }
        }
        self.notifications.drain(..read);
        Ok(())
    }

    /// What to write to the first connection next.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.transmits.pop_front()
    }
}
