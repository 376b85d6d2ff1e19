//! `results.json`: what was run, where, and how it ended.

use super::{Machine, MetricValue, ResultsError};
use crate::section::{Expect, Question};
use crate::world::{Description, Direction, Ended, Fates, LoggerSummary, Verdict, Verification};
use plait_model_topology::Network;
use plait_model_topology::network::{Node, Port};
use plait_model_topology::vocabulary::Role;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The version of results folders this build writes.
pub const RESULTS_VERSION: u64 = 1;

/// The content of `results.json`. Seconds count from the start of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Version of the folder's format.
    pub plait_results: u64,
    /// Version of the program that wrote it.
    pub plait: String,
    /// The network.
    pub network: NetworkSummary,
    /// What the run is about.
    #[serde(default)]
    pub question: Question,
    /// Where it took place.
    pub machine: Machine,
    /// What carried it.
    pub world: Description,
    /// When it started: RFC 3339, UTC.
    pub started: String,
    /// How long it lasted.
    pub duration_s: f64,
    /// Whether it was ended early by the user.
    #[serde(default)]
    pub interrupted: bool,
    /// Whether everything happened as the file says and every command returned what it must.
    pub passed: bool,
    /// Why not, if not.
    #[serde(default)]
    pub failures: Vec<String>,
    /// Whether the links did what was asked of them.
    pub verdict: Verdict,
    /// Samples of the first seconds that are in no metric.
    #[serde(default, skip_serializing_if = "is_nought")]
    pub warmup_s: f64,
    /// The figures of the run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, MetricValue>,
    /// What was asserted of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assertions: Vec<AssertionRecord>,
    /// What link measurements at the start found.
    #[serde(default)]
    pub verification: Vec<Verification>,
    /// The commands, in the order they were started.
    pub commands: Vec<CommandRecord>,
    /// The events, in the order they fired.
    pub events: Vec<EventRecord>,
    /// What the loggers kept and missed.
    #[serde(default)]
    pub samples: SamplesSummary,
    /// What chance decided about the first packets of links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fates: Vec<Fates>,
    /// Whatever else the world said of each link.
    #[serde(default)]
    pub links: serde_json::Value,
}

/// The network as far as a report needs it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NetworkSummary {
    /// Its name.
    pub name: String,
    /// Its file's name, as it was given.
    pub file: String,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
    /// The same of the files that it names, by their paths.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// Seed of every random choice.
    pub seed: u64,
    /// Nodes in the order of the file.
    pub nodes: Vec<NodeSummary>,
    /// Links in the order of the file.
    pub links: Vec<LinkSummary>,
    /// LANs in the order of the file.
    #[serde(default)]
    pub lans: Vec<LanSummary>,
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeSummary {
    /// Its name.
    pub name: String,
    /// Its kind as written.
    pub kind: String,
    /// `host`, `router` or `switch`.
    pub role: String,
}

/// A point-to-point link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkSummary {
    /// Its name.
    pub name: String,
    /// Nodes at its ends.
    pub ends: [String; 2],
    /// Interfaces at its ends.
    pub interfaces: [String; 2],
    /// Its conditions as written, forward and reverse; empty for a bare wire.
    pub conditions: [serde_json::Value; 2],
}

/// A shared segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LanSummary {
    /// Its name.
    pub name: String,
    /// Nodes on it.
    pub members: Vec<String>,
}

/// A command that was started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandRecord {
    /// What people call it.
    pub name: String,
    /// Where it ran.
    pub node: String,
    /// The line the shell was given.
    pub exec: String,
    /// Folder of its output, under the results folder.
    pub folder: String,
    /// When it was to start.
    pub asked_s: f64,
    /// When it started; absent when it could not.
    pub started_s: Option<f64>,
    /// When it was gone.
    pub finished_s: Option<f64>,
    /// How it ended; absent when it could not be started.
    pub ended: Option<Ended>,
    /// What it had to return.
    pub expect: Expect,
    /// Whether it accompanied the run.
    pub background: bool,
    /// Whether it did what it had to.
    pub passed: bool,
}

/// What was asserted of a metric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssertionRecord {
    /// As it is written: `goodput >= 15Mbit`.
    pub text: String,
    /// The metric.
    pub metric: String,
    /// Whether it held; not, where the metric has no value.
    pub held: bool,
}

/// An event that fired.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventRecord {
    /// When it was to happen, the waits before it counted.
    pub asked_s: f64,
    /// When it was done; of a wait, when it was over.
    pub actual_s: f64,
    /// What kind of event it is.
    pub kind: EventKind,
    /// What happened, in a few words: `a-r: delay 50ms`.
    pub label: String,
    /// The link concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// The direction concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// The node concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Why it could not be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl EventRecord {
    /// How much later than asked it was done, in seconds.
    pub fn lateness_s(&self) -> f64 {
        self.actual_s - self.asked_s
    }
}

