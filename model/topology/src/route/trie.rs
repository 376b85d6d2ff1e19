//! The smallest table for given sets of next hops: ORTC on a path-compressed trie.
//!
//! Draves, King, Venkatachary and Zill, "Constructing optimal IP routing tables" (INFOCOM 1999), in three passes:
//! spread the prefixes over the leaves of a binary trie, give each inner node what its children agree on (or else
//! either's hops), then walk down and write a route wherever the one inherited is not among the node's hops.
//!
//! Three things differ here. The prefixes are disjoint, so that the trie's leaves are there from the start. What no
//! prefix covers may go anywhere, so that a node with one child takes over the child's set and needs no place in the
//! trie. And a leaf may be barred: no route may cover it, so none is written at any node above it.

use super::hop_set::HopSet;
use crate::address::{Family, number, overlaps};
use ipnet::IpNet;

/// What may happen to a leaf's addresses, and by the walk upwards to a whole subtree.
#[derive(Debug, Clone)]
pub(super) enum Demand<H> {
    /// Anything: another route is longer, or nobody is there.
    Any,
    /// They go to one of these hops.
    OneOf(H),
    /// No route may cover them all.
    Barred,
}

/// A trie of disjoint prefixes. A parent stands before its children.
#[derive(Debug)]
pub(super) struct Trie {
    nodes: Vec<Node>,
}

#[derive(Debug)]
struct Node {
    prefix: IpNet,
    /// Whether a route may have this prefix.
    open: bool,
    content: Content,
}

#[derive(Debug, Clone, Copy)]
enum Content {
    Leaf(usize),
    Inner(usize, usize),
}

impl Trie {
    /// The trie of disjoint prefixes of one IP version. Routes may cover unassigned space within `pools`; outside of
    /// them only what the prefixes fill without a gap.
    pub fn new(prefixes: &[IpNet], pools: &[IpNet]) -> Self {
        let mut order: Vec<usize> = (0..prefixes.len()).collect();
        order.sort_unstable_by_key(|&at| number(prefixes[at].network()));
        let mut trie = Self { nodes: Vec::with_capacity(2 * prefixes.len()) };
        if !order.is_empty() {
            trie.grow(prefixes, &order, pools);
        }
        trie
    }

    /// Adds the subtree of some prefixes. The depth is at most the bits of an address. Gives whether they fill it.
    fn grow(&mut self, prefixes: &[IpNet], order: &[usize], pools: &[IpNet]) -> bool {
        let at = self.nodes.len();
        if let [leaf] = *order {
            self.nodes.push(Node { prefix: prefixes[leaf], open: true, content: Content::Leaf(leaf) });
            return true;
        }
        let family = Family::of(&prefixes[order[0]]);
        let bits = family.bits();
        let network = |at: usize| number(prefixes[at].network());
        let (first, last) = (network(order[0]), network(order[order.len() - 1]));
        // Left-justified, IPv4 and IPv6 count leading bits alike.
        let length = ((first ^ last) << (128 - bits)).leading_zeros() as u8;
        let prefix = family.net(first, length).trunc();
        let middle = order.partition_point(|&at| network(at) >> (bits - 1 - length) & 1 == 0);
        self.nodes.push(Node { prefix, open: false, content: Content::Leaf(0) });
        let left = self.nodes.len();
        let left_full = self.grow(prefixes, &order[..middle], pools);
        let right = self.nodes.len();
        let right_full = self.grow(prefixes, &order[middle..], pools);
        let halves = [left, right].iter().all(|&child| self.nodes[child].prefix.prefix_len() == length + 1);
        let full = left_full && right_full && halves;
        let node = &mut self.nodes[at];
        node.content = Content::Inner(left, right);
        // Not even a pool of everything makes a default route.
        node.open = length > 0
            && (full || pools.iter().any(|pool| pool.prefix_len() <= length && overlaps(pool, &prefix)));
        full
    }

