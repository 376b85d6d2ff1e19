//! OpenFlow in nodes: from the kinds `ovs` and `controller` of a file to Open vSwitch and `plait controller run`.
//!
//! ```text
//! file ─ desired ─► OpenFlowState of each ─ plan ─► Step::OpenFlow ─► Builder::openflow ─► controller, then switch
//! ```
//!
//! A switch speaks with its controller out of band, over a LAN that no file has to write: a hidden switch named
//! `control:CONTROLLER`, of which each side has the interface [`INTERFACE`]. It exists in the state alone. The network
//! that is addressed and routed never hears of it, and it is no port of any switch.

mod applications;
mod controller;
mod desired;
mod switch;

pub use applications::{components, controller_applications};
pub(crate) use desired::put_in;
pub(crate) use switch::missing_program;

use crate::build::Builder;
use crate::kernel::files::Doing;
use crate::plan::OpenFlowState;
use std::io;

/// What the interface to the LAN between a controller and its switches is called, on both sides.
pub(crate) const INTERFACE: &str = "control";

/// What runs in a node.
pub(crate) fn daemons(of: &OpenFlowState) -> &'static [&'static str] {
    match of {
        OpenFlowState::Switch(_) => &["ovsdb-server", "ovs-vswitchd"],
        OpenFlowState::Controller(_) => &["controller"],
    }
}

impl Builder {
    /// Leads nodes to what they shall be to OpenFlow: controllers first, each heard before a switch asks for it.
    ///
    /// # Errors
    /// The node and program that did not start, with the last line that it said.
    pub(crate) fn openflow(&mut self, nodes: &[(&str, Option<&OpenFlowState>)]) -> io::Result<()> {
        let mut controllers = Vec::new();
        let mut switches = Vec::new();
        for (node, wanted) in nodes {
            match wanted {
                Some(OpenFlowState::Controller(controller)) => controllers.push((*node, controller)),
                Some(OpenFlowState::Switch(switch)) => switches.push((*node, switch)),
                // A node of another kind is another node: what ran in it ended with it.
                None => {}
            }
        }
        for (node, controller) in &controllers {
            self.start_controller(node, controller).doing(|| format!("start the controller {node}"))?;
        }
        self.wait_for_controllers(&controllers)?;
        self.lead_switches(&switches)
    }
}
