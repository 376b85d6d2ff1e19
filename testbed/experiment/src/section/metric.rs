//! `metrics`: the figures a run is judged by, one value each.

use super::collect::{self, CollectFile};
use super::names::Name;
use super::names::unknown_node;
use crate::analysis::Take;
use crate::results::records::{INTERFACE_COLUMNS, LINK_COLUMNS, PING_COLUMNS, TCP_COLUMNS};
use crate::world::Direction;
use indexmap::IndexMap;
use plait_model_topology::diagnostic::{Diagnostic, suggest};
use plait_model_topology::document::{Span, Spanned};
use plait_model_topology::{Network, section};
use plait_testbed_runtime::overlay::devices_of;
use schemars::JsonSchema;
use serde::Deserialize;

/// A figure of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// What it is called.
    pub name: String,
    /// Where its samples come from.
    pub source: Source,
    /// How they become one value.
    pub take: Take,
    /// What it is measured in; empty for a plain number.
    pub unit: String,
}

/// Where the samples of a metric come from.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// What a command printed: JSON, lines of JSON, or lines with a number.
    Output {
        /// The command's name.
        command: String,
        /// The way to the number through the JSON: `end.sum_received.bits_per_second`.
        field: Option<String>,
    },
    /// A column of the TCP samples.
    Tcp {
        /// The node whose sockets are meant; all without it.
        node: Option<String>,
        /// The column.
        column: String,
    },
    /// A column of the link samples.
    Link {
        /// The link.
        link: String,
        /// Which direction.
        direction: Direction,
        /// The column.
        column: String,
    },
    /// A column of the interface samples.
    Interface {
        /// The node.
        node: String,
        /// The interface.
        interface: String,
        /// The column.
        column: String,
    },
    /// A column of the round trips.
    Ping {
        /// The node that asks.
        from: String,
        /// The node that answers.
        to: String,
        /// The column.
        column: String,
    },
}

/// Figures by their names.
pub(super) type MetricsFile = IndexMap<String, Spanned<MetricFile>>;

/// A figure of each run: `output`, `tcp`, `link`, `interface` or `ping` says where it comes from.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Metric")]
pub(super) struct MetricFile {
    /// The name of a command that prints it: JSON, lines of JSON, or lines with a number.
    pub(super) output: Option<Spanned<String>>,
    /// The way to the number through that JSON: `end.sum_received.bits_per_second`.
    field: Option<Spanned<String>>,
    /// A column of `samples/tcp.csv`: `srtt_ms`.
    tcp: Option<Spanned<String>>,
    /// The node whose sockets `tcp` means.
    on: Option<Spanned<Name>>,
    /// A link, with a `column` of `samples/links.csv`.
    link: Option<Spanned<String>>,
    /// Which direction of the link: `forward` unless `reverse` is said.
    direction: Option<Spanned<Direction>>,
    /// An interface, with a `column` of `samples/interfaces.csv`: `sender:eth0`.
    interface: Option<Spanned<String>>,
    /// Round trips that are collected, with a `column` of `samples/pings.csv` (`rtt_ms` unless given): `a to b`.
    ping: Option<Spanned<String>>,
    /// The column that a link or interface is asked for: `queue_bytes`.
    column: Option<Spanned<String>>,
    /// How samples become one value: `mean` unless said otherwise, `last` of what a command prints.
    take: Option<Take>,
    /// What it is measured in; known of the samples' columns.
    unit: Option<Spanned<String>>,
}

/// The metrics of a network file, or the faults in them.
pub(super) fn resolve(file: &MetricsFile, network: &Network) -> Result<Vec<Metric>, Vec<Diagnostic>> {
    let mut faults = Vec::new();
    let mut metrics = Vec::new();
    for (name, metric) in file {
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
        if name.is_empty() || !plain {
            let what = format!("`{name}` is no name for a metric");
            faults.push(Diagnostic::new(metric.span, what).help("name it with letters, digits, `_` and `.`"));
        }
        match one(name, metric, network) {
            Ok(metric) => metrics.push(metric),
            Err(fault) => faults.push(fault),
        }
    }
    if faults.is_empty() { Ok(metrics) } else { Err(faults) }
}

