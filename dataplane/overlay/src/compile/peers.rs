//! Who may send here: pairs of locators with what arrives from them.

use super::{Compiler, Encapsulation, PairKey, Write};
use plait_dataplane_reference::tables::{EndpointKey, LocatorKey, Peer, PeerKey};
use plait_dataplane_reference::{arrivals, mapped};
use plait_model_overlay::{Application, NodeId, Tables};
use std::collections::BTreeSet;
use std::net::IpAddr;

impl Compiler {
    /// Which pairs of locators a node of the LIB makes known.
    pub(super) fn pairs(&mut self, application: Application, node: NodeId, tables: &Tables) {
        let kind = &self.kinds[&application];
        let old_kind = self.compiled_kinds.get(&application).unwrap_or(kind);
        let of = |tables: Option<&Tables>, accepts: &BTreeSet<Encapsulation>| -> BTreeSet<PairKey> {
            let own = tables.into_iter().flat_map(|tables| tables.locators.keys());
            let theirs = tables.and_then(|tables| tables.nodes.get(&node)).into_iter().flatten();
            let pairs = theirs.flat_map(|(to, _)| own.clone().map(move |own| (*to, *own)));
            let same = pairs.filter(|(to, own)| to.is_ipv4() == own.is_ipv4());
            same.flat_map(|(to, own)| accepts.iter().map(move |kind| (to, own, *kind))).collect()
        };
        let locators = |tables: Option<&Tables>| -> BTreeSet<IpAddr> {
            let theirs = tables.and_then(|tables| tables.nodes.get(&node)).into_iter().flatten();
            theirs.map(|(locator, _)| *locator).collect()
        };
        let before = self.before.get(&application);
        let (old, new) = (locators(before), locators(Some(tables)));
        let (old_pairs, new_pairs) = (of(before, &old_kind.accepts), of(Some(tables), &kind.accepts));
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
        for pair in old_pairs.difference(&new_pairs) {
            // Another node may have the same locator.
            let (to, own, encapsulation) = *pair;
            let others = self.locators.get(&(application, to)).is_some_and(|nodes| !nodes.is_empty());
            let is_taken = self.kinds[&application].accepts.contains(&encapsulation);
            if !others || !is_taken || !tables.locators.contains_key(&own) {
                self.know(*pair, application, false);
            }
        }
        for pair in &new_pairs {
            self.know(*pair, application, true);
        }
        for locator in old.difference(&new) {
            let key = (application, *locator);
            if self.locators.get(&key).is_some_and(BTreeSet::is_empty) {
                self.locators.remove(&key);
            }
        }
    }

    /// Whether an application knows a pair of locators.
    fn know(&mut self, pair: PairKey, application: Application, known: bool) {
        let applications = self.peers.entry(pair).or_default();
        let changed =
            if known { applications.insert(application) } else { applications.remove(&application) };
        if changed {
            self.write_peer(pair);
        }
        if self.peers.get(&pair).is_some_and(BTreeSet::is_empty) {
            self.peers.remove(&pair);
        }
    }

    /// Writes what arrives from a pair of locators.
    pub(super) fn write_peer(&mut self, pair: PairKey) {
        let (to, own, encapsulation) = pair;
        let Some(applications) = self.peers.get(&pair) else { return };
        let mut bits = [0; 8];
        for application in applications.iter() {
            bits[usize::from(application.0 >> 5)] |= 1 << (application.0 & 31);
        }
        // Choice: of packets that name no application the lowest that knows the pair is the one.
        let first = applications.first().map_or(0, |application| u32::from(application.0));
        let vni = applications.first().and_then(|first| self.kinds.get(first)).map_or(0, |kind| kind.vni);
        let peer = Peer { encapsulation: encapsulation as u32, application: first, vni, applications: bits };
        let is_known = !applications.is_empty();
        for protocol_port in arrivals(encapsulation as u32) {
            let key = PeerKey { locator: mapped(to), own: mapped(own), protocol_port };
            self.writes.push(Write::Peer(key, is_known.then_some(peer)));
        }
    }

    /// What is taken at own locators: from strangers it is dropped, not given to the kernel.
    pub(super) fn take_at(&mut self, application: Application, tables: &Tables) {
        let accepts = &self.kinds[&application].accepts;
        let locators = tables.locators.keys();
        let wanted: BTreeSet<(IpAddr, Encapsulation)> =
            locators.flat_map(|own| accepts.iter().map(|kind| (*own, *kind))).collect();
        let known: Vec<(IpAddr, Encapsulation)> = self.endpoints.keys().copied().collect();
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
                let (own, encapsulation) = endpoint;
                for protocol_port in arrivals(encapsulation as u32) {
                    let key = EndpointKey { own: mapped(own), protocol_port };
                    self.writes.push(Write::Endpoint(key, !is_empty));
                }
            }
        }
    }
}
