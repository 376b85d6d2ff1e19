//! GraphML as in the Internet Topology Zoo (Knight, Nguyen, Falkner, Bowden, Roughan, JSAC 2011).
//!
//! The Zoo's files come in two dialects. The published one has node attributes `label`, `Latitude` and `Longitude` and edge
//! attributes `LinkSpeedRaw`, or `LinkSpeed` with `LinkSpeedUnits`. The one drawn in yEd has the labels in the drawing and
//! speeds in edge labels, and no coordinates beyond those on the page. Both are read.
//!
//! - Coordinates become propagation delay at two thirds of the speed of light. Choice: places on a page do so only when
//!   [`GraphMl::kilometres_per_unit`] gives their scale, since no file says it; their absence is reported.
//! - Choice: every edge is a link for both directions, whatever `edgedefault` says, because the Zoo's edges are cables and
//!   stand once. Parallel edges are kept.
//! - Choice: a node that stands for a hyper-edge becomes a router like any other. GraphML's own hyper-edges do not become
//!   anything.

mod location;
mod xml;

use super::draft::{Draft, DraftLink, Way};
use super::geography::delay;
use super::{Imported, Importer, speed};
use crate::diagnostic::{Diagnostic, Report, nearest};
use crate::document::Source;
use crate::generate::MOST;
use indexmap::{IndexMap, IndexSet};
use location::Location;
use roxmltree::{Document, Node, ParsingOptions};
use std::collections::HashMap;
use xml::{Keys, Lines, descendants, drawn_label, elements, not_xml, opening};

/// Reads GraphML.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct GraphMl {
    /// The scale of the page, for files whose nodes have no other place: what one unit of it stands for.
    pub kilometres_per_unit: Option<f64>,
}

impl Importer for GraphMl {
    fn name(&self) -> &'static str {
        "graphml"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["graphml", "xml"]
    }

    fn sniff(&self, text: &str) -> bool {
        let end = text.char_indices().nth(2000).map_or(text.len(), |(at, _)| at);
        text[..end].contains("<graphml")
    }

    fn import(&self, source: &Source) -> Result<Imported, Report> {
        // No document type means no entities, and so none that grow without end.
        let options =
            ParsingOptions { allow_dtd: false, nodes_limit: 10_000_000, ..ParsingOptions::default() };
        let document = Document::parse_with_options(&source.text, options)
            .map_err(|error| Report::new(source.clone(), vec![not_xml(source, &error)]))?;
        let reader = Reader {
            lines: Lines::new(source),
            keys: Keys::new(document.root_element()),
            document: &document,
            scale: self.kilometres_per_unit,
        };
        reader
            .read()
            .map(|draft| draft.finish(source))
            .map_err(|fault| Report::new(source.clone(), vec![fault]))
    }
}

struct Reader<'a> {
    document: &'a Document<'a>,
    lines: Lines,
    keys: Keys<'a>,
    scale: Option<f64>,
}

impl<'a> Reader<'a> {
    fn read(&self) -> Result<Draft, Diagnostic> {
        let root = self.document.root_element();
        let graph = elements(root, "graph").next().filter(|_| root.tag_name().name() == "graphml");
        let Some(graph) = graph else {
            return Err(Diagnostic::new(opening(root), "there is no graph in this file")
                .help("a GraphML file has a `graph` element inside `graphml`"));
        };
        let mut draft = Draft::new(GraphMl::default().name());
        for other in elements(root, "graph").skip(1) {
            draft.lose("another graph", "only the first of a file is read", Some(self.lines.of(other)));
        }
        let nodes = self.nodes(graph, &mut draft)?;
        self.links(graph, &nodes, &mut draft)?;
        self.rest(graph, &mut draft);
        Ok(draft)
    }

