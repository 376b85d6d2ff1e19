//! TCP connections, by `sock_diag(7)`.

use super::dump::{NodeSocket, open};
use super::tcp_info::TcpInfo;
use super::{SampleError, TcpRow, TcpState};
use netlink_packet_core::NlasIterator;
use netlink_packet_sock_diag::constants::{AF_INET, INET_DIAG_CONG, INET_DIAG_INFO};
use netlink_packet_sock_diag::inet::{ExtensionFlags, StateFlags};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::net::netlink::SOCK_DIAG;
use rustix::time::{ClockId, clock_gettime};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

/// Bytes of `struct inet_diag_msg` (`linux/inet_diag.h`): four of state, 48 of addresses, five words.
const INET_DIAG_MSG: usize = 72;
/// Bytes of `struct inet_diag_sockid`.
const SOCKET_ID: usize = 48;
/// `TCPDIAG_GETSOCK`.
const GET_TCP: u16 = 18;

/// Samples the TCP connections of all nodes.
#[derive(Debug)]
pub struct TcpSampler {
    sockets: Vec<NodeSocket>,
    request: Vec<u8>,
    buffer: Vec<u8>,
    sequence: u32,
    missed: u64,
}

impl TcpSampler {
    /// Opens a socket in each node's network namespace: one descriptor a node.
    ///
    /// # Errors
    /// A namespace that may not be entered, or a kernel without `sock_diag`.
    pub fn open(nodes: &[(String, BorrowedFd<'_>)]) -> Result<Self, SampleError> {
        Ok(Self::new(open(nodes, Some(SOCK_DIAG))?))
    }

    /// A sampler with the sockets of another, which opened them in the nodes of these names.
    pub fn of(sockets: impl IntoIterator<Item = (String, OwnedFd)>) -> Self {
        Self::new(sockets.into_iter().map(|(node, socket)| NodeSocket { node, socket }).collect())
    }

    fn new(sockets: Vec<NodeSocket>) -> Self {
        Self { sockets, request: request(), buffer: Vec::new(), sequence: 0, missed: 0 }
    }

    /// The nodes' names and the sockets in them.
    pub fn sockets(&self) -> impl Iterator<Item = (&str, BorrowedFd<'_>)> {
        self.sockets.iter().map(|socket| (socket.node.as_str(), socket.socket.as_fd()))
    }

    /// The state of every connection that is open, or being closed, in any node, both ends where both are nodes. Takes
    /// some microseconds a node and a connection.
    pub fn sample(&mut self) -> Vec<TcpRow> {
        let mut rows = Vec::new();
        for socket in &self.sockets {
            // Each node has an instant of its own: with many nodes a round takes milliseconds.
            let (known, asks) = (rows.len(), now());
            self.sequence = self.sequence.wrapping_add(1);
            let take = |payload: &[u8]| rows.extend(row(payload, &socket.node, asks));
            if let Err(error) = socket.dump(GET_TCP, &self.request, self.sequence, &mut self.buffer, take) {
                self.missed += 1;
                tracing::debug!(node = %socket.node, %error, "TCP connections not sampled");
            }
            let at = halfway(asks);
            rows[known..].iter_mut().for_each(|row| row.at = at);
        }
        rows
    }

    /// How many times a node gave no answer.
    pub fn missed(&self) -> u64 {
        self.missed
    }
}

/// The system's monotonic clock, to which rows refer.
pub(super) fn now() -> Duration {
    let time = clock_gettime(ClockId::Monotonic);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// When a kernel was asked, where it answered just now. Choice: between question and answer, since it does not say.
pub(super) fn halfway(asked: Duration) -> Duration {
    asked + now().saturating_sub(asked) / 2
}

/// Asks for connections of both address families at once, in the older form (`struct inet_diag_req`): the newer one
/// asks for one family, and the kernel looks through a table of all its sockets for each request.
fn request() -> Vec<u8> {
    // Connections with data to tell of: not those that listen, are being opened, or linger in TIME-WAIT.
    let states = StateFlags::ESTABLISHED
        | StateFlags::FIN_WAIT1
        | StateFlags::FIN_WAIT2
        | StateFlags::CLOSE_WAIT
        | StateFlags::LAST_ACK
        | StateFlags::CLOSING;
    let extensions = ExtensionFlags::INFO | ExtensionFlags::CONG;
    // Family, two lengths of addresses to match, extensions; any socket; states; nothing of the database.
    let mut bytes = vec![0, 0, 0, extensions.bits()];
    bytes.resize(4 + SOCKET_ID, 0);
    bytes.extend_from_slice(&states.bits().to_ne_bytes());
    bytes.extend_from_slice(&0u32.to_ne_bytes());
    bytes
}

/// An `inet_diag_msg` and its attributes as a row; none for a socket without `tcp_info`, such as one that only lingers.
fn row(payload: &[u8], node: &str, at: Duration) -> Option<TcpRow> {
    let (message, attributes) = payload.split_at_checked(INET_DIAG_MSG)?;
    let mut info = Vec::new();
    let mut congestion_control = String::new();
    for attribute in NlasIterator::new(attributes).flatten() {
        match attribute.kind() {
            INET_DIAG_INFO => info = attribute.value().to_vec(),
            INET_DIAG_CONG => {
                let name = attribute.value().split(|byte| *byte == 0).next().unwrap_or_default();
                congestion_control = String::from_utf8_lossy(name).into_owned();
            }
            _ => {}
        }
    }
    let info = TcpInfo::new(&info)?;
    Some(TcpRow {
        at,
        node: node.to_owned(),
        local: address(message[0], &message[4..6], &message[8..24]),
        remote: address(message[0], &message[6..8], &message[24..40]),
        state: state(message[1])?,
        congestion_control,
        cwnd: info.cwnd(),
        ssthresh: info.ssthresh(),
        srtt: info.srtt(),
        rttvar: info.rttvar(),
        min_rtt: info.min_rtt(),
        rto: info.rto(),
        mss: info.mss(),
        unacked: info.unacked(),
        lost: info.lost(),
        retransmits: info.total_retransmits(),
        delivery_rate: info.delivery_rate(),
        pacing_rate: info.pacing_rate(),
        application_limited: info.application_limited(),
        bytes_acked: info.bytes_acked(),
        bytes_received: info.bytes_received(),
        bytes_sent: info.bytes_sent(),
    })
}

/// A port and an address in network order, of which IPv4 uses the first four bytes. An IPv4 peer of an IPv6 socket is
/// shown as what it is.
fn address(family: u8, port: &[u8], bytes: &[u8]) -> SocketAddr {
    let port = u16::from_be_bytes([port[0], port[1]]);
    let address = if family == AF_INET {
        IpAddr::from(Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]))
    } else {
        let bytes: [u8; 16] = bytes.try_into().expect("sixteen bytes of inet_diag_sockid");
        IpAddr::from(Ipv6Addr::from(bytes)).to_canonical()
    };
    SocketAddr::new(address, port)
}

/// The kernel's numbers of `net/tcp_states.h`.
fn state(number: u8) -> Option<TcpState> {
    Some(match number {
        1 => TcpState::Established,
        2 => TcpState::SynSent,
        3 => TcpState::SynReceived,
        4 => TcpState::FinWait1,
        5 => TcpState::FinWait2,
        6 => TcpState::TimeWait,
        7 => TcpState::Closed,
        8 => TcpState::CloseWait,
        9 => TcpState::LastAck,
        10 => TcpState::Listen,
        11 => TcpState::Closing,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn no_answer_makes_the_reader_panic(bytes in proptest::collection::vec(0u8.., 0..600), state in 0u8..14) {
            let _ = row(&bytes, "a", Duration::ZERO);
            let mut well_begun = vec![netlink_packet_sock_diag::constants::AF_INET6, state];
            well_begun.resize(INET_DIAG_MSG, 7);
            well_begun.extend_from_slice(&[0xf0, 0, INET_DIAG_INFO as u8, 0]);
            well_begun.extend_from_slice(&bytes);
            let _ = row(&well_begun, "a", Duration::ZERO);
        }
    }
}
