//! What is learnt of a network becomes views, and tables become operations.

use super::{AccessSwitch, named};
use crate::fabric::Fabric;
use crate::table::{Operation, Table};
use plait_control_runtime::{Content, Driver, Name, Port, Signature, Snapshot, ViewId, changed};
use std::net::Ipv4Addr;

/// What the driver is called.
const DRIVER: &str = "fabric-driver";

/// What is learnt of a network, at one moment.
#[derive(Debug, Clone, Default)]
pub struct Learnt {
    /// The fabric, if it is another.
    pub fabric: Option<Fabric>,
    /// The switch that the host is behind, if it is another.
    pub access: Option<Ipv4Addr>,
}

/// What is learnt becomes views, and relay lists become operations on a sender's table.
#[derive(Debug, Clone, Copy, Default)]
pub struct FabricDriver;

impl Driver for FabricDriver {
    type Event = Learnt;
    type Message = Operation;

    fn name(&self) -> Name {
        named(DRIVER)
    }

    fn signature(&self) -> Signature {
        Signature {
            inputs: vec![Port::of::<Table>()],
            outputs: vec![Port::of::<Fabric>(), Port::of::<AccessSwitch>()],
        }
    }

    fn observe(&mut self, learnt: Learnt, views: &Snapshot) -> Vec<(ViewId, Content)> {
        let access = learnt.access.map(|id| AccessSwitch { id });
        let fabric = learnt.fabric.and_then(|fabric| changed(fabric, views));
        fabric.into_iter().chain(access.and_then(|access| changed(access, views))).collect()
    }

    fn push(&mut self, _: &ViewId, before: Option<&Content>, now: &Content) -> Vec<Operation> {
        let read = |content: &Content| content.read::<Table>().unwrap_or_default();
        before.map(read).unwrap_or_default().operations(&read(now))
    }
}
