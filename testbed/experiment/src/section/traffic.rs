//! `traffic`: flows of UDP datagrams among hosts, the same in both worlds.

use super::names::{Name, Names, nodes, unknown_node};
use super::over::{Named, Over};
use plait_model_quantity::{Bandwidth, ByteCount, TimeSpan};
use plait_model_topology::Network;
use plait_model_topology::diagnostic::Diagnostic;
use plait_model_topology::document::Spanned;
use plait_model_topology::random::SplitMix64;
use plait_model_topology::vocabulary::Role;
use plait_model_traffic::{Flow, Pattern, Rates, SOURCE_PORTS, SourcePorts, TrafficError, TrafficSpec};
use plait_testbed_runtime::overlay::{self, Resolved};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::{HashMap, HashSet};

/// Flows of UDP datagrams among hosts.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Traffic", extend("anyOf" = [{ "required": ["pattern"] }, { "required": ["from", "to"] }]))]
pub(super) struct TrafficFile {
    /// What to call it in the results; `traffic` and its place from 1 when not given.
    pub name: Option<Spanned<String>>,
    /// Who sends to whom of `hosts`: `random`, `stride(4)`, `permutation`, `incast(0)`, `one_to_all(0)`,
    /// `all_to_all`, `pair(0,1)`.
    pub pattern: Option<Spanned<Pattern>>,
    /// The nodes of the pattern, which count from 0 in this order; all hosts in the order of the file when not given, of
    /// `over` all nodes that have the device.
    pub hosts: Option<Spanned<Names>>,
    /// In place of a pattern: the node that sends.
    pub from: Option<Spanned<Name>>,
    /// In place of a pattern: the node that receives.
    pub to: Option<Spanned<Name>>,
    /// The device of an overlay that it goes over; by the addresses of links when not given.
    pub over: Option<Spanned<Name>>,
    /// How many flows; one round of the pattern when not given.
    pub flows: Option<Spanned<usize>>,
    /// What all flows carry together, counted over whole Ethernet frames.
    pub rate: Spanned<Bandwidth>,
    /// How it is shared among them: `same`, `random` or `power_law`; `same` when not given.
    #[serde(default)]
    pub rates: Rates,
    /// Bytes of UDP payload of each datagram; 1024 when not given.
    pub size: Option<Spanned<ByteCount>>,
    /// The port that receivers listen on; from 60009 on, one for each traffic, when not given.
    pub port: Option<Spanned<u16>>,
    /// The ports that senders use, a flow each: `in_order`, from 20000 on, or `drawn`, from one on that is drawn for each of them;
    /// `in_order` when not given.
    #[serde(default)]
    pub source_ports: SourcePorts,
    /// When it begins, from the start of the run; at once when not given.
    pub start: Option<Spanned<TimeSpan>>,
    /// When it ends; with the run when not given, which needs `duration` then.
    pub stop: Option<Spanned<TimeSpan>>,
}

/// Flows of UDP datagrams among hosts, drawn from the network's seed.
#[derive(Debug, Clone, PartialEq)]
pub struct Traffic {
    /// What people call it.
    pub name: String,
    /// The nodes among which it flows.
    pub hosts: Vec<String>,
    /// The flows, whose ends count in `hosts`.
    pub flows: Vec<Flow>,
    /// The overlay's device that it goes over, if any.
    pub over: Option<Over>,
    /// When it begins, from the start of the run.
    pub start: TimeSpan,
    /// When it ends.
    pub stop: TimeSpan,
}

/// The shortest datagram. Choice: as long as the number and the key by which a real sink tells datagrams apart.
const LEAST_SIZE: ByteCount = ByteCount::new(24);

/// The first port that receivers listen on where the file names none.
const FIRST_PORT: u16 = 60_009;

