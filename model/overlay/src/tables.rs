//! The tables of a node, and what changes in them.

use crate::{Answer, Application, Locators, NodeId, Operation, OperationError, Weight};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// What one application knows on one node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tables {
    /// This node's identity.
    pub own: Option<NodeId>,
    /// Its own locators.
    pub locators: Locators,
    /// The LIB.
    pub nodes: BTreeMap<NodeId, Locators>,
    /// The RIB.
    pub routes: BTreeMap<NodeId, BTreeSet<NodeId>>,
}

/// All tables of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overlay {
    applications: BTreeMap<Application, Tables>,
}

/// That something changed, for whoever follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// This node's identity or locators.
    Own {
        /// Whose tables.
        application: Application,
    },
    /// A node of the LIB.
    Node {
        /// Whose tables.
        application: Application,
        /// The node.
        node: NodeId,
    },
    /// A node or group of the RIB.
    Route {
        /// Whose tables.
        application: Application,
        /// The node or group.
        destination: NodeId,
    },
}

impl Overlay {
    /// The applications that something is known of, by their numbers.
    pub fn applications(&self) -> impl Iterator<Item = (Application, &Tables)> {
        self.applications.iter().map(|(application, tables)| (*application, tables))
    }

    /// What one application knows.
    pub fn tables(&self, application: Application) -> Option<&Tables> {
        self.applications.get(&application)
    }

    /// The operations that make empty tables into these.
    pub fn operations(&self) -> impl Iterator<Item = Operation> + '_ {
        self.applications.iter().flat_map(|(&application, tables)| tables.operations(application))
    }

    /// Does an operation. An event comes with each change; what changes nothing is done without one.
    ///
    /// # Errors
    /// An identity or address that cannot be; something to be taken away that is not there.
    pub fn apply(&mut self, operation: &Operation) -> Result<(Answer, Option<Event>), OperationError> {
        let application = operation.application();
        let empty = Tables::default();
        let known = self.applications.get(&application).unwrap_or(&empty);
        let answer = match *operation {
            Operation::LocatorGet { .. } => Answer::Locators(known.locators.clone()),
            Operation::NodeGet { .. } => Answer::Nodes(known.nodes.clone()),
            Operation::NodeIdGet { .. } => Answer::NodeId(known.own),
            Operation::RouteGet { .. } => Answer::Routes(known.routes.clone()),
            _ => {
                let tables = self.applications.entry(application).or_default();
                let changed = tables.change(operation);
                if *tables == Tables::default() {
                    self.applications.remove(&application);
                }
                let event = changed?;
                return Ok((Answer::Done { changed: event.is_some() }, event));
            }
        };
        Ok((answer, None))
    }
}