fn one(name: &str, file: &Spanned<MetricFile>, network: &Network) -> Result<Metric, Diagnostic> {
    let given = [&file.output, &file.tcp, &file.link, &file.interface, &file.ping].map(Option::is_some);
    if given.iter().filter(|given| **given).count() != 1 {
        return Err(Diagnostic::new(file.span, format!("where does `{name}` come from?"))
            .help("write one of `output`, `tcp`, `link`, `interface` and `ping`"));
    }
    beside(file.field.as_ref().map(|key| key.span), "field", file.output.is_some(), "output")?;
    beside(file.on.as_ref().map(|key| key.span), "on", file.tcp.is_some(), "tcp")?;
    beside(file.direction.as_ref().map(|key| key.span), "direction", file.link.is_some(), "link")?;
    let counted = file.link.is_some() || file.interface.is_some() || file.ping.is_some();
    beside(file.column.as_ref().map(|key| key.span), "column", counted, "link`, `interface` or `ping")?;
    let (source, known) = match (&file.output, &file.tcp, &file.link, &file.interface, &file.ping) {
        (Some(command), ..) => {
            let field = file.field.as_ref().map(|field| field.value.clone());
            (Source::Output { command: command.value.clone(), field }, "")
        }
        (_, Some(column), ..) => {
            let unit = unit_of(column, &TCP_COLUMNS)?;
            if let Some(node) = &file.on
                && let Some(fault) = unknown_node(&Spanned::new(&node.value.0, node.span), network)
            {
                return Err(fault);
            }
            let node = file.on.as_ref().map(|node| node.value.0.clone());
            (Source::Tcp { node, column: column.value.clone() }, unit)
        }
        (.., Some(link), _, _) => {
            let (column, unit) = column(file, &LINK_COLUMNS)?;
            let Some(index) = network.link(link) else {
                return Err(Diagnostic::new(link.span, format!("unknown link `{}`", link.value))
                    .help(suggest(link, network.links.iter().map(|link| link.name.as_str()))));
            };
            let known = &network.links[index].name;
            let written = file.direction.as_ref().map_or(Direction::Forward, |direction| direction.value);
            if written == Direction::Both {
                let span = file.direction.as_ref().map_or(file.span, |direction| direction.span);
                return Err(Diagnostic::new(span, "a metric is of one direction")
                    .help("write `forward` or `reverse`, and a metric for each"));
            }
            // `b-a` names the link `a-b` as well, and its forward direction is from b to a.
            let direction = if *known == link.value { written } else { written.turned() };
            (Source::Link { link: known.clone(), direction, column }, unit)
        }
        (.., Some(port), _) => {
            let (column, unit) = column(file, &INTERFACE_COLUMNS)?;
            let found = port.split_once(':').filter(|(node, interface)| {
                let has = |index: usize| {
                    network.nodes[index].interfaces.iter().any(|known| known.name == *interface)
                        || devices_of(network, index).iter().any(|known| known == interface)
                };
                network.node(node).is_some_and(has)
            });
            let Some((node, interface)) = found else {
                return Err(Diagnostic::new(port.span, format!("there is no interface `{}`", port.value))
                    .help("write it as `node:interface`"));
            };
            (Source::Interface { node: node.to_owned(), interface: interface.to_owned(), column }, unit)
        }
        (.., Some(pair)) => {
            let (from, to) = collected(pair, network)?;
            let (column, unit) = match &file.column {
                Some(_) => column(file, &PING_COLUMNS)?,
                None => ("rtt_ms".to_owned(), "ms"),
            };
            // Of each request it is 0 or 1, so that their mean is a share.
            let unit = if column == "lost" { "" } else { unit };
            (Source::Ping { from, to, column }, unit)
        }
        _ => unreachable!("one of them was given"),
    };
    let take = file.take.unwrap_or(if file.output.is_some() { Take::Last } else { Take::Mean });
    let known = match take {
        Take::Rate if known == "B" || known == "packets" => format!("{known}/s"),
        _ => known.to_owned(),
    };
    let unit = file.unit.as_ref().map_or(known, |unit| unit.value.clone());
    Ok(Metric { name: name.to_owned(), source, take, unit })
}

/// The two nodes of `a to b`, between which round trips must be collected.
fn collected(pair: &Spanned<String>, network: &Network) -> Result<(String, String), Diagnostic> {
    let Some((from, to)) = pair.split_once(" to ").map(|(from, to)| (from.trim(), to.trim())) else {
        return Err(Diagnostic::new(pair.span, format!("`{}` is not a pair of nodes", pair.value))
            .help("write it as `a to b`"));
    };
    // Faults in `collect` are its own.
    let collect: CollectFile = section(&network.sections, "collect").ok().flatten().unwrap_or_default();
    let Ok(collect) = collect::resolve(&collect, network) else {
        return Ok((from.to_owned(), to.to_owned()));
    };
    if !collect.pings.iter().any(|ping| ping.from == from && ping.to == to) {
        return Err(Diagnostic::new(
            pair.span,
            format!("round trips from `{from}` to `{to}` are not collected"),
        )
        .help(format!("add `collect: {{ping: [{{from: {from}, to: {to}}}]}}`")));
    }
    Ok((from.to_owned(), to.to_owned()))
}

fn beside(key: Option<Span>, name: &str, has_meaning: bool, of: &str) -> Result<(), Diagnostic> {
    match key {
        Some(span) if !has_meaning => {
            Err(Diagnostic::new(span, format!("`{name}` has a meaning beside `{of}` only")).help("remove it"))
        }
        _ => Ok(()),
    }
}

fn column(file: &Spanned<MetricFile>, known: &[&'static str]) -> Result<(String, &'static str), Diagnostic> {
    let Some(column) = &file.column else {
        return Err(Diagnostic::new(file.span, "`column` is missing: which counter?")
            .help(format!("write one of {}", known.join(", "))));
    };
    Ok((column.value.clone(), unit_of(column, known)?))
}

/// The unit that a column's name ends with.
fn unit_of(column: &Spanned<String>, known: &[&str]) -> Result<&'static str, Diagnostic> {
    if !known.contains(&column.as_str()) {
        return Err(Diagnostic::new(column.span, format!("these samples have no column `{}`", column.value))
            .help(suggest(column, known.iter().copied())));
    }
    let last = column.rsplit('_').next().unwrap_or_default();
    Ok(match last {
        "ms" => "ms",
        "bps" => "bit/s",
        "bytes" | "acked" | "received" | "sent" => "B",
        "packets" | "lost" | "dropped" | "marked" | "errors" => "packets",
        _ => "",
    })
}
