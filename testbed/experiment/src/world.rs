//! Where a run happens: the one interface through which it touches a network.
//!
//! A [`World`] is a network that is up: a testbed of namespaces, or a simulator in virtual time. The run decides what
//! happens when; the world makes it so and keeps the clock. Every instant in what a world returns is on that clock.

use crate::section::Traffic;
use plait_model_link::{ConditionsSpec, Journal};
use plait_testbed_runtime::sample::{InterfaceRow, PingRow, TcpRow};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use thiserror::Error;

/// A network that is up and can be acted on.
///
/// All methods may be called from any thread. None may block for longer than it takes to start or stop one thing; only
/// [`World::wait_until`] waits.
pub trait World: Sync {
    /// What this world is, for the results.
    fn describe(&self) -> Description;

    /// The world's clock: monotonic, from an origin of its own. On a testbed, `CLOCK_MONOTONIC`.
    fn now(&self) -> Duration;

    /// Waits until an instant of the world's clock, or until `stop` is asked for. Returns at once when it has passed.
    fn wait_until(&self, instant: Duration, stop: &Stop);

    /// Starts a command on a node.
    fn spawn(&self, launch: &Launch<'_>) -> Result<Box<dyn Running>, WorldError>;

    /// Starts the sources and sinks of a run's traffic. Returns the instant from which its own count, too, which is now or
    /// soon: the run begins then.
    ///
    /// # Errors
    /// It carries none, or cannot carry this; `stop` was asked for.
    fn traffic(
        &self,
        traffic: &[Traffic],
        stop: &Stop,
    ) -> Result<(Box<dyn FlowLogger>, Duration), WorldError> {
        let _ = (traffic, stop);
        Err(WorldError::new("this world carries no `traffic`: run the file with `--world simulated`"))
    }

    /// Lays conditions over those that a link has now, from this instant on; what is queued stays queued.
    fn set_link(&self, link: &str, direction: Direction, change: &ConditionsSpec) -> Result<(), WorldError>;

    /// Makes a link fail (it passes nothing) or recover.
    fn set_link_up(&self, link: &str, direction: Direction, up: bool) -> Result<(), WorldError>;

    /// Makes a node fail (its links pass nothing, its processes are left alone) or recover; a link that failed itself
    /// stays down.
    fn set_node_up(&self, node: &str, up: bool) -> Result<(), WorldError>;

    /// Whether the network ended by itself, as far as it is known, so that nothing more can come of a run.
    fn is_gone(&self) -> bool {
        false
    }

    /// Starts the samplers. Batches arrive in order of time; `deliver` is quick and may be called from any thread.
    fn sample(&self, request: Sampling, deliver: Deliver) -> Result<Box<dyn Logger>, WorldError>;

    /// Starts writing an interface's packets to a pcapng file at `into`.
    fn capture(&self, node: &str, interface: &str, into: &Path) -> Result<Box<dyn Logger>, WorldError>;

    /// Copies files and folders of a node (absolute paths inside it), and its log folder if it has one, into a folder
    /// of this machine that exists. A path keeps its place: `/var/log/x` becomes `into/var/log/x`.
    fn collect(&self, node: &str, paths: &[String], into: &Path) -> Result<(), WorldError>;

    /// Copies what control planes of overlays wrote down, where they were told to, into a folder of this machine that exists:
    /// `NODE.jsonl` for each node that has any. Its instants are on the world's clock.
    fn recordings(&self, into: &Path) -> Result<(), WorldError> {
        let _ = into;
        Ok(())
    }

    /// What link measurements at the start found; empty when none was asked for.
    fn verification(&self) -> Vec<Verification>;

    /// Whether the links did what was asked of them since an instant; reasons count their seconds from it.
    fn verdict(&self, since: Duration) -> Verdict;

    /// What was built, in full: addresses, configurations, conditions, seeds. Two runs of one file build the same.
    fn plan(&self) -> serde_json::Value;

    /// What chance decided about the first packets of links.
    fn fates(&self) -> Vec<Fates>;

    /// Whatever else is known of each link (backend, counters, lateness), kept as it is in the results.
    fn link_report(&self) -> serde_json::Value;
}

/// What a world is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// `testbed` or `simulator`.
    pub kind: String,
    /// How exact its links are; absent where no link is shaped.
    pub accuracy: Option<AccuracyClass>,
    /// Whether its machine's processors were kept from halting.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kept_awake: bool,
    /// Which node holds which address, so that reports can name the ends of a flow.
    pub addresses: Vec<(IpAddr, String)>,
    /// What of the file cannot run there and was left out, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// How exact shaped links are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum AccuracyClass {
    /// Real-time scheduling.
    A,
    /// Ordinary scheduling.
    B,
    /// Less than ordinary: no core to spare, or no precise timers.
    C,
}

