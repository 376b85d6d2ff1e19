//! A whole RIB as one value, and the operations that lead from one to another.

use plait_model_overlay::{Application, NodeId, Operation};
use std::collections::{BTreeMap, BTreeSet};

/// What a control plane wants the RIB of its application to be.
pub type Routes = BTreeMap<NodeId, BTreeSet<NodeId>>;

/// What leads from one RIB to another. Who applies them as one finds no packet between: what is new of an entry comes
/// before what is old of it goes, so that applied one by one they may send two copies, and never none.
pub fn operations(application: Application, from: &Routes, to: &Routes) -> Vec<Operation> {
    let none = BTreeSet::new();
    let destinations: BTreeSet<NodeId> = from.keys().chain(to.keys()).copied().collect();
    let mut operations = Vec::new();
    for destination in destinations {
        let (old, new) = (from.get(&destination).unwrap_or(&none), to.get(&destination).unwrap_or(&none));
        let add = new.difference(old);
        operations.extend(add.map(|&next_hop| Operation::RouteAdd { application, destination, next_hop }));
        let remove = old.difference(new);
        operations.extend(remove.map(|&next_hop| Operation::RouteDel { application, destination, next_hop }));
    }
    operations
}

#[cfg(test)]
mod tests {
    use super::*;
    use plait_model_overlay::Overlay;
    use proptest::prelude::*;

    fn routes() -> impl Strategy<Value = Routes> {
        let ids = || (1u32..8).prop_map(NodeId);
        proptest::collection::btree_map(ids(), proptest::collection::btree_set(ids(), 1..4), 0..6)
    }

    proptest! {
        #[test]
        fn operations_lead_from_any_rib_to_any_other(from in routes(), to in routes()) {
            let mut overlay = Overlay::default();
            let application = Application::ETHERNET;
            for operation in operations(application, &Routes::new(), &from) {
                overlay.apply(&operation).unwrap();
            }
            for operation in operations(application, &from, &to) {
                let destination = match operation {
                    Operation::RouteDel { destination, .. } => Some(destination),
                    _ => None,
                };
                overlay.apply(&operation).unwrap();
                // What both have is never without a next hop.
                if let Some(destination) = destination.filter(|node| to.contains_key(node)) {
                    prop_assert!(overlay.tables(application).unwrap().routes.contains_key(&destination));
                }
            }
            let found = overlay.tables(application).map(|tables| tables.routes.clone()).unwrap_or_default();
            prop_assert_eq!(found, to);
        }
    }
}
