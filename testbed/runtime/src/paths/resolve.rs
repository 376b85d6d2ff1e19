//! What `paths:` means in a network, with every default applied and every name resolved.

use super::{border, spread};
use crate::section::{LearnWord, MethodWord, NodeName, Paths, PrefixWays, RelayListForm, WrittenWays};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use plait_control_paths::{Method, Settings};
use plait_dataplane_paths::protocol::Policy;
use plait_dataplane_paths::{Encapsulation, Family, Sources, longest_silence};
use plait_model_quantity::TimeSpan;
use plait_model_topology::Network;
use plait_model_topology::diagnostic::{Diagnostic, suggest};
use plait_model_topology::document::{Span, Spanned};
use plait_model_topology::network::{NodeIndex, Routing};
use plait_model_topology::vocabulary::Role;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

/// Who says which paths there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Learn {
    /// Plait, once.
    File,
    /// iplbd in each host.
    Ospf,
    /// Nobody.
    None,
}

/// Paths that hosts choose.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// The hosts that choose.
    pub hosts: Vec<NodeIndex>,
    /// The routers that take headers off, and the addresses that headers name them by.
    pub relays: BTreeMap<NodeIndex, IpAddr>,
    /// Who says which paths there are.
    pub learn: Learn,
    /// What stands between headers.
    pub encapsulation: Encapsulation,
    /// Which of the paths a flow goes by.
    pub policy: Policy,
    /// What is planned; where the method is [`MethodWord::Known`], by another that the world has.
    pub settings: Settings,
    /// How relays are found, as written.
    pub method: MethodWord,
    /// The source of all headers.
    pub source: IpAddr,
    /// The prefix of the relays' addresses.
    pub network: IpNet,
    /// What a flow that moves waits for.
    pub spread: Duration,
    /// A flow that was silent for longer is forgotten.
    pub idle: Option<Duration>,
    /// What is said by hand of hosts, by prefix.
    pub by_hand: BTreeMap<NodeIndex, BTreeMap<IpNet, ByHand>>,
    /// Interfaces that lead outside.
    pub borders: BTreeMap<NodeIndex, Vec<String>>,
}

/// What is said by hand of a prefix.
#[derive(Debug, Clone)]
pub struct ByHand {
    /// Where it is said.
    pub span: Span,
    /// Which of its lists a flow goes by.
    pub policy: Policy,
    /// Its lists and their weights; none where they are those that the file's links or daemons tell of, of the prefix and of those
    /// within it.
    pub lists: Option<Vec<(Vec<NodeIndex>, u32)>>,
}

impl Resolved {
    /// Whether a node listens to routers to learn paths.
    pub fn listens(&self, node: NodeIndex) -> bool {
        self.learn == Learn::Ospf && self.hosts.contains(&node)
    }
}

/// The largest weight: the sum of a set's is a number of 32 bits.
const MOST_WEIGHT: u32 = 1 << 24;
/// The shortest silence that ends a flow. Choice: that of a pause that no application makes within a flow.
const LEAST_IDLE: Duration = Duration::from_secs(1);
/// The most paths to a router: what a set holds.
const MOST_PATHS: u8 = 64;
/// Relays' addresses, where the file names no prefix.
const NETWORK: Ipv4Net = Ipv4Net::new_assert(Ipv4Addr::new(10, 255, 0, 0), 16);
/// Those of IPv6. Choice: beside the network that nodes get addresses of where a file asks for no other.
const NETWORK_IPV6: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0xfd00, 0x255, 0, 0, 0, 0, 0, 0), 64);

/// Addresses of a prefix that a node may have, the first one first.
fn usable(prefix: IpNet) -> Box<dyn Iterator<Item = IpAddr>> {
    match prefix {
        IpNet::V4(prefix) => Box::new(prefix.hosts().map(IpAddr::from)),
        // The first one is for any router (RFC 4291 section 2.6.1).
        IpNet::V6(prefix) => Box::new(prefix.hosts().skip(1).map(IpAddr::from)),
    }
}

