//! A running testbed as a [`World`].

use crate::world::{
    AccuracyClass, Batch, Deliver, Description, Direction, Ended, Launch, LinkRow, Logger, LoggerSummary,
    Outcome, Reason, Running, Sampling, Stop, Verdict, VerdictWord, Verification, World, WorldError,
};
use plait_model_link::{ConditionsSpec, Counters};
use plait_model_quantity::TimeSpan;
use plait_testbed_runtime::capture::{PcapNg, receive};
use plait_testbed_runtime::collect::copy_tree;
use plait_testbed_runtime::control::{ExecRequest, Exited, SampleRequest, Testbed, Traces};
use plait_testbed_runtime::kernel::time::monotonic_nanos;
use plait_testbed_runtime::sandbox::NODE_FOLDER;
use serde::Deserialize;
use serde_json::Value;
use std::fs::File;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a logger may take to deliver what it holds.
const PATIENCE: Duration = Duration::from_secs(5);

/// A testbed that is up, with what its links were measured to do.
pub struct RunningTestbed {
    testbed: Testbed,
    traces: Traces,
    verification: Vec<Verification>,
}

impl RunningTestbed {
    /// A testbed that is up, and the traces that events name. Links that ask for it are measured now; `measuring` hears
    /// of each.
    ///
    /// # Errors
    /// When the testbed is gone, or a link cannot be measured.
    pub fn new(testbed: Testbed, traces: Traces, measuring: &mut dyn FnMut(&str)) -> std::io::Result<Self> {
        let state = testbed.state()?;
        let mut verification = Vec::new();
        for (name, _) in state.links.iter().filter(|(_, link)| link.verify) {
            measuring(name);
            verification.extend(verified(name, &testbed.check_link(name, false)?));
        }
        Ok(Self { testbed, traces, verification })
    }

    /// The testbed again, to take it down.
    pub fn into_testbed(self) -> Testbed {
        self.testbed
    }
}

fn error(error: impl std::fmt::Display) -> WorldError {
    WorldError { message: error.to_string() }
}

/// The measurements of one link in the results' units.
fn verified(link: &str, checked: &Value) -> Vec<Verification> {
    let mut found = Vec::new();
    for (direction, side) in [Direction::Forward, Direction::Reverse].into_iter().zip(0..) {
        for measured in checked["directions"][side]["measured"].as_array().into_iter().flatten() {
            let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
            let (unit, scale) = match measured["unit"].as_str() {
                Some("ns") => ("ms", 1e-6),
                Some("bit/s") => ("Mbit/s", 1e-6),
                _ => ("%", 100.0),
            };
            let property = measured["quantity"].as_str().unwrap_or_default().to_owned();
            // The longest wait of one overload is a single observation, so the queue has no interval.
            let half = (number(&measured["interval"][1]) - number(&measured["interval"][0])) / 2.0;
            found.push(Verification {
                link: link.to_owned(),
                direction,
                unit: unit.to_owned(),
                asked: number(&measured["asked"]) * scale,
                got: number(&measured["got"]) * scale,
                interval: (property != "queue").then_some(half * scale),
                property,
                samples: measured["samples"].as_u64().unwrap_or(0),
                holds: measured["within"] == true,
            });
        }
    }
    found
}

impl World for RunningTestbed {
    fn describe(&self) -> Description {
        let state = self.testbed.state().unwrap_or_default();
        let accuracy = self.testbed.verdict().ok().and_then(|report| match report["class"].as_str()? {
            "A" => Some(AccuracyClass::A),
            "B" => Some(AccuracyClass::B),
            _ => Some(AccuracyClass::C),
        });
        let addresses = state.nodes.iter().filter(|(_, node)| !node.hidden).flat_map(|(name, node)| {
            node.interfaces
                .values()
                .flat_map(|interface| &interface.addresses)
                .map(|net| (net.addr(), name.clone()))
        });
        Description { kind: "testbed".to_owned(), accuracy, addresses: addresses.collect() }
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(monotonic_nanos())
    }

    fn wait_until(&self, instant: Duration, stop: &Stop) {
        while !stop.is_asked() {
            let rest = instant.saturating_sub(self.now());
            if rest.is_zero() {
                return;
            }
            std::thread::sleep(rest.min(Duration::from_millis(50)));
        }
    }

