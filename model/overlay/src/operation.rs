//! The operations of ovstack's control interface (the paper's Table 1).

use crate::{Application, Locators, NodeId, Weight};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use thiserror::Error;

/// What may be asked of an overlay's tables. Entries with several values are built one value at a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// LOCATOR_ADD: gives this node a locator, or one that it has another weight.
    LocatorAdd {
        /// Whose tables.
        application: Application,
        /// The address.
        locator: IpAddr,
        /// Its share.
        #[serde(default)]
        weight: Weight,
    },
    /// LOCATOR_DEL: takes a locator from this node.
    LocatorDel {
        /// Whose tables.
        application: Application,
        /// The address.
        locator: IpAddr,
    },
    /// LOCATOR_GET: this node's locators.
    LocatorGet {
        /// Whose tables.
        application: Application,
    },
    /// NODE_ADD: gives a node of the LIB a locator, or one that it has another weight.
    NodeAdd {
        /// Whose tables.
        application: Application,
        /// The node.
        node: NodeId,
        /// The address.
        locator: IpAddr,
        /// Its share.
        #[serde(default)]
        weight: Weight,
    },
    /// NODE_DEL: takes a locator from a node of the LIB; with its last the node goes.
    NodeDel {
        /// Whose tables.
        application: Application,
        /// The node.
        node: NodeId,
        /// The address.
        locator: IpAddr,
    },
    /// NODE_GET: the LIB.
    NodeGet {
        /// Whose tables.
        application: Application,
    },
    /// NODE_ID_GET: this node's identity.
    NodeIdGet {
        /// Whose tables.
        application: Application,
    },
    /// NODE_ID_SET: gives this node its identity.
    NodeIdSet {
        /// Whose tables.
        application: Application,
        /// The identity.
        node: NodeId,
    },
    /// ROUTE_ADD: gives a node or group of the RIB a next hop. The node's own identity means "up here".
    RouteAdd {
        /// Whose tables.
        application: Application,
        /// The node or group.
        destination: NodeId,
        /// The next hop.
        next_hop: NodeId,
    },
    /// ROUTE_DEL: takes a next hop from a node or group of the RIB; with its last the entry goes.
    RouteDel {
        /// Whose tables.
        application: Application,
        /// The node or group.
        destination: NodeId,
        /// The next hop.
        next_hop: NodeId,
    },
    /// ROUTE_GET: the RIB.
    RouteGet {
        /// Whose tables.
        application: Application,
    },
}

impl Operation {
    /// Whose tables it is about.
    pub fn application(&self) -> Application {
        match *self {
            Self::LocatorAdd { application, .. }
            | Self::LocatorDel { application, .. }
            | Self::LocatorGet { application }
            | Self::NodeAdd { application, .. }
            | Self::NodeDel { application, .. }
            | Self::NodeGet { application }
            | Self::NodeIdGet { application }
            | Self::NodeIdSet { application, .. }
            | Self::RouteAdd { application, .. }
            | Self::RouteDel { application, .. }
            | Self::RouteGet { application } => application,
        }
    }
}

/// What an operation that asks is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It was done, and whether it changed anything.
    Done {
        /// Whether anything is other than before.
        changed: bool,
    },
    /// This node's identity, if it has one.
    NodeId(Option<NodeId>),
    /// This node's locators.
    Locators(Locators),
    /// The LIB.
    Nodes(BTreeMap<NodeId, Locators>),
    /// The RIB.
    Routes(BTreeMap<NodeId, BTreeSet<NodeId>>),
}

/// Why an operation was not done. Nothing was changed by it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum OperationError {
    /// An identity that stands for "none".
    #[error("0.0.0.0 is no identity")]
    NoIdentity,
    /// An address that no packet can be sent to.
    #[error("{0} is no locator: write the address of one interface")]
    NoLocator(IpAddr),
    /// Something to be taken away that is not there.
    #[error("application {application} has no {what}")]
    Absent {
        /// Whose tables.
        application: Application,
        /// What is not there.
        what: String,
    },
}
