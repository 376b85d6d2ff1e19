//! Relays that lead packets along a path for sure.
//!
//! Between two relays packets go as the switches' own routing has them. The thesis's extraction does not look at that, and
//! in random graphs a good part of its lists lead elsewhere ([`PathTree`](crate::PathTree); `examples/paths_deviation.rs`
//! counts them). Here a list is given only if each part of the path between relays is what routing does anyway:
//!
//! - whatever the switches' hashes do: the part is the only shortest path between its ends ([`AnyHash`]);
//! - or as they are known to forward ([`KnownHops`]).
//!
//! Of all lists that do so it has the fewest relays.

use crate::fabric::Fabric;
use plait_model_topology::graph::{Graph, UniquePaths};
use smallvec::SmallVec;
use std::fmt;

/// Indices of the switches that a path is named by, the first one first.
pub type Relays = SmallVec<[u32; 6]>;

/// Where routing alone leads packets.
pub trait Forwarding {
    /// Whether packets that the first switch of a part has, for an address of its last one, go through all of it.
    fn leads_along(&mut self, part: &[usize]) -> bool;

    /// Whether, of a part that they go along, they go along every part.
    const IS_CLOSED: bool;
}

/// Switches that choose between equally short ways as they like, packet for packet.
#[derive(Debug)]
pub struct AnyHash<'a>(UniquePaths<'a>);

impl<'a> AnyHash<'a> {
    /// In a graph.
    pub fn new(graph: &'a Graph) -> Self {
        Self(UniquePaths::new(graph))
    }
}

impl Forwarding for AnyHash<'_> {
    /// A part of the only shortest path is the only shortest one, or there were two.
    const IS_CLOSED: bool = true;

    fn leads_along(&mut self, part: &[usize]) -> bool {
        self.0.is_unique(part)
    }
}

/// What a packet is for, as a switch on its way sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Towards {
    /// A relay: of a header that is the same for all that goes there, as far as its type puts nothing of the flow in it.
    Relay(usize),
    /// Whoever is behind a switch: of the packet itself, in which flows differ.
    Behind(usize),
}

/// A next hop that is known: the forwarding tables of the switches, and how they hash.
pub trait NextHop: fmt::Debug + Send + Sync {
    /// To which switch `at` sends all of it; none when it does not, or nobody knows.
    fn next_hop(&self, fabric: &Fabric, at: usize, towards: Towards) -> Option<usize>;
}

/// Switches that are known to forward so.
#[derive(Debug, Clone, Copy)]
pub struct KnownHops<'a> {
    /// Their fabric.
    pub fabric: &'a Fabric,
    /// What they do.
    pub hops: &'a dyn NextHop,
    /// Where paths lead: the switch that packets without any header are for.
    pub end: usize,
}

impl Forwarding for KnownHops<'_> {
    /// They may send what is for a switch on the way by another way.
    const IS_CLOSED: bool = false;

    fn leads_along(&mut self, part: &[usize]) -> bool {
        let Some(&last) = part.last() else { return true };
        let towards = if last == self.end { Towards::Behind(last) } else { Towards::Relay(last) };
        part.windows(2).all(|step| self.hops.next_hop(self.fabric, step[0], towards) == Some(step[1]))
    }
}

/// The fewest relays by which packets from a path's first switch to its last go along it; none when no relays do that.
/// Between as few, the first is as far along the path as can be, then the second, and so on. O(n²) questions for a path of
/// n switches, O(n) where forwarding is closed and few are needed.
pub fn fewest_relays<F: Forwarding>(
    path: &[usize],
    may_relay: impl Fn(usize) -> bool,
    forwarding: &mut F,
) -> Option<Relays> {
    match F::IS_CLOSED {
        true => greedily(path, may_relay, forwarding),
        false => exhaustively(path, may_relay, forwarding),
    }
}

/// As far as can be each time. From further along the path one gets at least as far, so that no list has fewer.
fn greedily(
    path: &[usize],
    may_relay: impl Fn(usize) -> bool,
    forwarding: &mut impl Forwarding,
) -> Option<Relays> {
    let mut relays = Relays::new();
    let (mut at, end) = (0, path.len().checked_sub(1)?);
    while at < end {
        at = (at + 1..=end).rev().find(|&next| {
            (next == end || may_relay(path[next])) && forwarding.leads_along(&path[at..=next])
        })?;
        if at < end {
            relays.push(path[at] as u32);
        }
    }
    Some(relays)
}

/// From the end of the path backwards: of each switch how many parts are needed from there, and where the next one ends.
fn exhaustively(
    path: &[usize],
    may_relay: impl Fn(usize) -> bool,
    forwarding: &mut impl Forwarding,
) -> Option<Relays> {
    let end = path.len().checked_sub(1)?;
    let mut best: Vec<Option<(usize, usize)>> = vec![None; path.len()];
    best[end] = Some((0, end));
    for at in (0..end).rev() {
        for next in (at + 1..=end).rev().filter(|&next| next == end || may_relay(path[next])) {
            let Some((parts, _)) = best[next] else { continue };
            if best[at].is_none_or(|(known, _)| parts + 1 < known) && forwarding.leads_along(&path[at..=next])
            {
                best[at] = Some((parts + 1, next));
            }
        }
    }
    let mut relays = Relays::new();
    let mut at = 0;
    while at < end {
        at = best[at]?.1;
        if at < end {
            relays.push(path[at] as u32);
        }
    }
    Some(relays)
}
