//! A network that is up in virtual time.

use crate::control::Control;
use crate::follow::{Detection, Following};
use crate::overlay::Overlays;
use crate::paths::{PathsSpec, Steering};
use plait_model_link::{Conditions, ConditionsSpec};
use plait_model_topology::Network;
use plait_model_topology::address::{Assignment, assign};
use plait_model_topology::diagnostic::Diagnostic;
use plait_model_topology::network::Port;
use plait_model_traffic::TrafficSpec;
use plait_simulator_engine::{
    AddError, Arrivals, CaptureIndex, FlowCounters, FlowIndex, FlowSpec, LinkIndex, NodeIndex, Simulation,
    Size, Totals,
};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// How a network is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Threads that work on it. Results do not depend on it.
    pub threads: usize,
    /// Whether routers spread flows over all shortest paths (ECMP) rather than keeping to the first, as a testbed's static
    /// routes do.
    pub multipath: bool,
    /// Whether routes, and paths that hosts learn, follow links, and how late. Without it they stay as they are.
    pub detection: Option<Detection>,
}

impl Default for Options {
    /// One thread, and the static routes of a testbed.
    fn default() -> Self {
        Self { threads: 1, multipath: false, detection: None }
    }
}

/// A network that is up in virtual time.
pub struct World {
    pub(crate) network: Network,
    pub(crate) assignment: Assignment,
    pub(crate) simulation: Simulation,
    /// Links by their names: those of the file, then each LAN's members.
    pub(crate) links: Vec<WorldLink>,
    /// By node and interface of the network, the interface of the simulation.
    pub(crate) interfaces: Vec<Vec<usize>>,
    pub(crate) overlays: Overlays,
    /// None where no host chooses paths.
    pub(crate) steering: Option<Steering>,
    /// None where routes stay as they are.
    pub(crate) following: Option<Following>,
    pub(crate) control: Option<Control>,
}

/// A link as a run knows it.
pub(crate) struct WorldLink {
    pub name: String,
    /// The LAN that it is a member's cable of.
    pub lan: Option<usize>,
    pub index: LinkIndex,
    /// The interfaces that it joins; of a member's cable its own alone.
    pub ports: Vec<Port>,
    /// Whether neighbours see when it fails.
    pub is_seen: bool,
    pub specs: [ConditionsSpec; 2],
    pub conditions: [Arc<Conditions>; 2],
}

/// Why a world cannot do something.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct WorldError {
    /// What failed and why, with the remedy if there is one.
    pub message: String,
}

impl WorldError {
    /// An error in words.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

impl From<AddError> for WorldError {
    fn from(error: AddError) -> Self {
        Self::new(error.to_string())
    }
}

impl World {
    /// Builds a network with the addresses that a testbed gives it.
    ///
    /// What [`unportable`](crate::unportable) names is left out: commands, files and daemons are not there, `routing: frr`
    /// becomes shortest paths, which follow links where the options say
    /// how late.
    ///
    /// # Errors
    /// Addresses that clash or run out, each with its place and remedy.
    pub fn build(network: &Network, options: Options) -> Result<Self, Vec<Diagnostic>> {
        let assignment = assign(network, None)?;
        crate::build::build(network, assignment, options, None)
    }

    /// Builds a network whose hosts choose paths.
    ///
    /// # Errors
    /// As [`build`](Self::build); addresses of relays that somebody else has, lists that no stack can name.
    pub fn build_with_paths(
        network: &Network,
        paths: &PathsSpec,
        options: Options,
    ) -> Result<Self, Vec<Diagnostic>> {
        let assignment = assign(network, None)?;
        crate::build::build(network, assignment, options, Some(paths))
    }

    /// The clock: nought when the network was built.
    pub fn now(&self) -> Duration {
        self.simulation.now()
    }

    /// Lets everything happen that is due before an instant.
    pub fn run_until(&mut self, instant: Duration) {
        while let Some(due) = self.next_to_follow().filter(|due| *due <= instant) {
            self.simulation.run_until(due);
            self.follow();
        }
        self.simulation.run_until(instant);
    }

