//! GraphML as in the Internet Topology Zoo (Knight, Nguyen, Falkner, Bowden, Roughan, JSAC 2011).
//!
//! The Zoo's files come in two dialects. The published one has node attributes `label`, `Latitude` and
//! `Longitude` and edge attributes `LinkSpeedRaw`, or `LinkSpeed` with `LinkSpeedUnits`. The one drawn in yEd
//! has the labels in the drawing and speeds in edge labels, and no coordinates beyond those on the page. Both
//! are read.
//!
//! - Coordinates become propagation delay at two thirds of the speed of light. Choice: places on a page do so
//!   only when [`Options::kilometres_per_unit`] gives their scale, since no file says it; their absence is
//!   reported.
//! - Choice: every edge is a link for both directions, whatever `edgedefault` says, because the Zoo's edges
//!   are cables and stand once. Parallel edges are kept.
//! - Choice: a node that stands for a hyper-edge becomes a router like any other. GraphML's own hyper-edges
//!   do not become anything.

mod drawing;
mod keys;

use super::chart::Chart;
use super::draft::Draft;
use super::lines::Lines;
use super::xml::{self, descendants, elements, opening};
use super::{Imported, Importer, Options};
use crate::diagnostic::{Diagnostic, Report};
use crate::document::Source;
use keys::Keys;
use roxmltree::Node;

/// Reads GraphML.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct GraphMl;

impl Importer for GraphMl {
    fn name(&self) -> &'static str {
        "graphml"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["graphml", "xml"]
    }

    fn sniff(&self, text: &str) -> bool {
        xml::begins_with(text, "graphml")
    }

    fn import(&self, source: &Source, options: &Options) -> Result<Imported, Report> {
        let document = xml::parse(source, "GraphML")?;
        let lines = Lines::new(source);
        read(document.root_element(), &lines, options)
            .map(|draft| draft.finish(source, options))
            .map_err(|fault| Report::new(source.clone(), vec![fault]))
    }
}

fn read<'a>(root: Node<'a, 'a>, lines: &'a Lines, options: &Options) -> Result<Draft, Diagnostic> {
    let graph = elements(root, "graph").next().filter(|_| root.tag_name().name() == "graphml");
    let Some(graph) = graph else {
        return Err(Diagnostic::new(opening(root), "there is no graph in this file")
            .help("a GraphML file has a `graph` element inside `graphml`"));
    };
    let mut chart = Chart::new(GraphMl.name(), lines, options);
    for other in elements(root, "graph").skip(1) {
        let line = Some(lines.at(other.range().start));
        chart.draft.lose("another graph", "only the first of a file is read", line);
    }
    let keys = Keys::new(root);
    for node in descendants(graph, "node") {
        let Some(id) = node.attribute("id") else {
            return Err(Diagnostic::new(opening(node), "a node has no `id`")
                .help("add `id=\"n0\"`, unlike any other"));
        };
        let attributes = keys.attributes(node);
        let attribute = |name: &str| attributes.value(name);
        chart.node(id, opening(node), &attribute, drawing::label(node), drawing::page(node))?;
        keys.given(node).for_each(|name| chart.note(name));
    }
    chart.placed(opening(graph))?;
    for edge in descendants(graph, "edge") {
        let end = |key: &str| {
            edge.attribute(key).ok_or_else(|| {
                Diagnostic::new(opening(edge), format!("an edge has no `{key}`"))
                    .help(format!("add `{key}=\"…\"` with the id of a node"))
            })
        };
        let attributes = keys.attributes(edge);
        chart.link([end("source")?, end("target")?], opening(edge), &|name| attributes.value(name), None)?;
        keys.given(edge).for_each(|name| chart.note(name));
    }
    chart.linked();
    rest(graph, lines, &mut chart);
    Ok(chart.close())
}

/// What the file says beyond nodes and links.
fn rest<'a>(graph: Node<'a, 'a>, lines: &Lines, chart: &mut Chart<'a>) {
    for hyperedge in descendants(graph, "hyperedge") {
        let line = Some(lines.at(hyperedge.range().start));
        chart.draft.lose("a hyper-edge", "joins any number of nodes; it was left out", line);
    }
    if let Some(inner) = descendants(graph, "graph").next() {
        let line = Some(lines.at(inner.range().start));
        chart.draft.lose("nested graphs", "their nodes stand beside all others", line);
    }
    if graph.attribute("edgedefault") == Some("directed") {
        chart.directed(opening(graph));
    }
}