/// What paths of a file mean.
///
/// # Errors
/// Everything that is wrong with them.
pub fn resolve(written: &Paths, network: &Network) -> Result<Resolved, Vec<Diagnostic>> {
    let mut resolver = Resolver { network, faults: Vec::new() };
    let resolved = resolver.paths(written);
    if resolver.faults.is_empty() { Ok(resolved) } else { Err(resolver.faults) }
}

struct Resolver<'a> {
    network: &'a Network,
    faults: Vec<Diagnostic>,
}

impl Resolver<'_> {
    fn fault(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.faults.push(Diagnostic::new(span, message).help(help));
    }

    fn paths(&mut self, written: &Paths) -> Resolved {
        let hosts = self.nodes(written.hosts.as_deref(), Role::Host, "a host");
        let encapsulation = written.encapsulation.map_or(Encapsulation::Gre, |word| word.value.0);
        let pool = self.pool(written, encapsulation);
        let family = Family::of(pool.value.network());
        if let Some(source) = written.source.filter(|source| Family::of(source.value) != family) {
            let text = format!(
                "{} is the source of no header: relays' addresses are of {}",
                source.value, pool.value
            );
            self.fault(source.span, text, "write a `source` of the same family as `network`");
        }
        let relays = self.nodes(written.relays.as_deref(), Role::Router, "a router");
        if usable(pool.value).take(relays.len() + 1).count() <= relays.len() {
            let text = format!("{} has no addresses for {} relays", pool.value, relays.len());
            self.fault(pool.span, text, "write a shorter prefix");
        }
        let relays: BTreeMap<_, _> = relays.into_iter().zip(usable(pool.value)).collect();
        if let Some(k) = written.k.filter(|k| !(1..=MOST_PATHS).contains(&k.value)) {
            self.fault(
                k.span,
                format!("{} paths", k.value),
                format!("write a number from 1 to {MOST_PATHS}"),
            );
        }
        if let Some(select) = written.select.filter(|select| select.value.0 == Policy::Weighted) {
            let help = "write `hash`, `round-robin` or `flow-based`; weights are those of a prefix in `lists`, as \
                `{select: weighted, lists: [{relays: [r1], weight: 3}, []]}`";
            self.fault(select.span, "paths that are learnt have no weights", help);
        }
        let learn = self.learn(written, family);
        let method_word = self.method(written, encapsulation);
        let method = match method_word {
            // What is known, whoever forwards knows.
            MethodWord::Sure | MethodWord::Known => Method::Sure,
            MethodWord::Faithful => Method::Faithful,
            MethodWord::FatTree => Method::FatTree(None),
        };
        let duration = |span: TimeSpan| Duration::from_nanos(span.as_nanos());
        let spread =
            written.spread.map_or_else(|| spread::usual(self.network), |spread| duration(spread.value));
        let silence = longest_silence(spread);
        if let Some(idle) = written.idle.filter(|idle| duration(idle.value) < LEAST_IDLE) {
            let text = format!("a flow is not over after {}", idle.value);
            self.fault(idle.span, text, "write 1s or more");
        } else if let Some(idle) = written.idle.filter(|idle| duration(idle.value) <= silence) {
            let text = format!("a flow that moves may be silent for {} ms", silence.as_secs_f64() * 1e3);
            let help = "write more, or a smaller `spread`, which follows from the links' queues where it is not written";
            self.fault(idle.span, text, help);
        }
        let k = written.k.map_or(Settings::default().k, |k| k.value.into());
        Resolved {
            by_hand: self.by_hand(written, &hosts, &relays, learn),
            borders: self.borders(written, &hosts),
            hosts,
            relays,
            learn,
            encapsulation,
            policy: written.select.map_or(Policy::Hash, |word| word.value.0),
            settings: Settings { k, method, ..Settings::default() },
            method: method_word,
            source: written.source.map_or(Sources::default().of(family), |source| source.value),
            network: pool.value,
            spread,
            idle: written.idle.map(|idle| duration(idle.value)),
        }
    }

    /// How relays are found. Which of several ways a header takes is known where nothing in it is of the flow.
    fn method(&mut self, written: &Paths, encapsulation: Encapsulation) -> MethodWord {
        let Some(method) = written.method else { return MethodWord::default() };
        let is_one_flow = matches!(encapsulation, Encapsulation::Gre | Encapsulation::Ipip);
        // Static routes have one way each.
        if method.value == MethodWord::Known && !is_one_flow && self.network.routing != Routing::Static {
            self.fault(
                method.span,
                format!("which way a header of `{encapsulation}` takes among equally short ones is not known"),
                "write `type: gre` or `type: ipip`, of which all headers for a relay are alike, or `method: sure`",
            );
        }
        method.value
    }

    /// The prefix of relays' addresses, whose family is that of all headers.
    fn pool(&mut self, written: &Paths, encapsulation: Encapsulation) -> Spanned<IpNet> {
        let pools = &self.network.pools;
        let is_srv6 = encapsulation == Encapsulation::Srv6;
        if let Some(pool) = written.network {
            if is_srv6 && matches!(pool.value, IpNet::V4(_)) {
                let text = format!("{} has no segments: those of `srv6` are addresses of IPv6", pool.value);
                self.fault(
                    pool.span,
                    text,
                    format!("write a prefix such as `{NETWORK_IPV6}`, or another `type`"),
                );
            }
            return pool;
        }
        let span = written.encapsulation.map_or(Span::default(), |word| word.span);
        if is_srv6 && pools.ipv6.is_none() {
            let help = "write `defaults: {ipv6: on}`, or another `type`";
            self.fault(
                span,
                "segments of `srv6` are addresses of IPv6, which this network has none of",
                help,
            );
        }
        match is_srv6 || (pools.ipv4.is_none() && pools.ipv6.is_some()) {
            true => Spanned::new(NETWORK_IPV6.into(), span),
            false => Spanned::new(NETWORK.into(), span),
        }
    }

    /// Who says which paths there are. What daemons route, a file does not know; and without them nobody tells. OSPF as hosts
    /// listen to it tells of IPv4 alone.
    fn learn(&mut self, written: &Paths, family: Family) -> Learn {
        let has_ospf = matches!(&self.network.routing, Routing::Frr(routing) if routing.ospf);
        let is_static = self.network.routing == Routing::Static;
        let usual = match () {
            () if has_ospf && family == Family::Ipv4 => Learn::Ospf,
            () if is_static => Learn::File,
            () => Learn::None,
        };
        let Some(word) = written.learn else { return usual };
        match word.value {
            LearnWord::File if !is_static => {
                self.fault(
                    word.span,
                    "the file's paths are those of `routing: static`",
                    "write `learn: ospf`, or `learn: none` and `lists`",
                );
            }
            LearnWord::Ospf if !has_ospf => {
                self.fault(word.span, "no router speaks OSPF", "write `routing: frr`, or `learn: file`");
            }
            LearnWord::Ospf if family == Family::Ipv6 => {
                let help = "write `learn: none` and `lists`, or a `network` of IPv4 for relays";
                self.fault(word.span, "hosts learn from OSPF of relays of IPv4 alone", help);
            }
            _ => {}
        }
        match word.value {
            LearnWord::File => Learn::File,
            LearnWord::Ospf => Learn::Ospf,
            LearnWord::None => Learn::None,
        }
    }

    /// The nodes of names; all of a role without them.
    fn nodes(&mut self, names: Option<&[Spanned<NodeName>]>, role: Role, what: &str) -> Vec<NodeIndex> {
        let Some(names) = names else {
            let all = self.network.nodes.iter().enumerate();
            return all.filter(|(_, node)| node.role == role).map(|(index, _)| index).collect();
        };
        names.iter().filter_map(|name| self.node(&name.value.0, name.span, role, what)).collect()
    }

    fn node(&mut self, name: &str, span: Span, role: Role, what: &str) -> Option<NodeIndex> {
        let Some(index) = self.network.node(name) else {
            let help = suggest(name, self.network.nodes.iter().map(|node| node.name.as_str()));
            self.fault(span, format!("unknown node `{name}`"), help);
            return None;
        };
        if self.network.nodes[index].role != role {
            self.fault(span, format!("`{name}` is not {what}"), format!("name {what}"));
            return None;
        }
        Some(index)
    }

    fn by_hand(
        &mut self,
        written: &Paths,
        hosts: &[NodeIndex],
        relays: &BTreeMap<NodeIndex, IpAddr>,
        learn: Learn,
    ) -> BTreeMap<NodeIndex, BTreeMap<IpNet, ByHand>> {
        let usual = written.select.map_or(Policy::Hash, |word| word.value.0);
        let mut all = BTreeMap::new();
        for (name, prefixes) in written.lists.iter().flatten() {
            let Some(host) = self.node(&name.value, name.span, Role::Host, "a host") else { continue };
            if !hosts.contains(&host) {
                self.fault(name.span, format!("`{}` chooses no paths", name.value), "add it to `hosts`");
            }
            let mut of_host = BTreeMap::new();
            for (prefix, PrefixWays(ways)) in prefixes {
                let Ok(net) = prefix.value.parse::<IpNet>() else {
                    let text = format!("`{}` is no prefix", prefix.value);
                    self.fault(prefix.span, text, "write one like `10.0.2.0/24` or `fd00:0:2::/64`");
                    continue;
                };
                let policy = ways.select.map_or(usual, |word| word.value.0);
                self.shared(prefix, ways, policy, learn);
                let mut resolved = Vec::new();
                for RelayListForm(list) in ways.lists.iter().flatten() {
                    let mut nodes = Vec::new();
                    for relay in &list.relays {
                        let Some(node) = self.node(&relay.value.0, relay.span, Role::Router, "a router")
                        else {
                            continue;
                        };
                        if !relays.contains_key(&node) {
                            let text = format!("`{}` takes no headers off", relay.value.0);
                            self.fault(relay.span, text, "add it to `relays`");
                        }
                        nodes.push(node);
                    }
                    resolved.push((nodes, list.weight.map_or(1, |weight| weight.value)));
                }
                let lists = ways.lists.as_ref().map(|_| resolved);
                of_host.insert(net.trunc(), ByHand { span: prefix.span, policy, lists });
            }
            all.insert(host, of_host);
        }
        all
    }

    /// Whether flows can be shared so among the lists of a prefix.
    fn shared(&mut self, prefix: &Spanned<String>, ways: &WrittenWays, policy: Policy, learn: Learn) {
        let span = ways.select.map_or(prefix.span, |word| word.span);
        let Some(lists) = &ways.lists else {
            match policy {
                Policy::Weighted => self.fault(
                    span,
                    "paths that are learnt have no weights",
                    "write `lists` beside it, as `lists: [{relays: [r1], weight: 3}, []]`",
                ),
                _ if learn == Learn::None => self.fault(
                    span,
                    format!("the file knows no lists of {}", prefix.value),
                    "write `lists` beside it",
                ),
                _ => {}
            }
            return;
        };
        for weight in lists.iter().filter_map(|RelayListForm(list)| list.weight) {
            if policy != Policy::Weighted {
                let text = format!("a list has no weight by `{policy}`");
                self.fault(weight.span, text, "write `select: weighted` beside `lists`");
            } else if !(1..=MOST_WEIGHT).contains(&weight.value) {
                let help = format!("write a number from 1 to {MOST_WEIGHT}");
                self.fault(weight.span, format!("a weight of {}", weight.value), help);
            }
        }
    }

    fn borders(&mut self, written: &Paths, hosts: &[NodeIndex]) -> BTreeMap<NodeIndex, Vec<String>> {
        let Some(borders) = &written.borders else { return border::usual(self.network, hosts) };
        let mut all: BTreeMap<NodeIndex, Vec<String>> = BTreeMap::new();
        for border in borders {
            let Some((name, interface)) = border.value.split_once(':') else {
                self.fault(
                    border.span,
                    format!("`{}` is no interface", border.value),
                    "write one like `r1:eth0`",
                );
                continue;
            };
            let Some(node) = self.node(name, border.span, Role::Router, "a router") else { continue };
            let known = &self.network.nodes[node].interfaces;
            if known.iter().any(|known| known.name == interface) {
                all.entry(node).or_default().push(interface.to_owned());
            } else {
                let help = suggest(interface, known.iter().map(|known| known.name.as_str()));
                self.fault(border.span, format!("`{name}` has no interface `{interface}`"), help);
            }
        }
        all
    }
}
