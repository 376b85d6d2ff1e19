//! Netlink sockets inside nodes, and lists ("dumps") asked of them.

use super::SampleError;
use netlink_packet_core::{NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST};
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, netlink, recv, send, socket_with,
    sockopt,
};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::io;
use std::time::Duration;

/// The kernel answers at once; a node whose kernel does not is skipped.
const PATIENCE: Duration = Duration::from_secs(1);
/// Netlink fills up to 32 KiB a datagram when the reader offers that much (`netlink_dump` of
/// `net/netlink/af_netlink.c`).
const DATAGRAM: usize = 32 * 1024;
/// Bytes of `struct nlmsghdr`.
const HEADER: usize = 16;
/// `NLMSG_ERROR` and `NLMSG_DONE` of `linux/netlink.h`.
const ERROR: u16 = 2;
const DONE: u16 = 3;

/// A netlink socket inside a node.
#[derive(Debug)]
pub(crate) struct NodeSocket {
    pub node: String,
    pub socket: OwnedFd,
}

/// Opens a socket of a protocol in each node's network namespace.
pub(crate) fn open(
    nodes: &[(String, BorrowedFd<'_>)],
    protocol: Option<rustix::net::Protocol>,
) -> Result<Vec<NodeSocket>, SampleError> {
    // Entering a namespace is the thread's doing, and there is no way back without a descriptor of its own: a thread
    // that ends afterwards needs none.
    std::thread::scope(|scope| {
        let opener = scope
            .spawn(|| nodes.iter().map(|(node, namespace)| open_in(node, *namespace, protocol)).collect());
        opener.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn open_in(
    node: &str,
    namespace: BorrowedFd<'_>,
    protocol: Option<rustix::net::Protocol>,
) -> Result<NodeSocket, SampleError> {
    let open = || -> rustix::io::Result<OwnedFd> {
        move_into_link_name_space(namespace, Some(LinkNameSpaceType::Network))?;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol)?;
        sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(PATIENCE))?;
        bind(&socket, &netlink::SocketAddrNetlink::new(0, 0))?;
        Ok(socket)
    };
    let socket = open().map_err(|error| SampleError { node: node.to_owned(), source: error.into() })?;
    Ok(NodeSocket { node: node.to_owned(), socket })
}

impl NodeSocket {
    /// Asks for a list and gives each entry's payload (behind the netlink header) to `take`. `sequence` tells this
    /// answer from late ones of earlier requests.
    pub fn dump(
        &self,
        kind: u16,
        request: &[u8],
        sequence: u32,
        buffer: &mut Vec<u8>,
        mut take: impl FnMut(&[u8]),
    ) -> io::Result<()> {
        self.send(kind, NLM_F_DUMP, request, sequence)?;
        self.answers(sequence, buffer, |kind, payload| match kind {
            DONE => Some(Ok(())),
            ERROR => Some(acknowledged(payload)),
            _ => {
                take(payload);
                None
            }
        })
    }

    /// Asks for something to be done, and waits until it was.
    pub fn ask(&self, kind: u16, request: &[u8], sequence: u32, buffer: &mut Vec<u8>) -> io::Result<()> {
        self.send(kind, NLM_F_ACK, request, sequence)?;
        self.answers(sequence, buffer, |kind, payload| (kind == ERROR).then(|| acknowledged(payload)))
    }

    fn send(&self, kind: u16, flags: u16, request: &[u8], sequence: u32) -> io::Result<()> {
        let length = HEADER + request.len();
        let mut message = Vec::with_capacity(length);
        message.extend_from_slice(&(length as u32).to_ne_bytes());
        message.extend_from_slice(&kind.to_ne_bytes());
        message.extend_from_slice(&(NLM_F_REQUEST | flags).to_ne_bytes());
        message.extend_from_slice(&sequence.to_ne_bytes());
        message.extend_from_slice(&0u32.to_ne_bytes());
        message.extend_from_slice(request);
        send(&self.socket, &message, SendFlags::empty())?;
        Ok(())
    }

    /// Gives the kind and payload of each answer to `look`, until it says how the request ended.
    fn answers(
        &self,
        sequence: u32,
        buffer: &mut Vec<u8>,
        mut look: impl FnMut(u16, &[u8]) -> Option<io::Result<()>>,
    ) -> io::Result<()> {
        buffer.resize(DATAGRAM, 0);
        loop {
            let (read, _) = recv(&self.socket, buffer.as_mut_slice(), RecvFlags::empty())?;
            let mut rest = &buffer[..read];
            while let Some((header, payload, after)) = next(rest) {
                rest = after;
                if header.sequence != sequence {
                    continue;
                }
                if let Some(end) = look(header.kind, payload) {
                    return end;
                }
            }
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

struct Header {
    kind: u16,
    sequence: u32,
}

/// Splits the first message off a datagram; none when what is left is no message.
fn next(bytes: &[u8]) -> Option<(Header, &[u8], &[u8])> {
    let word = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let length = word(0)? as usize;
    let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
    let sequence = word(8)?;
    let payload = bytes.get(HEADER..length)?;
    let after = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    Some((Header { kind, sequence }, payload, after))
}

/// What an `NLMSG_ERROR` says: nought is no error.
fn acknowledged(payload: &[u8]) -> io::Result<()> {
    match payload.get(..4).and_then(|bytes| bytes.try_into().ok()).map_or(0, i32::from_ne_bytes) {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code.saturating_neg())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_truncated_datagram_ends_the_walk() {
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&20u32.to_ne_bytes());
        bytes.extend_from_slice(&[7, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]);
        let (header, payload, after) = next(&bytes).unwrap();
        assert_eq!((header.sequence, payload, after.len()), (5, &[1u8, 2, 3, 4][..], 0));
        for length in 0..20 {
            assert!(next(&bytes[..length]).is_none());
        }
        for lie in [0u32, 3, 15, 21, u32::MAX] {
            bytes[..4].copy_from_slice(&lie.to_ne_bytes());
            assert!(next(&bytes).is_none(), "{lie}");
        }
    }
}
