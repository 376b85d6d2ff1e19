//! Tables that are written once, as a file says, and that nobody decides.

use crate::Routes;
use plait_model_overlay::{Locators, NodeId, Tables};
use std::collections::{BTreeMap, BTreeSet};

/// The tables of a member that is told of all `others`: each is reached straight, and a group's packets go straight to all of them,
/// but where `routes` say another way. Without others there are no ways.
///
/// Choice: no node reflects what is for a group, as of a [mesh](crate::mesh) one does; so in encapsulations that name no nodes, whose
/// packets for a group end at their first hop, it reaches all. Where others pass it on, `routes` have to say whose it is.
pub fn written(
    own: NodeId,
    locators: Locators,
    others: BTreeMap<NodeId, Locators>,
    group: Option<NodeId>,
    routes: Routes,
) -> Tables {
    let mut all: Routes = others.keys().map(|node| (*node, BTreeSet::from([*node]))).collect();
    if let Some(group) = group.filter(|_| !others.is_empty()) {
        all.insert(group, others.keys().copied().chain([own]).collect());
    }
    all.extend(routes);
    Tables { own: Some(own), locators, nodes: others, routes: all }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids<const COUNT: usize>(numbers: [u32; COUNT]) -> BTreeSet<NodeId> {
        numbers.map(NodeId).into()
    }

    fn of(others: &[u32], routes: Routes) -> Routes {
        let others = others.iter().map(|node| (NodeId(*node), Locators::default())).collect();
        written(NodeId(2), Locators::default(), others, Some(NodeId(99)), routes).routes
    }

    #[test]
    fn everyone_is_reached_straight_but_where_another_way_is_said() {
        let straight =
            Routes::from([(NodeId(1), ids([1])), (NodeId(3), ids([3])), (NodeId(99), ids([1, 2, 3]))]);
        assert_eq!(of(&[1, 3], Routes::new()), straight);
        let said = Routes::from([(NodeId(3), ids([1])), (NodeId(99), ids([1, 2])), (NodeId(98), ids([3]))]);
        let expected = Routes::from([(NodeId(1), ids([1]))]).into_iter().chain(said.clone()).collect();
        assert_eq!(of(&[1, 3], said), expected);
        assert_eq!(of(&[], Routes::new()), Routes::new());
    }
}