    fn spawn(&self, launch: &Launch<'_>) -> Result<Box<dyn Running>, WorldError> {
        let null = File::open("/dev/null").map_err(error)?;
        let stdout = File::create(launch.stdout).map_err(error)?;
        let stderr = File::create(launch.stderr).map_err(error)?;
        let request = ExecRequest {
            node: launch.node.to_owned(),
            command: ["/bin/sh", "-c", launch.command].map(str::to_owned).to_vec(),
            timeout_ms: u64::try_from(launch.timeout.as_millis()).ok(),
            ..ExecRequest::default()
        };
        let started = self.now();
        let mut running =
            self.testbed.exec(request, [null.as_fd(), stdout.as_fd(), stderr.as_fd()]).map_err(error)?;
        let socket = running.socket().map_err(error)?;
        let outcome = Arc::new(Mutex::new(None));
        let told = outcome.clone();
        std::thread::Builder::new()
            .name("plait-command".into())
            .spawn(move || {
                let ended = match running.wait() {
                    Ok(Exited::Code(code)) => Ended::Exit(code),
                    Ok(Exited::Signal(signal)) => Ended::Signal(signal),
                    Ok(Exited::TimedOut) => Ended::TimedOut,
                    // The line was closed: by `stop`, or because the testbed is gone.
                    Err(_) => Ended::Stopped,
                };
                let finished = Duration::from_nanos(monotonic_nanos());
                *told.lock().unwrap_or_else(PoisonError::into_inner) =
                    Some(Outcome { ended, started, finished });
            })
            .map_err(error)?;
        Ok(Box::new(Command { outcome, socket, stopped: false }))
    }

    fn set_link(&self, link: &str, direction: Direction, change: &ConditionsSpec) -> Result<(), WorldError> {
        let direction = match direction {
            Direction::Forward => Some(0),
            Direction::Reverse => Some(1),
            Direction::Both => None,
        };
        let named = change.traces();
        let mut traces = self.traces.clone();
        traces.retain(|path, _| named.contains(&&path[..]));
        self.testbed.set_link(link, direction, change.clone(), traces).map(drop).map_err(error)
    }

    fn set_link_up(&self, link: &str, direction: Direction, up: bool) -> Result<(), WorldError> {
        if direction == Direction::Both {
            return self.testbed.fail_link(link, !up).map_err(error);
        }
        // One direction alone fails by losing everything: the device at its end stays as it is.
        let settings = [("loss", if up { "none" } else { "100%" })];
        let change = ConditionsSpec::from_settings(&settings).map_err(error)?;
        self.set_link(link, direction, &change)
    }

    fn set_node_up(&self, node: &str, up: bool) -> Result<(), WorldError> {
        let state = self.testbed.state().map_err(error)?;
        let mut attached =
            state.links.iter().filter(|(_, link)| link.ends.iter().any(|(end, _)| end == node));
        attached.try_for_each(|(name, _)| self.testbed.fail_link(name, !up).map_err(error))
    }

    fn sample(&self, request: Sampling, deliver: Deliver) -> Result<Box<dyn Logger>, WorldError> {
        let millis = |every: Option<Duration>| every.map(|every| every.as_millis() as u64);
        let samples = self
            .testbed
            .sample(SampleRequest {
                tcp_ms: millis(request.tcp),
                interfaces_ms: millis(request.interfaces),
                links_ms: millis(request.links),
            })
            .map_err(error)?;
        let socket = samples.socket().map_err(error)?;
        let mut deliver = deliver;
        let reading = std::thread::Builder::new()
            .name("plait-samples".into())
            .spawn(move || {
                let mut summary = LoggerSummary::default();
                for row in samples {
                    match row.ok().and_then(|row| batch(&row)) {
                        Some(batch) => {
                            summary.kept += batch.rows() as u64;
                            deliver(batch);
                        }
                        None => summary.missed += 1,
                    }
                }
                summary
            })
            .map_err(error)?;
        Ok(Box::new(Sampler { socket, reading: Some(reading) }))
    }

    fn capture(&self, node: &str, interface: &str, into: &Path) -> Result<Box<dyn Logger>, WorldError> {
        let socket = self.testbed.capture(node, interface).map_err(error)?;
        let file = std::io::BufWriter::new(File::create(into).map_err(error)?);
        let mut writer = PcapNg::begin(file, &format!("{node}:{interface}"), SNAPLEN).map_err(error)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let reading = std::thread::Builder::new()
            .name("plait-capture".into())
            .spawn(move || {
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
                let missed = plait_testbed_runtime::capture::missed(&socket);
                Ok(LoggerSummary { kept: writer.end()?, missed })
            })
            .map_err(error)?;
        Ok(Box::new(CaptureLogger { stop, reading: Some(reading) }))
    }

