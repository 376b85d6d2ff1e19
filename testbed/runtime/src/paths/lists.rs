//! Relay lists that follow from a file whose routes are static.

use super::resolve::{ByHand, Learn, Resolved};
use ipnet::IpNet;
use plait_control_paths::{Fabric, Link, Plan, RelayList, Switch, Table};
use plait_dataplane_paths::Family;
use plait_dataplane_paths::protocol::Static;
use plait_model_topology::Network;
use plait_model_topology::address::{Assignment, subnets};
use plait_model_topology::diagnostic::Diagnostic;
use plait_model_topology::document::Span;
use plait_model_topology::network::{Attachment, NodeIndex, Port};
use plait_model_topology::vocabulary::Role;
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;

/// What is said of prefixes to a host.
type Said = BTreeMap<IpNet, Static>;

/// Of each host that chooses: its prefixes, and what the file says of them. Hosts behind one router share it, where nothing
/// is said to them by hand.
///
/// Routers are the fabric's switches, by their places in the file as IDs; behind one lies each prefix that it is the only
/// router of. A host's paths begin at the first router on its links.
///
/// # Errors
/// Prefixes by hand without lists, of which the file knows none either.
pub fn statics(
    paths: &Resolved,
    network: &Network,
    assignment: &Assignment,
) -> Result<BTreeMap<NodeIndex, Arc<Said>>, Vec<Diagnostic>> {
    let (encapsulation, policy) = (paths.encapsulation, paths.policy);
    let said = |lists: Vec<RelayList>| Static {
        lists: lists.into_iter().map(|list| (list, 1)).collect(),
        encapsulation,
        policy,
    };
    let mut faults = Vec::new();
    let mut all: BTreeMap<NodeIndex, Arc<Said>> = BTreeMap::new();
    if paths.learn == Learn::File {
        let view = View::new(paths, network, assignment);
        let planned = |access: usize| -> Arc<Said> {
            let table = Table::of(&Plan::new(paths.settings.clone(), view.fabric.clone(), access));
            Arc::new(table.sets().map(|(prefix, lists)| (*prefix, said(lists.to_vec()))).collect())
        };
        let mut plans: BTreeMap<usize, Arc<Said>> = BTreeMap::new();
        for &host in &paths.hosts {
            let Some(access) = view.access(host) else { continue };
            all.insert(host, Arc::clone(plans.entry(access).or_insert_with(|| planned(access))));
        }
    }
    for (host, prefixes) in &paths.by_hand {
        let address = |relay: &NodeIndex| paths.relays.get(relay).copied();
        let own = Arc::make_mut(all.entry(*host).or_default());
        for (prefix, ByHand { span, policy, lists }) in prefixes {
            let Some(lists) = lists else {
                match own.get_mut(prefix) {
                    Some(known) => known.policy = *policy,
                    None => faults.push(unknown(*span, prefix, own)),
                }
                continue;
            };
            let relays = |list: &[NodeIndex]| list.iter().filter_map(address).collect();
            let lists = lists.iter().map(|(list, weight)| (relays(list), *weight)).collect();
            own.insert(*prefix, Static { lists, encapsulation, policy: *policy });
        }
    }
    if faults.is_empty() { Ok(all) } else { Err(faults) }
}

/// A prefix of which nothing is known that could be chosen from.
fn unknown(span: Span, prefix: &IpNet, known: &Said) -> Diagnostic {
    let known: Vec<_> = known.keys().map(ToString::to_string).collect();
    let help = match known.is_empty() {
        true => "write `lists` beside `select`".to_owned(),
        false => format!("write one of {}, or `lists` beside `select`", known.join(", ")),
    };
    Diagnostic::new(span, format!("no path of this host leads to {prefix}")).help(help)
}

/// How many switches and links, each direction counted, path control sees in a network.
pub(super) fn size(paths: &Resolved, network: &Network, assignment: &Assignment) -> (usize, usize) {
    let view = View::new(paths, network, assignment);
    (view.fabric.switches().len(), view.fabric.links().len())
}

/// A network as path control sees it.
struct View {
    fabric: Fabric,
    /// Routers on the links of each host, in the order of its interfaces, by their switches.
    routers_of: BTreeMap<NodeIndex, usize>,
}

impl View {
    fn new(paths: &Resolved, network: &Network, assignment: &Assignment) -> Self {
        let is_router = |node: NodeIndex| network.nodes[node].role == Role::Router;
        let routers: Vec<NodeIndex> = (0..network.nodes.len()).filter(|node| is_router(*node)).collect();
        let place: BTreeMap<NodeIndex, usize> =
            routers.iter().enumerate().map(|(at, node)| (*node, at)).collect();
        let mut prefixes = vec![Vec::new(); routers.len()];
        let (mut links, mut routers_of) = (Vec::new(), BTreeMap::new());
        for subnet in subnets(network, assignment) {
            let ports: Vec<Port> = subnet.members.iter().map(|(port, _)| *port).collect();
            let here: Vec<Port> = ports.iter().copied().filter(|port| is_router(port.node)).collect();
            let others: BTreeSet<NodeIndex> = here.iter().map(|port| port.node).collect();
            if let (1, Some(router)) = (others.len(), here.first()) {
                prefixes[place[&router.node]].push(subnet.prefix);
            }
            // Packets may be of either family; their headers go where those of the relays' do.
            if Family::of(subnet.prefix.network()) != Family::of(paths.network.network()) {
                continue;
            }
            for from in &here {
                for to in here.iter().filter(|to| to.node != from.node) {
                    let (a, b) = (place[&from.node] as u32, place[&to.node] as u32);
                    links.push(Link { from: a, to: b, cost: cost(network, *from) });
                }
            }
            for host in ports.iter().filter(|port| network.nodes[port.node].role == Role::Host) {
                if let Some(router) = here.first() {
                    let near = (host.interface, place[&router.node]);
                    let known = routers_of.entry(host.node).or_insert(near);
                    *known = (*known).min(near);
                }
            }
        }
        let switch = |(at, node): (usize, &NodeIndex)| Switch {
            // In the order of the file.
            id: Ipv4Addr::from(at as u32 + 1),
            relay: paths.relays.get(node).copied(),
            prefixes: std::mem::take(&mut prefixes[at]),
        };
        let switches = routers.iter().enumerate().map(switch).collect();
        let routers_of = routers_of.into_iter().map(|(host, (_, router))| (host, router)).collect();
        Self { fabric: Fabric::new(switches, links), routers_of }
    }

    /// The switch that a host is behind.
    fn access(&self, host: NodeIndex) -> Option<usize> {
        self.routers_of.get(&host).copied()
    }
}

/// What sending by a port costs.
fn cost(network: &Network, port: Port) -> u32 {
    match network.nodes[port.node].interfaces[port.interface].attachment {
        Attachment::Link { link, .. } => network.links[link].cost,
        Attachment::Lan { lan, .. } => network.lans[lan].cost,
    }
}
