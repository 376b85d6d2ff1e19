//! From what a file says to what it means.
//!
//! [`parse_network`] is the way in: text → [`Value`] → file types → [`Network`], with every fault found reported at
//! once. The order is that of the file: root, groups and defaults, nodes, links, LANs, then the keys of other rooms.

mod conditions;
mod groups;
mod mtu;
mod names;
mod nodes;
mod plugs;

use crate::diagnostic::{Diagnostic, Report, suggest};
use crate::document::{Decoded, Map, Scalar, Source, Span, Value, decode, decode_open, parse};
use crate::file::{Daemon, OPEN_KEYS, Pool, Protocol, RootFile, RoutingFile, child};
use crate::network::{AddressPools, FrrRouting, Network, Routing};
use crate::vocabulary::{Place, Vocabulary};
use ipnet::IpNet;
use mtu::SmallMtu;
pub(crate) use names::is_no_host;
use plait_model_quantity::TimeSpan;
use std::collections::HashSet;

/// The version of the file format this build reads.
pub const FILE_VERSION: u64 = 1;

/// Gives the text of a file named in the network file (a trace, or a node's file), by its path as written.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// Reads a network file.
///
/// # Errors
/// Everything that is wrong with it, each with its place and remedy.
pub fn parse_network(
    source: &Source,
    vocabulary: &Vocabulary,
    read: ReadFile<'_>,
) -> Result<Network, Report> {
    resolve_network(source, &parse(source)?, vocabulary, read)
}

/// Reads a network file that was parsed already, and perhaps [filled](Value::fill).
///
/// # Errors
/// Everything that is wrong with it, each with its place and remedy.
pub fn resolve_network(
    source: &Source,
    document: &Value,
    vocabulary: &Vocabulary,
    read: ReadFile<'_>,
) -> Result<Network, Report> {
    let mut resolver = Resolver::new(vocabulary, read);
    let network = resolver.network(source, document);
    match network {
        Some(network) if resolver.faults.is_empty() => Ok(network),
        _ => Err(Report::new(source.clone(), resolver.faults)),
    }
}

struct Resolver<'a> {
    vocabulary: &'a Vocabulary,
    read: ReadFile<'a>,
    faults: Vec<Diagnostic>,
    /// The same by place and message: one key that many inherit is one fault.
    told: HashSet<(Span, String)>,
    /// Ends that links and LANs name with their interface, also those that could not be plugged in.
    named_ports: HashSet<(String, String)>,
    /// MTUs that IPv6 would not fit.
    small_mtus: Vec<SmallMtu>,
    /// Whether a link or LAN is not in the network because of its faults.
    incomplete: bool,
}

impl<'a> Resolver<'a> {
    fn new(vocabulary: &'a Vocabulary, read: ReadFile<'a>) -> Self {
        let (faults, small_mtus) = (Vec::new(), Vec::new());
        let (told, named_ports) = (HashSet::new(), HashSet::new());
        Self { vocabulary, read, faults, told, named_ports, small_mtus, incomplete: false }
    }

    fn fault(&mut self, fault: Diagnostic) {
        if self.told.insert((fault.span, fault.message.clone())) {
            self.faults.push(fault);
        }
    }

    /// What could be read of a value; its faults are told.
    fn keep<T>(&mut self, decoded: Decoded<T>) -> Option<T> {
        decoded.faults.into_iter().for_each(|fault| self.fault(fault));
        decoded.value
    }