    /// The fewest routes `(prefix, hop)` that meet the demand of every leaf, shortest prefixes first within a subtree.
    pub fn smallest<H: HopSet>(&self, leaf: impl Fn(usize) -> Demand<H>) -> Vec<(IpNet, usize)> {
        let mut demands: Vec<Demand<H>> = Vec::with_capacity(self.nodes.len());
        demands.resize(self.nodes.len(), Demand::Any);
        for (at, node) in self.nodes.iter().enumerate().rev() {
            demands[at] = match node.content {
                Content::Leaf(which) => leaf(which),
                Content::Inner(left, right) => match (&demands[left], &demands[right]) {
                    (Demand::Any, Demand::Any) => Demand::Any,
                    _ if !node.open => Demand::Barred,
                    (Demand::Barred, _) | (_, Demand::Barred) => Demand::Barred,
                    (Demand::Any, other) | (other, Demand::Any) => other.clone(),
                    (Demand::OneOf(a), Demand::OneOf(b)) => Demand::OneOf(a.meet(b)),
                },
            };
        }
        let mut routes = Vec::new();
        let mut inherited: Vec<Option<usize>> = vec![None; self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate() {
            let mut hop = inherited[at];
            if let Demand::OneOf(hops) = &demands[at]
                && !hop.is_some_and(|hop| hops.contains(hop))
            {
                hop = hops.iter().next();
                routes.extend(hop.map(|hop| (node.prefix, hop)));
            }
            if let Content::Inner(left, right) = node.content {
                inherited[left] = hop;
                inherited[right] = hop;
            }
        }
        routes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a leaf of the eight addresses of 10.0.0.0/29 asks for.
    #[derive(Debug, Clone, Copy)]
    enum Leaf {
        Nobody,
        Own,
        Hops(u64),
        Unreachable,
    }

    /// The fewest routes of any table, by trying every hop at every node of the whole binary trie.
    fn fewest(leaves: &[Leaf], inherited: Option<usize>) -> usize {
        const NEVER: usize = 1000;
        let rest = |hop: Option<usize>| match leaves {
            [leaf] => match (leaf, hop) {
                (Leaf::Nobody | Leaf::Own, _) | (Leaf::Unreachable, None) => 0,
                (Leaf::Hops(hops), Some(hop)) if hops.contains(hop) => 0,
                _ => NEVER,
            },
            _ => {
                let (left, right) = leaves.split_at(leaves.len() / 2);
                fewest(left, hop) + fewest(right, hop)
            }
        };
        (0..3).map(|hop| 1 + rest(Some(hop))).chain([rest(inherited)]).min().unwrap_or(NEVER)
    }

    proptest! {
        #[test]
        fn no_table_is_smaller(
            leaves in prop::array::uniform8(prop_oneof![
                Just(Leaf::Nobody),
                Just(Leaf::Own),
                (1..8u64).prop_map(Leaf::Hops),
                (1..8u64).prop_map(Leaf::Hops),
                (1..8u64).prop_map(Leaf::Hops),
                Just(Leaf::Unreachable),
            ]),
            has_unreachable in any::<bool>(),
        ) {
            let leaves = leaves.map(|leaf| match leaf {
                Leaf::Unreachable if !has_unreachable => Leaf::Nobody,
                leaf => leaf,
            });
            let assigned: Vec<usize> = (0..8).filter(|&at| !matches!(leaves[at], Leaf::Nobody)).collect();
            let prefixes: Vec<IpNet> = assigned.iter().map(|at| format!("10.0.0.{at}/32").parse().unwrap()).collect();
            let trie = Trie::new(&prefixes, &["10.0.0.0/8".parse().unwrap()]);
            let routes = trie.smallest::<u64>(|leaf| match leaves[assigned[leaf]] {
                Leaf::Nobody | Leaf::Own => Demand::Any,
                Leaf::Hops(hops) => Demand::OneOf(hops),
                Leaf::Unreachable => Demand::Barred,
            });
            prop_assert_eq!(routes.len(), fewest(&leaves, None));
        }
    }
}
