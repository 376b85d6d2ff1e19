//! Links and LANs: what plugs nodes together.

use super::Resolver;
use super::nodes::UNPLUGGED;
use crate::diagnostic::{Diagnostic, suggest};
use crate::document::{Map, Scalar, Span, Spanned, Value, decode_open};
use crate::file::{EndpointFile, LanFile, LinkFile};
use crate::network::{Attachment, Interface, Lan, Link, Network, Port};
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
                (Map { entries: Vec::new(), span: *span }, Some(self.short_link(text, *span, names)?))
            }
            other => {
                self.fault(
                    Diagnostic::new(span, format!("a link is `a-b` or a map, not {}", other.describe()))
                        .help("write `a-b`, or `{endpoints: [a, b], rate: 10Mbit}`"),
                );
                return None;
            }
        };
        let merged = lay_over(own, defaults);
        let (file, keys) = self.keep(decode_open::<LinkFile>(&merged))?;
        let ends = match (short, file.endpoints) {
            (Some(ends), _) => ends,
            (None, Some(ends)) => ends.value.0,
            (None, None) => {
                self.fault(Diagnostic::new(span, "`endpoints` is missing").help("add `endpoints: [a, b]`"));
                return None;
            }
        };
        let both = self.conditions(&keys, file.reverse, file.preset.as_ref(), span)?;
        let nodes = [self.endpoint(&ends[0], names)?, self.endpoint(&ends[1], names)?];
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
            ports[end] = self.plug(network, nodes[end], &ends[end], attachment)?;
        }
        Some(Link {
            name,
            ends: ports,
            conditions: both.conditions,
            specs: both.specs,
            cost: self.cost(file.cost),
            mtu: file.mtu.map(|mtu| mtu.0),
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
        let found = names.get(&end.node).copied();
        if found.is_none() {
            self.unknown_node(&end.node, end.span, names);
        }
        found
    }

    /// Takes an interface of a node for an end: the one named, or a new one that is named when all are known.
    fn plug(
        &mut self,
        network: &mut Network,
        node: usize,
        end: &Spanned<EndpointFile>,
        attachment: Attachment,
    ) -> Option<Port> {
        let interfaces = &mut network.nodes[node].interfaces;
        let Some(name) = &end.interface else {
            interfaces.push(Interface { name: String::new(), addresses: Vec::new(), attachment });
            return Some(Port { node, interface: interfaces.len() - 1 });
        };
        match interfaces.iter().position(|interface| interface.name == *name) {
            Some(interface) if interfaces[interface].attachment == UNPLUGGED => {
                interfaces[interface].attachment = attachment;
                Some(Port { node, interface })
            }
            Some(_) => {
                self.fault(
                    Diagnostic::new(end.span, format!("`{}:{name}` is plugged in twice", end.node))
                        .help("give one of them another interface, or leave the interface out"),
                );
                None
            }
            None => {
                interfaces.push(Interface { name: name.clone(), addresses: Vec::new(), attachment });
                let interface = interfaces.len() - 1;
                self.check_interface(name, end.span);
                Some(Port { node, interface })
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
                    entries: vec![crate::document::Entry {
                        key: "members".to_owned(),
                        key_span: entry.key_span,
                        value: list.clone(),
                    }],
                    span: list.span(),
                },
            };
            let merged = lay_over(own, defaults);
            let lan = self
                .keep(decode_open::<LanFile>(&merged))
                .and_then(|(file, keys)| self.lan(network, &names, entry, file, keys));
            network.lans.extend(lan);
        }
    }

    fn lan(
        &mut self,
        network: &mut Network,
        names: &HashMap<String, usize>,
        entry: &crate::document::Entry,
        file: LanFile,
        keys: Map,
    ) -> Option<Lan> {
        let both = self.conditions(&keys, file.reverse, file.preset.as_ref(), entry.key_span)?;
        let lan = network.lans.len();
        let mut members = Vec::new();
        for (member, end) in file.members.iter().enumerate() {
            let node = self.endpoint(end, names)?;
            members.push(self.plug(network, node, end, Attachment::Lan { lan, member })?);
        }
        Some(Lan {
            name: entry.key.clone(),
            members,
            conditions: both.conditions,
            specs: both.specs,
            cost: self.cost(file.cost),
            mtu: file.mtu.map(|mtu| mtu.0),
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
