//! Nodes with what they inherit.

use super::Resolver;
use super::groups::Groups;
use crate::diagnostic::{Diagnostic, suggest};
use crate::document::{Entry, Map, Scalar, Span, Spanned, Value, decode_open};
use crate::file::{ContentFile, Destination, NodeFile};
use crate::network::{Attachment, FileContent, Interface, Network, Node, StaticRoute};
use crate::vocabulary::Role;
use ipnet::IpNet;
use std::collections::HashMap;
use std::net::IpAddr;

/// The keys of a node that the core knows.
pub(super) const CORE_KEYS: &[&str] =
    &["kind", "groups", "interfaces", "commands", "files", "sysctls", "routes"];

impl Resolver<'_> {
    pub(super) fn nodes(
        &mut self,
        network: &mut Network,
        nodes: Option<&Value>,
        groups: Option<&Value>,
        defaults: Option<&Value>,
    ) {
        let groups = self.groups(groups);
        let entries = match nodes {
            None => Vec::new(),
            Some(Value::Map(map)) => map.entries.clone(),
            // `nodes: [a, b, c]`
            Some(Value::List(items, _)) => items.iter().filter_map(|item| self.bare_node(item)).collect(),
            Some(other) => {
                self.fault(
                    Diagnostic::new(
                        other.span(),
                        format!("`nodes` is a map or list of names, not {}", other.describe()),
                    )
                    .help("write `nodes: {a: {kind: host}, b: {kind: host}}`"),
                );
                Vec::new()
            }
        };
        let mut seen = HashMap::new();
        for entry in &entries {
            self.check_name("node", &entry.key, entry.key_span);
            self.check_host(&entry.key, entry.key_span);
            if let Some((name, first)) =
                seen.insert(entry.key.to_ascii_lowercase(), (&entry.key, entry.key_span))
            {
                let message = match *name == entry.key {
                    true => format!("node `{name}` is given twice"),
                    false => {
                        format!("`{name}` and `{}` are one name, since hostnames know no case", entry.key)
                    }
                };
                self.fault(
                    Diagnostic::new(entry.key_span, message)
                        .note(first, "given here first")
                        .help("remove or rename one of them"),
                );
            }
            let node = self.node(entry, &groups, defaults);
            network.nodes.push(node);
        }
    }

    fn bare_node(&mut self, item: &Value) -> Option<Entry> {
        let (Value::Scalar(Scalar::Text(name), span) | Value::Scalar(Scalar::Int(_, name), span)) = item
        else {
            self.fault(
                Diagnostic::new(item.span(), format!("expected a node's name, found {}", item.describe()))
                    .help("write `nodes: [a, b]`, or a map to say more of each"),
            );
            return None;
        };
        Some(Entry { key: name.clone(), key_span: *span, value: Value::Scalar(Scalar::Null, *span) })
    }

    /// One node: its own keys over its groups' over the defaults. One with faults is still a node, so that links to it
    /// are not at fault too.
    fn node(&mut self, entry: &Entry, groups: &Groups, defaults: Option<&Value>) -> Node {
        let own = self.own_keys("node", entry);
        let under = match defaults {
            Some(Value::Map(defaults)) => defaults.clone(),
            _ => Map::default(),
        };
        let named = self.named_groups(own.get("groups").or(under.get("groups")));
        let under = self.inherit(&named, groups, groups.keys().map(String::as_str), under);
        let merged = own.over(under);
        let (file, extra) = decode_open::<NodeFile>(&merged);
        let file = self.keep(file).unwrap_or_default();
        let (kind, kind_span) =
            file.kind.map_or(("host".to_owned(), entry.key_span), |kind| (kind.value, kind.span));
        let vocabulary = self.vocabulary;
        let known = vocabulary.kind_named(&kind);
        if known.is_none() {
            self.fault(
                Diagnostic::new(kind_span, format!("unknown kind `{kind}`"))
                    .help(suggest(&kind, vocabulary.kinds().map(|(name, _)| name))),
            );
        }
        let mut interfaces = Vec::new();
        for (name, interface) in file.interfaces {
            self.check_interface(&name, name.span);
            // Not plugged in yet: links and LANs claim it by name.
            interfaces.push(Interface {
                name: name.value,
                addresses: interface.addresses.iter().map(|address| address.value).collect(),
                attachment: UNPLUGGED,
            });
        }
        Node {
            name: entry.key.clone(),
            role: known.map_or(Role::Host, |kind| kind.role),
            kind,
            interfaces,
            commands: file.commands,
            files: file.files.into_iter().filter_map(|(path, content)| self.file(path, content)).collect(),
            sysctls: file
                .sysctls
                .into_iter()
                .map(|(name, value)| (name.value, Spanned::new(value.value.0, name.span)))
                .collect(),
            routes: file.routes.into_iter().filter_map(|route| self.route(route)).collect(),
            extra,
            span: entry.key_span,
        }
    }

    fn file(
        &mut self,
        path: Spanned<String>,
        content: Spanned<ContentFile>,
    ) -> Option<(String, Spanned<FileContent>)> {
        let climbs = path.split('/').any(|part| part == "..");
        if !path.starts_with('/') || path.ends_with('/') || climbs {
            self.fault(
                Diagnostic::new(path.span, format!("`{}` is not the absolute path of a file", path.value))
                    .help("write it from `/`, without `..`, such as `/etc/motd`"),
            );
            return None;
        }
        let content = match content.value {
            ContentFile::Text(text) => FileContent::Text(text),
            ContentFile::Source(source) => FileContent::Source(source),
        };
        Some((path.value, Spanned::new(content, path.span)))
    }

    fn route(&mut self, route: Spanned<crate::file::RouteFile>) -> Option<Spanned<StaticRoute>> {
        let via = route.value.via;
        let to = match route.value.to {
            Destination::Prefix(prefix) => prefix,
            Destination::Default if via.is_ipv4() => "0.0.0.0/0".parse().expect("a prefix"),
            Destination::Default => "::/0".parse().expect("a prefix"),
        };
        if matches!((to, via), (IpNet::V4(_), IpAddr::V6(_)) | (IpNet::V6(_), IpAddr::V4(_))) {
            self.fault(Diagnostic::new(
                route.span,
                format!("`{to}` and `{via}` are of different IP versions"),
            ));
            return None;
        }
        Some(Spanned::new(StaticRoute { to, via }, route.span))
    }

    /// Every interface named under a node must be plugged in somewhere, and no address may stand twice.
    pub(super) fn given_addresses(&mut self, network: &Network) {
        let mut seen: HashMap<IpAddr, (usize, Span)> = HashMap::new();
        for (index, node) in network.nodes.iter().enumerate() {
            for interface in &node.interfaces {
                let named = || self.named_ports.contains(&(node.name.clone(), interface.name.clone()));
                if interface.attachment == UNPLUGGED && !named() {
                    self.fault(
                        Diagnostic::new(
                            node.span,
                            format!("`{}:{}` is in no link or LAN", node.name, interface.name),
                        )
                        .help(format!("add a link with the endpoint `{}:{}`", node.name, interface.name)),
                    );
                }
                for address in &interface.addresses {
                    if let Some((other, span)) = seen.insert(address.addr(), (index, node.span)) {
                        let other = &network.nodes[other].name;
                        self.fault(
                            Diagnostic::new(
                                node.span,
                                format!("{} is given to `{other}` and `{}`", address.addr(), node.name),
                            )
                            .note(span, "given here first")
                            .help("change one of them"),
                        );
                    }
                }
            }
        }
    }
}

/// The attachment of an interface that nothing has claimed yet; no network that was accepted holds one.
pub(super) const UNPLUGGED: Attachment = Attachment::Link { link: usize::MAX, end: 0 };
