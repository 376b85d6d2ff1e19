//! Where packets went no further, and why.

use crate::world::World;
use plait_simulator_engine::{NodeIndex, Reason};
use serde::Serialize;
use std::collections::BTreeMap;

/// Packets by node and by why it dropped them. What is nought is not there.
pub type DropsByNode<R> = BTreeMap<String, BTreeMap<R, u64>>;

/// Packets that went no further at nodes. What links dropped is in their [rows](crate::LinkRow).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Drops {
    /// By any node, by [`Reason`]: together what [`Totals`](plait_simulator_engine::Totals) have as `at_nodes`.
    pub nodes: DropsByNode<Reason>,
    /// Of these, by hosts that choose paths, in the words of their program's counters.
    pub paths: DropsByNode<&'static str>,
    /// By members of overlays, in the words of their data plane's counters. A packet that came there by the network below was
    /// received for [`nodes`](Self::nodes), and one that did not leave was never sent.
    pub overlays: DropsByNode<&'static str>,
}

impl World {
    /// What nodes dropped until now.
    pub fn drops(&self) -> Drops {
        let mut drops = Drops { overlays: self.dropped_by_members(), ..Drops::default() };
        for node in 0..self.simulation.nodes() as u32 {
            let counters = self.simulation.node_counters(NodeIndex(node));
            let name = self.simulation.node_name(NodeIndex(node));
            for reason in Reason::ALL {
                count(&mut drops.nodes, name, reason, counters.dropped_for(reason));
            }
        }
        for node in &self.network.nodes {
            for interface in self.steered(&node.name).unwrap_or_default() {
                for (reason, packets) in interface.drops() {
                    count(&mut drops.paths, &node.name, reason.name(), *packets);
                }
            }
        }
        drops
    }

    /// A node that is a member of several overlays has one data plane.
    fn dropped_by_members(&self) -> DropsByNode<&'static str> {
        let mut drops = DropsByNode::new();
        for (node, counts) in self.overlays.counts(self) {
            let name = self.simulation.node_name(node);
            for (reason, packets) in &counts.drops {
                count(&mut drops, name, reason.name(), *packets);
            }
        }
        drops
    }
}

fn count<R: Ord>(drops: &mut DropsByNode<R>, node: &str, reason: R, packets: u64) {
    if packets > 0 {
        *drops.entry(node.to_owned()).or_default().entry(reason).or_default() += packets;
    }
}
