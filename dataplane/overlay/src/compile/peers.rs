//! Who may send here: pairs of locators with what arrives from them.

use super::{Compiler, Encapsulation, Kind, PairKey, Write};
use ipnet::IpNet;
use plait_dataplane_reference::mapped;
use plait_dataplane_reference::tables::{EndpointKey, LocatorKey, Peer, PeerKey};
use plait_model_overlay::{Application, NodeId, Tables};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv6Addr};

/// In the place of an own locator: whatever one a program writes.
const ANYWHERE: IpAddr = IpAddr::V6(Ipv6Addr::UNSPECIFIED);

impl Compiler {
    /// Which pairs of locators a node of the LIB makes known.
    pub(super) fn pairs(&mut self, application: Application, node: NodeId, tables: &Tables) {
        let kind = &self.kinds[&application];
        let old_kind = self.compiled_kinds.get(&application).unwrap_or(kind);
        let of = |tables: Option<&Tables>, kind: &Kind| -> BTreeMap<PairKey, Encapsulation> {
            let own = tables.into_iter().flat_map(|tables| tables.locators.keys());
            let theirs = tables.and_then(|tables| tables.nodes.get(&node)).into_iter().flatten();
            let pairs = theirs.flat_map(|(to, _)| own.clone().map(move |own| (*to, *own)));
            let same = pairs.filter(|(to, own)| to.is_ipv4() == own.is_ipv4());
            let arrivals: Vec<(u32, Encapsulation)> = kind.arrivals().collect();
            same.flat_map(|(to, own)| {
                arrivals.iter().map(move |(arrival, kind)| ((to, own, *arrival), *kind))
            })
            .collect()
        };
        let locators = |tables: Option<&Tables>| -> BTreeSet<IpAddr> {
            let theirs = tables.and_then(|tables| tables.nodes.get(&node)).into_iter().flatten();
            theirs.map(|(locator, _)| *locator).collect()
        };
        let before = self.before.get(&application);
        let (old, new) = (locators(before), locators(Some(tables)));
        let (old_pairs, new_pairs) = (of(before, old_kind), of(Some(tables), kind));
        let arrive: BTreeSet<u32> = kind.arrivals().map(|(arrival, _)| arrival).collect();
        for locator in old.union(&new) {
            let nodes = self.locators.entry((application, *locator)).or_default();
            let first = nodes.first().copied();
            match new.contains(locator) {
                true => nodes.insert(node),
                false => nodes.remove(&node),
            };
            let now_first = nodes.first().copied();
            if first != now_first {
                let key = LocatorKey { application: application.0.into(), address: mapped(*locator) };
                self.writes.push(Write::Locator(key, now_first.map(|node| node.0)));
            }
        }
        for pair in old_pairs.keys().filter(|pair| !new_pairs.contains_key(pair)) {
            // Another node may have the same locator.
            let (to, own, arrival) = *pair;
            let others = self.locators.get(&(application, to)).is_some_and(|nodes| !nodes.is_empty());
            if !others || !arrive.contains(&arrival) || !tables.locators.contains_key(&own) {
                self.know(*pair, application, None);
            }
        }
        for (pair, encapsulation) in &new_pairs {
            self.know(*pair, application, Some(*encapsulation));
        }
        for locator in old.difference(&new) {
            let key = (application, *locator);
            if self.locators.get(&key).is_some_and(BTreeSet::is_empty) {
                self.locators.remove(&key);
            }
        }
    }

    /// Whether some node of the LIB has a locator of a prefix.
    pub fn has_locator_in(&self, prefix: IpNet) -> bool {
        let is_in = |application: &Application| {
            let [first, last] = [prefix.network(), prefix.broadcast()].map(|end| (*application, end));
            self.locators.range(first..=last).next().is_some()
        };
        self.kinds.keys().any(is_in)
    }

    /// Whether an application knows a pair of locators, and what it takes that for which arrives so.
    fn know(&mut self, pair: PairKey, application: Application, known: Option<Encapsulation>) {
        let applications = self.peers.entry(pair).or_default();
        let before = match known {
            Some(encapsulation) => applications.insert(application, encapsulation),
            None => applications.remove(&application),
        };
        if before != known {
            self.write_peer(pair);
        }
        if self.peers.get(&pair).is_some_and(BTreeMap::is_empty) {
            self.peers.remove(&pair);
        }
    }

    /// Writes what arrives from a pair of locators.
    pub(super) fn write_peer(&mut self, pair: PairKey) {
        let (to, own, protocol_port) = pair;
        let Some(applications) = self.peers.get(&pair) else { return };
        let mut bits = [0; 8];
        for application in applications.keys() {
            bits[usize::from(application.0 >> 5)] |= 1 << (application.0 & 31);
        }
        // Of packets that name no application the lowest that knows the pair is the one; agents have no two of those.
        let peer = applications.first_key_value().map(|(first, encapsulation)| Peer {
            encapsulation: *encapsulation as u32,
            application: first.0.into(),
            vni: self.kinds.get(first).map_or(0, |kind| kind.vni),
            applications: bits,
        });
        let key = PeerKey { locator: mapped(to), own: mapped(own), protocol_port };
        self.writes.push(Write::Peer(key, peer));
    }

    /// What is taken at own locators: from strangers it is dropped, not given to the kernel. Nor does a program of this host send
    /// from any address what nobody else speaks.
    pub(super) fn take_at(&mut self, application: Application, tables: &Tables) {
        let arrivals: Vec<(u32, Encapsulation)> = self.kinds[&application].arrivals().collect();
        let wanted: BTreeSet<(IpAddr, u32)> = tables
            .locators
            .keys()
            .flat_map(|own| {
                arrivals.iter().flat_map(move |(arrival, kind)| {
                    let anywhere = kind.names_nodes().then_some(ANYWHERE);
                    [Some(*own), anywhere].into_iter().flatten().map(move |own| (own, *arrival))
                })
            })
            .collect();
        let known: Vec<(IpAddr, u32)> = self.endpoints.keys().copied().collect();
        for endpoint in wanted.iter().copied().chain(known) {
            let applications = self.endpoints.entry(endpoint).or_default();
            let was_empty = applications.is_empty();
            match wanted.contains(&endpoint) {
                true => applications.insert(application),
                false => applications.remove(&application),
            };
            let is_empty = applications.is_empty();
            if is_empty {
                self.endpoints.remove(&endpoint);
            }
            if was_empty != is_empty {
                let (own, protocol_port) = endpoint;
                self.writes.push(Write::Endpoint(EndpointKey { own: mapped(own), protocol_port }, !is_empty));
            }
        }
    }
}
