//! What was read, on its way to becoming a network file.

use super::names::Names;
use super::{Imported, Loss, Options};
use crate::document::Source;
use crate::graph::Graph;
use crate::yaml;
use plait_model_quantity::{Bandwidth, TimeSpan};
use serde_json::{Map, Value, json};

/// What the link engine holds on an ordinary machine; `docs/src/studies/link-accuracy.md` measures it.
const HELD: u64 = 1_000_000_000;

/// The highest routing cost of a link (OSPF's, RFC 2328, A.4.2).
pub(super) const HIGHEST_COST: u64 = 65535;

/// The conditions of one direction of a link.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Way {
    pub rate: Option<Bandwidth>,
    pub delay: Option<TimeSpan>,
    /// Further conditions by their keys, as written.
    pub others: Vec<(&'static str, Value)>,
}

#[derive(Debug, Clone)]
pub(super) struct DraftLink {
    pub ends: [usize; 2],
    /// The ends' interfaces, where the source names them.
    pub interfaces: [Option<String>; 2],
    pub ways: [Way; 2],
    pub cost: Option<u32>,
    pub mtu: Option<u32>,
}

impl DraftLink {
    /// A link with the same conditions both ways.
    pub fn new(ends: [usize; 2], way: Way) -> Self {
        Self { ends, interfaces: [None, None], ways: [way.clone(), way], cost: None, mtu: None }
    }
}

/// A node: a router unless said otherwise, since maps show nothing else.
#[derive(Debug)]
pub(super) struct DraftNode {
    pub name: String,
    pub kind: &'static str,
    /// Further keys of the file.
    pub keys: Map<String, Value>,
}

/// Nodes, links and losses of a source.
#[derive(Debug)]
pub(super) struct Draft {
    importer: &'static str,
    /// The network's name, where the source gives one.
    pub title: Option<String>,
    pub nodes: Vec<DraftNode>,
    names: Names,
    pub links: Vec<DraftLink>,
    /// Further keys of the file's top level.
    pub sections: Map<String, Value>,
    pub losses: Vec<Loss>,
}

impl Draft {
    pub fn new(importer: &'static str) -> Self {
        Self {
            importer,
            title: None,
            nodes: Vec::new(),
            names: Names::default(),
            links: Vec::new(),
            sections: Map::new(),
            losses: Vec::new(),
        }
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
        self.nodes.push(DraftNode { name: given.name, kind: "router", keys: Map::new() });
        self.nodes.len() - 1
    }