    fn network(&mut self, source: &Source, document: &Value) -> Option<Network> {
        let Value::Map(map) = document else {
            let start = Span { start: 0, end: source.text.len().min(1) };
            self.fault(
                Diagnostic::new(start, format!("a network file is a map, this is {}", document.describe()))
                    .help("begin with `plait: 1`, then `nodes:` and `links:`"),
            );
            return None;
        };
        self.version(map)?;
        let (root, rest) = decode_open::<RootFile>(map);
        let root = self.keep(root)?;
        let (open, sections): (Vec<_>, Vec<_>) =
            rest.entries.into_iter().partition(|entry| OPEN_KEYS.contains(&entry.key.as_str()));
        let open = Map { entries: open, span: map.span };
        let defaults = map.get("defaults");
        let file_defaults = root.defaults.unwrap_or_default();
        let name = match root.name {
            Some(name) => {
                self.check_name("network", &name.value, name.span);
                name.value
            }
            None => name_from_source(&source.name),
        };

        let mut network = Network {
            name,
            nodes: Vec::new(),
            links: Vec::new(),
            lans: Vec::new(),
            routing: self.routing(root.routing, map),
            pools: self.pools(file_defaults.ipv4, file_defaults.ipv6),
            seed: root.seed.unwrap_or(1),
            sections: Map { entries: sections, span: map.span },
        };
        self.nodes(&mut network, open.get("nodes"), open.get("groups"), child(defaults, "node"));
        self.links(&mut network, open.get("links"), child(defaults, "link"));
        self.lans(&mut network, open.get("lans"), child(defaults, "lan"));
        self.interface_names(&mut network);
        self.given_addresses(&network);
        self.ipv6_fits(&network);
        self.foreign_keys(&network);
        Some(network)
    }

    /// Looks at the version before anything else, so that a newer file is refused by name, not by its new keys.
    fn version(&mut self, map: &Map) -> Option<()> {
        let top = Span { start: map.span.start, end: map.span.start + 1 };
        match map.get("plait") {
            Some(Value::Scalar(Scalar::Int(version, _), _)) if *version == FILE_VERSION as i64 => Some(()),
            Some(Value::Scalar(Scalar::Int(version, _), span)) if *version > FILE_VERSION as i64 => {
                self.fault(
                    Diagnostic::new(
                        *span,
                        format!("this file is of format {version}, this plait reads format {FILE_VERSION}"),
                    )
                    .help("use a newer plait"),
                );
                None
            }
            Some(value) => {
                self.fault(
                    Diagnostic::new(
                        value.span(),
                        format!("{} is not a version of the file format", value.describe()),
                    )
                    .help(format!("write `plait: {FILE_VERSION}`")),
                );
                None
            }
            None => {
                self.fault(
                    Diagnostic::new(top, "the version of the file format is missing")
                        .help(format!("add `plait: {FILE_VERSION}` as the first line")),
                );
                None
            }
        }
    }

    fn routing(&mut self, routing: Option<RoutingFile>, map: &Map) -> Routing {
        let detail = match routing {
            None | Some(RoutingFile::Named(Protocol::Static)) => return Routing::Static,
            Some(RoutingFile::Named(Protocol::None)) => return Routing::None,
            Some(RoutingFile::Named(Protocol::Frr)) => None,
            Some(RoutingFile::Detailed(detail)) => match detail.protocol {
                Protocol::Frr => Some(detail),
                protocol => {
                    if detail.daemons.is_some() || detail.hello.is_some() || detail.dead.is_some() {
                        let span = map.get("routing").map(Value::span).unwrap_or_default();
                        self.fault(
                            Diagnostic::new(span, "`daemons`, `hello` and `dead` belong to `protocol: frr`")
                                .help("remove them, or write `protocol: frr`"),
                        );
                    }
                    return if protocol == Protocol::None { Routing::None } else { Routing::Static };
                }
            },
        };
        let daemons = detail.as_ref().and_then(|detail| detail.daemons.clone()).unwrap_or(vec![Daemon::Ospf]);
        let mut seconds =
            |value: Option<&crate::document::Spanned<TimeSpan>>, usual: u64, most: u64| match value {
                None => TimeSpan::from_millis(usual * 1000),
                Some(value) => {
                    let nanos = value.value.as_nanos();
                    if nanos % 1_000_000_000 != 0 || nanos == 0 || nanos > most * 1_000_000_000 {
                        self.fault(
                            Diagnostic::new(
                                value.span,
                                format!("routing timers are whole seconds from 1s to {most}s"),
                            )
                            .help(format!("write `{usual}s`")),
                        );
                    }
                    value.value
                }
            };
        let hello = seconds(detail.as_ref().and_then(|detail| detail.hello.as_ref()), 1, 65535);
        let dead = seconds(detail.as_ref().and_then(|detail| detail.dead.as_ref()), 4, 65535);
        Routing::Frr(FrrRouting {
            ospf: daemons.contains(&Daemon::Ospf),
            bgp: daemons.contains(&Daemon::Bgp),
            hello,
            dead,
        })
    }

