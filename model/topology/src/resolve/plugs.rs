//! Links and LANs: what plugs nodes together.

use super::Resolver;
use super::nodes::UNPLUGGED;
use crate::diagnostic::{Diagnostic, suggest};
use crate::document::{Entry, Map, Scalar, Span, Spanned, Value, decode_open};
use crate::file::{EndpointFile, LanFile, LinkFile};
use crate::network::{Attachment, Interface, Lan, Link, Network, Port};
use crate::vocabulary::Place;
use std::collections::{HashMap, HashSet};

/// The keys of a link that the core knows.
pub(super) fn link_keys() -> Vec<&'static str> {
    let own = ["endpoints", "name", "preset", "reverse", "cost", "mtu", "prefix"];
    own.into_iter().chain(plait_model_link::SETTINGS.iter().copied()).collect()
}

/// The keys of a LAN that the core knows.
pub(super) fn lan_keys() -> Vec<&'static str> {
    let own = ["members", "preset", "reverse", "cost", "mtu", "prefix"];
    own.into_iter().chain(plait_model_link::SETTINGS.iter().copied()).collect()
}

impl Resolver<'_> {
    pub(super) fn links(&mut self, network: &mut Network, links: Option<&Value>, defaults: Option<&Value>) {
        let items = match links {
            None => return,
            Some(Value::List(items, _)) => items,
            Some(other) => {
                self.fault(
                    Diagnostic::new(other.span(), format!("`links` is a list, not {}", other.describe()))
                        .help("write `links: [a-b, b-c]`"),
                );
                return;
            }
        };
        let names: HashMap<String, usize> =
            network.nodes.iter().enumerate().map(|(index, node)| (node.name.clone(), index)).collect();
        let mut taken = HashSet::new();
        for item in items {
            if let Some(link) = self.link(network, &names, item, defaults, &mut taken) {
                network.links.push(link);
            }
        }
    }

    /// A link of the network; nothing if no two ends are known.
    fn link(
        &mut self,
        network: &mut Network,
        names: &HashMap<String, usize>,
        item: &Value,
        defaults: Option<&Value>,
        taken: &mut HashSet<String>,
    ) -> Option<Link> {
        let span = item.span();
        let (own, short) = match item {
            Value::Map(map) => (map.clone(), None),
            Value::Scalar(Scalar::Text(text), span) => {
                let own = Map { entries: Vec::new(), span: *span };
                (own, Some(self.short_link(text, *span, names)))
            }
            other => {
                self.fault(
                    Diagnostic::new(span, format!("a link is `a-b` or a map, not {}", other.describe()))
                        .help("write `a-b`, or `{endpoints: [a, b], rate: 10Mbit}`"),
                );
                self.incomplete = true;
                return None;
            }
        };
        let merged = lay_over(own, defaults);
        let (file, keys) = decode_open::<LinkFile>(&merged);
        let file = self.keep(file).unwrap_or_default();
        let both = self.conditions(&keys, file.reverse, file.preset.as_ref(), span);
        let cost = self.cost(file.cost);
        let ends = match (short, file.endpoints) {
            (Some(ends), _) => ends,
            (None, Some(ends)) => Some(ends.value.0),
            (None, None) => {
                // Ends that are written and missing here were at fault.
                if merged.get("endpoints").is_none() {
                    self.fault(
                        Diagnostic::new(span, "`endpoints` is missing").help("add `endpoints: [a, b]`"),
                    );
                }
                None
            }
        };
        let nodes = ends.as_ref().map(|ends| [0, 1].map(|end| self.endpoint(&ends[end], names)));
        let (Some(ends), Some([Some(first), Some(second)])) = (ends, nodes) else {
            self.left_out(Place::Link, &both.rest, network, &link_keys());
            return None;
        };
        let name = match file.name {
            Some(name) => {
                self.check_name("link", &name.value, name.span);
                if !taken.insert(name.value.clone()) {
                    self.fault(
                        Diagnostic::new(name.span, format!("link `{}` is given twice", name.value))
                            .help("give one of them another `name`"),
                    );
                }
                name.value
            }
            None => {
                let plain = format!("{}-{}", ends[0].node, ends[1].node);
                let mut name = plain.clone();
                let mut count = 1;
                while !taken.insert(name.clone()) {
                    count += 1;
                    name = format!("{plain}.{count}");
                }
                name
            }
        };
        let index = network.links.len();
        let mut ports = [Port { node: 0, interface: 0 }; 2];
        for end in 0..2 {
            let attachment = Attachment::Link { link: index, end };
            ports[end] = self.plug(network, [first, second][end], &ends[end], attachment);
        }
        Some(Link {
            name,
            ends: ports,
            conditions: both.conditions,
            specs: both.specs,
            cost,
            mtu: self.mtu(file.mtu, &ports),
            prefix: file.prefix.map(|prefix| prefix.value.trunc()),
            extra: both.rest,
            span,
        })
    }

    /// `a-b`, `a:eth1-b`: the one split that gives two known nodes, since names may hold hyphens.
    fn short_link(
        &mut self,
        text: &str,
        span: Span,
        names: &HashMap<String, usize>,
    ) -> Option<[Spanned<EndpointFile>; 2]> {
        let splits: Vec<_> = text
            .match_indices('-')
            .map(|(at, _)| (EndpointFile::new(&text[..at]), EndpointFile::new(&text[at + 1..])))
            .collect();
        let known: Vec<_> = splits
            .iter()
            .filter(|(a, b)| names.contains_key(&a.node) && names.contains_key(&b.node))
            .collect();
        match (&known[..], &splits[..]) {
            ([(a, b)], _) => Some([Spanned::new(a.clone(), span), Spanned::new(b.clone(), span)]),
            ([], [(a, b)]) => {
                let unknown = if names.contains_key(&a.node) { b } else { a };
                self.unknown_node(&unknown.node, span, names);
                None
            }
            ([], []) => {
                self.fault(
                    Diagnostic::new(span, format!("`{text}` is not a link")).help("write two nodes: `a-b`"),
                );
                None
            }
            ([], _) => {
                self.fault(
                    Diagnostic::new(span, format!("`{text}` names no two known nodes"))
                        .help("name both under `nodes`, or write `{endpoints: [a, b]}`"),
                );
                None
            }
            _ => {
                self.fault(
                    Diagnostic::new(span, format!("`{text}` can be read in more than one way"))
                        .help("write `{endpoints: [a, b]}`"),
                );
                None
            }
        }
    }

    fn unknown_node(&mut self, name: &str, span: Span, names: &HashMap<String, usize>) {
        let mut known: Vec<&str> = names.keys().map(String::as_str).collect();
        known.sort_unstable();
        self.fault(
            Diagnostic::new(span, format!("unknown node `{name}`"))
                .help(suggest(name, known.iter().copied())),
        );
    }

    fn endpoint(&mut self, end: &Spanned<EndpointFile>, names: &HashMap<String, usize>) -> Option<usize> {
        self.named_ports.extend(end.interface.clone().map(|interface| (end.node.clone(), interface)));
        let found = names.get(&end.node).copied();
        if found.is_none() {
            self.unknown_node(&end.node, end.span, names);
        }
        found
    }

    /// Takes an interface of a node for an end: the one named, or a new one that is named when all are known. One that
    /// is taken is a fault, and stays where it is.
    fn plug(
        &mut self,
        network: &mut Network,
        node: usize,
        end: &Spanned<EndpointFile>,
        attachment: Attachment,
    ) -> Port {
        let interfaces = &mut network.nodes[node].interfaces;
        let Some(name) = &end.interface else {
            interfaces.push(Interface { name: String::new(), addresses: Vec::new(), attachment });
            return Port { node, interface: interfaces.len() - 1 };
        };
        match interfaces.iter().position(|interface| interface.name == *name) {
            Some(interface) if interfaces[interface].attachment == UNPLUGGED => {
                interfaces[interface].attachment = attachment;
                Port { node, interface }
            }
            Some(interface) => {
                self.fault(
                    Diagnostic::new(end.span, format!("`{}:{name}` is plugged in twice", end.node))
                        .help("give one of them another interface, or leave the interface out"),
                );
                Port { node, interface }
            }
            None => {
                interfaces.push(Interface { name: name.clone(), addresses: Vec::new(), attachment });
                let interface = interfaces.len() - 1;
                self.check_interface(name, end.span);
                Port { node, interface }
            }
        }
    }

    pub(super) fn lans(&mut self, network: &mut Network, lans: Option<&Value>, defaults: Option<&Value>) {
        let entries = match lans {
            None => return,
            Some(Value::Map(map)) => &map.entries,
            Some(other) => {
                self.fault(
                    Diagnostic::new(
                        other.span(),
                        format!("`lans` is a map of names, not {}", other.describe()),
                    )
                    .help("write `lans: {office: [a, b, c]}`"),
                );
                return;
            }
        };
        let names: HashMap<String, usize> =
            network.nodes.iter().enumerate().map(|(index, node)| (node.name.clone(), index)).collect();
        for entry in entries {
            self.check_name("LAN", &entry.key, entry.key_span);
            if let Some(link) = network.links.iter().find(|link| link.name == entry.key) {
                self.fault(
                    Diagnostic::new(
                        entry.key_span,
                        format!("`{}` is the name of a link and of a LAN", entry.key),
                    )
                    .note(link.span, "the link")
                    .help("rename one of them"),
                );
            }
            // `office: [a, b, c]` is `office: {members: [a, b, c]}`.
            let own = match &entry.value {
                Value::Map(map) => map.clone(),
                list => Map {
                    entries: vec![Entry {
                        key: "members".to_owned(),
                        key_span: entry.key_span,
                        value: list.clone(),
                    }],
                    span: list.span(),
                },
            };
            let merged = lay_over(own, defaults);
            let lan = self.lan(network, &names, entry, &merged);
            network.lans.extend(lan);
        }
    }

    /// A LAN of the network; nothing if a member is not known.
    fn lan(
        &mut self,
        network: &mut Network,
        names: &HashMap<String, usize>,
        entry: &Entry,
        merged: &Map,
    ) -> Option<Lan> {
        let (file, keys) = decode_open::<LanFile>(merged);
        let Some(file) = self.keep(file) else {
            let rest = self.conditions(&keys, None, None, entry.key_span).rest;
            self.left_out(Place::Lan, &rest, network, &lan_keys());
            return None;
        };
        let both = self.conditions(&keys, file.reverse, file.preset.as_ref(), entry.key_span);
        let cost = self.cost(file.cost);
        let nodes: Vec<_> = file.members.iter().map(|end| self.endpoint(end, names)).collect();
        let Some(nodes) = nodes.into_iter().collect::<Option<Vec<usize>>>() else {
            self.left_out(Place::Lan, &both.rest, network, &lan_keys());
            return None;
        };
        let lan = network.lans.len();
        let plugs = nodes.into_iter().zip(file.members.iter()).enumerate();
        let members: Vec<Port> = plugs
            .map(|(member, (node, end))| self.plug(network, node, end, Attachment::Lan { lan, member }))
            .collect();
        let mtu = self.mtu(file.mtu, &members);
        Some(Lan {
            name: entry.key.clone(),
            members,
            conditions: both.conditions,
            specs: both.specs,
            cost,
            mtu,
            prefix: file.prefix.map(|prefix| prefix.value.trunc()),
            extra: both.rest,
            span: entry.key_span,
        })
    }

    fn cost(&mut self, cost: Option<Spanned<u32>>) -> u32 {
        match cost {
            None => 1,
            Some(cost) => {
                // OSPF's metric has 16 bits (RFC 2328, A.4.2); static routing keeps to it so that both agree.
                if !(1..=65535).contains(&cost.value) {
                    self.fault(Diagnostic::new(cost.span, "a routing cost is from 1 to 65535"));
                }
                cost.value
            }
        }
    }

    /// Names the interfaces that the file left nameless: the lowest free `eth` number, in the order they were plugged.
    pub(super) fn interface_names(&mut self, network: &mut Network) {
        for node in &mut network.nodes {
            let mut taken: HashSet<String> =
                node.interfaces.iter().map(|interface| interface.name.clone()).collect();
            let mut next = 0;
            for interface in &mut node.interfaces {
                while interface.name.is_empty() {
                    let name = format!("eth{next}");
                    next += 1;
                    if taken.insert(name.clone()) {
                        interface.name = name;
                    }
                }
            }
        }
    }
}

/// A map over defaults that may be missing.
fn lay_over(own: Map, defaults: Option<&Value>) -> Map {
    match defaults {
        Some(Value::Map(defaults)) => own.over(defaults.clone()),
        _ => own,
    }
}