/// A command to start.
#[derive(Debug, Clone, Copy)]
pub struct Launch<'a> {
    /// The node.
    pub node: &'a str,
    /// A line for `/bin/sh -c`.
    pub command: &'a str,
    /// After this long the command and all its children are stopped.
    pub timeout: Duration,
    /// File of this machine that takes its output; it is created.
    pub stdout: &'a Path,
    /// File of this machine that takes its error output; it is created.
    pub stderr: &'a Path,
}

/// A command that was started. Dropping it leaves the command alone.
pub trait Running: Send {
    /// How it ended; none while it runs. Does not wait.
    fn outcome(&mut self) -> Result<Option<Outcome>, WorldError>;

    /// Asks it and all its children to end (SIGTERM, after a second SIGKILL). Does not wait; its outcome becomes
    /// [`Ended::Stopped`] unless it had ended before.
    fn stop(&mut self) -> Result<(), WorldError>;
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Why it is no longer there.
    pub ended: Ended,
    /// When it began, on the world's clock.
    pub started: Duration,
    /// When it was gone.
    pub finished: Duration,
}

/// Why a command is no longer there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// It exited with this code.
    Exit(i32),
    /// This signal, which nobody here sent, ended it.
    Signal(i32),
    /// Its time was over.
    TimedOut,
    /// [`Running::stop`] ended it.
    Stopped,
}

/// A sampler or capture at work. Dropping it stops it too.
pub trait Logger: Send {
    /// Stops it, after everything it holds was delivered or written.
    fn stop(self: Box<Self>) -> Result<LoggerSummary, WorldError>;
}

/// The sinks of a run's traffic. Dropping it ends the traffic too.
pub trait FlowLogger: Send {
    /// What became of each flow, in the order of the file; called once all are over or the run is.
    fn finish(self: Box<Self>) -> Result<Vec<FlowRow>, WorldError>;
}

/// What became of one flow of datagrams.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowRow {
    /// The traffic's name.
    pub traffic: String,
    /// The node that sends.
    pub from: String,
    /// The node that receives.
    pub to: String,
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams received.
    pub received: u64,
    /// Bytes of UDP payload received.
    pub bytes: u64,
    /// Datagrams that came after one that was sent later.
    pub reordered: u64,
}

impl FlowRow {
    /// A flow of which nothing is known yet.
    pub fn new(traffic: &str, [from, to]: [&str; 2], [source_port, destination_port]: [u16; 2]) -> Self {
        let (traffic, from, to) = (traffic.to_owned(), from.to_owned(), to.to_owned());
        Self { traffic, from, to, source_port, destination_port, ..Self::default() }
    }
}

/// What a logger has to say of itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoggerSummary {
    /// Rows or packets kept.
    pub kept: u64,
    /// Rows or packets it knows it missed.
    pub missed: u64,
}

/// What to sample and how often; none is not at all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sampling {
    /// TCP connections of all nodes.
    pub tcp: Option<Duration>,
    /// Links, each direction.
    pub links: Option<Duration>,
    /// Interfaces of all nodes.
    pub interfaces: Option<Duration>,
    /// Round trips.
    pub pings: Vec<Ping>,
}

