//! The network as a picture: nodes by their role, links with what is asked of them.

use super::layout::{Edge, MOST_NODES, places};
use super::text::{clip, escape};
use crate::results::{EventKind, LinkSummary, NetworkSummary, Results};
use std::collections::HashMap;

/// Choice: with more links than this, what is asked of each stands in its tooltip only.
const MOST_LABELS: usize = 24;
const WIDTH: f64 = 1000.0;
/// Room for half a node and half a label at the border.
const BORDER: (f64, f64) = (70.0, 50.0);

/// The picture; none for networks that are too large to draw.
pub(super) fn svg(results: &Results) -> Option<String> {
    let network = &results.network;
    let count = network.nodes.len() + network.lans.len();
    if count == 0 || count > MOST_NODES {
        return None;
    }
    let edges = edges(network);
    let labelled = network.links.len() <= MOST_LABELS;
    let notes: Vec<Notes> =
        edges.iter().map(|edge| edge.link.map(|link| notes(link, results)).unwrap_or_default()).collect();
    // A link with much to say beside it gets the room for it.
    let length = |notes: &Notes| if labelled { 1.0 + notes.width() as f64 / 16.0 } else { 1.0 };
    let lengths: Vec<Edge> =
        edges.iter().zip(&notes).map(|(edge, notes)| (edge.ends.0, edge.ends.1, length(notes))).collect();
    let (places, height) = frame(&places(count, &lengths), count);
    let mut svg = format!(
        "<svg class=\"network\" viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-label=\"The network {}: {}, {}\">",
        escape(&network.name),
        super::text::plural(network.nodes.len(), "node", "nodes"),
        super::text::plural(network.links.len(), "link", "links"),
    );
    let mut labels = String::new();
    for (edge, notes) in edges.iter().zip(&notes) {
        let [from, to] = [places[edge.ends.0], places[edge.ends.1]];
        let (path, middle) = curve(from, to, edge.bend);
        let title =
            edge.link.map_or(String::new(), |link| format!("{}: {}", link.name, notes.asked.join(", ")));
        svg += &format!("<path class=\"wire\" d=\"{path}\"><title>{}</title></path>", escape(&title));
        if labelled {
            label(&mut labels, middle, side(from, to, middle), notes);
        }
    }
    svg += &labels;
    for (node, place) in network.nodes.iter().zip(&places) {
        shape(&mut svg, *place, &node.name, &node.role, &node.kind, count);
    }
    for (lan, place) in network.lans.iter().zip(&places[network.nodes.len()..]) {
        shape(&mut svg, *place, &lan.name, "lan", "lan", count);
    }
    svg += "</svg>";
    Some(svg)
}

struct Wire<'a> {
    ends: (usize, usize),
    /// How far parallel links bend apart, in units of their number.
    bend: f64,
    link: Option<&'a LinkSummary>,
}

/// Links, and the connections of LANs' members to a point that stands for the LAN.
fn edges(network: &NetworkSummary) -> Vec<Wire<'_>> {
    let index: HashMap<&str, usize> =
        network.nodes.iter().enumerate().map(|(index, node)| (node.name.as_str(), index)).collect();
    let mut edges = Vec::new();
    let mut between: HashMap<(usize, usize), usize> = HashMap::new();
    for link in &network.links {
        let [Some(&a), Some(&b)] = [&link.ends[0], &link.ends[1]].map(|end| index.get(end.as_str())) else {
            continue;
        };
        *between.entry((a.min(b), a.max(b))).or_default() += 1;
        edges.push(Wire { ends: (a, b), bend: 0.0, link: Some(link) });
    }
    let mut next: HashMap<(usize, usize), usize> = HashMap::new();
    for edge in &mut edges {
        let (a, b) = edge.ends;
        let key = (a.min(b), a.max(b));
        let position = next.entry(key).or_default();
        edge.bend = *position as f64 - (between[&key] - 1) as f64 / 2.0;
        if a > b {
            edge.bend = -edge.bend;
        }
        *position += 1;
    }
    for (position, lan) in network.lans.iter().enumerate() {
        for member in &lan.members {
            if let Some(&node) = index.get(member.as_str()) {
                edges.push(Wire { ends: (node, network.nodes.len() + position), bend: 0.0, link: None });
            }
        }
    }
    edges
}

/// Places in the picture, and its height: as flat as the network allows.
fn frame(places: &[(f64, f64)], count: usize) -> (Vec<(f64, f64)>, f64) {
    let tall = places.iter().map(|place| place.1.abs()).fold(0.0, f64::max);
    let wide = places.iter().map(|place| place.0.abs()).fold(0.0, f64::max).max(1e-6);
    // A few nodes need little room; many need all there is.
    let most = (120.0 + 24.0 * count as f64).min(620.0);
    let inner = (WIDTH - 2.0 * BORDER.0) / 2.0;
    let half = (tall * inner / wide).min(most / 2.0);
    let height = 2.0 * (half + BORDER.1);
    let place = |place: &(f64, f64)| {
        let down = if tall > 1e-6 { place.1 / tall * half } else { 0.0 };
        (WIDTH / 2.0 + place.0 / wide * inner, height / 2.0 + down)
    };
    // One node stands in the middle, two do not need the whole width.
    let places: Vec<(f64, f64)> = places.iter().map(place).collect();
    (places, height)
}

