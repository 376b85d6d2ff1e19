//! The samples of a run as flows and link series.

use super::series::{Series, slope};
use crate::results::records::{Iperf3Record, LinkRecord, PingRecord, PrintedRecord, TcpRecord, read};
use crate::results::{Results, ResultsError};
use crate::world::Direction;
use std::collections::BTreeMap;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

/// Choice: connections that moved less are control channels, not flows worth a line.
const LEAST_BYTES: u64 = 10_000;
/// Choice: more lines than this cannot be told apart.
const MOST_FLOWS: usize = 8;

/// What a report draws.
#[derive(Debug, Default)]
pub(super) struct Data {
    /// The flows drawn, by the instant they began.
    pub flows: Vec<Flow>,
    /// How many flows were left out, because others moved more.
    pub flows_left_out: usize,
    /// Every direction of every link, in the order of the file.
    pub links: Vec<LinkData>,
    /// The round trips that were collected, by pair of nodes.
    pub pings: Vec<PingData>,
    /// How many pairs were left out, after those that answered first.
    pub pings_left_out: usize,
    /// What iperf3 said: throughput of each command.
    pub iperf3: Vec<Series>,
    /// The numbers in lines of JSON, by command and field.
    pub printed: Vec<Series>,
    /// How many such series were left out.
    pub printed_left_out: usize,
    /// Width of a bin of throughput and loss, seconds.
    pub bin: f64,
    /// Rows of each sample file.
    pub rows: Rows,
}

/// How many rows each sample file has.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Rows {
    pub tcp: u64,
    pub links: u64,
    pub pings: u64,
    pub iperf3: u64,
    pub json: u64,
}

/// The sending end of a TCP connection.
#[derive(Debug, Default)]
pub(super) struct Flow {
    pub label: String,
    pub colour: usize,
    pub congestion_control: String,
    /// First and last sample, seconds.
    pub span: (f64, f64),
    pub bytes: u64,
    pub retransmits: u32,
    /// Bits per second.
    pub throughput: Series,
    /// Segments.
    pub cwnd: Series,
    /// Milliseconds.
    pub srtt: Series,
    pub min_rtt_ms: Option<f64>,
}

/// Round trips from one node to another.
#[derive(Debug, Default)]
pub(super) struct PingData {
    /// Milliseconds, at the instants of the requests.
    pub trips: Series,
    /// Requests without a reply.
    pub lost: u64,
}

/// One direction of a link.
#[derive(Debug)]
pub(super) struct LinkData {
    pub link: String,
    pub direction: Direction,
    pub packets: u64,
    pub bytes: u64,
    pub lost: u64,
    pub queue_dropped: u64,
    /// Bytes that wait.
    pub queue: Series,
    /// Packets a second lost because it was asked.
    pub losses: Series,
    /// Packets a second that the queue dropped.
    pub drops: Series,
}

impl Data {
    /// Reads the samples of a folder.
    pub fn read(folder: &Path, results: &Results) -> Result<Self, ResultsError> {
        let samples = folder.join("samples");
        let interval = results.samples.tcp_interval_s.or(results.samples.links_interval_s).unwrap_or(0.1);
        // Choice: at least two samples a bin, and some 240 bins a run, so that a line shows trends, not arrival noise.
        let bin = (2.0 * interval).max(round_bin(results.duration_s / 240.0));
        let mut data = Self { bin, ..Self::default() };
        data.read_flows(&samples.join("tcp.csv"), results)?;
        data.read_links(&samples.join("links.csv"), results)?;
        data.read_pings(&samples.join("pings.csv"))?;
        data.read_iperf3(&samples.join("iperf3.csv"))?;
        data.read_printed(&samples.join("json.csv"))?;
        Ok(data)
    }