/// The traffic of a file, or what is wrong with it.
pub(super) fn resolve(
    written: &[Spanned<TrafficFile>],
    duration: Option<TimeSpan>,
    network: &Network,
) -> Result<Vec<Traffic>, Vec<Diagnostic>> {
    let mut all: Vec<Traffic> = Vec::new();
    let mut faults = Vec::new();
    // What is wrong with overlays is said where they are.
    let overlays = match written.iter().any(|traffic| traffic.over.is_some()) {
        true => overlay::of_network(network).ok_or_else(Vec::new)?,
        false => Vec::new(),
    };
    // Each traffic draws from a sequence of its own, so that a change to one leaves the others as they are.
    let mut used = HashMap::new();
    let mut seeds = SplitMix64::new(network.seed);
    for (place, traffic) in written.iter().enumerate() {
        match one(traffic, place, seeds.draw(), duration, (network, &overlays)) {
            Ok(mut resolved) => {
                if !spread(&mut resolved, &mut used) {
                    faults.push(
                        Diagnostic::new(traffic.span, "more flows leave one node than it has ports for")
                            .help(format!("ask for {} flows of a node at most", SOURCE_PORTS.len())),
                    );
                }
                let port = |traffic: &Traffic| traffic.flows.first().map(|flow| flow.destination_port);
                if all.iter().any(|other| other.name == resolved.name) {
                    let span = traffic.name.as_ref().map_or(traffic.span, |name| name.span);
                    faults.push(
                        Diagnostic::new(span, format!("two traffics are called `{}`", resolved.name))
                            .help("give each a `name` of its own"),
                    );
                } else if all.iter().any(|other| port(other) == port(&resolved)) {
                    let span = traffic.port.as_ref().map_or(traffic.span, |port| port.span);
                    faults.push(
                        Diagnostic::new(span, "another traffic has the same port")
                            .help("give each a `port` of its own, or none"),
                    );
                }
                all.push(resolved);
            }
            Err(more) => faults.extend(more),
        }
    }
    if faults.is_empty() { Ok(all) } else { Err(faults) }
}

/// Gives each flow a source port that no other flow of its sender has, its own or the next one that is free; whether there were
/// enough.
fn spread(traffic: &mut Traffic, used: &mut HashMap<String, HashSet<u16>>) -> bool {
    // By how much ports of each sender have moved on. A sender's flows come one after the other, and so do free ports.
    let mut moved = vec![0; traffic.hosts.len()];
    for flow in &mut traffic.flows {
        let used = used.entry(traffic.hosts[flow.from].clone()).or_default();
        if used.len() >= SOURCE_PORTS.len() {
            return false;
        }
        let own = usize::from(flow.source_port - SOURCE_PORTS.start);
        let moved = &mut moved[flow.from];
        loop {
            flow.source_port = SOURCE_PORTS.start + ((own + *moved) % SOURCE_PORTS.len()) as u16;
            if used.insert(flow.source_port) {
                break;
            }
            *moved += 1;
        }
    }
    true
}

