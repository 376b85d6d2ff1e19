//! Next hops: whose packets go where, by which outer headers, and who leads over them.

use super::{Compiler, Exit, MOST_PAIRS, Underlay, WireKey, Write};
use plait_dataplane_reference::tables::{Choice, Hop, size};
use plait_model_overlay::{Application, NodeId, Tables};
use std::collections::BTreeSet;
use std::time::Duration;

/// A next hop as it is compiled now.
#[derive(Debug, Clone, Default)]
pub(super) struct Compiled {
    pub(super) slot: Option<u32>,
    pub(super) hop: Option<Hop>,
    /// Bytes of the longest of its outer headers.
    pub(super) length: u32,
    pub(super) wires: Vec<WireKey>,
    /// The destinations whose paths lead over it.
    pub(super) used_by: BTreeSet<NodeId>,
}

impl Compiler {
    /// A next hop anew: its locators, its weights, its neighbours.
    pub(super) fn hop(
        &mut self,
        application: Application,
        node: NodeId,
        tables: &Tables,
        underlay: &dyn Underlay,
        now: Duration,
    ) {
        let kind = &self.kinds[&application];
        let encapsulation = kind.to.get(&node).copied().unwrap_or(kind.encapsulation);
        let theirs = tables.nodes.get(&node);
        let mut pairs: Vec<(u32, WireKey, Exit)> = Vec::new();
        for (from, weight) in &tables.locators {
            for (to, share) in theirs.into_iter().flatten() {
                let weight = u32::from(weight.get()) * u32::from(share.get());
                if from.is_ipv4() == to.is_ipv4()
                    && let Some(exit) = underlay.exit(*from, *to)
                {
                    pairs.push((
                        weight,
                        WireKey { application, node, from: *from, to: *to, encapsulation },
                        exit,
                    ));
                }
            }
        }
        // Choice: of more pairs than there is room for, those that weigh most.
        pairs.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        let left_out = pairs.len().saturating_sub(MOST_PAIRS as usize) as u32;
        pairs.truncate(MOST_PAIRS as usize);

        let mut hop = Hop {
            node: node.0,
            weights: 0,
            count: 0,
            path: self.paths.get(&(application, node)).unwrap_or_default(),
            choices: [Choice { below: 0, wire: 0 }; size::CHOICES as usize],
        };
        let (mut wires, mut length) = (Vec::new(), 0);
        let mut is_refused = false;
        for (weight, key, exit) in pairs {
            let Some((wire, bytes)) = self.wire(key, exit, now) else {
                is_refused = true;
                continue;
            };
            length = length.max(bytes);
            hop.weights += weight;
            hop.choices[hop.count as usize] = Choice { below: hop.weights, wire };
            hop.count += 1;
            wires.push(key);
        }
        let before = self.compiled.get(&(application, node)).cloned().unwrap_or_default();
        if is_refused && before.slot.is_some() {
            // It stays as it was.
            wires.into_iter().for_each(|key| self.unwire(key, now));
            return;
        }
        let mut slot = before.slot;
        if before.hop != Some(hop) {
            slot = None;
            if hop.count > 0 {
                let taken = self.hops.take(now);
                let Some(free) = self.found(taken) else {
                    // It stays as it was.
                    wires.into_iter().for_each(|key| self.unwire(key, now));
                    return;
                };
                self.writes.push(Write::Hop(free, hop));
                slot = Some(free);
            }
            self.stale.extend(before.used_by.iter().map(|destination| (application, *destination)));
            self.retired.extend(before.slot);
        }
        before.wires.into_iter().for_each(|key| self.unwire(key, now));
        let formerly = match left_out {
            0 => self.left_out.remove(&(application, node)),
            more => self.left_out.insert((application, node), more),
        };
        self.pairs_left_out = self.pairs_left_out + left_out as usize - formerly.unwrap_or(0) as usize;
        let used_by = before.used_by;
        self.compiled.insert((application, node), Compiled { slot, hop: Some(hop), length, wires, used_by });
        self.forget_unused(application, node);
    }

    /// Forgets a next hop that is nowhere and that nothing leads over.
    pub(super) fn forget_unused(&mut self, application: Application, node: NodeId) {
        let key = (application, node);
        let is_nothing = |compiled: &Compiled| compiled.slot.is_none() && compiled.used_by.is_empty();
        if self.compiled.get(&key).is_some_and(is_nothing) {
            self.compiled.remove(&key);
        }
    }
}