    /// The network as it was built.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Who has which address.
    pub fn assignment(&self) -> &Assignment {
        &self.assignment
    }

    /// The simulation below, for what has no name in a network file.
    pub fn simulation(&mut self) -> &mut Simulation {
        &mut self.simulation
    }

    /// What became of all packets.
    pub fn totals(&mut self) -> Totals {
        self.simulation.totals()
    }

    /// A node by name.
    ///
    /// # Errors
    /// There is none.
    pub fn node(&self, name: &str) -> Result<NodeIndex, WorldError> {
        let index = self.network.node(name);
        let index = index.ok_or_else(|| WorldError::new(format!("no node is called `{name}`")))?;
        Ok(NodeIndex(index as u32))
    }

    /// The address that a node's name resolves to.
    ///
    /// # Errors
    /// There is no such node, or it has no address, as switches have none.
    pub fn address(&self, name: &str) -> Result<IpAddr, WorldError> {
        let node = self.node(name)?;
        let address = self.assignment.primary(node.0 as usize);
        address.ok_or_else(|| {
            WorldError::new(format!("`{name}` has no address to send to: name a host or router"))
        })
    }

    /// The address by which a node sends to another: its first of that IP version.
    ///
    /// # Errors
    /// There is no such node, or it has none.
    pub fn address_to(&self, name: &str, to: IpAddr) -> Result<IpAddr, WorldError> {
        let node = self.node(name)?;
        let mut all = self.assignment.all(node.0 as usize).map(|net| net.addr());
        all.find(|own| own.is_ipv4() == to.is_ipv4()).ok_or_else(|| {
            WorldError::new(format!("`{name}` has no address of {to}'s IP version: give both nodes one"))
        })
    }

    /// Adds traffic among hosts, in the order given, from an instant until another. It is drawn from a seed.
    ///
    /// # Errors
    /// Traffic that cannot be, hosts without an address.
    pub fn add_traffic(
        &mut self,
        traffic: &TrafficSpec,
        hosts: &[&str],
        seed: u64,
        start: Duration,
        stop: Option<Duration>,
    ) -> Result<Vec<FlowIndex>, WorldError> {
        let addresses = hosts.iter().map(|host| self.address(host)).collect::<Result<Vec<_>, _>>()?;
        let flows = traffic.flows(hosts.len(), seed).map_err(|error| WorldError::new(error.to_string()))?;
        let add = |flow: &plait_model_traffic::Flow| {
            let spec = FlowSpec {
                arrivals: Arrivals::Constant(flow.rate),
                size: Size::Constant(flow.size.bytes() as u32),
                start,
                stop,
                ..FlowSpec::constant(
                    addresses[flow.from],
                    addresses[flow.to],
                    [flow.source_port, flow.destination_port],
                    flow.rate,
                )
            };
            Ok(self.simulation.add_flow(&spec)?)
        };
        flows.iter().map(add).collect()
    }

    /// What became of a flow.
    pub fn flow(&self, flow: FlowIndex) -> FlowCounters {
        self.simulation.flow_counters(flow)
    }

    /// Keeps the packets of an interface: see [`Simulation::pcapng`].
    ///
    /// # Errors
    /// There is no such node or interface.
    pub fn add_capture(&mut self, node: &str, interface: &str) -> Result<CaptureIndex, WorldError> {
        let index = self.node(node)?;
        let interfaces = &self.network.nodes[index.0 as usize].interfaces;
        let at = interfaces.iter().position(|known| known.name == interface);
        let at = at.ok_or_else(|| {
            let names: Vec<&str> = interfaces.iter().map(|known| known.name.as_str()).collect();
            WorldError::new(format!("`{node}` has no interface `{interface}`: it has {}", names.join(", ")))
        })?;
        Ok(self.simulation.add_capture(index, self.interfaces[index.0 as usize][at]))
    }
}