    fn read_flows(&mut self, path: &Path, results: &Results) -> Result<(), ResultsError> {
        #[derive(Default)]
        struct Ends {
            acked: Vec<(f64, f64)>,
            cwnd: Vec<(f64, f64)>,
            srtt: Vec<(f64, f64)>,
            last: Option<TcpRecord>,
            /// Counters before the first sample, of which the run saw nothing.
            sent_before: u64,
        }
        let mut ends: BTreeMap<(String, String, String), Ends> = BTreeMap::new();
        // Connections whose addresses and ports were used again after them.
        let mut over: Vec<Ends> = Vec::new();
        read::<TcpRecord>(path, |row| {
            self.rows.tcp += 1;
            let key = (row.node.clone(), row.local.clone(), row.remote.clone());
            let end = ends.entry(key).or_default();
            if end.last.as_ref().is_some_and(|last| row.bytes_acked < last.bytes_acked) {
                over.push(std::mem::take(end));
            }
            if let Some(acked) = row.bytes_acked {
                if end.last.is_none() {
                    end.sent_before = acked;
                }
                end.acked.push((row.time_s, acked as f64));
            }
            end.cwnd.push((row.time_s, f64::from(row.cwnd_packets)));
            end.srtt.push((row.time_s, row.srtt_ms));
            end.last = Some(row);
        })?;

        let mut flows: Vec<Flow> = Vec::new();
        let names: HashMap<IpAddr, &str> =
            results.world.addresses.iter().map(|(address, node)| (*address, node.as_str())).collect();
        for end in ends.into_values().chain(over) {
            let Some(last) = end.last else { continue };
            let acked = last.bytes_acked.unwrap_or(0);
            if acked < LEAST_BYTES || acked < last.bytes_received.unwrap_or(0) {
                continue;
            }
            let throughput =
                slope(&end.acked, self.bin).into_iter().map(|(at, rate)| (at, rate * 8.0)).collect();
            let first = end.cwnd.first().map_or(0.0, |point| point.0);
            flows.push(Flow {
                label: flow_label(&last, &names),
                colour: 0,
                congestion_control: last.congestion_control,
                span: (first, last.time_s),
                bytes: acked - end.sent_before,
                retransmits: last.retransmits,
                throughput: Series { points: throughput, ..Series::default() },
                cwnd: Series { points: end.cwnd, ..Series::default() },
                srtt: Series { points: end.srtt, ..Series::default() },
                min_rtt_ms: last.min_rtt_ms,
            });
        }
        flows.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.label.cmp(&b.label)));
        self.flows_left_out = flows.len().saturating_sub(MOST_FLOWS);
        flows.truncate(MOST_FLOWS);
        // By start, to a tenth of a second: flows that start together are told apart by name, the same in every run.
        let tenth = |flow: &Flow| (flow.span.0 * 10.0).round() as i64;
        flows.sort_by(|a, b| tenth(a).cmp(&tenth(b)).then_with(|| a.label.cmp(&b.label)));
        tell_apart(&mut flows);
        for (colour, flow) in flows.iter_mut().enumerate() {
            flow.colour = colour;
            for series in [&mut flow.throughput, &mut flow.cwnd, &mut flow.srtt] {
                series.colour = colour;
                series.label.clone_from(&flow.label);
            }
        }
        self.flows = flows;
        Ok(())
    }

    fn read_links(&mut self, path: &Path, results: &Results) -> Result<(), ResultsError> {
        #[derive(Default)]
        struct Counters {
            lost: Vec<(f64, f64)>,
            dropped: Vec<(f64, f64)>,
            queue: Vec<(f64, f64)>,
            first: Option<LinkRecord>,
            last: Option<LinkRecord>,
        }
        let mut found: HashMap<(String, Direction), Counters> = HashMap::new();
        read::<LinkRecord>(path, |row| {
            self.rows.links += 1;
            let counters = found.entry((row.link.clone(), row.direction)).or_default();
            counters.lost.push((row.time_s, row.lost as f64));
            counters.dropped.push((row.time_s, row.queue_dropped as f64));
            counters.queue.push((row.time_s, row.queue_bytes as f64));
            counters.first.get_or_insert_with(|| row.clone());
            counters.last = Some(row);
        })?;
        for link in &results.network.links {
            for direction in [Direction::Forward, Direction::Reverse] {
                let Some(counters) = found.remove(&(link.name.clone(), direction)) else { continue };
                let (Some(first), Some(last)) = (counters.first, counters.last) else { continue };
                let grown = |field: fn(&LinkRecord) -> u64| field(&last).saturating_sub(field(&first));
                self.links.push(LinkData {
                    link: link.name.clone(),
                    direction,
                    packets: grown(|row| row.packets),
                    bytes: grown(|row| row.bytes),
                    lost: grown(|row| row.lost),
                    queue_dropped: grown(|row| row.queue_dropped),
                    queue: Series { label: "waiting".into(), colour: 0, points: counters.queue },
                    losses: Series {
                        label: "lost by the link, as asked".into(),
                        colour: 0,
                        points: slope(&counters.lost, self.bin),
                    },
                    drops: Series {
                        label: "dropped by its queue".into(),
                        colour: 1,
                        points: slope(&counters.dropped, self.bin),
                    },
                });
            }
        }
        Ok(())
    }

    fn read_pings(&mut self, path: &Path) -> Result<(), ResultsError> {
        let mut found: Vec<PingData> = Vec::new();
        let mut places: HashMap<(String, String), usize> = HashMap::new();
        read::<PingRecord>(path, |row| {
            self.rows.pings += 1;
            let place = *places.entry((row.from, row.to)).or_insert_with_key(|(from, to)| {
                let trips =
                    Series { label: format!("{from} → {to}"), colour: found.len(), ..Series::default() };
                found.push(PingData { trips, lost: 0 });
                found.len() - 1
            });
            match row.rtt_ms {
                Some(trip) => found[place].trips.points.push((row.time_s, trip)),
                None => found[place].lost += 1,
            }
        })?;
        self.pings_left_out = found.len().saturating_sub(MOST_FLOWS);
        found.truncate(MOST_FLOWS);
        self.pings = found;
        Ok(())
    }

    fn read_iperf3(&mut self, path: &Path) -> Result<(), ResultsError> {
        let mut found: BTreeMap<(String, u64), Series> = BTreeMap::new();
        read::<Iperf3Record>(path, |row| {
            self.rows.iperf3 += 1;
            let series = found.entry((row.command.clone(), row.stream)).or_insert_with(|| Series {
                label: format!("{} on {}, stream {}", row.command, row.node, row.stream),
                ..Series::default()
            });
            series.points.push((row.time_s - row.seconds / 2.0, row.throughput_bps));
        })?;
        self.iperf3 = found.into_values().take(MOST_FLOWS).collect();
        for (colour, series) in self.iperf3.iter_mut().enumerate() {
            series.colour = colour;
        }
        Ok(())
    }

    fn read_printed(&mut self, path: &Path) -> Result<(), ResultsError> {
        let mut found: BTreeMap<(String, String), Series> = BTreeMap::new();
        read::<PrintedRecord>(path, |row| {
            self.rows.json += 1;
            let series =
                found.entry((row.command, row.field)).or_insert_with_key(|(command, field)| Series {
                    label: if field.is_empty() { command.clone() } else { format!("{command}: {field}") },
                    ..Series::default()
                });
            series.points.push((row.time_s, row.value));
        })?;
        self.printed_left_out = found.len().saturating_sub(MOST_FLOWS);
        self.printed = found.into_values().take(MOST_FLOWS).collect();
        Ok(())
    }
}