/// The path of a link and the place of its label.
fn curve(from: (f64, f64), to: (f64, f64), bend: f64) -> (String, (f64, f64)) {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.hypot(dy).max(1.0);
    let apart = bend * 86.0;
    let middle = ((from.0 + to.0) / 2.0 - dy / length * apart, (from.1 + to.1) / 2.0 + dx / length * apart);
    if bend == 0.0 {
        return (format!("M{:.1} {:.1}L{:.1} {:.1}", from.0, from.1, to.0, to.1), middle);
    }
    // A quadratic curve passes halfway between its chord and its control point.
    let control = (2.0 * middle.0 - (from.0 + to.0) / 2.0, 2.0 * middle.1 - (from.1 + to.1) / 2.0);
    (
        format!("M{:.1} {:.1}Q{:.1} {:.1} {:.1} {:.1}", from.0, from.1, control.0, control.1, to.0, to.1),
        middle,
    )
}

/// What stands beside a link.
#[derive(Default)]
struct Notes {
    /// What is asked of it: one line, or one a direction where they differ.
    asked: Vec<String>,
    /// What happens to it during the run.
    events: Option<String>,
}

impl Notes {
    /// The longest line, characters.
    fn width(&self) -> usize {
        self.asked.iter().chain(&self.events).map(|line| line.chars().count()).max().unwrap_or(0)
    }
}

fn notes(link: &LinkSummary, results: &Results) -> Notes {
    let [there, back] = link.conditions.each_ref().map(conditions);
    let asked = match (there.is_empty(), back.is_empty()) {
        (true, true) => Vec::new(),
        _ if there == back => vec![there],
        _ => {
            let or_wire = |text: String| if text.is_empty() { "wire".to_owned() } else { text };
            vec![
                format!("from {}: {}", link.ends[0], or_wire(there)),
                format!("from {}: {}", link.ends[1], or_wire(back)),
            ]
        }
    };
    let happens: Vec<String> = results
        .events
        .iter()
        .filter(|event| event.link.as_deref() == Some(link.name.as_str()))
        .map(|event| {
            let what = match event.kind {
                EventKind::Fail => "fails",
                EventKind::Recover => "recovers",
                EventKind::Set | EventKind::Command => "changes",
            };
            format!("{what} at {} s", super::text::short(event.asked_s))
        })
        .collect();
    let events = match happens.len() {
        0 => None,
        1 | 2 => Some(happens.join(", ")),
        many => Some(format!("{} and {} more", happens[0], many - 1)),
    };
    Notes { asked, events }
}

/// Conditions as written, in the order of the file format: `10Mbit · 20ms · loss 1%`.
pub(super) fn conditions(written: &serde_json::Value) -> String {
    let Some(map) = written.as_object() else { return String::new() };
    let part = |(key, value): (&String, &serde_json::Value)| {
        let text = match value {
            serde_json::Value::String(text) => text.clone(),
            other => clip(&other.to_string().replace('"', ""), 40),
        };
        match key.as_str() {
            "rate" | "delay" => text,
            "jitter" if value.is_string() => format!("±{text}"),
            "rate_trace" => format!("rate from {text}"),
            key => format!("{key} {text}"),
        }
    };
    map.iter().map(part).collect::<Vec<_>>().join(" · ")
}

/// Where a label stands seen from the middle of its link: above or below one that lies flat, on one that stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Above,
    Below,
    On,
}

fn side(from: (f64, f64), to: (f64, f64), middle: (f64, f64)) -> Side {
    let chord = (from.1 + to.1) / 2.0;
    match (to.0 - from.0).abs() > 2.0 * (to.1 - from.1).abs() {
        false => Side::On,
        true if middle.1 > chord + 1.0 => Side::Below,
        true => Side::Above,
    }
}

fn label(svg: &mut String, (x, y): (f64, f64), side: Side, notes: &Notes) {
    let lines: Vec<(&str, &str)> = notes
        .asked
        .iter()
        .map(|line| ("asked", line.as_str()))
        .chain(notes.events.iter().map(|line| ("happens", line.as_str())))
        .collect();
    let further = 16.0 * (lines.len() as f64 - 1.0);
    let first = match side {
        Side::Above => y - 9.0 - further,
        Side::Below => y + 19.0,
        Side::On => y + 4.0 - further / 2.0,
    };
    for (row, (class, line)) in lines.iter().enumerate() {
        *svg += &format!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            first + 16.0 * row as f64,
            escape(&clip(line, 60))
        );
    }
}

fn shape(svg: &mut String, (x, y): (f64, f64), name: &str, role: &str, kind: &str, count: usize) {
    // Many nodes leave no room for names: a dot each, the name in its tooltip.
    let title = format!("<title>{} ({})</title>", escape(name), escape(kind));
    if count > 60 {
        *svg += &format!(
            "<circle class=\"node {}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"6\">{title}</circle>",
            class(role)
        );
        return;
    }
    let shown = clip(name, 14);
    let half = (shown.chars().count() as f64 * 4.4 + 12.0).max(22.0);
    let round = match role {
        "router" => 17.0,
        "host" => 5.0,
        _ => 0.0,
    };
    *svg += &format!(
        "<rect class=\"node {}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"34\" rx=\"{round}\">{title}</rect><text class=\"node-name {}\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
        class(role),
        x - half,
        y - 17.0,
        2.0 * half,
        class(role),
        y + 5.0,
        escape(&shown)
    );
}

fn class(role: &str) -> &'static str {
    match role {
        "router" => "router",
        "switch" => "switch",
        "lan" => "lan",
        _ => "host",
    }
}