impl Tables {
    /// The operations that make an application's empty tables into these.
    pub fn operations(&self, application: Application) -> impl Iterator<Item = Operation> + '_ {
        let own = self.own.map(|node| Operation::NodeIdSet { application, node });
        let locators = self.locators.iter().map(move |(&locator, &weight)| Operation::LocatorAdd {
            application,
            locator,
            weight,
        });
        let nodes = self.nodes.iter().flat_map(move |(&node, locators)| {
            locators.iter().map(move |(&locator, &weight)| Operation::NodeAdd {
                application,
                node,
                locator,
                weight,
            })
        });
        let routes = self.routes.iter().flat_map(move |(&destination, hops)| {
            hops.iter().map(move |&next_hop| Operation::RouteAdd { application, destination, next_hop })
        });
        own.into_iter().chain(locators).chain(nodes).chain(routes)
    }

    fn change(&mut self, operation: &Operation) -> Result<Option<Event>, OperationError> {
        let application = operation.application();
        let absent = |what: String| OperationError::Absent { application, what };
        match *operation {
            Operation::LocatorAdd { locator, .. } => possible(locator)?,
            Operation::NodeAdd { node, locator, .. } => {
                identity(node)?;
                possible(locator)?;
            }
            Operation::NodeIdSet { node, .. } => identity(node)?,
            Operation::RouteAdd { destination, next_hop, .. } => {
                identity(destination)?;
                identity(next_hop)?;
            }
            _ => {}
        }
        let (own, node, route) = (
            Event::Own { application },
            |node| Event::Node { application, node },
            |destination| Event::Route { application, destination },
        );
        Ok(match *operation {
            Operation::LocatorAdd { locator, weight, .. } => {
                set(&mut self.locators, locator, weight).then_some(own)
            }
            Operation::LocatorDel { locator, .. } => match self.locators.remove(&locator) {
                Some(_) => Some(own),
                None => return Err(absent(format!("own locator {locator}"))),
            },
            Operation::NodeAdd { node: id, locator, weight, .. } => {
                set(self.nodes.entry(id).or_default(), locator, weight).then(|| node(id))
            }
            Operation::NodeDel { node: id, locator, .. } => {
                let locators = self.nodes.get_mut(&id).ok_or_else(|| absent(format!("node {id}")))?;
                if locators.remove(&locator).is_none() {
                    return Err(absent(format!("locator {locator} of node {id}")));
                }
                if locators.is_empty() {
                    self.nodes.remove(&id);
                }
                Some(node(id))
            }
            Operation::NodeIdSet { node, .. } => (self.own.replace(node) != Some(node)).then_some(own),
            Operation::RouteAdd { destination, next_hop, .. } => {
                self.routes.entry(destination).or_default().insert(next_hop).then(|| route(destination))
            }
            Operation::RouteDel { destination, next_hop, .. } => {
                let known = self.routes.get_mut(&destination);
                let hops = known.ok_or_else(|| absent(format!("route to {destination}")))?;
                if !hops.remove(&next_hop) {
                    return Err(absent(format!("route to {destination} via {next_hop}")));
                }
                if hops.is_empty() {
                    self.routes.remove(&destination);
                }
                Some(route(destination))
            }
            Operation::LocatorGet { .. }
            | Operation::NodeGet { .. }
            | Operation::NodeIdGet { .. }
            | Operation::RouteGet { .. } => None,
        })
    }
}

/// Whether a locator is new or has another weight now.
fn set(locators: &mut Locators, locator: IpAddr, weight: Weight) -> bool {
    locators.insert(locator, weight) != Some(weight)
}

fn identity(node: NodeId) -> Result<(), OperationError> {
    if node == NodeId(0) { Err(OperationError::NoIdentity) } else { Ok(()) }
}