/// The next round width: 1, 2 or 5 times a power of ten.
fn round_bin(width: f64) -> f64 {
    if width <= 0.0 {
        return 0.1;
    }
    let magnitude = 10f64.powf(width.log10().floor());
    let rest = width / magnitude;
    [1.0, 2.0, 5.0].into_iter().find(|round| rest <= *round).unwrap_or(10.0) * magnitude
}

fn flow_label(row: &TcpRecord, names: &HashMap<IpAddr, &str>) -> String {
    let remote: Option<SocketAddr> = row.remote.parse().ok();
    let to = match remote.and_then(|remote| names.get(&remote.ip().to_canonical())) {
        Some(name) => (*name).to_owned(),
        None => row.remote.clone(),
    };
    match row.congestion_control.as_str() {
        "" => format!("{} → {to}", row.node),
        control => format!("{} → {to} ({control})", row.node),
    }
}

/// Numbers flows of the same name.
fn tell_apart(flows: &mut [Flow]) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for flow in flows.iter() {
        *seen.entry(flow.label.clone()).or_default() += 1;
    }
    let mut next: HashMap<String, usize> = HashMap::new();
    for flow in flows {
        if seen[&flow.label] > 1 {
            let number = next.entry(flow.label.clone()).or_default();
            *number += 1;
            flow.label = format!("{} #{number}", flow.label);
        }
    }
}
