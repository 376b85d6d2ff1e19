//! `collect`: what is measured during a run and kept of it.

use super::names::{Names, nodes, unknown_node};
use plait_model_quantity::TimeSpan;
use plait_model_topology::Network;
use plait_model_topology::diagnostic::{Diagnostic, suggest};
use plait_model_topology::document::Spanned;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use std::fmt;
use std::time::Duration;

/// Below this a sampler would measure itself.
const SHORTEST: TimeSpan = TimeSpan::from_millis(1);

/// What is measured, how often, and what is brought back from the nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Collect {
    /// Interval of the state of every TCP connection.
    pub tcp: Option<Duration>,
    /// Interval of the counters of every link and direction.
    pub links: Option<Duration>,
    /// Interval of the counters of every interface.
    pub interfaces: Option<Duration>,
    /// Files and folders of nodes.
    pub files: Vec<FileRequest>,
    /// Interfaces whose packets are written down.
    pub captures: Vec<Capture>,
}

/// A file or folder that a node has at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRequest {
    /// The node.
    pub node: String,
    /// An absolute path inside it.
    pub path: String,
}

/// An interface whose packets are written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    /// The node.
    pub node: String,
    /// The interface, by its name inside the node.
    pub interface: String,
}

impl Default for Collect {
    /// Choice: 100 ms shows a connection's sawtooth at the round-trip times of the Internet and costs little; interface
    /// counters, which only cross-check, once a second.
    fn default() -> Self {
        Self {
            tcp: Some(Duration::from_millis(100)),
            links: Some(Duration::from_millis(100)),
            interfaces: Some(Duration::from_secs(1)),
            files: Vec::new(),
            captures: Vec::new(),
        }
    }
}

/// What is measured during a run and kept of it.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Collect")]
pub(super) struct CollectFile {
    /// Interval of TCP state (congestion window, round-trip time, delivery rate) per connection: `100ms` unless given,
    /// or `off`.
    tcp: Option<Spanned<Every>>,
    /// Interval of link counters (packets, losses, queue): `100ms` unless given, or `off`.
    links: Option<Spanned<Every>>,
    /// Interval of interface counters: `1s` unless given, or `off`.
    interfaces: Option<Spanned<Every>>,
    /// Files and folders to bring back from nodes.
    files: Vec<FileFile>,
    /// Interfaces whose packets are written down: `a:eth0`.
    capture: Vec<Spanned<String>>,
}

/// Files or folders to bring back.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CollectedFile")]
struct FileFile {
    /// The node, or a list of nodes.
    node: Spanned<Names>,
    /// Absolute path inside the node.
    path: Spanned<String>,
}

/// An interval, or `off`.
#[derive(Debug, Clone, Copy)]
enum Every {
    Off,
    Interval(TimeSpan),
}

impl<'de> Deserialize<'de> for Every {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl Visitor<'_> for Written {
            type Value = Every;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an interval such as `100ms`, or `off`")
            }
            fn visit_bool<E: de::Error>(self, on: bool) -> Result<Every, E> {
                if on { Err(E::custom("say how often: `100ms`")) } else { Ok(Every::Off) }
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Every, E> {
                match text {
                    "off" => Ok(Every::Off),
                    _ => text.parse().map(Every::Interval).map_err(E::custom),
                }
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Every, E> {
                self.visit_str(&number.to_string())
            }
        }
        deserializer.deserialize_any(Written)
    }
}

impl JsonSchema for Every {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Every".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let interval = generator.subschema_for::<TimeSpan>();
        schemars::json_schema!({ "anyOf": [interval, { "enum": ["off", false] }] })
    }
}

/// What is collected, or the faults in what was written.
pub(super) fn resolve(file: &CollectFile, network: &Network) -> Result<Collect, Vec<Diagnostic>> {
    let mut faults = Vec::new();
    let usual = Collect::default();
    let mut interval = |written: &Option<Spanned<Every>>, usual: Option<Duration>| match written {
        None => usual,
        Some(Spanned { value: Every::Off, .. }) => None,
        Some(Spanned { value: Every::Interval(span), span: place }) => {
            if *span < SHORTEST {
                faults.push(
                    Diagnostic::new(*place, format!("{span} is shorter than samplers can keep"))
                        .help(format!("write `{SHORTEST}` or more, or `off`")),
                );
            }
            Some(Duration::from(*span))
        }
    };
    let tcp = interval(&file.tcp, usual.tcp);
    let links = interval(&file.links, usual.links);
    let interfaces = interval(&file.interfaces, usual.interfaces);

    let mut files = Vec::new();
    for request in &file.files {
        if !request.path.starts_with('/') || request.path.split('/').any(|part| part == "..") {
            faults.push(
                Diagnostic::new(
                    request.path.span,
                    format!("`{}` is not an absolute path inside a node", request.path.value),
                )
                .help("begin with `/`, and write it without `..`"),
            );
        }
        match nodes(&request.node, network) {
            Ok(nodes) => files
                .extend(nodes.into_iter().map(|node| FileRequest { node, path: request.path.value.clone() })),
            Err(more) => faults.extend(more),
        }
    }

    let mut captures = Vec::new();
    for written in &file.capture {
        match capture(written, network) {
            Ok(capture) => captures.push(capture),
            Err(fault) => faults.push(fault),
        }
    }
    if faults.is_empty() { Ok(Collect { tcp, links, interfaces, files, captures }) } else { Err(faults) }
}

fn capture(written: &Spanned<String>, network: &Network) -> Result<Capture, Diagnostic> {
    let Some((node, interface)) = written.split_once(':') else {
        return Err(Diagnostic::new(written.span, format!("`{}` names no interface", written.value))
            .help(format!("write `{}:eth0`", written.value)));
    };
    if let Some(fault) = unknown_node(&Spanned::new(node, written.span), network) {
        return Err(fault);
    }
    let index = network.node(node).expect("checked just above");
    let known: Vec<&str> =
        network.nodes[index].interfaces.iter().map(|interface| interface.name.as_str()).collect();
    if !known.contains(&interface) {
        return Err(Diagnostic::new(written.span, format!("`{node}` has no interface `{interface}`"))
            .help(suggest(interface, known.iter().copied())));
    }
    Ok(Capture { node: node.to_owned(), interface: interface.to_owned() })
}