fn one(
    written: &Spanned<TrafficFile>,
    place: usize,
    seed: u64,
    duration: Option<TimeSpan>,
    (network, overlays): (&Network, &[Resolved]),
) -> Result<Traffic, Vec<Diagnostic>> {
    let over = written.over.as_ref().map(|over| Named::find(over, overlays)).transpose();
    let over = over.map_err(|fault| vec![fault])?;
    let (pattern, hosts) = who(written, over.as_ref(), network)?;
    let mut faults: Vec<Diagnostic> =
        hosts.iter().filter_map(|host| faceless(host, written, network)).collect();
    let over = match over.map(|over| over.between(&hosts, network)).transpose() {
        Ok(over) => over,
        Err(more) => {
            faults.extend(more);
            None
        }
    };
    let start = written.start.as_ref().map_or(TimeSpan::ZERO, |start| start.value);
    let stop = match (&written.stop, duration) {
        (Some(stop), _) => stop.value,
        (None, Some(duration)) => duration,
        (None, None) => {
            faults.push(
                Diagnostic::new(written.span, "`stop` is missing: when does this traffic end?")
                    .help("add `stop:` here, or `duration:` to the file"),
            );
            start
        }
    };
    let last = written.stop.as_ref().or(written.start.as_ref());
    if let Some(late) = last.filter(|last| duration.is_some_and(|duration| last.value > duration)) {
        faults.push(
            Diagnostic::new(late.span, "this is after the run's end")
                .help("lengthen `duration`, or move this before it"),
        );
    } else if let Some(early) = last.filter(|_| stop <= start && faults.is_empty()) {
        faults.push(
            Diagnostic::new(early.span, format!("this traffic would end at {stop}, before it begins"))
                .help("let `stop` come after `start`"),
        );
    }
    let mut spec = TrafficSpec::new(pattern, written.rate.value);
    spec.flows = written.flows.as_ref().map(|flows| flows.value);
    spec.rates = written.rates;
    spec.source_ports = written.source_ports;
    spec.size = written.size.as_ref().map_or(spec.size, |size| size.value);
    spec.port = match &written.port {
        Some(port) => port.value,
        None => FIRST_PORT.saturating_add(u16::try_from(place).unwrap_or(u16::MAX)),
    };
    if let Some(port) = written.port.as_ref().filter(|port| port.value == 0) {
        faults.push(Diagnostic::new(port.span, "nobody listens on port 0").help("write a number from 1"));
    }
    if let Some(size) = written.size.as_ref().filter(|size| size.value < LEAST_SIZE) {
        let text = "this is too short for what tells datagrams apart";
        faults.push(Diagnostic::new(size.span, text).help(format!("write {LEAST_SIZE} or more")));
    }
    let flows = spec.flows(hosts.len(), seed).map_err(|error| {
        let span = match &error {
            TrafficError::Size(_) => written.size.as_ref().map(|size| size.span),
            TrafficError::Pattern(_) => written.pattern.as_ref().map(|pattern| pattern.span),
            TrafficError::Ports { .. } | TrafficError::TooMany(_) => {
                written.flows.as_ref().map(|flows| flows.span)
            }
        };
        faults.push(Diagnostic::new(span.unwrap_or(written.span), error.to_string()));
    });
    match flows {
        Ok(flows) if faults.is_empty() => {
            let name = written.name.as_ref().map(|name| name.value.clone());
            let name = name.unwrap_or_else(|| format!("traffic{}", place + 1));
            Ok(Traffic { name, hosts, flows, over, start, stop })
        }
        _ => Err(faults),
    }
}

/// Who takes part, and how.
fn who(
    written: &Spanned<TrafficFile>,
    over: Option<&Named<'_>>,
    network: &Network,
) -> Result<(Pattern, Vec<String>), Vec<Diagnostic>> {
    match (&written.pattern, &written.from, &written.to) {
        (Some(pattern), None, None) => {
            let hosts = match (&written.hosts, over) {
                (Some(hosts), _) => nodes(hosts, network)?,
                (None, Some(over)) => over.nodes(network),
                (None, None) => {
                    let all = network.nodes.iter().filter(|node| node.role == Role::Host);
                    all.map(|node| node.name.clone()).collect()
                }
            };
            Ok((pattern.value, hosts))
        }
        (None, Some(from), Some(to)) => {
            let named = [from, to].map(|name| Spanned::new(name.value.0.as_str(), name.span));
            let mut faults: Vec<_> = named.iter().filter_map(|name| unknown_node(name, network)).collect();
            if from.value == to.value {
                faults.push(
                    Diagnostic::new(to.span, "nobody sends to itself").help("name another node in `to`"),
                );
            }
            if let Some(hosts) = &written.hosts {
                faults.push(
                    Diagnostic::new(hosts.span, "`hosts` are those of a `pattern`").help("leave it out here"),
                );
            }
            let hosts = vec![from.value.0.clone(), to.value.0.clone()];
            if faults.is_empty() { Ok((Pattern::Pair(0, 1), hosts)) } else { Err(faults) }
        }
        _ => Err(vec![
            Diagnostic::new(written.span, "this traffic does not say who sends to whom")
                .help("give it `pattern`, or `from` and `to`, but not both"),
        ]),
    }
}

/// The fault in a node that has no address.
fn faceless(host: &str, written: &Spanned<TrafficFile>, network: &Network) -> Option<Diagnostic> {
    let node = &network.nodes[network.node(host)?];
    (node.role == Role::Switch).then(|| {
        let span = written.hosts.as_ref().map_or(written.span, |hosts| hosts.span);
        Diagnostic::new(span, format!("`{host}` is a switch, which has no address to send to"))
            .help("take hosts and routers")
    })
}