    fn nodes(
        &self,
        graph: Node<'a, 'a>,
        draft: &mut Draft,
    ) -> Result<HashMap<&'a str, (usize, Option<Location>)>, Diagnostic> {
        let mut nodes = HashMap::new();
        let mut homeless = Vec::new();
        for node in descendants(graph, "node") {
            let line = self.lines.of(node);
            let Some(id) = node.attribute("id") else {
                return Err(Diagnostic::new(opening(node), "a node has no `id`")
                    .help("add `id=\"n0\"`, unlike any other"));
            };
            let attributes = self.keys.attributes(node);
            let label = ["label", "name"].iter().find_map(|key| attributes.get(key).copied());
            let label = label.or_else(|| drawn_label(node));
            let index = draft.node(label, id, line);
            let place = Location::of(node, &attributes, self.scale);
            if place.is_none() {
                homeless.push((index, line));
            }
            if attributes.get("hyperedge").is_some_and(|text| matches!(*text, "true" | "1")) {
                draft.lose(
                    format!("node {}", draft.name(index)),
                    "stands for a hyper-edge; it became a router",
                    Some(line),
                );
            }
            if nodes.insert(id, (index, place)).is_some() {
                return Err(Diagnostic::new(opening(node), format!("two nodes have the id `{id}`"))
                    .help("give one of them another id, also in its edges"));
            }
            if draft.len() > MOST {
                return Err(Diagnostic::new(opening(node), format!("there are more than {MOST} nodes"))
                    .help("give a smaller network"));
            }
        }
        if nodes.is_empty() {
            return Err(
                Diagnostic::new(opening(graph), "this graph has no nodes").help("add `node` elements")
            );
        }
        if homeless.len() == nodes.len() {
            let why = match descendants(graph, "Geometry").next() {
                Some(_) => {
                    "there is only the place on the page, without its scale: links have no delay; write `delay:` where it matters"
                }
                None => "no node has latitude and longitude; links have no delay",
            };
            draft.lose("coordinates", why, None);
        } else {
            for (node, line) in homeless {
                let what = format!("node {}", draft.name(node));
                draft.lose(what, "has no latitude and longitude; its links have no delay", Some(line));
            }
        }
        Ok(nodes)
    }

    fn links(
        &self,
        graph: Node<'a, 'a>,
        nodes: &HashMap<&str, (usize, Option<Location>)>,
        draft: &mut Draft,
    ) -> Result<(), Diagnostic> {
        let mut unread: IndexMap<&str, (usize, usize)> = IndexMap::new();
        for edge in descendants(graph, "edge") {
            let line = self.lines.of(edge);
            let end = |key: &str| {
                let Some(id) = edge.attribute(key) else {
                    return Err(Diagnostic::new(opening(edge), format!("an edge has no `{key}`"))
                        .help(format!("add `{key}=\"…\"` with the id of a node")));
                };
                nodes.get(id).copied().ok_or_else(|| {
                    let help =
                        match nearest(id, nodes.keys().copied().collect::<std::collections::BTreeSet<_>>()) {
                            Some(near) => format!("did you mean `{near}`?"),
                            None => "add the node, or remove the edge".to_owned(),
                        };
                    Diagnostic::new(opening(edge), format!("an edge leads to `{id}`, which is no node"))
                        .help(help)
                })
            };
            let (a, b) = (end("source")?, end("target")?);
            let what = format!("link {}-{}", draft.name(a.0), draft.name(b.0));
            if a.0 == b.0 {
                draft.lose(what, "leads from a node to itself; it was left out", Some(line));
                continue;
            }
            let attributes = self.keys.attributes(edge);
            let text = |key: &str| attributes.get(key).copied();
            let given = text("linkspeedraw").and_then(|raw| speed::bits(raw.parse().ok()?));
            let given = given.or_else(|| speed::from_parts(text("linkspeed")?, text("linkspeedunits")?));
            let label = ["linklabel", "label"].iter().find_map(|key| text(key));
            let rate = given.or_else(|| speed::from_label(label?));
            if let Some(label) = label.filter(|_| rate.is_none()) {
                unread.entry(label).or_insert((line, 0)).1 += 1;
            }
            let distance = a.1.zip(b.1).and_then(|(a, b)| a.distance(b));
            let delay = distance.map(delay).filter(|delay| delay.as_nanos() > 0);
            let way = Way { rate, delay };
            draft.links.push(DraftLink { ends: [a.0, b.0], ways: [way, way], cost: None });
            if draft.links.len() > MOST {
                return Err(Diagnostic::new(opening(edge), format!("there are more than {MOST} edges"))
                    .help("give a smaller network"));
            }
        }
        for (label, (line, count)) in unread {
            draft.lose(format!("label `{label}` of {count} links"), "gives no one rate", Some(line));
        }
        Ok(())
    }

    /// What the file says beyond nodes and links.
    fn rest(&self, graph: Node<'a, 'a>, draft: &mut Draft) {
        for hyperedge in descendants(graph, "hyperedge") {
            draft.lose(
                "a hyper-edge",
                "joins any number of nodes; it was left out",
                Some(self.lines.of(hyperedge)),
            );
        }
        if let Some(inner) = descendants(graph, "graph").next() {
            draft.lose("nested graphs", "their nodes stand beside all others", Some(self.lines.of(inner)));
        }
        if graph.attribute("edgedefault") == Some("directed") {
            draft.lose(
                "direction of edges",
                "each became one link for both directions",
                Some(self.lines.of(graph)),
            );
        }
        let read = [
            "label",
            "name",
            "latitude",
            "longitude",
            "hyperedge",
            "linkspeedraw",
            "linkspeed",
            "linkspeedunits",
            "linklabel",
        ];
        let elements = descendants(graph, "node").chain(descendants(graph, "edge"));
        let mut unread: IndexSet<&str> = elements.flat_map(|element| self.keys.given(element)).collect();
        unread.retain(|name| !read.contains(name));
        if !unread.is_empty() {
            let names: Vec<&str> = unread.into_iter().take(40).collect();
            draft.lose(format!("attributes {}", names.join(", ")), "have no place in a network file", None);
        }
    }
}
