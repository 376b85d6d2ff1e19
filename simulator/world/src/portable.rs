//! What of a network file runs in both worlds.

mod overlays;

use crate::build::MTU;
use plait_model_quantity::ByteCount;
use plait_model_topology::Network;
use plait_model_topology::address::assign;
use plait_model_topology::diagnostic::Diagnostic;
use plait_model_topology::document::{Entry, Map, Scalar, Span, Value};
use plait_model_topology::network::{Port, Routing};
use plait_model_topology::section as decode_section;
use plait_model_wire::{ipv4, udp};

/// What a network file asks for that has no meaning in a simulation, each with its place, in the order of the file.
/// `document` is the whole file as it was parsed.
///
/// Portable are nodes, links and LANs with their conditions, addresses, static routes and those by hand, overlays that
/// their members or the file fill, paths by lists of the file, `traffic:`, in `run:` all that happens to links and nodes, figures of
/// links and the packets of their ends. Commands, files, kernel parameters, daemons and what is learnt from them, Open
/// vSwitch and guests are a testbed's. What says how a real machine is to do something asks for nothing here: `via`,
/// `dynamic`, `verify`, `limits`, `processors`.
pub fn unportable(network: &Network, document: &Value) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut name = |span: Span, what: &str, instead: &str| {
        let message = format!("{what} cannot run in the simulator");
        found.push(Diagnostic::new(span, message).help(instead.to_owned()));
    };
    let empty = Map::default();
    let top = if let Value::Map(map) = document { map } else { &empty };
    if let (Routing::Frr(_), Some(routing)) = (&network.routing, entry(top, "routing")) {
        name(
            routing.key_span,
            "`routing: frr`",
            "write `routing: static`; when this is left out, shortest paths follow links as late as daemons with these intervals",
        );
    }
    for node in &network.nodes {
        if !matches!(node.kind.as_str(), "host" | "router" | "switch") {
            let what = format!("the kind `{}` of `{}`", node.kind, node.name);
            name(
                node.span,
                &what,
                "it gets the place of a plain host, router or switch when this is left out",
            );
        }
        for command in &node.commands {
            name(
                command.span,
                "a command of a node",
                "use `traffic:` for load, `overlays:` and `routes:` for tables",
            );
        }
        for file in node.files.values() {
            name(file.span, "a file of a node", "there are no programs that would read it");
        }
        for parameter in node.sysctls.values() {
            name(parameter.span, "a kernel parameter", "there is no kernel that would read it");
        }
        for extra in node
            .extra
            .entries
            .iter()
            .filter(|extra| !HARMLESS.contains(&extra.key.as_str()) && !is_nothing(&extra.value))
        {
            name(extra.key_span, &format!("`{}` of `{}`", extra.key, node.name), "it is a testbed's alone");
        }
    }
    // Whoever gives addresses has told before what is wrong with them.
    let by_hand = network.nodes.iter().any(|node| !node.routes.is_empty());
    if let Some(assignment) = by_hand.then(|| assign(network, None).ok()).flatten() {
        for (place, node) in network.nodes.iter().enumerate() {
            let reached = |via| {
                (0..node.interfaces.len()).any(|interface| {
                    let own = assignment.addresses(Port { node: place, interface });
                    own.iter().any(|net| net.contains(via))
                })
            };
            for route in node.routes.iter().filter(|route| !reached(&route.value.via)) {
                let what = format!(
                    "a route of `{}` by {}, which is on none of its links,",
                    node.name, route.value.via
                );
                name(route.span, &what, "name the address of a neighbour on a link or LAN");
            }
        }
    }
    let longest = longest_datagram(network);
    let mut gone: Vec<&str> = Vec::new();
    for section in &network.sections.entries {
        match (section.key.as_str(), &section.value) {
            ("run", Value::List(events, _)) => {
                for event in events {
                    let Value::Map(map) = event else { continue };
                    if let Some(exec) = entry(map, "exec") {
                        name(exec.key_span, "a command of a run", "use `traffic:` for load");
                    } else if let Some(until) = entry(map, "until") {
                        name(until.key_span, "a wait for something real", "give the events after it an `at`");
                    }
                }
            }
            ("collect", Value::Map(collect)) => {
                let asked = |wanted: &&Entry| {
                    !["links", "control", "capture"].contains(&&*wanted.key) && !is_nothing(&wanted.value)
                };
                for wanted in collect.entries.iter().filter(asked) {
                    name(
                        wanted.key_span,
                        &format!("`collect: {}`", wanted.key),
                        "only `links`, `capture` and `control` are kept there",
                    );
                }
                let captures = match entry(collect, "capture").map(|capture| &capture.value) {
                    Some(Value::List(captures, _)) => &captures[..],
                    _ => &[],
                };
                for capture in captures {
                    let Value::Scalar(Scalar::Text(port), span) = capture else { continue };
                    if !port
                        .split_once(':')
                        .is_some_and(|(node, interface)| is_link_end(network, node, interface))
                    {
                        name(
                            *span,
                            &format!("a capture of `{port}`"),
                            "name an end of a link, or leave it out",
                        );
                    }
                }
            }
            ("metrics", Value::Map(metrics)) => {
                for metric in &metrics.entries {
                    let Value::Map(map) = &metric.value else { continue };
                    if entry(map, "link").is_none() {
                        gone.push(&metric.key);
                        name(
                            metric.key_span,
                            &format!("the metric `{}`", metric.key),
                            "take one of a `link`; datagrams of `traffic:` are counted in any case",
                        );
                    }
                }
            }
            ("overlays", Value::Map(written)) => overlays::unportable(written, &mut name),
            ("traffic", Value::List(written, _)) => {
                let overlays = network.sections.get("overlays");
                let devices = match overlays {
                    Some(Value::Map(overlays)) => overlays::devices(overlays),
                    _ => Default::default(),
                };
                for traffic in written {
                    let Value::Map(map) = traffic else { continue };
                    let Some(over) = entry(map, "over") else {
                        let size = decode_section::<ByteCount>(map, "size").ok().flatten();
                        if let (Some(size), Some(written)) = (size, entry(map, "size"))
                            && size.bytes() > longest
                        {
                            let what = format!("a datagram of {size}, longer than a packet of any link,");
                            let instead = format!(
                                "nobody cuts it there: write `size: {longest}B` or less; when this is left out, all are dropped as too big"
                            );
                            name(written.key_span, &what, &instead);
                        }
                        continue;
                    };
                    if let Value::Scalar(Scalar::Text(device), _) = &over.value
                        && !devices.contains(device.as_str())
                    {
                        let instead =
                            "send over a device of an overlay that its members or the file fill, or by links";
                        name(over.key_span, &format!("traffic over `{device}`"), instead);
                    }
                }
            }
            ("paths", Value::Map(paths)) => {
                let learn = entry(paths, "learn");
                let instead = "with `routing: static` they follow from the file; when this is left out, hosts learn of links as late as \
                    daemons would tell them";
                match (learn, &network.routing) {
                    (Some(learn), _) if is_one_of(&learn.value, &["ospf"]) => {
                        name(learn.key_span, "`learn: ospf` of `paths`", instead);
                    }
                    (None, Routing::Frr(daemons)) if daemons.ospf => {
                        name(section.key_span, "what hosts learn of paths by OSPF", instead);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
    let asserted = network.sections.get("assert");
    if let Some(Value::List(asserted, _)) = asserted {
        for assertion in asserted {
            let Value::Scalar(Scalar::Text(text), span) = assertion else { continue };
            if text.split_whitespace().next().is_some_and(|metric| gone.contains(&metric)) {
                name(*span, "what is asserted of a metric that is not there", "assert something of a `link`");
            }
        }
    }
    found.sort_by_key(|diagnostic| diagnostic.span);
    found
}

/// What a datagram may carry and still be one packet on some link, by IPv4 without options.
fn longest_datagram(network: &Network) -> u64 {
    let mtus = network.links.iter().map(|link| link.mtu).chain(network.lans.iter().map(|lan| lan.mtu));
    let widest = mtus.map(|mtu| mtu.unwrap_or(MTU)).max().unwrap_or(MTU);
    u64::from(widest).saturating_sub((ipv4::Header::LENGTH + udp::Header::LENGTH) as u64)
}

/// Keys of nodes that change nothing in a simulation, where every node has a processor of its own.
const HARMLESS: [&str; 2] = ["limits", "processors"];

/// Whether a value turns off what it stands for.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Scalar(Scalar::Null | Scalar::Bool(false), _) => true,
        Value::Scalar(Scalar::Text(text), _) => text == "off",
        Value::List(items, _) => items.is_empty(),
        Value::Scalar(..) | Value::Map(_) => false,
    }
}

/// Whether a node has an interface of that name on a link or LAN: what there is in both worlds.
pub fn is_link_end(network: &Network, node: &str, interface: &str) -> bool {
    let node = network.node(node).map(|node| &network.nodes[node]);
    node.is_some_and(|node| node.interfaces.iter().any(|known| known.name == interface))
}

fn is_one_of(value: &Value, known: &[&str]) -> bool {
    matches!(value, Value::Scalar(Scalar::Text(text), _) if known.contains(&text.as_str()))
}

fn entry<'a>(map: &'a Map, key: &str) -> Option<&'a Entry> {
    map.entries.iter().find(|entry| entry.key == key)
}
