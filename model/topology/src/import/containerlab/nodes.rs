//! Nodes, and what their keys become.

use super::super::draft::Draft;
use super::super::lines::Lines;
use super::super::values::{items, word};
use super::command::{Command, commands};
use super::definition::{Definition, Definitions};
use super::{binds, limits};
use crate::diagnostic::Diagnostic;
use crate::document::{Span, Value};
use crate::generate::MOST;
use indexmap::IndexMap;
use ipnet::IpNet;
use serde_json::{Map, json};
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

/// What is known of a node beside its draft.
#[derive(Default)]
pub(super) struct Known {
    /// The interfaces that links plug in.
    pub interfaces: HashSet<String>,
    /// Addresses by interface.
    pub addresses: IndexMap<String, Vec<IpNet>>,
    /// What `exec` asks for, each with its line.
    execs: Vec<(String, usize)>,
}

/// A lab that is being read: nodes, then links, then [`Lab::finish`].
pub(super) struct Lab<'a> {
    pub draft: Draft,
    pub lines: &'a Lines,
    /// The draft's nodes by their names in the file; none where the name stands for the machine itself.
    pub names: HashMap<&'a str, Option<usize>>,
    pub known: Vec<Known>,
    /// Addresses that are given to somebody.
    taken: HashSet<IpAddr>,
    /// Places of keys whose loss was told, since many nodes inherit one.
    told: HashSet<Span>,
    frr: bool,
    configured: bool,
}

impl<'a> Lab<'a> {
    pub fn new(lines: &'a Lines, draft: Draft) -> Self {
        Self {
            draft,
            lines,
            names: HashMap::new(),
            known: Vec::new(),
            taken: HashSet::new(),
            told: HashSet::new(),
            frr: false,
            configured: false,
        }
    }

    pub fn nodes(&mut self, definitions: &Definitions<'a>) -> Result<(), Diagnostic> {
        for definition in definitions.nodes() {
            let definition = definition?;
            if self.draft.len() >= MOST {
                return Err(Diagnostic::new(definition.span, format!("there are more than {MOST} nodes"))
                    .help("give a smaller lab"));
            }
            self.node(&definition);
        }
        if self.draft.len() == 0 {
            return Err(Diagnostic::new(Span { start: 0, end: 1 }, "this lab has no nodes but the machine")
                .help("add a node of kind `linux`"));
        }
        Ok(())
    }

    fn node(&mut self, definition: &Definition<'_, 'a>) {
        let line = self.lines.of(definition.span);
        if definition.kind == "host" {
            self.names.insert(definition.name, None);
            let why = "is this machine, which is in no testbed; it was left out";
            self.draft.lose(format!("node {}", definition.name), why, Some(line));
            return;
        }
        let index = self.draft.node(Some(definition.name), "node", line);
        self.names.insert(definition.name, Some(index));
        let image = definition.word("image").map_or("", |(image, _)| image);
        let frr = definition.kind == "linux" && is_frr(image);
        let mut sysctls = self.sysctls(definition);
        let mut execs = Vec::new();
        for value in definition.all("exec").flat_map(|value| items(Some(value))) {
            let Some(line) = word(value) else { continue };
            let place = self.lines.of(value.span());
            for piece in commands(line) {
                match Command::read(&piece) {
                    Command::Sysctl(name, value) => drop(sysctls.insert(name, value)),
                    Command::Nothing => {}
                    _ => execs.push((piece, place)),
                }
            }
        }
        let forwards = ["net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"]
            .into_iter()
            .filter(|name| sysctls.get(*name).is_some_and(|value| value == "1"))
            .count();
        let kind = match definition.kind {
            "bridge" | "ovs-bridge" => "switch",
            "linux" if frr || forwards > 0 => "router",
            "linux" | "ext-container" | "k8s-kind" | "generic_vm" => "host",
            other => {
                let why = format!(
                    "`{other}` needs its vendor's image; it became a router without its configuration"
                );
                self.draft.lose(format!("node {}", definition.name), why, Some(line));
                "router"
            }
        };
        if kind == "router" {
            // A router forwards as it is.
            sysctls.retain(|name, value| {
                !(name.ends_with("forward") || name.ends_with("all.forwarding")) || value != "1"
            });
        }
        self.frr |= frr;
        self.draft.nodes[index].kind = kind;
        if kind == "switch" {
            execs.clear();
            sysctls.clear();
        }
        if !sysctls.is_empty() {
            let sysctls = sysctls.into_iter().map(|(name, value)| (name, number(&value))).collect();
            self.draft.nodes[index].keys.insert("sysctls".to_owned(), serde_json::Value::Object(sysctls));
        }
        if kind != "switch" {
            self.configured |= binds::read(definition, frr, index, self.lines, &mut self.draft);
            limits::read(definition, index, self.lines, &mut self.draft);
        }
        self.others(definition, kind);
        self.known.push(Known { execs, ..Known::default() });
    }

