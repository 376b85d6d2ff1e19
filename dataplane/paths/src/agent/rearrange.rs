//! Algorithm 1 on what the kernel counts: each second, a flow of the fullest list goes to the emptiest one.

use crate::protocol::Policy;
use crate::{FlowReport, Paths};
use ipnet::IpNet;
use plait_control_paths::select::{FlowShare, rearranged};
use plait_dataplane_reference::paths::tables::FlowKey;
use std::collections::{BTreeMap, HashMap};

/// What flows of a device had sent when they were looked at last.
#[derive(Debug, Default)]
pub struct Rearranger {
    sent: HashMap<[u8; 16], u64>,
}

/// A key in an order that is the same everywhere.
fn ordered(key: &FlowKey) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&key.source);
    bytes[4..8].copy_from_slice(&key.destination);
    bytes[8..12].copy_from_slice(&key.ports);
    bytes[12..].copy_from_slice(&key.protocol.to_be_bytes());
    bytes
}

impl Rearranger {
    /// Moves one flow of each prefix at most. How many were moved.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn run(
        &mut self,
        paths: &Paths,
        policies: &BTreeMap<IpNet, (Policy, usize)>,
    ) -> Result<u64, crate::Error> {
        let mut sent = HashMap::new();
        let mut by_prefix: BTreeMap<IpNet, Vec<(FlowReport, u64)>> = BTreeMap::new();
        for flow in paths.flows()? {
            let key = ordered(&flow.key);
            sent.insert(key, flow.bytes);
            // One that was forgotten meanwhile began to count anew.
            let before = self.sent.get(&key).copied().filter(|before| *before <= flow.bytes);
            let Some(prefix) = flow.prefix else { continue };
            // Of one that was not there the last time, all is of this period.
            let bytes = flow.bytes - before.unwrap_or(0);
            by_prefix.entry(prefix).or_default().push((flow, bytes));
        }
        self.sent = sent;
        let mut moved = 0;
        for (prefix, flows) in by_prefix {
            let Some((Policy::FlowBased, lists)) = policies.get(&prefix) else { continue };
            let known = |list: u32| (list as usize) < *lists;
            let shares = flows.iter().filter(|(flow, _)| known(flow.list)).map(|(flow, bytes)| FlowShare {
                key: ordered(&flow.key),
                list: flow.list as usize,
                moves: flow.moves.filter(|list| known(*list)).map(|list| list as usize),
                bytes: *bytes,
            });
            if let Some((key, list)) = rearranged(*lists, shares)
                && let Some((flow, _)) = flows.iter().find(|(flow, _)| ordered(&flow.key) == key)
            {
                paths.move_flow(&flow.key, list as u32)?;
                moved += 1;
            }
        }
        Ok(moved)
    }
}
