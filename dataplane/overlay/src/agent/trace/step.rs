//! What this node does with a packet, by the tables that are in the kernel now.

use super::outer;
use super::packet::Made;
use crate::agent::{Agent, AgentError, heard_at, now};
use plait_dataplane_reference::tables::{Count, Drop};
use plait_dataplane_reference::{Outcome, Walk};
use plait_model_overlay::{Application, NodeId};
use std::collections::BTreeMap;

/// What a node does with a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    /// Whether it is none of the overlay's there.
    pub is_foreign: bool,
    /// The device by which it comes out of the overlay.
    pub delivered: Option<String>,
    /// Why it, or a copy of it, goes no further.
    pub dropped: Vec<Drop>,
    /// What was counted of its path.
    pub count: Count,
    /// Packets of the node that went no further.
    pub drops: BTreeMap<Drop, u64>,
    /// As it leaves.
    pub copies: Vec<Copy>,
    /// Copies that nothing is said of.
    pub left_out: u16,
}

/// A packet that leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Copy {
    pub next_hop: NodeId,
    pub weight: u32,
    pub weights: u32,
    pub device: String,
    pub mtu: u32,
    /// All of it, from the outer Ethernet header on.
    pub frame: Vec<u8>,
}

impl Agent {
    /// A packet leaves a device of the overlay.
    pub(super) fn begin(&self, made: Made) -> Result<Step, AgentError> {
        let mut walk = self.tables.walk(made.application);
        let outcome = walk.transmit(&made.device, &made.frame, made.flow, heard_at(now()));
        // What comes up where a packet begins is the host's being told that it is too big.
        self.step(made.application, &walk, outcome, false)
    }

    /// A packet comes in by the underlay, as another node of an application says that it sends it.
    pub(super) fn arrive(&self, application: Application, frame: &[u8]) -> Result<Step, AgentError> {
        let mut walk = self.tables.walk(application);
        let outcome = walk.receive(frame, heard_at(now()));
        self.step(application, &walk, outcome, true)
    }

    fn step(
        &self,
        application: Application,
        walk: &Walk,
        outcome: Outcome,
        delivers: bool,
    ) -> Result<Step, AgentError> {
        let (is_foreign, sent) = match outcome {
            Outcome::Next => (true, Vec::new()),
            // Nobody knows where it goes, and the kernel's own route has it. What else leaves like that tells a host that it is too big.
            Outcome::Sent(sent) => {
                let leaves = sent.iter().any(|sent| !sent.is_up && sent.via.is_none());
                (leaves && walk.counts.drops.is_empty(), sent)
            }
        };
        let link = |interface: u32| self.underlay.links.get(&interface);
        let name = |interface: u32| link(interface).map_or(interface.to_string(), |link| link.name.clone());
        let up = sent.iter().find(|sent| sent.is_up && delivers);
        let copies = sent.iter().filter_map(|sent| {
            let via = sent.via?;
            // A relay's message to the node that a packet was from is not the packet.
            if outer::is_message(&sent.frame) {
                return None;
            }
            Some(Copy {
                next_hop: NodeId(via.node),
                weight: via.weight,
                weights: via.weights,
                device: name(sent.interface),
                mtu: link(sent.interface).map_or(0, |link| link.mtu),
                frame: sent.frame.clone(),
            })
        });
        let mut count = Count { packets: 0, bytes: 0 };
        let programs = &self.tables.programs;
        for path in walk.counts.paths.keys() {
            let of = programs.path_count(*path)?;
            count = Count { packets: count.packets + of.packets, bytes: count.bytes + of.bytes };
        }
        if walk.counts.paths.is_empty()
            && let Some(up) = up
            && let Some(live) = self
                .devices
                .values()
                .find(|live| (live.interface, live.config.application) == (up.interface, application))
        {
            count = programs.tenant_count(live.tenant)?.received;
        }
        Ok(Step {
            is_foreign,
            delivered: up.map(|up| name(up.interface)),
            dropped: walk.counts.drops.keys().copied().collect(),
            count,
            drops: programs.drops()?,
            copies: copies.collect(),
            left_out: 0,
        })
    }
}