    fn collect(&self, node: &str, paths: &[String], into: &Path) -> Result<(), WorldError> {
        let own = self.testbed.open(node, NODE_FOLDER).map_err(error)?;
        copy_tree(own, into).map_err(error)?;
        for path in paths {
            let opened = self.testbed.open(node, path).map_err(error)?;
            copy_tree(opened, &into.join(path.trim_start_matches('/'))).map_err(error)?;
        }
        Ok(())
    }

    fn verification(&self) -> Vec<Verification> {
        self.verification.clone()
    }

    fn verdict(&self, since: Duration) -> Verdict {
        let Ok(report) = self.testbed.verdict() else {
            let why = "the testbed ended before it could be asked".to_owned();
            return Verdict {
                word: VerdictWord::Tainted,
                reasons: vec![Reason { seconds: 0.0, link: None, why }],
            };
        };
        let started = report["engine_started_ns"].as_u64().unwrap_or(0) as f64 / 1e9;
        let mut reasons = Vec::new();
        for tainted in report["tainted"].as_array().into_iter().flatten() {
            let second = started + tainted["second"].as_f64().unwrap_or(0.0) - since.as_secs_f64();
            // A second that was over before the run began is no matter of the run's.
            if second < -1.0 {
                continue;
            }
            let why = why_tainted(tainted);
            for link in tainted["links"].as_array().into_iter().flatten() {
                let link = link.as_str().map(str::to_owned);
                reasons.push(Reason { seconds: second.max(0.0), link, why: why.clone() });
            }
        }
        let word = if reasons.is_empty() { VerdictWord::Valid } else { VerdictWord::Tainted };
        Verdict { word, reasons }
    }

    fn link_report(&self) -> Value {
        let links = self.testbed.inspect().ok().and_then(|report| serde_json::to_value(report.links).ok());
        serde_json::json!({ "links": links, "engine": self.testbed.verdict().ok() })
    }
}

/// What went wrong in a second that the engine calls tainted.
fn why_tainted(second: &Value) -> String {
    let count = |key: &str| second[key].as_u64().unwrap_or(0);
    let latest: TimeSpan =
        second["latest"].as_str().and_then(|text| text.parse().ok()).unwrap_or(TimeSpan::ZERO);
    let mut reasons = Vec::new();
    if count("late") > 0 {
        reasons.push(format!(
            "{} of {} packets left more than 1 ms late, one {:.1} ms",
            count("late"),
            count("packets"),
            latest.as_nanos() as f64 / 1e6
        ));
    }
    if count("dropped") > 0 {
        reasons.push(format!("{} packets were dropped outside the model", count("dropped")));
    }
    reasons.join("; ")
}

/// Frames up to a superpacket of 64 KiB with its headers.
const SNAPLEN: usize = 256 * 1024;

/// A row of samples as the supervisor sends it.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Sampled {
    Interfaces(Vec<plait_testbed_runtime::sample::InterfaceRow>),
    Links(Vec<SampledLink>),
    Tcp(Vec<plait_testbed_runtime::sample::TcpRow>),
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

fn batch(row: &Value) -> Option<Batch> {
    Some(match Sampled::deserialize(row).ok()? {
        Sampled::Interfaces(rows) => Batch::Interfaces(rows),
        Sampled::Tcp(rows) => Batch::Tcp(rows),
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
    })
}

struct Command {
    outcome: Arc<Mutex<Option<Outcome>>>,
    socket: UnixStream,
    stopped: bool,
}

impl Running for Command {
    fn outcome(&mut self) -> Result<Option<Outcome>, WorldError> {
        Ok(*self.outcome.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn stop(&mut self) -> Result<(), WorldError> {
        if !self.stopped {
            self.stopped = true;
            // The supervisor takes the end of the line for the end of the wish: SIGTERM, then SIGKILL.
            let _ = self.socket.shutdown(Shutdown::Both);
        }
        Ok(())
    }
}

struct Sampler {
    socket: UnixStream,
    reading: Option<JoinHandle<LoggerSummary>>,
}

impl Sampler {
    fn end(&mut self) -> LoggerSummary {
        // Only our side is closed, so what is on its way is still read.
        let _ = self.socket.shutdown(Shutdown::Write);
        let _ = self.socket.set_read_timeout(Some(PATIENCE));
        self.reading.take().and_then(|reading| reading.join().ok()).unwrap_or_default()
    }
}

impl Logger for Sampler {
    fn stop(mut self: Box<Self>) -> Result<LoggerSummary, WorldError> {
        Ok(self.end())
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.end();
    }
}

struct CaptureLogger {
    stop: Arc<AtomicBool>,
    reading: Option<JoinHandle<std::io::Result<LoggerSummary>>>,
}

impl CaptureLogger {
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