/// A series of round trips.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ping {
    /// The node that asks.
    pub from: String,
    /// The node that answers.
    pub to: String,
    /// From one request to the next.
    pub every: Duration,
}

/// Takes what samplers deliver.
pub type Deliver = Box<dyn FnMut(Batch) + Send>;

/// Rows of one kind from one instant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Batch {
    /// TCP connections.
    Tcp(Vec<TcpRow>),
    /// Links.
    Links(Vec<LinkRow>),
    /// Interfaces.
    Interfaces(Vec<InterfaceRow>),
    /// Round trips.
    Pings(Vec<PingRow>),
}

impl Batch {
    /// How many rows.
    pub fn rows(&self) -> usize {
        match self {
            Self::Tcp(rows) => rows.len(),
            Self::Links(rows) => rows.len(),
            Self::Interfaces(rows) => rows.len(),
            Self::Pings(rows) => rows.len(),
        }
    }
}

/// The counters of one direction of a link, counted from the world's start, and its queue at one instant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkRow {
    /// When, on the world's clock.
    pub at: Duration,
    /// The link's name.
    pub link: String,
    /// The direction; never [`Direction::Both`].
    pub direction: Direction,
    /// Packets delivered at the other end.
    pub packets: u64,
    /// Bytes delivered at the other end, as whole frames.
    pub bytes: u64,
    /// Packets the link lost because it was asked to lose some, or because it had failed.
    pub lost: u64,
    /// Packets its queue dropped.
    pub queue_dropped: u64,
    /// Packets its queue marked (ECN).
    pub marked: u64,
    /// Packets that wait for the rate.
    pub queue_packets: u64,
    /// Bytes that wait for the rate.
    pub queue_bytes: u64,
}

/// A direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From end 0 to end 1, the order of the link's name.
    Forward,
    /// From end 1 to end 0.
    Reverse,
    /// Both.
    Both,
}

impl Direction {
    /// Whether it includes the direction from `side` (0 or 1) to the other.
    pub fn includes(self, side: usize) -> bool {
        match self {
            Self::Forward => side == 0,
            Self::Reverse => side == 1,
            Self::Both => true,
        }
    }

    /// The same seen from the other end.
    pub fn turned(self) -> Self {
        match self {
            Self::Forward => Self::Reverse,
            Self::Reverse => Self::Forward,
            Self::Both => Self::Both,
        }
    }
}

/// What chance decided about the first packets of one direction of a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fates {
    /// The link's name.
    pub link: String,
    /// The direction; never [`Direction::Both`].
    pub direction: Direction,
    /// What was decided.
    #[serde(flatten)]
    pub journal: Journal,
}

/// One property of one direction of a link, measured against its request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verification {
    /// The link's name.
    pub link: String,
    /// The direction measured.
    pub direction: Direction,
    /// What was measured: `delay`, `rate`, `loss`, `queue`.
    pub property: String,
    /// Unit of the figures: `ms`, `Mbit/s`, `%`, `KiB`.
    pub unit: String,
    /// What the file asks for.
    pub asked: f64,
    /// What was measured.
    pub got: f64,
    /// Half the 95 % interval of `got`; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<f64>,
    /// Probes the figure rests on.
    pub samples: u64,
    /// Whether it is as asked, by the world's own bar.
    pub holds: bool,
}

/// Whether a run's links did what was asked of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The word.
    pub word: VerdictWord,
    /// Why not, if not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Reason>,
}

/// The word of a [`Verdict`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VerdictWord {
    /// Every link was as asked, all the time.
    #[default]
    Valid,
    /// Some were not, at the seconds given.
    Tainted,
}

/// A second in which a link was not as asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reason {
    /// Seconds from the start of the run.
    pub seconds: f64,
    /// The link; absent where the whole machine was at fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// What happened.
    pub why: String,
}

/// Why a world could not do something.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct WorldError {
    /// What failed and why, with the remedy if there is one.
    pub message: String,
}

impl WorldError {
    /// An error in words.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

/// Asks a run to end early, from a signal handler or another thread. Clones share the request.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks for the end.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the end was asked for.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