/// A kind of event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EventKind {
    /// A command started.
    Command,
    /// A link's conditions changed.
    Set,
    /// A link or node failed.
    Fail,
    /// A link or node recovered.
    Recover,
    /// The run waited from when it was asked to until it was done.
    Wait,
}

/// What the loggers kept and missed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SamplesSummary {
    /// Interval of TCP samples in seconds; absent when none were taken.
    pub tcp_interval_s: Option<f64>,
    /// Interval of link samples in seconds.
    pub links_interval_s: Option<f64>,
    /// Interval of interface samples in seconds.
    pub interfaces_interval_s: Option<f64>,
    /// Rows of all samplers.
    pub rows: LoggerSummary,
    /// Packets of all captures.
    pub packets: LoggerSummary,
}

/// Why a run did not pass, and which assertions do not hold.
pub(crate) fn complaints(failures: &[String], assertions: &[AssertionRecord]) -> Vec<String> {
    let broken = assertions.iter().filter(|assertion| !assertion.held);
    failures.iter().cloned().chain(broken.map(|broken| format!("not so: {}", broken.text))).collect()
}

impl Results {
    /// Why the run did not pass, and which assertions do not hold.
    pub fn complaints(&self) -> Vec<String> {
        complaints(&self.failures, &self.assertions)
    }

    /// Whether the run is a success: all happened as the file says, and every assertion held.
    pub fn succeeded(&self) -> bool {
        self.passed && self.assertions.iter().all(|assertion| assertion.held)
    }

    /// Reads the `results.json` of a folder.
    ///
    /// # Errors
    /// A file that is missing, damaged, or of a newer format, which is refused by name.
    pub fn read(folder: &Path) -> Result<Self, ResultsError> {
        let path = folder.join("results.json");
        let text = std::fs::read(&path).map_err(|error| ResultsError::read(&path, error))?;
        let damaged = |reason: String| ResultsError::Damaged { path: path.clone(), reason };
        let value: serde_json::Value =
            serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        // The version first, so that a newer folder is refused by name and not by its new fields.
        match value["plait_results"].as_u64() {
            Some(found) if found > RESULTS_VERSION => {
                return Err(ResultsError::Newer { path, found, known: RESULTS_VERSION });
            }
            Some(RESULTS_VERSION) => {}
            _ => return Err(damaged("it names no version (`plait_results`)".to_owned())),
        }
        serde_json::from_value(value).map_err(|error| damaged(error.to_string()))
    }
}

impl NetworkSummary {
    /// The summary of a network read from `file`, whose bytes hash to `sha256`, and those of the files it names to others.
    pub fn of(network: &Network, file: &str, sha256: String, files: BTreeMap<String, String>) -> Self {
        let node = |port: Port| &network.nodes[port.node];
        let interface = |port: Port| node(port).interfaces[port.interface].name.clone();
        Self {
            name: network.name.clone(),
            file: file.to_owned(),
            sha256,
            files,
            seed: network.seed,
            nodes: network.nodes.iter().map(node_summary).collect(),
            links: network
                .links
                .iter()
                .map(|link| LinkSummary {
                    name: link.name.clone(),
                    ends: link.ends.map(|end| node(end).name.clone()),
                    interfaces: link.ends.map(interface),
                    conditions: link
                        .specs
                        .each_ref()
                        .map(|spec| serde_json::to_value(spec).unwrap_or_default()),
                })
                .collect(),
            lans: network
                .lans
                .iter()
                .map(|lan| LanSummary {
                    name: lan.name.clone(),
                    members: lan.members.iter().map(|member| node(*member).name.clone()).collect(),
                })
                .collect(),
        }
    }

    /// `a → b` for a direction of a link; the link's name where it is unknown.
    pub fn direction_name(&self, link: &str, direction: Direction) -> String {
        match self.links.iter().find(|known| known.name == link) {
            Some(LinkSummary { ends: [a, b], .. }) => match direction {
                Direction::Forward => format!("{a} → {b}"),
                Direction::Reverse => format!("{b} → {a}"),
                Direction::Both => format!("{a} ↔ {b}"),
            },
            None => link.to_owned(),
        }
    }
}

fn is_nought(seconds: &f64) -> bool {
    *seconds == 0.0
}

fn node_summary(node: &Node) -> NodeSummary {
    let role = match node.role {
        Role::Host => "host",
        Role::Router => "router",
        Role::Switch => "switch",
    };
    NodeSummary { name: node.name.clone(), kind: node.kind.clone(), role: role.to_owned() }
}
