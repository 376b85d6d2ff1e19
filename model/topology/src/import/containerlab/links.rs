//! Links: `endpoints: ["a:eth1", "b:eth1"]`, and the long form with a type.

use super::super::draft::{DraftLink, Way};
use super::super::hint::near;
use super::super::values::{items, word, word_of};
use super::lose_others;
use super::nodes::Lab;
use crate::diagnostic::Diagnostic;
use crate::document::{Map, Span, Value};
use crate::generate::MOST;
use ipnet::IpNet;

/// What may stand where a node does.
const OUTSIDE: [&str; 4] = ["host", "macvlan", "mgmt-net", "dummy"];

/// One end as written.
struct End<'a> {
    node: &'a str,
    interface: &'a str,
    /// The addresses given with it.
    addresses: Vec<&'a str>,
    span: Span,
}

pub(super) fn read<'a>(links: Option<&'a Value>, lab: &mut Lab<'a>) -> Result<(), Diagnostic> {
    for link in items(links) {
        let Value::Map(map) = link else {
            return Err(Diagnostic::new(link.span(), format!("a link is a map, not {}", link.describe()))
                .help("write `endpoints: [\"a:eth1\", \"b:eth1\"]`"));
        };
        if lab.draft.links.len() >= MOST {
            return Err(Diagnostic::new(link.span(), format!("there are more than {MOST} links"))
                .help("give a smaller lab"));
        }
        self::link(map, lab)?;
    }
    Ok(())
}

fn link<'a>(map: &'a Map, lab: &mut Lab<'a>) -> Result<(), Diagnostic> {
    let line = lab.lines.of(map.span);
    let kind = word_of(map, "type").unwrap_or("veth");
    if kind != "veth" && kind != "brief" {
        let what = format!("link of type {kind}");
        lab.draft.lose(what, "leads out of the lab; it was left out", Some(line));
        return Ok(());
    }
    let ends = items(map.get("endpoints"));
    let [a, b] = ends else {
        return Err(Diagnostic::new(
            map.span,
            format!("a link has two endpoints, this one has {}", ends.len()),
        )
        .help("write `endpoints: [\"a:eth1\", \"b:eth1\"]`"));
    };
    let ends = [end(a, 0, map)?, end(b, 1, map)?];
    let (lines, draft) = (lab.lines, &mut lab.draft);
    lose_others(map, &["type", "endpoints", "mtu", "ipv4", "ipv6"], "link.", lines, draft);
    for end in [a, b] {
        if let Value::Map(end) = end {
            lose_others(end, &["node", "interface", "ipv4", "ipv6"], "link.endpoints.", lines, draft);
        }
    }
    let mut nodes = [0; 2];
    for (node, end) in nodes.iter_mut().zip(&ends) {
        match lab.names.get(end.node) {
            Some(Some(known)) => *node = *known,
            Some(None) => return outside(end, line, lab),
            None if OUTSIDE.contains(&end.node) => return outside(end, line, lab),
            None => return Err(unknown(end, lab)),
        }
    }
    if nodes[0] == nodes[1] {
        let what =
            format!("link {}:{}-{}:{}", ends[0].node, ends[0].interface, ends[1].node, ends[1].interface);
        lab.draft.lose(what, "leads from a node to itself; it was left out", Some(line));
        return Ok(());
    }
    let mut made = DraftLink::new(nodes, Way::default());
    for (at, end) in ends.iter().enumerate() {
        made.interfaces[at] = interface(end, nodes[at], lab)?;
    }
    if let Some(mtu) = map.get("mtu").and_then(word) {
        made.mtu = mtu.parse().ok().filter(|mtu| (68..=65535).contains(mtu));
        if made.mtu.is_none() {
            lab.draft.lose(format!("mtu {mtu}"), "is not from 68 to 65535; it was left out", Some(line));
        }
    }
    lab.draft.links.push(made);
    for (end, node) in ends.iter().zip(nodes) {
        for text in &end.addresses {
            let given = text.parse::<IpNet>().is_ok_and(|address| lab.address(node, end.interface, address));
            if !given {
                let line = Some(lab.lines.of(end.span));
                lab.draft.lose(format!("address {text}"), "could not be given; it was left out", line);
            }
        }
    }
    Ok(())
}

/// An end in either form, with the addresses that the short form lists beside the endpoints.
fn end<'a>(value: &'a Value, at: usize, link: &'a Map) -> Result<End<'a>, Diagnostic> {
    let fault = || {
        Diagnostic::new(value.span(), "expected a node and its interface")
            .help("write `\"a:eth1\"`, or `{node: a, interface: eth1}`")
    };
    let beside = ["ipv4", "ipv6"].iter().filter_map(|key| items(link.get(key)).get(at).and_then(word));
    let (node, interface, own) = match value {
        Value::Map(map) => {
            let own = ["ipv4", "ipv6"].iter().filter_map(|key| word_of(map, key)).collect();
            let node = word_of(map, "node").ok_or_else(fault)?;
            (node, word_of(map, "interface").ok_or_else(fault)?, own)
        }
        other => {
            let (node, interface) = word(other).and_then(|text| text.split_once(':')).ok_or_else(fault)?;
            (node, interface, Vec::new())
        }
    };
    let addresses = beside.chain(own).filter(|text| !text.is_empty()).collect();
    Ok(End { node, interface, addresses, span: value.span() })
}

fn outside(end: &End<'_>, line: usize, lab: &mut Lab<'_>) -> Result<(), Diagnostic> {
    let what = format!("link to {}:{}", end.node, end.interface);
    lab.draft.lose(what, "leads out of the lab; it was left out", Some(line));
    Ok(())
}

fn unknown(end: &End<'_>, lab: &Lab<'_>) -> Diagnostic {
    let help = match near(end.node, lab.names.keys().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "add the node under `nodes`, or remove the link".to_owned(),
    };
    Diagnostic::new(end.span, format!("a link leads to `{}`, which is no node", end.node)).help(help)
}

/// The interface's name, where the kernel takes it.
fn interface(end: &End<'_>, node: usize, lab: &mut Lab<'_>) -> Result<Option<String>, Diagnostic> {
    let name = end.interface;
    let fine = (1..=15).contains(&name.len())
        && name.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '/' | ':'))
        && !matches!(name, "." | ".." | "lo" | "all" | "default");
    if !fine {
        let line = Some(lab.lines.of(end.span));
        let why = "is no name of a Linux device; Plait names the interface";
        lab.draft.lose(format!("interface {}:{name}", end.node), why, line);
        return Ok(None);
    }
    if !lab.known[node].interfaces.insert(name.to_owned()) {
        return Err(Diagnostic::new(end.span, format!("`{}:{name}` is plugged in twice", end.node))
            .help("give one of them another interface"));
    }
    Ok(Some(name.to_owned()))
}
