//! A map of nodes with places and links with speeds, as GraphML and GML both hold.
//!
//! Both are read alike: coordinates become the delay of fibre, speeds and labels become rates, every edge
//! becomes a link, parallel ones included, and what is left is reported.

use super::draft::{Draft, DraftLink, Way};
use super::geography::delay;
use super::hint::near;
use super::lines::Lines;
use super::location::Location;
use super::{Options, speed};
use crate::diagnostic::Diagnostic;
use crate::document::Span;
use crate::generate::MOST;
use indexmap::{IndexMap, IndexSet};
use std::collections::HashMap;

/// Gives an attribute by its name in small letters.
pub(super) type Attribute<'r, 'a> = &'r dyn Fn(&str) -> Option<&'a str>;

/// The attributes that mean something; all others are reported.
const READ: [&str; 9] = [
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

/// A map that is being read: all nodes, then [`Chart::placed`], then all links, then [`Chart::linked`].
pub(super) struct Chart<'a> {
    pub draft: Draft,
    lines: &'a Lines,
    scale: Option<f64>,
    nodes: HashMap<&'a str, (usize, Option<Location>)>,
    /// The nodes without a place, with their lines.
    homeless: Vec<(usize, usize)>,
    /// Whether any node has a place on a page.
    drawn: bool,
    /// Labels that gave no rate: where the first stands, and how many there are.
    unread: IndexMap<&'a str, (usize, usize)>,
    /// Attributes that mean nothing here.
    others: IndexSet<String>,
}

impl<'a> Chart<'a> {
    pub fn new(importer: &'static str, lines: &'a Lines, options: &Options) -> Self {
        Self {
            draft: Draft::new(importer),
            lines,
            scale: options.kilometres_per_unit,
            nodes: HashMap::new(),
            homeless: Vec::new(),
            drawn: false,
            unread: IndexMap::new(),
            others: IndexSet::new(),
        }
    }

    /// A node, with the label in its drawing and its place on the page.
    pub fn node(
        &mut self,
        id: &'a str,
        span: Span,
        attribute: Attribute<'_, 'a>,
        drawn: Option<&str>,
        page: Option<[f64; 2]>,
    ) -> Result<usize, Diagnostic> {
        let line = self.lines.of(span);
        let label = attribute("label").or_else(|| attribute("name"));
        let index = self.draft.node(label.or(drawn), id, line);
        self.drawn |= page.is_some();
        let place = Location::of(attribute, page, self.scale);
        if place.is_none() {
            self.homeless.push((index, line));
        }
        if attribute("hyperedge").is_some_and(|text| matches!(text, "true" | "1")) {
            let what = format!("node {}", self.draft.name(index));
            self.draft.lose(what, "stands for a hyper-edge; it became a router", Some(line));
        }
        if self.nodes.insert(id, (index, place)).is_some() {
            return Err(Diagnostic::new(span, format!("two nodes have the id `{id}`"))
                .help("give one of them another id, also in its edges"));
        }
        if self.draft.len() > MOST {
            return Err(Diagnostic::new(span, format!("there are more than {MOST} nodes"))
                .help("give a smaller network"));
        }
        Ok(index)
    }

    /// All nodes are there.
    pub fn placed(&mut self, graph: Span) -> Result<(), Diagnostic> {
        if self.nodes.is_empty() {
            return Err(Diagnostic::new(graph, "this graph has no nodes").help("add `node` elements"));
        }
        if self.homeless.len() == self.nodes.len() {
            let why = if self.drawn {
                "there is only the place on the page, without its scale: links have no delay; give \
                 `--kilometres-per-unit`, or write `delay:` where it matters"
            } else {
                "no node has latitude and longitude; links have no delay"
            };
            self.draft.lose("coordinates", why, None);
            return Ok(());
        }
        for (node, line) in std::mem::take(&mut self.homeless) {
            let what = format!("node {}", self.draft.name(node));
            self.draft.lose(what, "has no latitude and longitude; its links have no delay", Some(line));
        }
        Ok(())
    }

    /// A link, with the label in its drawing.
    pub fn link(
        &mut self,
        ends: [&str; 2],
        span: Span,
        attribute: Attribute<'_, 'a>,
        drawn: Option<&'a str>,
    ) -> Result<(), Diagnostic> {
        let line = self.lines.of(span);
        let (a, b) = (self.end(ends[0], span)?, self.end(ends[1], span)?);
        if a.0 == b.0 {
            let what = format!("link {}-{}", self.draft.name(a.0), self.draft.name(b.0));
            self.draft.lose(what, "leads from a node to itself; it was left out", Some(line));
            return Ok(());
        }
        let given = attribute("linkspeedraw").and_then(|raw| speed::bits(raw.parse().ok()?));
        let given =
            given.or_else(|| speed::from_parts(attribute("linkspeed")?, attribute("linkspeedunits")?));
        let label = attribute("linklabel").or_else(|| attribute("label")).or(drawn);
        let rate = given.or_else(|| speed::from_label(label?));
        if let Some(label) = label.filter(|_| rate.is_none()) {
            self.unread.entry(label).or_insert((line, 0)).1 += 1;
        }
        let distance = a.1.zip(b.1).and_then(|(a, b)| a.distance(b));
        let delay = distance.map(delay).filter(|delay| delay.as_nanos() > 0);
        self.draft.links.push(DraftLink::new([a.0, b.0], Way { rate, delay, ..Way::default() }));
        if self.draft.links.len() > MOST {
            return Err(Diagnostic::new(span, format!("there are more than {MOST} edges"))
                .help("give a smaller network"));
        }
        Ok(())
    }

    fn end(&self, id: &str, span: Span) -> Result<(usize, Option<Location>), Diagnostic> {
        self.nodes.get(id).copied().ok_or_else(|| {
            let help = match near(id, self.nodes.keys().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "add the node, or remove the edge".to_owned(),
            };
            Diagnostic::new(span, format!("an edge leads to `{id}`, which is no node")).help(help)
        })
    }

    /// All links are there.
    pub fn linked(&mut self) {
        for (label, (line, count)) in std::mem::take(&mut self.unread) {
            self.draft.lose(format!("label `{label}` of {count} links"), "gives no one rate", Some(line));
        }
    }

    /// Each edge of a directed graph became a link.
    pub fn directed(&mut self, span: Span) {
        let line = self.lines.of(span);
        self.draft.lose("direction of edges", "each became one link for both directions", Some(line));
    }

    /// Notes the name of an attribute that a node or an edge has.
    pub fn note(&mut self, name: &str) {
        if !READ.contains(&name) && !self.others.contains(name) {
            self.others.insert(name.to_owned());
        }
    }

    /// Says which attributes nobody read.
    pub fn close(mut self) -> Draft {
        if !self.others.is_empty() {
            let names: Vec<&str> = self.others.iter().take(40).map(String::as_str).collect();
            self.draft.lose(
                format!("attributes {}", names.join(", ")),
                "have no place in a network file",
                None,
            );
        }
        self.draft
    }
}
