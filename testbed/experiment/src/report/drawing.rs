//! The network as a picture: nodes by their role, links with what is asked of them.

mod notes;

use super::layout::{Edge, MOST_NODES, places};
use super::text::{clip, escape};
use crate::results::{EventRecord, LinkSummary, NetworkSummary};
use notes::{Notes, label, side};
use std::collections::HashMap;

/// Choice: with more links than this, what is asked of each stands in its tooltip only.
const MOST_LABELS: usize = 24;
/// Choice: with more nodes than this, each is a dot and its name a tooltip.
const MOST_NAMED: usize = 60;
/// Letters of a name that fit a node.
const MOST_LETTERS: usize = 14;
const NODE_HEIGHT: f64 = 34.0;
/// Pixels between the middles of parallel links.
const APART: f64 = 86.0;
const WIDTH: f64 = 1000.0;
/// Room for half a node and half a label at the border.
const BORDER: (f64, f64) = (70.0, 50.0);

/// The picture; none for networks that are too large to draw.
pub(super) fn svg(network: &NetworkSummary, events: &[EventRecord]) -> Option<String> {
    let count = network.nodes.len() + network.lans.len();
    if count == 0 || count > MOST_NODES {
        return None;
    }
    let edges = edges(network);
    let labelled = network.links.len() <= MOST_LABELS;
    let notes: Vec<Notes> =
        edges.iter().map(|edge| edge.link.map(|link| Notes::of(link, events)).unwrap_or_default()).collect();
    // A link with much to say beside it gets the room for it.
    let length = |notes: &Notes| if labelled { 1.0 + notes.width() as f64 / 16.0 } else { 1.0 };
    let lengths: Vec<Edge> =
        edges.iter().zip(&notes).map(|(edge, notes)| (edge.ends.0, edge.ends.1, length(notes))).collect();
    let sizes: Vec<f64> = names(network).map(half_width).collect();
    let bend = edges.iter().map(|edge| edge.bend.abs()).fold(0.0, f64::max) * APART;
    let (places, height) = frame(&places(count, &lengths), &sizes, bend);
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
            let visible = (to.0 - from.0).abs() - sizes[edge.ends.0] - sizes[edge.ends.1];
            label(&mut labels, middle, side(from, to, middle, visible, notes), notes);
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

/// Names of all that is drawn, nodes before LANs.
fn names(network: &NetworkSummary) -> impl Iterator<Item = &str> {
    let nodes = network.nodes.iter().map(|node| node.name.as_str());
    nodes.chain(network.lans.iter().map(|lan| lan.name.as_str()))
}

/// Half the width of a node's shape, pixels.
fn half_width(name: &str) -> f64 {
    (name.chars().count().min(MOST_LETTERS + 1) as f64 * 4.4 + 12.0).max(22.0)
}

/// Places in the picture, and its height: as flat as the network allows. `sizes` are half the widths of the nodes,
/// `bend` is how far links bend out.
fn frame(places: &[(f64, f64)], sizes: &[f64], bend: f64) -> (Vec<(f64, f64)>, f64) {
    let tall = places.iter().map(|place| place.1.abs()).fold(0.0, f64::max);
    let wide = places.iter().map(|place| place.0.abs()).fold(0.0, f64::max).max(1e-6);
    // A few nodes need little room; many need all there is.
    let most = (120.0 + 24.0 * places.len() as f64).min(620.0);
    let inner = (WIDTH - 2.0 * BORDER.0) / 2.0;
    let half = (tall * inner / wide).min(most / 2.0);
    let height = 2.0 * (half.max(bend) + BORDER.1);
    let place = |place: &(f64, f64)| {
        let down = if tall > 1e-6 { place.1 / tall * half } else { 0.0 };
        (WIDTH / 2.0 + place.0 / wide * inner, height / 2.0 + down)
    };
    let mut places: Vec<(f64, f64)> = places.iter().map(place).collect();
    if places.len() <= MOST_NAMED {
        part(&mut places, sizes, height);
    }
    (places, height)
}

/// Moves nodes apart that would cover each other, by as little as serves, and keeps them inside the picture.
fn part(places: &mut [(f64, f64)], sizes: &[f64], height: f64) {
    const ROUNDS: usize = 60;
    const GAP: f64 = 14.0;
    for _ in 0..ROUNDS {
        for a in 0..places.len() {
            for b in a + 1..places.len() {
                let (dx, dy) = (places[b].0 - places[a].0, places[b].1 - places[a].1);
                let (over_x, over_y) = (sizes[a] + sizes[b] + GAP - dx.abs(), NODE_HEIGHT + GAP - dy.abs());
                if over_x <= 0.0 || over_y <= 0.0 {
                    continue;
                }
                let (mut x, mut y) = (0.0, 0.0);
                if over_x < over_y {
                    x = over_x / 2.0 * if dx < 0.0 { -1.0 } else { 1.0 };
                } else {
                    y = over_y / 2.0 * if dy < 0.0 { -1.0 } else { 1.0 };
                }
                places[a] = (places[a].0 - x, places[a].1 - y);
                places[b] = (places[b].0 + x, places[b].1 + y);
            }
        }
        for (place, half) in places.iter_mut().zip(sizes) {
            place.0 = place.0.clamp(half + 2.0, WIDTH - half - 2.0);
            place.1 = place.1.clamp(NODE_HEIGHT / 2.0 + 2.0, height - NODE_HEIGHT / 2.0 - 2.0);
        }
    }
}

/// The path of a link and the place of its label.
fn curve(from: (f64, f64), to: (f64, f64), bend: f64) -> (String, (f64, f64)) {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.hypot(dy).max(1.0);
    let apart = bend * APART;
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

fn shape(svg: &mut String, (x, y): (f64, f64), name: &str, role: &str, kind: &str, count: usize) {
    // Many nodes leave no room for names: a dot each, the name in its tooltip.
    let title = format!("<title>{} ({})</title>", escape(name), escape(kind));
    if count > MOST_NAMED {
        *svg += &format!(
            "<circle class=\"node {}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"6\">{title}</circle>",
            class(role)
        );
        return;
    }
    let shown = clip(name, MOST_LETTERS);
    let half = half_width(name);
    let round = match role {
        "router" => 17.0,
        "host" => 5.0,
        _ => 0.0,
    };
    *svg += &format!(
        "<rect class=\"node {}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{NODE_HEIGHT}\" rx=\"{round}\">{title}</rect><text class=\"node-name {}\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
        class(role),
        x - half,
        y - NODE_HEIGHT / 2.0,
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
