//! The rows of the sample files, as their columns stand in the CSV. Times are seconds from the start of the run; units
//! are part of the column's name; what the kernel does not tell is empty.

use super::ResultsError;
use crate::world::{Direction, LinkRow};
use plait_testbed_runtime::sample::{InterfaceRow, PingRow, TcpRow, TcpState};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

/// A row of `samples/tcp.csv`: one end of one connection at one instant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the columns are those of TcpRow, with their units")]
pub struct TcpRecord {
    pub time_s: f64,
    pub node: String,
    pub local: String,
    pub remote: String,
    pub state: TcpState,
    pub congestion_control: String,
    pub cwnd_packets: u32,
    pub ssthresh_packets: Option<u32>,
    pub srtt_ms: f64,
    pub rttvar_ms: f64,
    pub min_rtt_ms: Option<f64>,
    pub rto_ms: f64,
    pub mss_bytes: u32,
    pub unacked_packets: u32,
    pub lost_packets: u32,
    pub retransmits: u32,
    pub delivery_rate_bps: Option<u64>,
    pub pacing_rate_bps: Option<u64>,
    pub application_limited: Option<bool>,
    pub bytes_acked: Option<u64>,
    pub bytes_received: Option<u64>,
    pub bytes_sent: Option<u64>,
}

/// A row of `samples/links.csv`: one direction of one link at one instant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the columns are those of LinkRow, with their units")]
pub struct LinkRecord {
    pub time_s: f64,
    pub link: String,
    pub direction: Direction,
    pub packets: u64,
    pub bytes: u64,
    pub lost: u64,
    pub queue_dropped: u64,
    pub marked: u64,
    pub queue_packets: u64,
    pub queue_bytes: u64,
}

/// A row of `samples/interfaces.csv`: one interface at one instant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the columns are those of InterfaceRow")]
pub struct InterfaceRecord {
    pub time_s: f64,
    pub node: String,
    pub interface: String,
    pub rx_packets: u64,
    pub tx_packets: u64,
    pub rx_bytes: u64,
    pub tx_bytes: u64,
    pub rx_dropped: u64,
    pub tx_dropped: u64,
    pub rx_errors: u64,
    pub tx_errors: u64,
}

/// A row of `samples/pings.csv`: one echo request, at the instant it was sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the columns are those of PingRow, with their units")]
pub struct PingRecord {
    pub time_s: f64,
    pub from: String,
    pub to: String,
    pub sequence: u64,
    pub rtt_ms: Option<f64>,
    /// 1 for a request that had no reply, else 0.
    pub lost: u8,
}

/// A row of `samples/iperf3.csv`: one interval of one stream, as iperf3 printed it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Iperf3Record {
    /// End of the interval.
    pub time_s: f64,
    /// Folder of the command that printed it, without `commands/`.
    pub command: String,
    /// Where it ran.
    pub node: String,
    /// iperf3's number of the stream.
    pub stream: u64,
    /// Length of the interval.
    pub seconds: f64,
    /// Bytes moved in it.
    pub bytes: u64,
    /// Bits per second.
    pub throughput_bps: f64,
    /// Segments retransmitted in it; absent on the receiving side and for UDP.
    pub retransmits: Option<u64>,
}

/// A row of `samples/json.csv`: one number of a line of JSON that a command printed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PrintedRecord {
    /// When the line was read, within some 20 ms of when it was printed.
    pub time_s: f64,
    /// The command's name.
    pub command: String,
    /// Where it ran.
    pub node: String,
    /// The way through the JSON, keys and positions; empty for a line that is a number.
    pub field: String,
    /// The number.
    pub value: f64,
}

/// The columns of `samples/tcp.csv` that hold numbers.
pub const TCP_COLUMNS: [&str; 15] = [
    "cwnd_packets",
    "ssthresh_packets",
    "srtt_ms",
    "rttvar_ms",
    "min_rtt_ms",
    "rto_ms",
    "mss_bytes",
    "unacked_packets",
    "lost_packets",
    "retransmits",
    "delivery_rate_bps",
    "pacing_rate_bps",
    "bytes_acked",
    "bytes_received",
    "bytes_sent",
];