    fn pools(
        &mut self,
        ipv4: Option<crate::document::Spanned<Pool>>,
        ipv6: Option<crate::document::Spanned<Pool>>,
    ) -> AddressPools {
        // Choice: RFC 1918's largest block for IPv4; a unique local prefix (RFC 4193) for IPv6, only when asked for.
        let usual4 = "10.0.0.0/8".parse().expect("a prefix");
        let usual6 = "fd00::/32".parse().expect("a prefix");
        let ipv4 = match ipv4.map(|pool| (pool.value, pool.span)) {
            None | Some((Pool::On, _)) => Some(usual4),
            Some((Pool::Off, _)) => None,
            Some((Pool::Prefix(IpNet::V4(prefix)), _)) => Some(prefix.trunc()),
            Some((Pool::Prefix(IpNet::V6(_)), span)) => {
                self.fault(
                    Diagnostic::new(span, "an IPv6 prefix cannot be the IPv4 pool")
                        .help("write it under `ipv6`"),
                );
                None
            }
        };
        let ipv6 = match ipv6.map(|pool| (pool.value, pool.span)) {
            None | Some((Pool::Off, _)) => None,
            Some((Pool::On, _)) => Some(usual6),
            Some((Pool::Prefix(IpNet::V6(prefix)), _)) => Some(prefix.trunc()),
            Some((Pool::Prefix(IpNet::V4(_)), span)) => {
                self.fault(
                    Diagnostic::new(span, "an IPv4 prefix cannot be the IPv6 pool")
                        .help("write it under `ipv4`"),
                );
                None
            }
        };
        AddressPools { ipv4, ipv6 }
    }

    /// Keys outside the core: claimed by a room and well formed, or an error.
    fn foreign_keys(&mut self, network: &Network) {
        let root = ["plait", "name", "seed", "defaults", "routing"].into_iter().chain(OPEN_KEYS);
        self.claimed(Place::File, &network.sections, network, &root.collect::<Vec<_>>());
        for node in &network.nodes {
            self.claimed(Place::Node, &node.extra, network, nodes::CORE_KEYS);
        }
        for link in &network.links {
            self.claimed(Place::Link, &link.extra, network, &plugs::link_keys());
        }
        for lan in &network.lans {
            self.claimed(Place::Lan, &lan.extra, network, &plugs::lan_keys());
        }
    }

    /// The keys of a link or LAN that does not become a part of the network.
    fn left_out(&mut self, place: Place, keys: &Map, network: &Network, core: &[&str]) {
        self.incomplete = true;
        self.claimed(place, keys, network, core);
    }

    fn claimed(&mut self, place: Place, map: &Map, network: &Network, core: &[&str]) {
        let vocabulary = self.vocabulary;
        for entry in &map.entries {
            let Some((_, key)) = vocabulary.keys(place).find(|(name, _)| *name == entry.key) else {
                let known: Vec<&str> =
                    core.iter().copied().chain(vocabulary.keys(place).map(|(name, _)| name)).collect();
                self.fault(
                    Diagnostic::new(entry.key_span, format!("unknown key `{}`", entry.key))
                        .help(suggest(&entry.key, known.iter().copied())),
                );
                continue;
            };
            (key.parse)(&entry.value).into_iter().for_each(|fault| self.fault(fault));
            // A check would miss what is not in the network, and blame the wrong key.
            if let Some(check) = &key.check
                && !self.incomplete
            {
                check(&entry.value, network).into_iter().for_each(|fault| self.fault(fault));
            }
        }
    }
}

/// The file's name without folders and endings: what a testbed is called when the file has no `name`.
fn name_from_source(source: &str) -> String {
    let base = source.rsplit('/').next().unwrap_or(source);
    let base = base.split('.').next().unwrap_or(base);
    let name: String =
        base.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect();
    if name.is_empty() { "network".to_owned() } else { name.chars().take(40).collect() }
}

/// Decodes a section that a room registered, where the file has it.
///
/// # Errors
/// The fault in it; there is none after [`parse_network`] accepted the file with the same type registered.
pub fn section<T: serde::de::DeserializeOwned>(map: &Map, key: &str) -> Result<Option<T>, Diagnostic> {
    map.get(key).map(decode::<T>).transpose()
}
