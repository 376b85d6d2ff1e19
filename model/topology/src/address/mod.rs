//! Addresses: given ones honoured, all others assigned.
//!
//! [`segments`] finds which interfaces hear each other, [`assign`] gives every segment a prefix and every interface an
//! address, and [`Assignment`] keeps them by name. The same network always gets the same addresses, and with the
//! previous assignment at hand an edited network keeps those of every segment that is still there.
//!
//! A segment of two interfaces on one link gets a /31 (RFC 3021) or /127 (RFC 6164), any other at least a /29, with
//! room for twice its members, or a /64.
//!
//! Which segment gets which block decides how long routing tables are. `layout.rs` knows several orders, and the one
//! that gives the shortest tables in a sample of the nodes is taken.

mod assignment;
mod block;
mod given;
mod layout;
mod numbering;
mod pool;
mod segment;

pub use assignment::{Assignment, Subnet, subnets};
pub use segment::{Segment, segments};

pub(crate) use block::{Family, number, overlaps};

use crate::diagnostic::Diagnostic;
use crate::network::Network;
use crate::route::TableBuilder;
use crate::vocabulary::Role;
use ipnet::IpNet;
use layout::{Layout, Plugs};
use pool::Pool;

/// Gives every interface its addresses.
///
/// # Errors
/// Prefixes and addresses in the file that clash or do not fit, and pools that are used up, each with its place and
/// remedy.
pub fn assign(network: &Network, previous: Option<&Assignment>) -> Result<Assignment, Vec<Diagnostic>> {
    let segments = segments(network);
    let given = given::collect(network, &segments)?;
    let mut prefixes = given.prefixes;
    let mut reserved: Vec<IpNet> =
        prefixes.iter().flatten().copied().chain(given.alone.iter().map(|(net, _)| *net)).collect();
    for (segment, prefix) in given::kept(network, &segments, &reserved, &prefixes, previous) {
        prefixes[segment].push(prefix);
        reserved.push(prefix);
    }
    let mut numbered = Vec::new();
    let mut faults = Vec::new();
    let kept_any =
        previous.is_some_and(|previous| segments.iter().any(|s| !previous.prefixes(&s.key).is_empty()));
    for (layout, padded) in layouts(network, &segments, kept_any) {
        match fill(network, &segments, &prefixes, &reserved, &layout, padded) {
            Ok(filled) => numbered.push(filled),
            Err(fault) => faults.push(fault),
        }
    }
    let mut best: Option<(usize, Assignment)> = None;
    let only = numbered.len() == 1;
    for prefixes in numbered {
        let assignment = numbering::number_all(network, &segments, &prefixes, previous)?;
        let routes = if only { 0 } else { routes_in_sample(network, &assignment) };
        if best.as_ref().is_none_or(|(fewest, _)| routes < *fewest) {
            best = Some((routes, assignment));
        }
    }
    // All layouts need about the same room; the first, the plainest, says what is missing.
    best.map(|(_, assignment)| assignment).ok_or_else(|| faults.into_iter().take(1).collect())
}

/// The layouts worth trying, the plainest first.
fn layouts(network: &Network, segments: &[Segment], kept_any: bool) -> Vec<(Layout, bool)> {
    let mut layouts = vec![(Layout::in_file_order(segments), false)];
    // After an edit nothing that stays may move, so there is little left to choose.
    if kept_any || segments.len() < 3 {
        return layouts;
    }
    let plugs = Plugs::new(network.nodes.len(), segments);
    layouts.push((Layout::in_node_order(segments), false));
    layouts.push((Layout::as_trees(&plugs, segments), false));
    layouts.push((Layout::as_trees(&plugs, segments), true));
    layouts.push((Layout::in_halves(&plugs, segments), false));
    layouts.push((Layout::in_halves(&plugs, segments), true));
    layouts
}

/// Gives every segment a prefix of each pool unless it has one of that version.
fn fill(
    network: &Network,
    segments: &[Segment],
    prefixes: &[Vec<IpNet>],
    reserved: &[IpNet],
    layout: &Layout,
    padded: bool,
) -> Result<Vec<Vec<IpNet>>, Diagnostic> {
    let mut filled = prefixes.to_vec();
    for pool in Pool::all(&network.pools) {
        pool.fill(segments, reserved, layout, padded, &mut filled)?;
    }
    for prefixes in &mut filled {
        // IPv4 before IPv6, and what the file gives in its own order.
        prefixes.sort_by_key(Family::of);
    }
    Ok(filled)
}

/// How many nodes stand for all when layouts are compared: enough to tell layouts apart, few enough to cost nothing.
const SAMPLE: u64 = 32;

fn routes_in_sample(network: &Network, assignment: &Assignment) -> usize {
    let builder = TableBuilder::new(network, assignment);
    let nodes: Vec<usize> = (0..network.nodes.len())
        .filter(|&node| network.nodes[node].role != Role::Switch && network.nodes[node].interfaces.len() > 1)
        .collect();
    // Steps of the golden ratio spread evenly without falling in step with rows or pods.
    let step = |at: u64| (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let pick = |at: u64| nodes[((u128::from(step(at)) * nodes.len() as u128) >> 64) as usize];
    (0..SAMPLE.min(nodes.len() as u64)).map(|at| builder.table(pick(at)).len()).sum()
}
