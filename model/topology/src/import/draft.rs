//! What was read, on its way to becoming a network file.

use super::names::Names;
use super::{Imported, Loss};
use crate::document::Source;
use crate::graph::Graph;
use plait_model_quantity::{Bandwidth, TimeSpan};

/// The conditions of one direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Way {
    pub rate: Option<Bandwidth>,
    pub delay: Option<TimeSpan>,
}

#[derive(Debug)]
pub(super) struct DraftLink {
    pub ends: [usize; 2],
    pub ways: [Way; 2],
    pub cost: Option<u32>,
}

/// Nodes, links and losses of a source. All nodes become routers: the maps that are imported show nothing else.
#[derive(Debug)]
pub(super) struct Draft {
    importer: &'static str,
    nodes: Vec<String>,
    names: Names,
    pub links: Vec<DraftLink>,
    pub losses: Vec<Loss>,
}

impl Draft {
    pub fn new(importer: &'static str) -> Self {
        Self { importer, nodes: Vec::new(), names: Names::default(), links: Vec::new(), losses: Vec::new() }
    }

    pub fn lose(&mut self, what: impl Into<String>, why: impl Into<String>, line: Option<usize>) {
        self.losses.push(Loss { what: what.into(), why: why.into(), line });
    }

    /// Adds a node under a name made from its label, or from what stands in for one.
    pub fn node(&mut self, label: Option<&str>, fallback: &str, line: usize) -> usize {
        let given = self.names.give(label, fallback);
        if let Some(why) = given.loss {
            self.lose(format!("node {}", label.unwrap_or(fallback)), why, Some(line));
        }
        self.nodes.push(given.name);
        self.nodes.len() - 1
    }

    pub fn name(&self, node: usize) -> &str {
        &self.nodes[node]
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn finish(mut self, source: &Source) -> Imported {
        let edges = self.links.iter().map(|link| (link.ends[0], link.ends[1], 1));
        let parts = Graph::undirected(self.nodes.len(), edges).components().count();
        if parts > 1 {
            self.lose(
                "the network",
                format!("falls into {parts} parts; nodes of different parts cannot reach each other"),
                None,
            );
        }
        Imported {
            yaml: self.yaml(source),
            nodes: self.nodes.len(),
            links: self.links.len(),
            losses: self.losses,
            parts,
        }
    }

    fn yaml(&self, source: &Source) -> String {
        let file = source.name.rsplit(['/', '\\']).next().unwrap_or("");
        let stem = file.split('.').next().unwrap_or("");
        let title = Names::default().give(Some(stem).filter(|stem| !stem.is_empty()), "network").name;
        let shown: String = file.chars().filter(|&c| c == ' ' || c.is_ascii_graphic()).take(100).collect();
        let mut yaml = format!(
            "# from {shown}, by `plait import --format {}`\nplait: 1\nname: {}\n",
            self.importer,
            quoted(&title)
        );
        yaml += "defaults: {node: {kind: router}}\nnodes:\n";
        for name in &self.nodes {
            yaml += &format!("  - {}\n", quoted(name));
        }
        if !self.links.is_empty() {
            yaml += "links:\n";
        }
        for link in &self.links {
            let [a, b] = link.ends.map(|end| quoted(&self.nodes[end]));
            yaml += &format!("  - {{endpoints: [{a}, {b}]");
            yaml += &conditions(&link.ways[0]);
            let [there, back] = &link.ways;
            // What the other direction does not say it takes from this one, so no delay is written as nought.
            let delay =
                back.delay.or(there.delay.map(|_| TimeSpan::ZERO)).filter(|_| back.delay != there.delay);
            let rate = back.rate.filter(|_| back.rate != there.rate);
            let reverse = conditions(&Way { rate, delay });
            if !reverse.is_empty() {
                yaml += &format!(", reverse: {{{}}}", reverse.trim_start_matches(", "));
            }
            if let Some(cost) = link.cost {
                yaml += &format!(", cost: {cost}");
            }
            yaml += "}\n";
        }
        yaml
    }
}

fn conditions(way: &Way) -> String {
    let rate = way.rate.map_or(String::new(), |rate| format!(", rate: {rate}"));
    let delay = way.delay.map_or(String::new(), |delay| format!(", delay: {delay}"));
    rate + &delay
}

/// A name as YAML reads it back: in quotes unless it can be nothing but text.
fn quoted(name: &str) -> String {
    let reserved = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && !reserved.contains(&name.to_ascii_lowercase().as_str());
    if plain { name.to_owned() } else { format!("'{name}'") }
}
