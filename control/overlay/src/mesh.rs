//! A full mesh: e2LAN, section 4.2.2 of the paper.

use crate::Routes;
use plait_model_overlay::NodeId;
use std::collections::BTreeSet;

/// Every node straight to every other. A group's packets go to its reflector, the node with the largest identity, and
/// from there to all; `members` are all nodes that take part, this one among them.
///
/// A node's own identity among a group's next hops means that it gets the packet itself. Choice: the paper says of the
/// reflector only that it is the largest of the LIB; since all nodes must name the same, this one counts.
pub fn mesh(own: NodeId, members: &BTreeSet<NodeId>, group: Option<NodeId>) -> Routes {
    let others = || members.iter().copied().filter(|node| *node != own);
    let mut routes: Routes = others().map(|node| (node, BTreeSet::from([node]))).collect();
    let reflector = others().chain([own]).max().unwrap_or(own);
    if let Some(group) = group.filter(|_| others().next().is_some()) {
        let hops = match reflector == own {
            true => others().chain([own]).collect(),
            false => BTreeSet::from([reflector, own]),
        };
        routes.insert(group, hops);
    }
    routes
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn who_is_alone_reaches_nobody() {
        assert_eq!(mesh(NodeId(1), &ids([1]), Some(NodeId(9))), Routes::new());
    }
}
