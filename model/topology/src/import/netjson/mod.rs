//! NetJSON's `NetworkGraph` (RFC draft at netjson.org, section 4), alone or as the first of a
//! `NetworkCollection`.
//!
//! ```text
//! {"type": "NetworkGraph", "protocol": "OLSR", "version": "0.6", "metric": "ETX", "label": "mesh",
//!  "nodes": [{"id": "10.0.0.1", "label": "roof"},
//!            {"id": "10.0.0.2", "properties": {"location": {"lat": 41.9, "lng": 12.5}}}],
//!  "links": [{"source": "10.0.0.1", "target": "10.0.0.2", "cost": 1.5}]}
//! ```
//!
//! - Choice: the k-th link from a to b and the k-th from b to a are one, since routing protocols tell of both
//!   directions; one that stands alone leads both ways, as programs that draw these files have it.
//! - Choice: costs are numbers of any kind there and whole numbers here, so costs with fractions are all
//!   multiplied by 100 where the highest stays below the highest there is, and those above it are all
//!   divided.
//! - Choice: `location` with `lat` and `lng` gives the delay of fibre, in `properties` or beside them, where
//!   netjsongraph.js looks for it.

mod cost;
mod text;

use super::draft::{Draft, DraftLink, Way};
use super::geography::{Place, delay};
use super::hint::near;
use super::lines::Lines;
use super::pairs::Pairs;
use super::{Imported, Importer, Options};
use crate::diagnostic::{Diagnostic, Report};
use crate::document::{Map, Scalar, Source, Value};
use crate::generate::MOST;
use cost::Costs;
use indexmap::IndexSet;
use std::collections::HashMap;

/// Reads NetJSON.
pub struct NetJson;

impl Importer for NetJson {
    fn name(&self) -> &'static str {
        "netjson"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["json", "netjson"]
    }

    fn sniff(&self, text: &str) -> bool {
        let text = text.trim_start_matches('\u{feff}').trim_start();
        text.starts_with('{') && text.contains("\"NetworkGraph\"")
    }

    fn import(&self, source: &Source, options: &Options) -> Result<Imported, Report> {
        let (read_source, document) = text::read(source)?;
        let mut reader = Reader {
            lines: Lines::new(&read_source),
            draft: Draft::new(NetJson.name()),
            unread: IndexSet::new(),
            nodes: HashMap::new(),
        };
        match reader.read(&document) {
            Ok(()) => Ok(reader.draft.finish(source, options)),
            Err(fault) => Err(Report::new(read_source, vec![fault])),
        }
    }
}

struct Reader<'a> {
    lines: Lines,
    draft: Draft,
    /// Members that mean nothing here.
    unread: IndexSet<String>,
    nodes: HashMap<&'a str, (usize, Option<Place>)>,
}

impl<'a> Reader<'a> {
    fn read(&mut self, document: &'a Value) -> Result<(), Diagnostic> {
        let graph = self.graph(document)?;
        self.draft.title = word(graph, "label").map(str::to_owned);
        let nodes = list(graph, "nodes")?;
        if nodes.is_empty() {
            return Err(Diagnostic::new(graph.span, "this graph has no nodes")
                .help("add `\"nodes\": [{\"id\": \"a\"}]`"));
        }
        for node in nodes {
            self.node(node)?;
        }
        let placed = self.nodes.values().filter(|(_, place)| place.is_some()).count();
        if placed < self.nodes.len() {
            let why = format!(
                "{} of {} nodes have no `location`; their links have no delay",
                nodes.len() - placed,
                nodes.len()
            );
            self.draft.lose("coordinates", why, None);
        }
        self.links(list(graph, "links")?)?;
        self.note("", graph, &["type", "label", "nodes", "links"]);
        if !self.unread.is_empty() {
            let names: Vec<&str> = self.unread.iter().take(40).map(String::as_str).collect();
            self.draft.lose(format!("members {}", names.join(", ")), "have no place in a network file", None);
        }
        Ok(())
    }

