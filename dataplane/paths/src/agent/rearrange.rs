//! Algorithm 1 on what the kernel counts: each second, a flow of the fullest list goes to the emptiest one.

use crate::protocol::Policy;
use crate::{Error, FlowKey, FlowReport, Paths};
use ipnet::IpNet;
use plait_control_paths::select::{FlowShare, Rearranger};
use plait_dataplane_reference::paths::hash_of;
use std::collections::BTreeMap;

/// A flow of a device, as Algorithm 1 looks at it.
fn share(flow: FlowReport) -> (Option<IpNet>, FlowShare<FlowKey>) {
    let moves = flow.moves.map(|list| list as usize);
    (
        flow.prefix,
        FlowShare {
            key: flow.key,
            list: flow.list as usize,
            moves,
            by_hand: flow.by_hand,
            bytes: flow.bytes,
            hash: hash_of(&flow.key),
        },
    )
}

/// Moves one flow of each prefix of a device at most. How many were moved.
///
/// # Errors
/// The kernel's refusal.
pub fn rearrange(
    rearranger: &mut Rearranger<FlowKey>,
    paths: &Paths,
    policies: &BTreeMap<IpNet, (Policy, usize)>,
) -> Result<u64, Error> {
    let lists = |prefix: &IpNet| match policies.get(prefix) {
        Some((Policy::FlowBased, lists)) => Some(*lists),
        _ => None,
    };
    let moves = rearranger.run(paths.flows()?.into_iter().map(share), lists);
    let mut moved = 0;
    for (_, key, list) in &moves {
        match paths.move_flow(key, *list as u32, false) {
            Ok(()) => moved += 1,
            // It went since it was looked at; the others are to move all the same.
            Err(Error::Flow(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(moved)
}
