//! The keys of a network file that this room gives meaning to.

use crate::limits::subtrees;
use plait_model_quantity::{ByteCount, Probability};
use plait_model_topology::Vocabulary;
use plait_model_topology::diagnostic::{Diagnostic, suggest};
use plait_model_topology::document::Spanned;
use plait_model_topology::vocabulary::Place;
use schemars::JsonSchema;
use serde::Deserialize;

/// Adds the keys to a vocabulary.
pub fn register(vocabulary: &mut Vocabulary) {
    vocabulary
        .checked_key::<Spanned<Limits>>(Place::Node, "limits", |limits, _| limits_can_be_kept(limits))
        .checked_key::<Spanned<Vec<usize>>>(Place::Node, "processors", |processors, _| {
            processors_exist(processors)
        })
        .key::<Frr>(Place::Node, "frr")
        .checked_key::<Spanned<String>>(Place::Node, "congestion_control", |name, _| {
            congestion_control_exists(name)
        })
        .key::<Uplink>(Place::Node, "uplink")
        .key::<Via>(Place::Link, "via")
        .key::<Dynamic>(Place::Link, "dynamic")
        .key::<Verify>(Place::Link, "verify")
        .key::<Verify>(Place::Lan, "verify")
        .key::<Verify>(Place::File, "verify");
}

/// Whether the node's programs reach the host's network, through a NAT in user space. No unless said otherwise.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
#[allow(dead_code, reason = "its form and its words are what counts")]
struct Uplink(bool);

/// Whether the link is made so that its conditions can change while it is up. Links that an event changes are.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
#[allow(dead_code, reason = "its form and its words are what counts")]
struct Dynamic(bool);

/// Whether links are measured against what was asked before a run. No unless said otherwise.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
#[allow(dead_code, reason = "its form and its words are what counts")]
struct Verify(bool);

/// What a node's programs may use.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Memory of all its programs together.
    pub memory: Option<ByteCount>,
    /// Share of one processor for all its programs together.
    pub processor: Option<Probability>,
    /// Number of processes and threads.
    pub processes: Option<u64>,
}

/// Control groups are the host's, so a user without a delegated subtree cannot use them. Said before anything is built.
fn limits_can_be_kept(limits: &Spanned<Limits>) -> Vec<Diagnostic> {
    // Root is told when it builds: what this machine lacks, the one on which the file is built may have.
    if rustix::process::geteuid().is_root() {
        return Vec::new();
    }
    let subtrees = subtrees();
    let lacks = |controller| !subtrees.iter().any(|subtree| subtree.controllers.contains(&controller));
    let wanted = [
        ("memory", limits.memory.is_some()),
        ("cpu", limits.processor.is_some()),
        ("pids", limits.processes.is_some()),
    ];
    let missing = wanted.into_iter().find(|(controller, wanted)| *wanted && lacks(controller));
    let fault = |(controller, _)| {
        let what = format!("limits need control groups, and no {controller} group is delegated to you here");
        Diagnostic::new(limits.span, what).help(
            "remove `limits`, build this testbed as root, or have a subtree delegated: \
             `systemd-run --user --scope -p Delegate=yes plait up FILE`",
        )
    };
    missing.map(fault).into_iter().collect()
}

/// FRR's own configuration for a node, in place of the generated one.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Frr {
    /// Path of an `frr.conf` beside the network file.
    pub config: Option<String>,
    /// Lines added to the generated configuration.
    pub extra: Option<String>,
}

/// Who shapes a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Via {
    /// Plait's engine, by packet sockets.
    Engine,
    /// The kernel's queueing disciplines.
    Kernel,
    /// Plait's engine, by TAP devices.
    Tap,
}

/// Every algorithm of this kernel that a route may name.
pub fn congestion_controls() -> Vec<String> {
    std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
        .unwrap_or_default()
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

fn congestion_control_exists(name: &Spanned<String>) -> Vec<Diagnostic> {
    let present = congestion_controls();
    if present.is_empty() || present.contains(&name.value) {
        return Vec::new();
    }
    let fault = Diagnostic::new(name.span, format!("this kernel has no congestion control `{}`", name.value));
    vec![fault.help(suggest(name, present.iter().map(String::as_str)))]
}

fn processors_exist(processors: &Spanned<Vec<usize>>) -> Vec<Diagnostic> {
    let count = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    processors
        .iter()
        .filter(|&&processor| processor >= count)
        .map(|processor| {
            Diagnostic::new(processors.span, format!("this machine has no processor {processor}"))
                .help(format!("use 0 to {}", count - 1))
        })
        .collect()
}
