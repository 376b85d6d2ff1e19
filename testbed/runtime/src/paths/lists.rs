//! Relay lists that follow from a file whose routes are static.

use super::resolve::{ByHand, Learn, Resolved};
use ipnet::IpNet;
use plait_control_paths::{Plan, RelayList, Survey, Table};
use plait_dataplane_paths::protocol::{Policies, Static};
use plait_model_topology::Network;
use plait_model_topology::address::Assignment;
use plait_model_topology::diagnostic::Diagnostic;
use plait_model_topology::document::Span;
use plait_model_topology::network::NodeIndex;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

/// What is said of prefixes to a host.
type Said = BTreeMap<IpNet, Static>;

/// Of each host that chooses: its prefixes, and what the file says of them. Hosts behind one router share it, where nothing
/// is said to them by hand.
///
/// A host's paths begin at the first router on its links: see [`Survey`].
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
        let survey = Survey::of(network, assignment, &paths.relays);
        let planned = |access: Ipv4Addr| -> Arc<Said> {
            let fabric = survey.fabric.clone();
            let Some(source) = fabric.index(access) else { return Arc::default() };
            let table = Table::of(&Plan::new(paths.settings.clone(), fabric, source));
            Arc::new(table.sets().map(|(prefix, lists)| (*prefix, said(lists.to_vec()))).collect())
        };
        let mut plans: BTreeMap<Ipv4Addr, Arc<Said>> = BTreeMap::new();
        for &host in &paths.hosts {
            let Some(access) = survey.access(host) else { continue };
            all.insert(host, Arc::clone(plans.entry(access).or_insert_with(|| planned(access))));
        }
    }
    for (host, prefixes) in &paths.by_hand {
        let address = |relay: &NodeIndex| paths.relays.get(relay).copied();
        let own = Arc::make_mut(all.entry(*host).or_default());
        for (prefix, ByHand { span, policy, lists }) in prefixes {
            let Some(lists) = lists else {
                // The shorter prefixes come first, so that what is said of the longest one counts.
                let within = own.iter_mut().filter(|(known, _)| prefix.contains(*known));
                let count = within.map(|(_, known)| known.policy = *policy).count();
                if count == 0 && paths.learn == Learn::File {
                    faults.push(unknown(*span, prefix, own));
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

/// Of each host that learns from daemons: by which policies its flows go, where the file says so by prefix.
pub fn policies(paths: &Resolved) -> BTreeMap<NodeIndex, Policies> {
    if paths.learn != Learn::Ospf {
        return BTreeMap::new();
    }
    let said = |of: &BTreeMap<IpNet, ByHand>| -> Policies {
        of.iter()
            .filter(|(_, said)| said.lists.is_none())
            .map(|(prefix, said)| (*prefix, said.policy))
            .collect()
    };
    let all = paths.by_hand.iter().map(|(host, of)| (*host, said(of)));
    all.filter(|(_, policies)| !policies.is_empty()).collect()
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
    let Survey { fabric, .. } = Survey::of(network, assignment, &paths.relays);
    (fabric.switches().len(), fabric.links().len())
}
