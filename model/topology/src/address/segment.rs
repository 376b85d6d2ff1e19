//! Which interfaces hear each other.

use crate::document::Span;
use crate::graph::components::DisjointSets;
use crate::network::{Attachment, Network, Port};
use crate::vocabulary::Role;
use ipnet::IpNet;

/// A segment: the interfaces that reach each other without a router between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    /// What identifies it across edits of the file: the name of its link or LAN, or `switch s1` for what the switch
    /// `s1` joins (of several switches, the first by name).
    pub key: String,
    /// The interfaces of hosts and routers on it, in the order of the file.
    pub ports: Vec<Port>,
    /// Whether it is one link with nothing but its two ends.
    pub point_to_point: bool,
    /// The prefixes its links and LANs ask for, with their places.
    pub given: Vec<(IpNet, Span)>,
    /// Where it stands in the file.
    pub span: Span,
}

/// The segments of a network, in the order of its links and LANs. Switches and LANs merge all they join.
pub fn segments(network: &Network) -> Vec<Segment> {
    let links = network.links.len();
    let mut sets = DisjointSets::new(links + network.lans.len());
    let element = |attachment: Attachment| match attachment {
        Attachment::Link { link, .. } => link,
        Attachment::Lan { lan, .. } => links + lan,
    };
    for switch in network.nodes.iter().filter(|node| node.role == Role::Switch) {
        for pair in switch.interfaces.windows(2) {
            sets.join(element(pair[0].attachment), element(pair[1].attachment));
        }
    }
    let mut place = vec![None; links + network.lans.len()];
    let mut segments: Vec<Segment> = Vec::new();
    let elements = network
        .links
        .iter()
        .map(|link| (&link.name, &link.ends[..], link.prefix, link.span, true))
        .chain(network.lans.iter().map(|lan| (&lan.name, &lan.members[..], lan.prefix, lan.span, false)));
    for (index, (name, ports, prefix, span, is_link)) in elements.enumerate() {
        let at = *place[sets.root(index)].get_or_insert_with(|| {
            segments.push(Segment {
                key: name.clone(),
                ports: Vec::new(),
                point_to_point: is_link,
                given: Vec::new(),
                span,
            });
            segments.len() - 1
        });
        let segment = &mut segments[at];
        for &port in ports {
            let node = &network.nodes[port.node];
            if node.role == Role::Switch {
                let key = format!("switch {}", node.name);
                if segment.point_to_point || !segment.key.starts_with("switch ") || key < segment.key {
                    segment.key = key;
                }
                segment.point_to_point = false;
            } else {
                segment.ports.push(port);
            }
        }
        segment.given.extend(prefix.map(|prefix| (prefix, span)));
    }
    segments
}
