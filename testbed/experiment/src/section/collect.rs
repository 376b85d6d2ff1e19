//! `collect`: what is measured during a run and kept of it.

use super::names::{Name, Names, nodes, unknown_node};
use crate::world::Ping;
use plait_model_quantity::TimeSpan;
use plait_model_topology::Network;
use plait_model_topology::diagnostic::{Diagnostic, suggest};
use plait_model_topology::document::{Span, Spanned};
use plait_testbed_runtime::overlay::devices_of;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use std::fmt;
use std::time::Duration;

/// Below this a sampler would measure itself.
const SHORTEST: TimeSpan = TimeSpan::from_millis(1);

/// From one echo request to the next, unless the file says otherwise.
const EVERY: Duration = Duration::from_millis(100);

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
    /// Round trips, from node to node.
    pub pings: Vec<Ping>,
    /// Names of commands that print lines of JSON.
    pub json: Vec<String>,
    /// Whether control planes of overlays write down what they are told and do.
    pub control: bool,
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

impl fmt::Display for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.node, self.interface)
    }
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
            pings: Vec::new(),
            json: Vec::new(),
            control: false,
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
    /// Round trips by echo requests (ICMP) from one node to another.
    ping: Vec<Spanned<PingFile>>,
    /// Names of commands that print lines of JSON, whose numbers become samples at the instants they are printed.
    pub(super) json: Vec<Spanned<String>>,
    /// Whether control planes of overlays write down what they are told and do, for `plait replay`.
    control: bool,
}

/// Round trips from one node to another.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CollectedPing")]
struct PingFile {
    /// The node that asks.
    from: Spanned<Name>,
    /// The node that answers.
    to: Spanned<Name>,
    /// From one request to the next: `100ms` unless given.
    every: Option<Spanned<TimeSpan>>,
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
            faults.extend(
                too_short(*span, *place)
                    .map(|fault| fault.help(format!("write `{SHORTEST}` or more, or `off`"))),
            );
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
            Ok(capture) if captures.contains(&capture) => {
                let what = format!("the packets of `{}` are written down already", written.value);
                faults.push(Diagnostic::new(written.span, what).help("remove one"));
            }
            Ok(capture) => captures.push(capture),
            Err(fault) => faults.push(fault),
        }
    }
    let mut pings = Vec::new();
    for written in &file.ping {
        match ping(written, network) {
            Ok(ping)
                if pings.iter().any(|known: &Ping| (&known.from, &known.to) == (&ping.from, &ping.to)) =>
            {
                let what = format!("round trips from `{}` to `{}` are collected already", ping.from, ping.to);
                faults.push(Diagnostic::new(written.span, what).help("remove one"));
            }
            Ok(ping) => pings.push(ping),
            Err(more) => faults.extend(more),
        }
    }
    let json = file.json.iter().map(|name| name.value.clone()).collect();
    let collect = Collect { tcp, links, interfaces, files, captures, pings, json, control: file.control };
    if faults.is_empty() { Ok(collect) } else { Err(faults) }
}

fn too_short(interval: TimeSpan, place: Span) -> Option<Diagnostic> {
    let what = || format!("{interval} is shorter than samplers can keep");
    (interval < SHORTEST).then(|| Diagnostic::new(place, what()))
}

fn ping(written: &Spanned<PingFile>, network: &Network) -> Result<Ping, Vec<Diagnostic>> {
    let PingFile { from, to, every } = &written.value;
    let unknown =
        |name: &Spanned<Name>| unknown_node(&Spanned::new(name.value.0.as_str(), name.span), network);
    let short = every.as_ref().and_then(|every| too_short(every.value, every.span));
    let mut faults: Vec<Diagnostic> = [unknown(from), unknown(to)].into_iter().flatten().collect();
    faults.extend(short.map(|fault| fault.help(format!("write `{SHORTEST}` or more"))));
    if from.value == to.value {
        faults.push(
            Diagnostic::new(to.span, "a node's way to itself is no part of the network").help("name another"),
        );
    }
    let every = every.as_ref().map_or(EVERY, |every| Duration::from(every.value));
    let ping = Ping { from: from.value.0.clone(), to: to.value.0.clone(), every };
    if faults.is_empty() { Ok(ping) } else { Err(faults) }
}

pub(super) fn capture(written: &Spanned<String>, network: &Network) -> Result<Capture, Diagnostic> {
    let Some((node, interface)) = written.split_once(':') else {
        return Err(Diagnostic::new(written.span, format!("`{}` names no interface", written.value))
            .help(format!("write `{}:eth0`", written.value)));
    };
    if let Some(fault) = unknown_node(&Spanned::new(node, written.span), network) {
        return Err(fault);
    }
    let index = network.node(node).expect("checked just above");
    let devices = devices_of(network, index);
    let own = network.nodes[index].interfaces.iter().map(|interface| interface.name.as_str());
    let known: Vec<&str> = own.chain(devices.iter().map(String::as_str)).collect();
    if !known.contains(&interface) {
        return Err(Diagnostic::new(written.span, format!("`{node}` has no interface `{interface}`"))
            .help(suggest(interface, known.iter().copied())));
    }
    Ok(Capture { node: node.to_owned(), interface: interface.to_owned() })
}
