//! A full mesh: e2LAN, section 4.2.2 of the paper.

use crate::Routes;
use plait_model_overlay::NodeId;
use std::collections::BTreeSet;

/// How many next hops of a group a data plane serves; a node's own identity is one of them.
const MOST: usize = 256;
/// So many get a group's packets from one node where the reflector cannot serve all. Choice: two steps reach 4,160 others, and a
/// node that joins seldom moves another.
const BRANCHES: usize = 64;

/// Every node straight to every other. A group's packets go to its reflector, the node with the largest identity, and
/// from there to all; `members` are all nodes that take part, this one among them.
///
/// A node's own identity among a group's next hops means that it gets the packet itself. Choice: the paper says of the
/// reflector only that it is the largest of the LIB; since all nodes must name the same, this one counts.
///
/// Choice: the paper's reflector serves any number; one of ours has 256 copies of a packet at most. Where there are more nodes, the
/// group is a tree with the reflector as its root: in falling order of identities each serves the next 64 that nobody serves yet,
/// and what comes from one of them goes to the others and up.
pub fn mesh(own: NodeId, members: &BTreeSet<NodeId>, group: Option<NodeId>) -> Routes {
    let others = || members.iter().copied().filter(|node| *node != own);
    let mut routes: Routes = others().map(|node| (node, BTreeSet::from([node]))).collect();
    if let Some(group) = group.filter(|_| others().next().is_some()) {
        let falling: Vec<NodeId> = others().chain([own]).collect::<BTreeSet<_>>().into_iter().rev().collect();
        let branches = if falling.len() <= MOST { MOST } else { BRANCHES };
        let place = falling.iter().position(|node| *node == own).expect("it was put there");
        let above = place.checked_sub(1).map(|place| falling[place / branches]);
        let below = falling.iter().skip(place * branches + 1).take(branches);
        routes.insert(group, below.copied().chain(above).chain([own]).collect());
    }
    routes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn ids<const COUNT: usize>(numbers: [u32; COUNT]) -> BTreeSet<NodeId> {
        numbers.map(NodeId).into()
    }

    #[test]
    fn all_reach_all_and_the_largest_reflects() {
        let (members, group) = (ids([1, 2, 3]), NodeId(99));
        let of = |own| mesh(NodeId(own), &members, Some(group));
        assert_eq!(of(1), Routes::from([(NodeId(2), ids([2])), (NodeId(3), ids([3])), (group, ids([1, 3]))]));
        assert_eq!(
            of(3),
            Routes::from([(NodeId(1), ids([1])), (NodeId(2), ids([2])), (group, ids([1, 2, 3]))])
        );
    }

    #[test]
    fn of_more_than_a_reflector_serves_each_gets_one_copy_whoever_sends() {
        let group = NodeId(u32::MAX);
        for count in [255, 256, 257, 1000, 5000] {
            let members: BTreeSet<NodeId> = (0..count).map(|number| NodeId(7 * number + 1)).collect();
            let routes: BTreeMap<NodeId, BTreeSet<NodeId>> = members
                .iter()
                .map(|own| (*own, mesh(*own, &members, Some(group)).remove(&group).unwrap()))
                .collect();
            assert!(routes.values().all(|hops| hops.len() <= MOST));
            let longest = if count <= 256 { 2 } else { 6 };
            for sender in members.iter().step_by(97) {
                let (mut got, mut steps) = (BTreeMap::<NodeId, u32>::new(), 0);
                // A packet goes to all next hops but the one that it came from.
                let mut under_way = vec![(*sender, None)];
                while !under_way.is_empty() {
                    let mut next = Vec::new();
                    for (at, from) in under_way {
                        *got.entry(at).or_default() += 1;
                        let on = routes[&at].iter().filter(|hop| **hop != at && Some(**hop) != from);
                        next.extend(on.map(|hop| (*hop, Some(at))));
                    }
                    steps += usize::from(!next.is_empty());
                    under_way = next;
                }
                assert!(got.keys().eq(&members) && got.values().all(|copies| *copies == 1), "{count}");
                assert!(steps <= longest, "{steps} steps among {count}");
            }
        }
    }

    #[test]
    fn who_is_alone_reaches_nobody() {
        assert_eq!(mesh(NodeId(1), &ids([1]), Some(NodeId(9))), Routes::new());
    }
}
