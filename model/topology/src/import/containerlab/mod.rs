//! containerlab's topology files, `*.clab.yml` (containerlab.dev, "Topology definition"), as far as no
//! vendor's image is needed.
//!
//! | there | here |
//! |---|---|
//! | kind `linux` | a `host`; a `router` where `net.ipv4.ip_forward` is set to 1 |
//! | kind `linux` with an image of FRR | a `router`, with `routing: frr` |
//! | kinds `bridge`, `ovs-bridge` | a `switch` |
//! | `exec` lines that give addresses and routes | `interfaces` and `routes`; others become `commands` |
//! | `binds` of single files | `files`; an `frr.conf` becomes `frr: {config: …}` |
//!
//! - Choice: a kind that needs a vendor's image becomes a router without its configuration, and that is
//!   reported, because its links are most of what such a file says.
//! - Choice: containerlab gives links no addresses. Where the lab gives some itself, Plait assigns none and
//!   sets no routes; where it gives none, Plait assigns and routes, so that the network works.
//! - Choice: nothing is read from the disk, so bound files are named and not looked at, and with a bound
//!   `frr.conf` every router runs both `ospfd` and `bgpd`.

mod binds;
mod command;
mod definition;
mod limits;
mod links;
mod nodes;

use super::draft::Draft;
use super::lines::Lines;
use super::values::word;
use super::{Imported, Importer, Options};
use crate::diagnostic::{Diagnostic, Report};
use crate::document::{Map, Source, Span, Value, parse};
use serde_json::json;

/// Reads containerlab's files.
pub struct Containerlab;

impl Importer for Containerlab {
    fn name(&self) -> &'static str {
        "containerlab"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["clab.yml", "clab.yaml"]
    }

    fn sniff(&self, text: &str) -> bool {
        let begins = |key: &str| text.lines().any(|line| line.starts_with(key));
        begins("topology:") && !begins("plait:")
    }

    fn import(&self, source: &Source, options: &Options) -> Result<Imported, Report> {
        let document = parse(source)?;
        let lines = Lines::new(source);
        read(&document, &lines)
            .map(|draft| draft.finish(source, options))
            .map_err(|fault| Report::new(source.clone(), vec![fault]))
    }
}

fn read(document: &Value, lines: &Lines) -> Result<Draft, Diagnostic> {
    let Value::Map(root) = document else {
        return Err(Diagnostic::new(Span { start: 0, end: 1 }, "a lab is a map of keys")
            .help("begin with `name:` and `topology:`"));
    };
    let Some(Value::Map(topology)) = root.get("topology") else {
        return Err(Diagnostic::new(start(root), "this file has no `topology`")
            .help("add `topology:` with `nodes:` and `links:`"));
    };
    let mut draft = Draft::new(Containerlab.name());
    draft.title = root.get("name").and_then(word).map(str::to_owned);
    let read = ["name", "topology"];
    lose_others(root, &read, "", lines, &mut draft);
    lose_others(topology, &["defaults", "kinds", "groups", "nodes", "links"], "topology.", lines, &mut draft);
    let definitions = definition::Definitions::new(topology)?;
    let mut lab = nodes::Lab::new(lines, draft);
    lab.nodes(&definitions)?;
    links::read(topology.get("links"), &mut lab)?;
    Ok(lab.finish())
}

/// How a lab is routed and numbered.
fn sections(draft: &mut Draft, numbered: bool, frr: bool, configured: bool) {
    if numbered {
        draft.sections.insert("defaults".to_owned(), json!({"ipv4": "off", "ipv6": "off"}));
    }
    let routing = match (frr, configured) {
        (true, true) => json!({"protocol": "frr", "daemons": ["ospf", "bgp"]}),
        (true, false) => json!("frr"),
        (false, _) if numbered => json!("none"),
        (false, _) => return,
    };
    draft.sections.insert("routing".to_owned(), routing);
}

/// Reports the keys of a map that nobody reads.
fn lose_others(map: &Map, read: &[&str], owner: &str, lines: &Lines, draft: &mut Draft) {
    for entry in map.entries.iter().filter(|entry| !read.contains(&entry.key.as_str())) {
        let line = Some(lines.of(entry.key_span));
        draft.lose(format!("{owner}{}", entry.key), "has no place in a network file", line);
    }
}

/// The beginning of a map, for faults that concern all of it.
fn start(map: &Map) -> Span {
    Span { start: map.span.start, end: map.span.start + 1 }
}