/// The columns of `samples/links.csv` that hold numbers.
pub const LINK_COLUMNS: [&str; 7] =
    ["packets", "bytes", "lost", "queue_dropped", "marked", "queue_packets", "queue_bytes"];

/// The columns of `samples/interfaces.csv` that hold numbers.
pub const INTERFACE_COLUMNS: [&str; 8] = [
    "rx_packets",
    "tx_packets",
    "rx_bytes",
    "tx_bytes",
    "rx_dropped",
    "tx_dropped",
    "rx_errors",
    "tx_errors",
];

/// The columns of `samples/pings.csv` that hold numbers.
pub const PING_COLUMNS: [&str; 2] = ["rtt_ms", "lost"];

/// Seconds of `at` after `start`, to the microsecond; negative before it.
pub fn seconds(at: Duration, start: Duration) -> f64 {
    let micros = at.as_micros() as i128 - start.as_micros() as i128;
    micros as f64 / 1e6
}

fn milliseconds(span: Duration) -> f64 {
    span.as_micros() as f64 / 1e3
}

impl TcpRecord {
    /// A sample as a row of the file.
    pub fn new(row: TcpRow, start: Duration) -> Self {
        Self {
            time_s: seconds(row.at, start),
            node: row.node,
            local: row.local.to_string(),
            remote: row.remote.to_string(),
            state: row.state,
            congestion_control: row.congestion_control,
            cwnd_packets: row.cwnd,
            ssthresh_packets: row.ssthresh,
            srtt_ms: milliseconds(row.srtt),
            rttvar_ms: milliseconds(row.rttvar),
            min_rtt_ms: row.min_rtt.map(milliseconds),
            rto_ms: milliseconds(row.rto),
            mss_bytes: row.mss,
            unacked_packets: row.unacked,
            lost_packets: row.lost,
            retransmits: row.retransmits,
            delivery_rate_bps: row.delivery_rate,
            pacing_rate_bps: row.pacing_rate,
            application_limited: row.application_limited,
            bytes_acked: row.bytes_acked,
            bytes_received: row.bytes_received,
            bytes_sent: row.bytes_sent,
        }
    }
}

impl LinkRecord {
    /// A sample as a row of the file.
    pub fn new(row: LinkRow, start: Duration) -> Self {
        Self {
            time_s: seconds(row.at, start),
            link: row.link,
            direction: row.direction,
            packets: row.packets,
            bytes: row.bytes,
            lost: row.lost,
            queue_dropped: row.queue_dropped,
            marked: row.marked,
            queue_packets: row.queue_packets,
            queue_bytes: row.queue_bytes,
        }
    }
}

impl InterfaceRecord {
    /// A sample as a row of the file.
    pub fn new(row: InterfaceRow, start: Duration) -> Self {
        Self {
            time_s: seconds(row.at, start),
            node: row.node,
            interface: row.interface,
            rx_packets: row.rx_packets,
            tx_packets: row.tx_packets,
            rx_bytes: row.rx_bytes,
            tx_bytes: row.tx_bytes,
            rx_dropped: row.rx_dropped,
            tx_dropped: row.tx_dropped,
            rx_errors: row.rx_errors,
            tx_errors: row.tx_errors,
        }
    }
}

impl PingRecord {
    /// A sample as a row of the file.
    pub fn new(row: PingRow, start: Duration) -> Self {
        Self {
            time_s: seconds(row.at, start),
            from: row.from,
            to: row.to,
            sequence: row.sequence,
            rtt_ms: row.round_trip.map(|trip| trip.as_nanos() as f64 / 1e6),
            lost: u8::from(row.round_trip.is_none()),
        }
    }
}

/// Gives every row of a sample file to `take`, in the order of the file. A file that is not there has no rows.
pub fn read<T: DeserializeOwned>(path: &Path, mut take: impl FnMut(T)) -> Result<(), ResultsError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(ResultsError::read(path, error)),
    };
    for row in csv::Reader::from_reader(io::BufReader::new(file)).deserialize() {
        take(row.map_err(|error| ResultsError::csv_read(path, error))?);
    }
    Ok(())
}
