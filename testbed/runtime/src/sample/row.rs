//! What samplers deliver.

use serde::ser::SerializeTuple;
use serde::{Deserialize, Serialize, Serializer};
use std::net::SocketAddr;
use std::time::Duration;

/// The state of one end of one TCP connection at one instant, as `tcp_info` of `linux/tcp.h` tells it. What the kernel
/// is too old to tell is absent.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct TcpRow {
    /// When it was so, on the system's monotonic clock: halfway between question and answer.
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

/// The fields in their order, without their names: a run may keep thousands of rows a second. Reading goes by the order
/// or by the names.
impl Serialize for TcpRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let parts = |span: Duration| (span.as_secs(), span.subsec_nanos());
        let mut row = serializer.serialize_tuple(22)?;
        row.serialize_element(&parts(self.at))?;
        row.serialize_element(&self.node)?;
        row.serialize_element(&self.local)?;
        row.serialize_element(&self.remote)?;
        row.serialize_element(&self.state)?;
        row.serialize_element(&self.congestion_control)?;
        row.serialize_element(&self.cwnd)?;
        row.serialize_element(&self.ssthresh)?;
        row.serialize_element(&parts(self.srtt))?;
        row.serialize_element(&parts(self.rttvar))?;
        row.serialize_element(&self.min_rtt.map(parts))?;
        row.serialize_element(&parts(self.rto))?;
        row.serialize_element(&self.mss)?;
        row.serialize_element(&self.unacked)?;
        row.serialize_element(&self.lost)?;
        row.serialize_element(&self.retransmits)?;
        row.serialize_element(&self.delivery_rate)?;
        row.serialize_element(&self.pacing_rate)?;
        row.serialize_element(&self.application_limited)?;
        row.serialize_element(&self.bytes_acked)?;
        row.serialize_element(&self.bytes_received)?;
        row.serialize_element(&self.bytes_sent)?;
        row.end()
    }
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
    #[serde(rename = "FIN-WAIT-1", alias = "FIN-WAIT1")]
    FinWait1,
    /// Closed here and acknowledged.
    #[serde(rename = "FIN-WAIT-2", alias = "FIN-WAIT2")]
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
    /// When they were so, on the system's monotonic clock: halfway between question and answer.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_without_names_is_the_same_row() {
        let by_name = r#"{"at":{"secs":1,"nanos":5},"node":"a","local":"10.0.0.1:5201","remote":"[fd00::1]:7",
            "state":"FIN-WAIT-1","congestion_control":"bbr","cwnd":10,"ssthresh":null,"srtt":{"secs":0,"nanos":20},
            "rttvar":{"secs":0,"nanos":21},"min_rtt":{"secs":0,"nanos":22},"rto":{"secs":0,"nanos":23},"mss":1448,
            "unacked":3,"lost":4,"retransmits":5,"delivery_rate":6,"pacing_rate":null,"application_limited":true,
            "bytes_acked":7,"bytes_received":8,"bytes_sent":9}"#;
        let row: TcpRow = serde_json::from_str(by_name).unwrap();
        let written = serde_json::to_string(&row).unwrap();
        assert!(written.starts_with("[[1,5],\"a\",") && !written.contains("cwnd"), "{written}");
        assert_eq!(serde_json::from_str::<TcpRow>(&written).unwrap(), row);
    }
}
