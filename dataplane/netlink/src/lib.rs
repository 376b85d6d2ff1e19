//! rtnetlink in batches: many messages a send, answered by errors and one last acknowledgement; [`Watch`], which hears
//! what changes; and [`Generic`], generic netlink.

#![forbid(unsafe_code)]

mod generic;
mod watch;

pub use generic::{Family, Generic, nest};
pub use watch::{Heard, Watch};

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    AfSpecInet6, AfSpecUnspec, In6AddrGenMode, LinkAttribute, LinkFlags, LinkMessage,
};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use std::io;

/// The kernel takes a send of up to the socket's buffer; this stays well below the smallest default (208 KiB).
const FULL: usize = 48 * 1024;

/// Messages to be sent together.
#[derive(Default)]
pub struct Batch {
    bytes: Vec<u8>,
    /// Where each message begins.
    starts: Vec<usize>,
}

impl Batch {
    /// Adds a request; `flags` are those beyond `NLM_F_REQUEST`, such as `NLM_F_CREATE`.
    pub fn push(&mut self, message: RouteNetlinkMessage, flags: u16) {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        header.sequence_number = self.starts.len() as u32 + 1;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::from(message));
        message.finalize();
        let start = self.bytes.len();
        self.starts.push(start);
        self.bytes.resize(start + message.buffer_len().next_multiple_of(4), 0);
        message.serialize(&mut self.bytes[start..]);
    }

    /// How many messages are waiting.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether nothing is waiting.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }
}

/// A request of a batch that the kernel refused.
#[derive(Debug)]
pub struct Refused {
    /// Position in the batch.
    pub index: usize,
    /// Why.
    pub error: io::Error,
}

/// A netlink socket in the namespace it was opened in.
pub struct Netlink {
    socket: Socket,
}

impl Netlink {
    /// Opens a socket in the calling thread's network namespace.
    ///
    /// # Errors
    /// Too many open files.
    pub fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        // A batch that fails throughout must not overflow the answers. Refused for users; the default then serves.
        let _ = socket.set_rx_buf_sz(1 << 20);
        let _ = socket.set_ext_ack(true);
        let _ = socket.set_cap_ack(true);
        Ok(Self { socket })
    }

    /// Has a device carry packets and say nothing by itself: it gets no address of its own.
    ///
    /// # Errors
    /// No such device; the kernel's refusal.
    pub fn bring_up_silent(&self, index: u32) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.header.flags = LinkFlags::Up;
        link.header.change_mask = LinkFlags::Up;
        let silent = AfSpecInet6::AddrGenMode(In6AddrGenMode::None);
        link.attributes.push(LinkAttribute::AfSpecUnspec(vec![AfSpecUnspec::Inet6(vec![silent])]));
        self.request(RouteNetlinkMessage::SetLink(link), 0)
    }

    /// Sends a batch and waits until the kernel has done all of it. Returns every request it refused.
    ///
    /// # Errors
    /// The socket fails.
    pub fn send(&self, batch: &mut Batch) -> io::Result<Vec<Refused>> {
        let mut refused = Vec::new();
        let total = batch.starts.len();
        let mut first = 0;
        while first < total {
            let base = batch.starts[first];
            let mut last = first;
            while last + 1 < total && batch.starts[last + 1] - base < FULL {
                last += 1;
            }
            let end = batch.starts.get(last + 1).copied().unwrap_or(batch.bytes.len());
            // Only the last of a send is acknowledged; the kernel works in order, so all before it are done too.
            let flags = batch.starts[last] + 6;
            batch.bytes[flags..flags + 2]
                .iter_mut()
                .zip(NLM_F_ACK.to_ne_bytes())
                .for_each(|(byte, bit)| *byte |= bit);
            self.socket.send(&batch.bytes[base..end], 0)?;
            self.answers(last as u32 + 1, &mut refused)?;
            first = last + 1;
        }
        batch.bytes.clear();
        batch.starts.clear();
        Ok(refused)
    }

    fn answers(&self, last: u32, refused: &mut Vec<Refused>) -> io::Result<()> {
        loop {
            let (bytes, _) = self.socket.recv_from_full()?;
            let mut rest = &bytes[..];
            while rest.len() >= 16 {
                let length = u32::from_ne_bytes(rest[0..4].try_into().expect("four bytes")) as usize;
                let kind = u16::from_ne_bytes(rest[4..6].try_into().expect("two bytes"));
                let sequence = u32::from_ne_bytes(rest[8..12].try_into().expect("four bytes"));
                if kind == libc::NLMSG_ERROR as u16 && rest.len() >= 20 {
                    let code = i32::from_ne_bytes(rest[16..20].try_into().expect("four bytes"));
                    if code != 0 {
                        let error = io::Error::from_raw_os_error(-code);
                        let error = match extended(&rest[..length.min(rest.len())]) {
                            Some(text) => io::Error::new(error.kind(), format!("{error} ({text})")),
                            None => error,
                        };
                        refused.push(Refused { index: sequence as usize - 1, error });
                    }
                    if sequence == last {
                        return Ok(());
                    }
                }
                if length < 16 {
                    break;
                }
                rest = rest.get(length.next_multiple_of(4)..).unwrap_or(&[]);
            }
        }
    }

    /// Sends one request and waits for its end.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn request(&self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        let mut batch = Batch::default();
        batch.push(message, flags);
        self.send_whole(&mut batch)
    }

    /// Sends messages of which none may be refused.
    ///
    /// # Errors
    /// The first refusal.
    pub fn send_whole(&self, batch: &mut Batch) -> io::Result<()> {
        self.send(batch)?.into_iter().next().map_or(Ok(()), |refused| Err(refused.error))
    }

    /// Asks for one object.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn get(&self, message: RouteNetlinkMessage) -> io::Result<RouteNetlinkMessage> {
        let mut batch = Batch::default();
        batch.push(message, 0);
        self.socket.send(&batch.bytes, 0)?;
        let (bytes, _) = self.socket.recv_from_full()?;
        let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&bytes)
            .map_err(|error| io::Error::other(error.to_string()))?;
        match message.payload {
            NetlinkPayload::InnerMessage(inner) => Ok(inner),
            NetlinkPayload::Error(error) => Err(error.to_io()),
            _ => Err(io::Error::other("the kernel answers something else")),
        }
    }

    /// Asks for all objects of a kind.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn dump(&self, message: RouteNetlinkMessage) -> io::Result<Vec<RouteNetlinkMessage>> {
        let mut batch = Batch::default();
        batch.push(message, NLM_F_DUMP);
        self.socket.send(&batch.bytes, 0)?;
        let mut found = Vec::new();
        loop {
            let (bytes, _) = self.socket.recv_from_full()?;
            let mut rest = &bytes[..];
            while rest.len() >= 16 {
                let length = u32::from_ne_bytes(rest[0..4].try_into().expect("four bytes")) as usize;
                if length < 16 || length > rest.len() {
                    break;
                }
                let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&rest[..length])
                    .map_err(|error| io::Error::other(error.to_string()))?;
                match message.payload {
                    NetlinkPayload::Done(_) => return Ok(found),
                    NetlinkPayload::Error(error) => return Err(error.to_io()),
                    NetlinkPayload::InnerMessage(inner) => found.push(inner),
                    _ => {}
                }
                rest = rest.get(length.next_multiple_of(4)..).unwrap_or(&[]);
            }
        }
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
