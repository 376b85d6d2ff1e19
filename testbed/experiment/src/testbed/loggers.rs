//! What records while a run lasts: samplers and captures.

use super::error;
use crate::world::{Batch, Deliver, Direction, LinkRow, Logger, LoggerSummary, WorldError};
use plait_model_link::Counters;
use plait_testbed_runtime::capture::{PcapNg, missed, receive};
use plait_testbed_runtime::control::{Capture, SampleRequest, Samples, Testbed};
use plait_testbed_runtime::kernel::socket::wait_readable;
use plait_testbed_runtime::sample::{InterfaceRow, PingRow, TcpSampler};
use serde::Deserialize;
use std::fs::File;
use std::io::{self, BufWriter};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long a logger may take to deliver what it holds.
const PATIENCE: Duration = Duration::from_secs(5);

/// Frames up to a superpacket of 64 KiB with its headers.
const SNAPLEN: usize = 256 * 1024;

/// A row of samples as the supervisor sends it.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Sampled {
    Interfaces(Vec<InterfaceRow>),
    Links(Vec<SampledLink>),
    Pings(Vec<PingRow>),
}

#[derive(Deserialize)]
struct SampledLink {
    at_ns: u64,
    link: String,
    directions: [SampledDirection; 2],
}

#[derive(Deserialize)]
struct SampledDirection {
    counters: Counters,
    backlog_bytes: u64,
}

fn batch(sampled: Sampled) -> Batch {
    match sampled {
        Sampled::Interfaces(rows) => Batch::Interfaces(rows),
        Sampled::Pings(rows) => Batch::Pings(rows),
        Sampled::Links(links) => Batch::Links(
            links
                .into_iter()
                .flat_map(|sampled| {
                    let ways = [Direction::Forward, Direction::Reverse];
                    ways.into_iter().zip(sampled.directions).map(move |(direction, from)| LinkRow {
                        at: Duration::from_nanos(sampled.at_ns),
                        link: sampled.link.clone(),
                        direction,
                        packets: from.counters.departed,
                        bytes: from.counters.departed_bytes,
                        lost: from.counters.lost + from.counters.failed,
                        queue_dropped: from.counters.queue_dropped + from.counters.aqm_dropped,
                        marked: from.counters.marked,
                        queue_packets: from.counters.under_way(),
                        queue_bytes: from.backlog_bytes,
                    })
                })
                .collect(),
        ),
    }
}

/// What [`Samplers`] share, since one thread reads connections and another the rest.
type Shared = Arc<Mutex<Deliver>>;

fn give(deliver: &Shared, batch: Batch) {
    // Whoever panicked while delivering left nothing half done here.
    deliver.lock().unwrap_or_else(PoisonError::into_inner)(batch);
}

/// Samples of everything that is asked for, until it is stopped.
pub(super) struct Samplers {
    rows: Option<RowSampler>,
    connections: Option<ConnectionSampler>,
}

impl Samplers {
    /// Starts a thread for what comes as rows, if any is wanted, and one for the state of connections.
    pub fn start(
        testbed: &Testbed,
        rows: SampleRequest,
        connections: Option<Duration>,
        deliver: Deliver,
        gone: &Arc<AtomicBool>,
    ) -> io::Result<Self> {
        let deliver = Arc::new(Mutex::new(deliver));
        let any = rows.interfaces_ms.is_some() || rows.links_ms.is_some() || !rows.pings.is_empty();
        let start = || RowSampler::start(testbed.sample(rows)?, deliver.clone());
        let rows = any.then(start).transpose()?;
        let start = |every| {
            let (sampler, line) = testbed.tcp_sampler()?;
            ConnectionSampler::start(sampler, line, every, deliver.clone(), gone.clone())
        };
        Ok(Self { rows, connections: connections.map(start).transpose()? })
    }
}

impl Logger for Samplers {
    fn stop(mut self: Box<Self>) -> Result<LoggerSummary, WorldError> {
        let connections = self.connections.as_mut().map(ConnectionSampler::end).unwrap_or_default();
        let rows = self.rows.as_mut().map_or(Ok(LoggerSummary::default()), RowSampler::end)?;
        Ok(LoggerSummary { kept: rows.kept + connections.kept, missed: rows.missed + connections.missed })
    }
}

/// The state of every connection, asked of the nodes' kernels at an interval.
struct ConnectionSampler {
    /// Closed to end it.
    line: UnixStream,
    /// Whether it was closed by us.
    ended: Arc<AtomicBool>,
    reading: Option<JoinHandle<LoggerSummary>>,
}

