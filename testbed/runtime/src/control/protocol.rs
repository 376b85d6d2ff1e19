//! Requests and replies.

use crate::plan::{Limits, LinkState, Realisation, State};
use plait_model_link::{Conditions, ConditionsSpec};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the conversation. A supervisor answers its own version and refuses others by name, so that an upgraded
/// command says which `plait` started the testbed.
pub const PROTOCOL_VERSION: u32 = 1;

/// A request with the version it is made in.
#[derive(Debug, Serialize, Deserialize)]
pub struct Envelope {
    /// [`PROTOCOL_VERSION`] of the asker.
    pub plait: u32,
    /// What is asked.
    pub request: Request,
}

/// What may be asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Lead the testbed to a state. Answers progress, then the steps taken.
    Apply {
        /// The state it shall reach.
        desired: Box<State>,
    },
    /// A packet socket on an interface, as a descriptor.
    Capture {
        /// The node.
        node: String,
        /// The interface.
        interface: String,
    },
    /// Measure a link against its request; its packet numbers start afresh afterwards.
    Check {
        /// The link.
        link: String,
        /// Take the time that the published accuracy needs, instead of a few seconds.
        thorough: bool,
    },
    /// Take everything down and end. Answers progress, then done, then the connection closes.
    Down,
    /// Run a program in a node. Standard input, output and error come as descriptors, unless a terminal is asked for:
    /// then its user side comes back. Answers `{"started": pid}`, then [`Exited`]. The program dies with the
    /// connection.
    Exec(Box<ExecRequest>),
    /// Let nothing through a link.
    Fail {
        /// The link.
        link: String,
        /// 0: from its first end to its second; 1: back; none: both.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        direction: Option<usize>,
    },
    /// Let nothing through the links of a node.
    FailNode {
        /// The node.
        node: String,
    },
    /// What the testbed is, for people.
    Inspect,
    /// Keep processors from halting until the asker closes the connection. Answers `{"awake": processors}` once they are.
    KeepAwake,
    /// The supervisor's log so far.
    Log,
    /// Numbers in Prometheus' text form.
    Metrics,
    /// A file or folder as a node sees it, as a descriptor.
    Open {
        /// The node.
        node: String,
        /// An absolute path.
        path: String,
    },
    /// Let packets through a failed link again.
    Recover {
        /// The link.
        link: String,
        /// As for `fail`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        direction: Option<usize>,
    },
    /// Let packets through the links of a failed node again, but for those that failed themselves.
    RecoverNode {
        /// The node.
        node: String,
    },
    /// Start all links' packet numbers and counters afresh.
    Reset,
    /// Rows of samples until the connection closes.
    Sample(SampleRequest),
    /// Change conditions of a link; what is not given stays.
    Set {
        /// The link.
        link: String,
        /// 0: from its first end to its second; 1: back; none: both.
        direction: Option<usize>,
        /// What changes.
        spec: Box<ConditionsSpec>,
        /// The texts of the traces it names, which the supervisor cannot read.
        #[serde(default)]
        traces: Traces,
    },
    /// What the testbed consists of, for planning.
    State,
    /// A `sock_diag(7)` socket of each node, as descriptors beside rows of the nodes' names, of which the last is empty.
    /// Who reads TCP's state often reads it there, since no row of it need cross a line. Sockets keep networks alive: who
    /// has them closes them when the connection is closed, which is the testbed's end.
    TcpSockets,
    /// How well the links kept their word so far.
    Verdict,
}

/// Texts of traces by the paths that name them.
pub type Traces = BTreeMap<String, String>;

/// A program to run in a node.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct ExecRequest {
    /// The node.
    pub node: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Variables beyond those every program gets.
    pub environment: Vec<(String, String)>,
    /// Killed after this many milliseconds.
    pub timeout_ms: Option<u64>,
    /// Give it a terminal of this many rows and columns.
    pub terminal: Option<(u16, u16)>,
    /// Start in this folder instead of the node's own.
    pub folder: Option<String>,
}

/// Which samples, and how often, in milliseconds.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SampleRequest {
    /// TCP sockets of all nodes.
    pub tcp_ms: Option<f64>,
    /// Counters of all interfaces.
    pub interfaces_ms: Option<f64>,
    /// Counters of the links the engine holds.
    pub links_ms: Option<f64>,
    /// Round trips.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pings: Vec<PingRequest>,
}

/// A series of echo requests.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PingRequest {
    /// The node that sends them.
    pub from: String,
    /// The node that answers, or an address.
    pub to: String,
    /// From one to the next.
    pub every_ms: f64,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exited {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Killed because its time was over.
    TimedOut,
}

/// One line of an answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The end, with the answer.
    Done(serde_json::Value),
    /// The end, with the reason.
    Failed(String),
    /// How far: done, and in all.
    Progress(usize, usize),
    /// One of many.
    Row(serde_json::Value),
}

/// What a testbed is, for people.
#[derive(Debug, Serialize, Deserialize)]
pub struct Report {
    /// Its name.
    pub name: String,
    /// The file it was built from, as the user gave it.
    pub file: String,
    /// The supervisor's process ID on the host.
    pub pid: i32,
    /// `starting`, `running` or `stopping`.
    pub status: String,
    /// Seconds since the supervisor began.
    pub uptime_s: f64,
    /// Version of Plait that runs it.
    pub version: String,
    /// Whether every link may change while it is up.
    #[serde(default)]
    pub live: bool,
    /// Accuracy class of its engine: A, B or C; none without engine links.
    pub accuracy_class: Option<String>,
    /// Its nodes.
    pub nodes: Vec<NodeReport>,
    /// Its links.
    pub links: Vec<LinkReport>,
}

/// A node, for people.
#[derive(Debug, Serialize, Deserialize)]
pub struct NodeReport {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// Interfaces with their addresses, devices of overlays among them.
    pub interfaces: Vec<(String, Vec<ipnet::IpNet>)>,
    /// How many routes were written.
    pub routes: usize,
    /// Routing daemons, and the overlays' agent.
    pub daemons: Vec<String>,
    /// Limits of its programs.
    pub limits: Limits,
}

/// A link, for people.
#[derive(Debug, Serialize, Deserialize)]
pub struct LinkReport {
    /// Its name.
    pub name: String,
    /// `node:interface` of both ends.
    pub ends: [String; 2],
    /// How it is made.
    pub realisation: Realisation,
    /// What happens each way, in short.
    pub conditions: [String; 2],
    /// Both ways in full.
    pub detail: [Conditions; 2],
    /// Whether nothing passes.
    pub failed: bool,
    /// Which ways nothing passes, because the link failed or a node at an end of it.
    #[serde(default)]
    pub down: [bool; 2],
}

impl LinkReport {
    /// A link of a state.
    pub fn new(name: &str, link: &LinkState, down: [bool; 2]) -> Self {
        Self {
            name: name.to_owned(),
            ends: link.ends.clone().map(|(node, interface)| format!("{node}:{interface}")),
            realisation: link.realisation,
            conditions: [link.conditions[0].to_string(), link.conditions[1].to_string()],
            detail: link.conditions.clone(),
            failed: down == [true; 2],
            down,
        }
    }
}