    /// Kernel parameters of the network; others are reported.
    fn sysctls(&mut self, definition: &Definition<'_, 'a>) -> IndexMap<String, String> {
        let mut sysctls = IndexMap::new();
        for value in definition.all("sysctls") {
            let Value::Map(map) = value else { continue };
            for entry in &map.entries {
                let fine = entry.key.starts_with("net.")
                    && entry.key.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c));
                match word(&entry.value).filter(|_| fine) {
                    Some(value) => drop(sysctls.insert(entry.key.clone(), value.to_owned())),
                    None if self.told.insert(entry.key_span) => {
                        let line = Some(self.lines.of(entry.key_span));
                        let why = "only parameters of the network belong to a node; it was left out";
                        self.draft.lose(format!("sysctl {}", entry.key), why, line);
                    }
                    None => {}
                }
            }
        }
        sysctls
    }

    /// Reports the keys that nothing is made of, each where it stands.
    fn others(&mut self, definition: &Definition<'_, 'a>, kind: &str) {
        for entry in definition.entries() {
            let why = match entry.key.as_str() {
                "kind" | "group" | "exec" | "sysctls" | "binds" | "cpu" | "cpu-set" | "memory"
                    if kind != "switch" =>
                {
                    continue;
                }
                "kind" | "group" => continue,
                "image" if kind == "router" && is_frr(word(&entry.value).unwrap_or_default()) => {
                    "routers run this machine's FRR"
                }
                "image" => "nodes run the programs of this machine",
                "cmd" | "entrypoint" => "nodes have no first program; start it by an event of `run:`",
                "env" | "env-files" => {
                    "nodes have no environment of their own; set it in the commands that need it"
                }
                "startup-config" => "is a configuration of a vendor's system",
                "ports" => "nodes have no ports on this machine; `uplink: true` gives a way out",
                key if key.starts_with("mgmt-") => {
                    "there is no management network; `plait exec` reaches every node"
                }
                _ => "has no place in a network file",
            };
            if self.told.insert(entry.key_span) {
                let line = Some(self.lines.of(entry.key_span));
                self.draft.lose(format!("{} of node {}", entry.key, definition.name), why, line);
            }
        }
    }

    /// Gives an interface an address, unless somebody has it.
    pub fn address(&mut self, node: usize, interface: &str, address: IpNet) -> bool {
        let known = &mut self.known[node];
        let free = self.draft.nodes[node].kind != "switch"
            && known.interfaces.contains(interface)
            && self.taken.insert(address.addr());
        if free {
            known.addresses.entry(interface.to_owned()).or_default().push(address);
        }
        free
    }

    /// Gives nodes what needs their links, and the whole its sections.
    pub fn finish(mut self) -> Draft {
        for node in 0..self.known.len() {
            self.execs(node);
            let interfaces: Map<String, serde_json::Value> = self.known[node]
                .addresses
                .iter()
                .map(|(name, addresses)| {
                    let addresses: Vec<String> = addresses.iter().map(IpNet::to_string).collect();
                    (name.clone(), json!({"addresses": addresses}))
                })
                .collect();
            if !interfaces.is_empty() {
                self.draft.nodes[node]
                    .keys
                    .insert("interfaces".to_owned(), serde_json::Value::Object(interfaces));
            }
        }
        let numbered = self.configured || !self.taken.is_empty();
        super::sections(&mut self.draft, numbered, self.frr, self.configured);
        self.draft
    }

    /// Addresses first, because routes lead through them.
    fn execs(&mut self, node: usize) {
        let execs = std::mem::take(&mut self.known[node].execs);
        let mut rest = Vec::new();
        for (text, line) in execs {
            match Command::read(&text) {
                Command::Address(address, interface) if self.address(node, &interface, address) => {}
                _ => rest.push((text, line)),
            }
        }
        let (mut routes, mut commands) = (Vec::new(), Vec::new());
        for (text, line) in rest {
            let near = |via: &IpAddr| {
                self.known[node]
                    .addresses
                    .values()
                    .flatten()
                    .take(256)
                    .any(|own| own.contains(via) && own.addr() != *via)
            };
            match Command::read(&text) {
                Command::Route(to, via) if near(&via) => {
                    routes.push(json!({"to": to, "via": via.to_string()}))
                }
                _ => commands.push((text, line)),
            }
        }
        let name = self.draft.name(node).to_owned();
        if let Some((_, line)) = commands.first() {
            let why = "became `commands`, which must succeed and find their programs on this machine";
            self.draft.lose(format!("exec of node {name}"), why, Some(*line));
        }
        let commands: Vec<String> = commands.into_iter().map(|(text, _)| text).collect();
        let keys = &mut self.draft.nodes[node].keys;
        if !routes.is_empty() {
            keys.insert("routes".to_owned(), json!(routes));
        }
        if !commands.is_empty() {
            keys.insert("commands".to_owned(), json!(commands));
        }
    }
}

/// A kernel parameter as people write it.
fn number(value: &str) -> serde_json::Value {
    value.parse::<i64>().ok().filter(|number| number.to_string() == value).map_or(json!(value), |n| json!(n))
}

/// Whether an image is one of FRR, such as `quay.io/frrouting/frr:10.0`.
fn is_frr(image: &str) -> bool {
    let name = image.rsplit('/').next().unwrap_or_default();
    name.split([':', '@', '-', '_']).next().is_some_and(|name| name.eq_ignore_ascii_case("frr"))
}