impl ConnectionSampler {
    fn start(
        mut sampler: TcpSampler,
        line: UnixStream,
        every: Duration,
        deliver: Shared,
        gone: Arc<AtomicBool>,
    ) -> io::Result<Self> {
        let (own, ended) = (line.try_clone()?, Arc::new(AtomicBool::new(false)));
        let by_us = ended.clone();
        let reading = thread::Builder::new().name("plait-connections".into()).spawn(move || {
            let mut kept = 0;
            let mut next = Instant::now();
            // The testbed says nothing more on this line: something to read is its end, or ours.
            while let Ok(false) = wait_readable(&line, Some(next.saturating_duration_since(Instant::now()))) {
                let rows = sampler.sample();
                kept += rows.len() as u64;
                give(&deliver, Batch::Tcp(rows));
                // On a fixed grid; instants that were missed are not made up for.
                let passed = next.elapsed().as_nanos() / every.as_nanos().max(1);
                next += every * (u32::try_from(passed).unwrap_or(u32::MAX).saturating_add(1));
            }
            if !by_us.load(Ordering::Acquire) {
                gone.store(true, Ordering::Release);
            }
            LoggerSummary { kept, missed: sampler.missed() }
        })?;
        Ok(Self { line: own, ended, reading: Some(reading) })
    }

    fn end(&mut self) -> LoggerSummary {
        self.ended.store(true, Ordering::Release);
        let _ = self.line.shutdown(Shutdown::Both);
        self.reading.take().and_then(|reading| reading.join().ok()).unwrap_or_default()
    }
}

impl Drop for ConnectionSampler {
    fn drop(&mut self) {
        self.end();
    }
}

/// Samples of interfaces, links and round trips, as the supervisor sends them.
struct RowSampler {
    socket: UnixStream,
    reading: Option<JoinHandle<Result<LoggerSummary, WorldError>>>,
}

impl RowSampler {
    /// Reads samples on a thread of their own until they end.
    fn start(mut samples: Samples, deliver: Shared) -> io::Result<Self> {
        let socket = samples.socket()?;
        let reading = thread::Builder::new().name("plait-samples".into()).spawn(move || {
            let mut summary = LoggerSummary::default();
            while let Some(rows) = samples.next_rows::<Sampled>() {
                match rows.map(batch) {
                    Ok(batch) => {
                        summary.kept += batch.rows() as u64;
                        give(&deliver, batch);
                    }
                    // The line is broken or its other side is: nothing more will be understood.
                    Err(failed) => return Err(error(failed)),
                }
            }
            Ok(summary)
        })?;
        Ok(Self { socket, reading: Some(reading) })
    }

    fn end(&mut self) -> Result<LoggerSummary, WorldError> {
        // Only our side is closed, so what is on its way is still read.
        let _ = self.socket.shutdown(Shutdown::Write);
        let _ = self.socket.set_read_timeout(Some(PATIENCE));
        match self.reading.take().map(JoinHandle::join) {
            Some(Ok(summary)) => summary,
            Some(Err(_)) => Err(error("the samplers' thread panicked")),
            None => Ok(LoggerSummary::default()),
        }
    }
}

impl Drop for RowSampler {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// A capture on one interface, until it is stopped.
pub struct CaptureLogger {
    stop: Arc<AtomicBool>,
    reading: Option<JoinHandle<std::io::Result<LoggerSummary>>>,
}

impl CaptureLogger {
    /// Writes what comes to a packet socket into a pcapng file, on a thread of its own.
    pub fn start(socket: Capture, title: &str, into: &Path) -> io::Result<Self> {
        let mut writer = PcapNg::begin(BufWriter::new(File::create(into)?), title, SNAPLEN)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let reading = thread::Builder::new().name("plait-capture".into()).spawn(move || {
            let mut buffer = vec![0; SNAPLEN];
            loop {
                match receive(&socket, &mut buffer, Duration::from_millis(20)) {
                    Ok(Some(packet)) => writer.packet(&packet)?,
                    // Nothing is waiting: a stop loses nothing now.
                    Ok(None) if stopped.load(Ordering::Acquire) => break,
                    Ok(None) => {}
                    Err(failed) => return Err(failed),
                }
            }
            Ok(LoggerSummary { kept: writer.end()?, missed: missed(&socket) })
        })?;
        Ok(Self { stop, reading: Some(reading) })
    }

    fn end(&mut self) -> Result<LoggerSummary, WorldError> {
        self.stop.store(true, Ordering::Release);
        match self.reading.take().map(JoinHandle::join) {
            Some(Ok(summary)) => summary.map_err(error),
            Some(Err(_)) => Err(error("the capture's thread panicked")),
            None => Ok(LoggerSummary::default()),
        }
    }
}

impl Logger for CaptureLogger {
    fn stop(mut self: Box<Self>) -> Result<LoggerSummary, WorldError> {
        self.end()
    }
}

impl Drop for CaptureLogger {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
