//! GML (Himsolt, 1997) as the Internet Topology Zoo publishes it, as NetworkX writes it and as yEd draws it.
//!
//! ```text
//! graph [
//!   node [ id 0 label "London" Latitude 51.51 Longitude -0.13 ]
//!   node [ id 1 label "Paris" graphics [ x 400.0 y 120.0 ] ]
//!   edge [ source 0 target 1 LinkLabel "10 Gbps" ]
//! ]
//! ```
//!
//! What GraphML says, GML says under the same names, and it is read alike. The grammar is this crate's own:
//! 1997's has five rules, and no crate for it gives places of faults.
//!
//! - Choice: texts may be longer than a line, may hold other characters than ASCII, and keys may begin with
//!   `_`, because yEd and NetworkX write such.
//! - Choice: a group of yEd (`isGroup 1`) becomes a router like any other node, because edges may lead to it.

mod text;

use super::chart::Chart;
use super::draft::Draft;
use super::lines::Lines;
use super::{Imported, Importer, Options};
use crate::diagnostic::{Diagnostic, Report};
use crate::document::{Source, Span};
use text::{Pair, Value, find, parse};

/// Reads GML.
pub struct Gml;

impl Importer for Gml {
    fn name(&self) -> &'static str {
        "gml"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["gml"]
    }

    fn sniff(&self, text: &str) -> bool {
        let end = text.char_indices().nth(2000).map_or(text.len(), |(at, _)| at);
        let lines = text[..end].lines().filter(|line| !line.trim_start().starts_with('#'));
        let mut words = lines.flat_map(str::split_whitespace).skip_while(|word| !word.starts_with("graph"));
        match words.next() {
            Some("graph") => words.next().is_some_and(|word| word.starts_with('[')),
            Some(word) => word.starts_with("graph["),
            None => false,
        }
    }

    fn import(&self, source: &Source, options: &Options) -> Result<Imported, Report> {
        let lines = Lines::new(source);
        parse(&source.text)
            .and_then(|pairs| read(&pairs, &lines, options))
            .map(|draft| draft.finish(source, options))
            .map_err(|fault| Report::new(source.clone(), vec![fault]))
    }
}

fn read(pairs: &[Pair<'_>], lines: &Lines, options: &Options) -> Result<Draft, Diagnostic> {
    let mut graphs = pairs.iter().filter(|pair| pair.key == "graph" && matches!(pair.value, Value::List(_)));
    let Some(graph) = graphs.next() else {
        return Err(Diagnostic::new(Span { start: 0, end: 1 }, "there is no graph in this file")
            .help("a GML file holds `graph [ … ]`"));
    };
    let mut chart = Chart::new(Gml.name(), lines, options);
    for other in graphs {
        chart.draft.lose("another graph", "only the first of a file is read", Some(lines.of(other.span)));
    }
    let inside = graph.value.pairs();
    let of = |key: &'static str| inside.iter().filter(move |pair| pair.key == key);
    for node in of("node") {
        let own = node.value.pairs();
        let Some(id) = find(own, "id").and_then(Value::word) else {
            return Err(Diagnostic::new(node.span, "a node has no `id`").help("add `id 0`, unlike any other"));
        };
        let index = chart.node(id, node.span, &attribute(own), drawn(own), page(own))?;
        if attribute(own)("isgroup") == Some("1") {
            let what = format!("node {}", chart.draft.name(index));
            chart.draft.lose(what, "is a group of nodes; it became a router", Some(lines.of(node.span)));
        }
        note(own, &mut chart);
    }
    chart.placed(graph.span)?;
    for edge in of("edge") {
        let own = edge.value.pairs();
        let end = |key: &str| {
            find(own, key).and_then(Value::word).ok_or_else(|| {
                Diagnostic::new(edge.span, format!("an edge has no `{key}`"))
                    .help(format!("add `{key} 0` with the id of a node"))
            })
        };
        chart.link([end("source")?, end("target")?], edge.span, &attribute(own), drawn(own))?;
        note(own, &mut chart);
    }
    chart.linked();
    if let Some(pair) = of("directed").find(|pair| pair.value.word() == Some("1")) {
        chart.directed(pair.span);
    }
    Ok(chart.close())
}

fn attribute<'p>(pairs: &'p [Pair<'_>]) -> impl Fn(&str) -> Option<&'p str> {
    move |name| find(pairs, name).and_then(Value::word)
}

/// The label in yEd's drawing.
fn drawn<'p>(pairs: &'p [Pair<'_>]) -> Option<&'p str> {
    find(find(pairs, "LabelGraphics")?.pairs(), "text")?.word()
}

/// The place on the page.
fn page(pairs: &[Pair<'_>]) -> Option<[f64; 2]> {
    let graphics = find(pairs, "graphics")?.pairs();
    let coordinate = |key: &str| find(graphics, key)?.word()?.parse::<f64>().ok();
    Some([coordinate("x")?, coordinate("y")?])
}

fn note<'p>(pairs: &'p [Pair<'_>], chart: &mut Chart<'p>) {
    let structure = ["id", "source", "target", "graphics", "labelgraphics", "isgroup", "gid"];
    for pair in pairs {
        let name = pair.key.to_ascii_lowercase();
        if !structure.contains(&name.as_str()) {
            chart.note(&name);
        }
    }
}
