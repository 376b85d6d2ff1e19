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

use super::draft::{Draft, DraftLink, Way};
use super::geography::{Place, delay};
use super::{Imported, Importer, speed};
use crate::diagnostic::{Diagnostic, Report, nearest};
use crate::document::{Source, Span};
use crate::generate::MOST;
use indexmap::{IndexMap, IndexSet};
use roxmltree::{Document, Node, ParsingOptions};
use std::collections::HashMap;

/// Reads GraphML.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct GraphMl {
    /// The scale of the page, for files whose nodes have no other place: what one unit of it stands for.
    pub kilometres_per_unit: Option<f64>,
}

/// Where a node is.
#[derive(Debug, Clone, Copy)]
enum Location {
    Globe(Place),
    /// In kilometres.
    Page([f64; 2]),
}

impl Location {
    fn distance(self, other: Self) -> Option<f64> {
        match (self, other) {
            (Self::Globe(a), Self::Globe(b)) => Some(a.distance(b)),
            (Self::Page(a), Self::Page(b)) => Some(libm::hypot(a[0] - b[0], a[1] - b[1])),
            _ => None,
        }
    }
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
        let reader = Reader::new(source, &document, self.kilometres_per_unit);
        reader
            .read()
            .map(|draft| draft.finish(source))
            .map_err(|fault| Report::new(source.clone(), vec![fault]))
    }
}

fn not_xml(source: &Source, error: &roxmltree::Error) -> Diagnostic {
    let place = error.pos();
    let line = source.text.split_inclusive('\n').take(place.row.saturating_sub(1) as usize);
    let start: usize = line.map(str::len).sum();
    let rest = &source.text[start.min(source.text.len())..];
    let column =
        rest.char_indices().nth(place.col.saturating_sub(1) as usize).map_or(rest.len(), |(at, _)| at);
    let at = start + column;
    let help = match error {
        roxmltree::Error::DtdDetected => "remove the document type and its entities; GraphML needs none",
        roxmltree::Error::NodesLimitReached => "give a smaller file",
        _ => "save the file again as GraphML, or mend the line",
    };
    // The place stands in front of the line already.
    let message = error.to_string();
    let message = message.strip_suffix(&format!(" at {place}")).unwrap_or(&message);
    Diagnostic::new(Span { start: at, end: at + 1 }, format!("this is not XML: {message}")).help(help)
}

/// An attribute that a `key` element declares.
struct Key<'a> {
    name: String,
    default: Option<&'a str>,
}

struct Reader<'a> {
    document: &'a Document<'a>,
    /// Where each line begins.
    lines: Vec<usize>,
    keys: HashMap<&'a str, Key<'a>>,
    scale: Option<f64>,
}

type Attributes<'a> = HashMap<&'a str, &'a str>;

impl<'a> Reader<'a> {
    fn new(source: &Source, document: &'a Document<'a>, scale: Option<f64>) -> Self {
        let ends = source.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        let lines = [0].into_iter().chain(ends).collect();
        let mut keys = HashMap::new();
        for key in elements(document.root_element(), "key") {
            if let (Some(id), Some(name)) = (key.attribute("id"), key.attribute("attr.name")) {
                let default = elements(key, "default").next().and_then(|default| default.text());
                keys.insert(id, Key { name: name.to_ascii_lowercase(), default });
            }
        }
        Self { document, lines, keys, scale }
    }

    fn line(&self, node: Node<'_, '_>) -> usize {
        self.lines.partition_point(|&start| start <= node.range().start)
    }