fn possible(locator: IpAddr) -> Result<(), OperationError> {
    let is_none = locator.is_unspecified()
        || locator.is_multicast()
        || matches!(locator, IpAddr::V4(v4) if v4.is_broadcast())
        // It would be told from the IPv4 address itself nowhere.
        || matches!(locator, IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some());
    if is_none { Err(OperationError::NoLocator(locator)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Application = Application::ETHERNET;

    fn id(last: u32) -> NodeId {
        NodeId(0x0a00_0000 + last)
    }

    fn address(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    fn add_node(node: u32, locator: u8) -> Operation {
        Operation::NodeAdd {
            application: A,
            node: id(node),
            locator: address(locator),
            weight: Weight::default(),
        }
    }

    #[test]
    fn entries_are_built_and_taken_down_a_value_at_a_time() {
        let mut overlay = Overlay::default();
        let event = Event::Node { application: A, node: id(1) };
        for locator in [1, 2] {
            let done = overlay.apply(&add_node(1, locator)).unwrap();
            assert_eq!(done, (Answer::Done { changed: true }, Some(event)));
        }
        assert_eq!(overlay.apply(&add_node(1, 2)).unwrap(), (Answer::Done { changed: false }, None));
        assert_eq!(overlay.tables(A).unwrap().nodes[&id(1)].len(), 2);
        for locator in [1, 2] {
            let gone = Operation::NodeDel { application: A, node: id(1), locator: address(locator) };
            assert_eq!(overlay.apply(&gone).unwrap().1, Some(event));
        }
        assert_eq!(overlay, Overlay::default(), "nothing is left of an application without entries");
    }

    #[test]
    fn what_is_not_there_cannot_be_taken_away() {
        let mut overlay = Overlay::default();
        overlay.apply(&add_node(1, 1)).unwrap();
        let before = overlay.clone();
        let absent = [
            Operation::LocatorDel { application: A, locator: address(1) },
            Operation::NodeDel { application: A, node: id(2), locator: address(1) },
            Operation::NodeDel { application: A, node: id(1), locator: address(2) },
            Operation::NodeDel { application: Application::IPV4, node: id(1), locator: address(1) },
            Operation::RouteDel { application: A, destination: id(1), next_hop: id(1) },
        ];
        for operation in absent {
            let refused = overlay.apply(&operation);
            assert!(matches!(refused, Err(OperationError::Absent { .. })), "{operation:?}: {refused:?}");
            assert_eq!(overlay, before);
        }
    }

    #[test]
    fn what_cannot_be_is_refused_and_leaves_no_trace() {
        let mut overlay = Overlay::default();
        let locators = ["0.0.0.0", "255.255.255.255", "224.0.0.1", "::", "ff02::1", "::ffff:10.0.0.1"];
        for locator in locators.map(|text| text.parse::<IpAddr>().unwrap()) {
            let own = Operation::LocatorAdd { application: A, locator, weight: Weight::default() };
            assert_eq!(overlay.apply(&own), Err(OperationError::NoLocator(locator)));
        }
        let nobody = Operation::NodeIdSet { application: A, node: NodeId(0) };
        assert_eq!(overlay.apply(&nobody), Err(OperationError::NoIdentity));
        let nowhere = Operation::RouteAdd { application: A, destination: id(1), next_hop: NodeId(0) };
        assert_eq!(overlay.apply(&nowhere), Err(OperationError::NoIdentity));
        assert_eq!(overlay, Overlay::default());
        assert!("0".parse::<Weight>().is_err() && "256".parse::<Weight>().is_err());
    }

    #[test]
    fn applications_do_not_see_each_other() {
        let mut overlay = Overlay::default();
        for application in [Application::IPV4, Application::ETHERNET] {
            let node = id(u32::from(application.0));
            overlay.apply(&Operation::NodeIdSet { application, node }).unwrap();
            overlay.apply(&Operation::RouteAdd { application, destination: id(9), next_hop: node }).unwrap();
        }
        for (application, other) in
            [(Application::IPV4, Application::ETHERNET), (Application::ETHERNET, Application::IPV4)]
        {
            let (own, theirs) = (overlay.tables(application).unwrap(), id(u32::from(other.0)));
            assert!(own.own != Some(theirs) && !own.routes[&id(9)].contains(&theirs));
        }
        let (answer, _) = overlay.apply(&Operation::NodeGet { application: Application::IPV6 }).unwrap();
        assert_eq!(answer, Answer::Nodes(BTreeMap::new()));
        assert_eq!(overlay.applications().count(), 2, "to ask makes no tables");
    }

    #[test]
    fn several_next_hops_are_a_set() {
        let mut overlay = Overlay::default();
        let route =
            |next_hop| Operation::RouteAdd { application: A, destination: id(99), next_hop: id(next_hop) };
        let events: Vec<_> = [1, 2, 2, 3].map(|hop| overlay.apply(&route(hop)).unwrap().1.is_some()).into();
        assert_eq!(events, [true, true, false, true]);
        let (answer, _) = overlay.apply(&Operation::RouteGet { application: A }).unwrap();
        assert_eq!(answer, Answer::Routes(BTreeMap::from([(id(99), [1, 2, 3].map(id).into())])));
    }
}