    pub fn name(&self, node: usize) -> &str {
        &self.nodes[node].name
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn finish(mut self, source: &Source, options: &Options) -> Imported {
        self.scale(options.scale);
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

    /// Multiplies all rates, and says which stay out of reach.
    fn scale(&mut self, factor: f64) {
        let rates = || self.links.iter().flat_map(|link| &link.ways).filter_map(|way| way.rate);
        let (any, factors) = (rates().next().is_some(), self.sections.contains_key("experiment"));
        if factor != 1.0 {
            for rate in
                self.links.iter_mut().flat_map(|link| &mut link.ways).filter_map(|way| way.rate.as_mut())
            {
                let scaled = libm::round(rate.bits_per_second() as f64 * factor).clamp(1.0, 9e18);
                *rate = Bandwidth::from_bits_per_second(scaled as u64);
            }
            if any {
                self.lose("rates", format!("all are {factor} times what the source says"), None);
            }
            if factors {
                self.lose("rates that a factor gives", "were not scaled", None);
            }
        }
        let above = |way: &Way| way.rate.is_some_and(|rate| rate.bits_per_second() > HELD);
        let count = self.links.iter().filter(|link| link.ways.iter().any(above)).count();
        if count > 0 {
            let why = format!(
                "of {count} links are above the 1Gbit that a link engine holds; they are kept, and limited by \
                 the machine when built; `--scale 0.1` makes all smaller"
            );
            self.lose("rates", why, None);
        }
    }

    fn yaml(&self, source: &Source) -> String {
        let file = source.name.rsplit(['/', '\\']).next().unwrap_or("");
        let stem = file.split('.').next().unwrap_or("");
        let title = self.title.as_deref().unwrap_or(stem);
        let title = Names::default().give(Some(title).filter(|title| !title.is_empty()), "network").name;
        let shown: String = file.chars().filter(|&c| c == ' ' || c.is_ascii_graphic()).take(100).collect();
        let mut yaml = format!(
            "# from {shown}, by `plait import --format {}`\nplait: 1\nname: {}\n",
            self.importer,
            yaml::text(&title)
        );
        for (key, value) in self.sections.iter().filter(|(key, _)| FIRST.contains(&key.as_str())) {
            yaml::entry(key, value, 0, &mut yaml);
        }
        self.nodes_yaml(&mut yaml);
        if !self.links.is_empty() {
            yaml += "links:\n";
        }
        for link in &self.links {
            yaml += &format!("  - {}\n", yaml::flow(&self.link(link)));
        }
        for (key, value) in self.sections.iter().filter(|(key, _)| !FIRST.contains(&key.as_str())) {
            yaml::entry(key, value, 0, &mut yaml);
        }
        yaml
    }

    fn nodes_yaml(&self, yaml: &mut String) {
        let bare = self.nodes.iter().all(|node| node.kind == "router" && node.keys.is_empty());
        if bare {
            *yaml += "defaults: {node: {kind: router}}\n";
        }
        *yaml += "nodes:\n";
        for node in &self.nodes {
            if bare {
                *yaml += &format!("  - {}\n", yaml::text(&node.name));
            } else if node.keys.is_empty() {
                yaml::entry(&node.name, &json!(node.kind), 1, yaml);
            } else {
                let kind = [("kind".to_owned(), json!(node.kind))];
                let keys = kind.into_iter().chain(node.keys.clone()).collect();
                yaml::entry(&node.name, &Value::Object(keys), 1, yaml);
            }
        }
    }

    fn link(&self, link: &DraftLink) -> Value {
        let end = |at: usize| match &link.interfaces[at] {
            Some(interface) => format!("{}:{interface}", self.name(link.ends[at])),
            None => self.name(link.ends[at]).to_owned(),
        };
        let mut map = Map::new();
        map.insert("endpoints".to_owned(), json!([end(0), end(1)]));
        let [there, back] = link.ways.each_ref().map(conditions);
        // What the other direction does not say it takes from this one, so what it lacks is taken back.
        let nothing = |key: &str| json!(if key == "delay" { "0ms" } else { "none" });
        let missing = there.keys().filter(|key| !back.contains_key(*key));
        let reverse: Map<String, Value> = back
            .iter()
            .filter(|(key, value)| there.get(*key) != Some(*value))
            .map(|(key, value)| (key.clone(), value.clone()))
            .chain(missing.map(|key| (key.clone(), nothing(key))))
            .collect();
        map.extend(there);
        if !reverse.is_empty() {
            map.insert("reverse".to_owned(), Value::Object(reverse));
        }
        if let Some(cost) = link.cost {
            map.insert("cost".to_owned(), json!(cost));
        }
        if let Some(mtu) = link.mtu {
            map.insert("mtu".to_owned(), json!(format!("{mtu}B")));
        }
        Value::Object(map)
    }
}

/// The sections that a reader wants to see before the nodes.
const FIRST: [&str; 4] = ["seed", "defaults", "experiment", "routing"];

fn conditions(way: &Way) -> Map<String, Value> {
    let rate = way.rate.map(|rate| ("rate".to_owned(), json!(rate.to_string())));
    let delay = way.delay.map(|delay| ("delay".to_owned(), json!(delay.to_string())));
    let others = way.others.iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
    rate.into_iter().chain(delay).chain(others).collect()
}