    fn read(&self) -> Result<Draft, Diagnostic> {
        let root = self.document.root_element();
        let graph = elements(root, "graph").next().filter(|_| root.tag_name().name() == "graphml");
        let Some(graph) = graph else {
            return Err(Diagnostic::new(opening(root), "there is no graph in this file")
                .help("a GraphML file has a `graph` element inside `graphml`"));
        };
        let mut draft = Draft::new(GraphMl::default().name());
        for other in elements(root, "graph").skip(1) {
            draft.lose("another graph", "only the first of a file is read", Some(self.line(other)));
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
            let line = self.line(node);
            let Some(id) = node.attribute("id") else {
                return Err(Diagnostic::new(opening(node), "a node has no `id`")
                    .help("add `id=\"n0\"`, unlike any other"));
            };
            let attributes = self.attributes(node);
            let label = ["label", "name"].iter().find_map(|key| attributes.get(key).copied());
            let label = label.or_else(|| drawn_label(node));
            let index = draft.node(label, id, line);
            let number = |key: &str| attributes.get(key).and_then(|text| text.parse::<f64>().ok());
            let place = number("latitude").zip(number("longitude"));
            let place = place.and_then(|(latitude, longitude)| Place::new(latitude, longitude));
            let place = place.map(Location::Globe).or_else(|| self.on_page(node));
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
                    "there is only the place on the page, without its scale: links have no delay; give kilometres per unit"
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
            let line = self.line(edge);
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
            let attributes = self.attributes(edge);
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

    /// The place of a drawn node, where the page has a scale.
    fn on_page(&self, node: Node<'a, 'a>) -> Option<Location> {
        let scale = self.scale.filter(|scale| scale.is_finite())?;
        let geometry = descendants(node, "Geometry").next()?;
        let coordinate = |key: &str| geometry.attribute(key)?.parse::<f64>().ok().map(|value| value * scale);
        let place = [coordinate("x")?, coordinate("y")?];
        // Nothing on the Earth is further apart than half its circumference.
        place.iter().all(|value| value.abs() < 20_000.0).then_some(Location::Page(place))
    }

    /// What the file says beyond nodes and links.
    fn rest(&self, graph: Node<'a, 'a>, draft: &mut Draft) {
        for hyperedge in descendants(graph, "hyperedge") {
            draft.lose(
                "a hyper-edge",
                "joins any number of nodes; it was left out",
                Some(self.line(hyperedge)),
            );
        }
        if let Some(inner) = descendants(graph, "graph").next() {
            draft.lose("nested graphs", "their nodes stand beside all others", Some(self.line(inner)));
        }
        if graph.attribute("edgedefault") == Some("directed") {
            draft.lose(
                "direction of edges",
                "each became one link for both directions",
                Some(self.line(graph)),
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
        let mut unread: IndexSet<&str> = IndexSet::new();
        for element in descendants(graph, "node").chain(descendants(graph, "edge")) {
            for data in elements(element, "data")
                .filter(|data| data.text().is_some_and(|text| !text.trim().is_empty()))
            {
                let key = data.attribute("key").and_then(|key| self.keys.get(key));
                unread.extend(key.map(|key| key.name.as_str()).filter(|name| !read.contains(name)));
            }
        }
        if !unread.is_empty() {
            let names: Vec<&str> = unread.into_iter().take(40).collect();
            draft.lose(format!("attributes {}", names.join(", ")), "have no place in a network file", None);
        }
    }

    /// The attributes of a node or edge by their names in small letters, blank ones left out.
    fn attributes(&self, element: Node<'a, 'a>) -> Attributes<'_> {
        let mut attributes: Attributes<'_> = HashMap::new();
        for data in elements(element, "data") {
            let Some(key) = data.attribute("key").and_then(|key| self.keys.get(key)) else { continue };
            let text = data.text().or(key.default).map(str::trim).filter(|text| !text.is_empty());
            attributes.extend(text.map(|text| (key.name.as_str(), text)));
        }
        attributes
    }
}

/// The label in yEd's drawing of a node.
fn drawn_label<'a>(node: Node<'a, 'a>) -> Option<&'a str> {
    let labels = node.descendants().filter(|inner| inner.tag_name().name() == "NodeLabel");
    labels.filter_map(|label| label.text()).map(str::trim).find(|text| !text.is_empty())
}

fn elements<'a>(parent: Node<'a, 'a>, name: &'static str) -> impl Iterator<Item = Node<'a, 'a>> {
    parent.children().filter(move |child| child.is_element() && child.tag_name().name() == name)
}

fn descendants<'a>(parent: Node<'a, 'a>, name: &'static str) -> impl Iterator<Item = Node<'a, 'a>> {
    parent.descendants().skip(1).filter(move |inner| inner.is_element() && inner.tag_name().name() == name)
}

/// The place of an element's opening tag, not of all it holds.
fn opening(node: Node<'_, '_>) -> Span {
    let range = node.range();
    let first = node.first_child().map_or(range.end, |child| child.range().start);
    Span { start: range.start, end: first.max(range.start + 1) }
}