    /// The graph itself, perhaps inside collections.
    fn graph(&mut self, document: &'a Value) -> Result<&'a Map, Diagnostic> {
        let mut value = document;
        loop {
            let Value::Map(map) = value else {
                return Err(Diagnostic::new(value.span(), "a NetworkGraph is an object")
                    .help("write `{\"type\": \"NetworkGraph\", \"nodes\": […], \"links\": […]}`"));
            };
            match word(map, "type") {
                Some("NetworkGraph") => return Ok(map),
                Some("NetworkCollection") => {
                    let members = list(map, "collection")?;
                    let Some(first) = members.first() else {
                        return Err(Diagnostic::new(map.span, "this collection is empty")
                            .help("put a NetworkGraph into it"));
                    };
                    for other in &members[1..] {
                        let line = self.lines.of(other.span());
                        self.draft.lose("another network", "only the first of a file is read", Some(line));
                    }
                    value = first;
                }
                _ => {
                    return Err(Diagnostic::new(map.span, "this is no NetworkGraph")
                        .help("only objects with `\"type\": \"NetworkGraph\"` are networks"));
                }
            }
        }
    }

    fn node(&mut self, node: &'a Value) -> Result<(), Diagnostic> {
        let map = object(node)?;
        let Some(id) = word(map, "id") else {
            return Err(Diagnostic::new(node.span(), "a node has no `id`")
                .help("add `\"id\": \"a\"`, unlike any other"));
        };
        let line = self.lines.of(node.span());
        let label = word(map, "label").filter(|label| !label.trim().is_empty());
        let index = self.draft.node(label.or(Some(id)), "node", line);
        if self.nodes.insert(id, (index, place(map))).is_some() {
            return Err(Diagnostic::new(node.span(), format!("two nodes have the id `{id}`"))
                .help("give one of them another id, also in its links"));
        }
        if self.draft.len() > MOST {
            return Err(Diagnostic::new(node.span(), format!("there are more than {MOST} nodes"))
                .help("give a smaller network"));
        }
        self.note("node", map, &["id", "label", "properties", "location"]);
        self.note_properties("node", map);
        Ok(())
    }

    fn links(&mut self, links: &'a [Value]) -> Result<(), Diagnostic> {
        let mut pairs = Pairs::default();
        let mut costs = Costs::default();
        for link in links {
            let map = object(link)?;
            let line = self.lines.of(link.span());
            let (a, b) = (self.end(map, "source")?, self.end(map, "target")?);
            let what = format!("link {}-{}", self.draft.name(a.0), self.draft.name(b.0));
            self.note("link", map, &["source", "target", "cost", "properties"]);
            self.note_properties("link", map);
            if a.0 == b.0 {
                self.draft.lose(what, "leads from a node to itself; it was left out", Some(line));
                continue;
            }
            let cost = match map.get("cost") {
                Some(Value::Scalar(Scalar::Int(..) | Scalar::Float(..), _)) => word(map, "cost"),
                _ => None,
            };
            let cost = cost.and_then(|cost| cost.parse::<f64>().ok()).filter(|cost| *cost >= 0.0);
            if cost.is_none() {
                self.draft.lose(what.clone(), "has no cost from 0; it costs 1", Some(line));
            }
            if let Some(first) = pairs.meet(a.0, b.0) {
                if let Some((kept, other)) = costs.differ(first, cost) {
                    let why = format!("costs {kept} there and {other} back; {kept} was kept for both");
                    self.draft.lose(what, why, Some(line));
                }
                continue;
            }
            let distance = a.1.zip(b.1).map(|(a, b)| a.distance(b));
            let delay = distance.map(delay).filter(|delay| delay.as_nanos() > 0);
            pairs.wait(a.0, b.0, self.draft.links.len(), line);
            costs.push(cost);
            self.draft.links.push(DraftLink::new([a.0, b.0], Way { delay, ..Way::default() }));
            if self.draft.links.len() > MOST {
                return Err(Diagnostic::new(link.span(), format!("there are more than {MOST} links"))
                    .help("give a smaller network"));
            }
        }
        costs.settle(&mut self.draft);
        Ok(())
    }

    fn end(&self, link: &'a Map, key: &str) -> Result<(usize, Option<Place>), Diagnostic> {
        let Some(id) = word(link, key) else {
            return Err(Diagnostic::new(link.span, format!("a link has no `{key}`"))
                .help(format!("add `\"{key}\": \"…\"` with the id of a node")));
        };
        self.nodes.get(id).copied().ok_or_else(|| {
            let help = match near(id, self.nodes.keys().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "add the node, or remove the link".to_owned(),
            };
            Diagnostic::new(link.span, format!("a link leads to `{id}`, which is no node")).help(help)
        })
    }

    /// Notes members that nobody reads.
    fn note(&mut self, owner: &str, map: &Map, read: &[&str]) {
        for entry in map.entries.iter().filter(|entry| !read.contains(&entry.key.as_str())) {
            let name = if owner.is_empty() { entry.key.clone() } else { format!("{owner}.{}", entry.key) };
            self.unread.insert(name);
        }
    }

    fn note_properties(&mut self, owner: &str, map: &Map) {
        if let Some(Value::Map(properties)) = map.get("properties") {
            self.note(&format!("{owner}.properties"), properties, &["location"]);
        }
    }
}

fn object(value: &Value) -> Result<&Map, Diagnostic> {
    match value {
        Value::Map(map) => Ok(map),
        other => {
            Err(Diagnostic::new(other.span(), format!("expected an object, found {}", other.describe()))
                .help(
                    "write `{\"id\": \"a\"}` for a node, `{\"source\": \"a\", \"target\": \"b\"}` for a link",
                ))
        }
    }
}

/// A list, or nothing where it is missing.
fn list<'a>(map: &'a Map, key: &str) -> Result<&'a [Value], Diagnostic> {
    match map.get(key) {
        None | Some(Value::Scalar(Scalar::Null, _)) => Ok(&[]),
        Some(Value::List(items, _)) => Ok(items),
        Some(other) => {
            Err(Diagnostic::new(other.span(), format!("`{key}` is a list, not {}", other.describe()))
                .help(format!("write `\"{key}\": […]`")))
        }
    }
}

/// A text or a number, as written.
fn word<'a>(map: &'a Map, key: &str) -> Option<&'a str> {
    match map.get(key)? {
        Value::Scalar(Scalar::Text(text) | Scalar::Int(_, text) | Scalar::Float(_, text), _) => Some(text),
        _ => None,
    }
}

fn place(node: &Map) -> Option<Place> {
    let properties = match node.get("properties") {
        Some(Value::Map(properties)) => properties.get("location"),
        _ => None,
    };
    let Some(Value::Map(location)) = node.get("location").or(properties) else { return None };
    let number = |key: &str| word(location, key)?.parse::<f64>().ok();
    Place::new(number("lat")?, number("lng")?)
}
