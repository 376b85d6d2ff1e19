//! From members and delays to LIB and RIB.

use super::{MISSED, Member, Plane};
use crate::{mesh, operations};
use plait_model_overlay::{NodeId, Operation};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

impl Member {
    /// Whether all members that were adopted have told their delays, and this node its own to all that it sends to.
    pub(super) fn knows_what_its_former_life_knew(&self) -> bool {
        let told = self.matrix.of(self.config.own);
        let is_measured = |hop: &NodeId| told.is_some_and(|told| told.contains_key(hop));
        let mut hops = self.rib.values().flatten().filter(|hop| **hop != self.config.own);
        self.lib.keys().all(|node| self.matrix.of(*node).is_some()) && hops.all(is_measured)
    }

    /// LIB and RIB anew, if anything happened.
    pub(super) fn decide(&mut self, now: Duration) {
        if self.settles.is_some() || !std::mem::take(&mut self.stale) {
            return;
        }
        let application = self.config.application;
        let mut there = self.matrix.reachable(self.config.own);
        there.remove(&self.config.own);
        let mut lib = BTreeMap::new();
        for node in &there {
            if let Some(introduced) = self.known.get(node).and_then(|known| known.introduced.as_ref()) {
                lib.insert(*node, introduced.locators.clone());
            }
        }
        let members: BTreeSet<NodeId> = lib.keys().copied().chain([self.config.own]).collect();
        // Others may send through one that fell silent until they hear of it. Who left said so to all.
        let left = |node| self.known.get(node).is_none_or(|known| known.introduced.is_none());
        for (node, locators) in &self.lib {
            if lib.contains_key(node) || left(node) {
                self.lingering.remove(node);
            } else if now < *self.lingering.entry(*node).or_insert(now + self.config.interval * MISSED) {
                lib.insert(*node, locators.clone());
            } else {
                self.lingering.remove(node);
            }
        }
        let mut rib = match self.config.plane {
            Plane::Mesh => mesh(self.config.own, &members, self.config.group),
            Plane::Delay => self.matrix.routes(self.config.own, self.config.group),
        };
        // A next hop without a locator is none yet.
        rib.retain(|_, hops| {
            hops.retain(|hop| members.contains(hop));
            !hops.is_empty()
        });
        // Nodes before the routes that lead to them, and routes away before the nodes they led to.
        for (node, locators) in &lib {
            let before = self.lib.get(node);
            for (locator, weight) in locators {
                if before.and_then(|before| before.get(locator)) != Some(weight) {
                    let (node, locator, weight) = (*node, *locator, *weight);
                    self.operations.push_back(Operation::NodeAdd { application, node, locator, weight });
                }
            }
        }
        self.operations.extend(operations(application, &self.rib, &rib));
        for (node, locators) in &self.lib {
            let after = lib.get(node);
            for locator in locators.keys() {
                if after.is_none_or(|after| !after.contains_key(locator)) {
                    let (node, locator) = (*node, *locator);
                    self.operations.push_back(Operation::NodeDel { application, node, locator });
                }
            }
        }
        self.lib = lib;
        self.rib = rib;
    }
}
