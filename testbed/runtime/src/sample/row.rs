//! What samplers deliver.

use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::time::Duration;

/// The state of one end of one TCP connection at one instant, as `tcp_info` of `linux/tcp.h` tells it. What the kernel
/// is too old to tell is absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TcpRow {
    /// When it was asked, on the system's monotonic clock.
    pub at: Duration,
    /// The node that holds this end.
    pub node: String,
    /// Address and port of this end.
    pub local: SocketAddr,
    /// Address and port of the other end.
    pub remote: SocketAddr,
    /// The state's name in RFC 9293: `ESTABLISHED`, `FIN-WAIT-1`…
    pub state: TcpState,
    /// The congestion control's name, such as `cubic`.
    pub congestion_control: String,
    /// Congestion window in segments.
    pub cwnd: u32,
    /// Slow-start threshold in segments; absent while it is infinite.
    pub ssthresh: Option<u32>,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// Its mean deviation.
    pub rttvar: Duration,
    /// The least round-trip time of the kernel's window; absent before the first measurement.
    pub min_rtt: Option<Duration>,
    /// Retransmission timeout.
    pub rto: Duration,
    /// Sender's segment size in bytes.
    pub mss: u32,
    /// Segments sent and not yet acknowledged.
    pub unacked: u32,
    /// Segments taken for lost at this instant.
    pub lost: u32,
    /// Segments retransmitted since the connection began.
    pub retransmits: u32,
    /// Latest delivery rate, bits per second; absent before the first measurement.
    pub delivery_rate: Option<u64>,
    /// Pacing rate, bits per second; absent where nothing is paced.
    pub pacing_rate: Option<u64>,
    /// Whether the application, not the network, limits the sender.
    pub application_limited: Option<bool>,
    /// Bytes acknowledged by the other end.
    pub bytes_acked: Option<u64>,
    /// Bytes received in order.
    pub bytes_received: Option<u64>,
    /// Bytes sent, retransmissions included.
    pub bytes_sent: Option<u64>,
}

/// An echo request and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PingRow {
    /// When the request was sent, on the system's monotonic clock.
    pub at: Duration,
    /// The node that sent it.
    pub from: String,
    /// The destination, as it was asked for.
    pub to: String,
    /// Its number, from 0.
    pub sequence: u64,
    /// How long the reply took; absent of a request that had none within five seconds.
    pub round_trip: Option<Duration>,
}

/// A TCP state, RFC 9293 section 3.3.2, in the kernel's numbering (`net/tcp_states.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING-KEBAB-CASE")]
pub enum TcpState {
    /// Data flows both ways.
    Established,
    /// A SYN was sent.
    SynSent,
    /// A SYN was answered.
    SynReceived,
    /// Closed here, not yet acknowledged.
    FinWait1,
    /// Closed here and acknowledged.
    FinWait2,
    /// Both closed; late segments die out.
    TimeWait,
    /// No connection.
    Closed,
    /// Closed by the other end.
    CloseWait,
    /// Closed by the other end, then here.
    LastAck,
    /// Waiting for connections.
    Listen,
    /// Both closed at once.
    Closing,
}

/// The counters of one interface at one instant: the kernel's `rtnl_link_stats64`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterfaceRow {
    /// When they were asked, on the system's monotonic clock.
    pub at: Duration,
    /// The node.
    pub node: String,
    /// The interface's name inside it.
    pub interface: String,
    /// Packets received.
    pub rx_packets: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Bytes received.
    pub rx_bytes: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Packets received and dropped.
    pub rx_dropped: u64,
    /// Packets dropped before they were sent.
    pub tx_dropped: u64,
    /// Packets received with errors.
    pub rx_errors: u64,
    /// Packets that could not be sent.
    pub tx_errors: u64,
}
