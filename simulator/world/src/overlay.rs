//! Overlays among simulated nodes: the control planes and the data plane of the testbed, unchanged.

mod flows;
mod forwarding;
mod meeting;
mod neighbours;
mod node;
mod station;

pub use flows::{OverlayFlowIndex, OverlayFlowSpec};
pub use node::{OverlayCounters, OverlayNode};

use crate::replay::Recording;
use crate::world::{World, WorldError};
use plait_control_overlay::record::Entry;
use plait_control_overlay::{Config, Key, Plane};
use plait_dataplane_overlay::{ApplicationConfig, DeviceConfig, Encapsulation, Miss};
use plait_model_overlay::{Application, Locators, NodeId, Weight};
use plait_model_topology::random::SplitMix64;
use plait_model_wire::number::port;
use plait_simulator_engine::{HostIndex, NodeIndex};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// An overlay to add.
#[derive(Debug, Clone)]
pub struct OverlaySpec {
    /// Its application's number, of which a node takes part in each once.
    pub application: Application,
    /// Its members.
    pub members: Vec<MemberSpec>,
    /// How routes are decided at first.
    pub plane: Plane,
    /// From one probe to the next.
    pub interval: Duration,
    /// How many others a member probes; all if not said.
    pub neighbours: Option<usize>,
    /// The identity that stands for all members.
    pub group: Option<NodeId>,
    /// What moves tenants' frames; nothing does if not said, and the overlay is its control plane alone.
    pub data_plane: Option<DataPlane>,
    /// Whether what members are told and do is kept: [`OverlayNode::recording`].
    pub is_recorded: bool,
}

/// A member to be.
#[derive(Debug, Clone)]
pub struct MemberSpec {
    /// The node's name.
    pub node: String,
    /// Its identity; its place among the members, from 1, if not said.
    pub id: Option<NodeId>,
    /// Where it is reached; all its addresses if not said.
    pub locators: Option<Vec<IpAddr>>,
}

/// What moves tenants' frames.
#[derive(Debug, Clone, Copy)]
pub struct DataPlane {
    /// The virtual network of the tenants' device.
    pub vni: u32,
    /// The outer headers.
    pub encapsulation: Encapsulation,
    /// Overlay hops of a frame.
    pub ttl: u8,
    /// Bytes of the largest packet that the device takes; all that fits the way if not said.
    pub mtu: Option<u32>,
    /// Seconds after which a silent station is forgotten.
    pub ageing: u32,
    /// Whether frames for stations that nobody knows go to the group.
    pub floods: bool,
}

impl DataPlane {
    /// One with a virtual network and an encapsulation, and else as a testbed has it where a file says nothing.
    pub fn new(vni: u32, encapsulation: Encapsulation) -> Self {
        let application = ApplicationConfig { encapsulation, ..ApplicationConfig::default() };
        Self::of(&application, &DeviceConfig::new("", Application::ETHERNET, vni))
    }

    /// That of a testbed's device. The usual encapsulation stands in for one that is not simulated.
    pub fn of(application: &ApplicationConfig, device: &DeviceConfig) -> Self {
        let &ApplicationConfig { ttl, miss, encapsulation, .. } = application;
        let &DeviceConfig { vni, mtu, ageing, .. } = device;
        let is_simulated = forwarding::port_of(encapsulation).is_ok();
        let encapsulation = if is_simulated { encapsulation } else { Encapsulation::default() };
        Self { vni, encapsulation, ttl, mtu, ageing, floods: miss == Miss::Group }
    }
}

impl OverlaySpec {
    /// An overlay of Ethernet frames, whose members probe each other every second.
    pub fn new(members: impl IntoIterator<Item = impl Into<String>>, plane: Plane) -> Self {
        let member = |node: String| MemberSpec { node, id: None, locators: None };
        Self {
            application: Application::ETHERNET,
            members: members.into_iter().map(|node| member(node.into())).collect(),
            plane,
            interval: Duration::from_secs(1),
            neighbours: None,
            group: Some(GROUP),
            data_plane: None,
            is_recorded: false,
        }
    }
}

/// The group of an overlay whose file names none, as a testbed gives it.
const GROUP: NodeId = NodeId(0xe000_0001);

/// How many members others join by. Choice: two, so that neither's loss keeps anyone out.
const SEEDS: usize = 2;

/// An overlay by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OverlayIndex(pub usize);

/// The overlays of a world.
#[derive(Debug, Default)]
pub(crate) struct Overlays {
    all: Vec<Members>,
    /// The overlay of each flow, and the places of sender and receiver in it.
    flows: Vec<(OverlayIndex, [usize; 2])>,
}

/// The members of an overlay.
#[derive(Debug)]
struct Members {
    hosts: Vec<(NodeIndex, HostIndex)>,
    ids: Vec<NodeId>,
    group: Option<NodeId>,
}

impl World {
    /// Adds an overlay, whose members begin to join each other now.
    ///
    /// # Errors
    /// Nodes that are not there, members without a locator, two overlays of data planes on one node.
    pub fn add_overlay(&mut self, spec: &OverlaySpec) -> Result<OverlayIndex, WorldError> {
        let index = OverlayIndex(self.overlays.all.len());
        let mut configs = Vec::with_capacity(spec.members.len());
        for (place, member) in spec.members.iter().enumerate() {
            let node = self.node(&member.node)?;
            let all = || self.assignment.all(node.0 as usize).map(|net| net.addr());
            let locators: Locators = match &member.locators {
                Some(given) => given.iter().map(|locator| (*locator, Weight::default())).collect(),
                None => all().map(|locator| (locator, Weight::default())).collect(),
            };
            if locators.is_empty() {
                let message = format!("`{}` has no address that others could reach it at", member.node);
                return Err(WorldError::new(message));
            }
            let own = member.id.unwrap_or(NodeId(place as u32 + 1));
            configs.push((node, own, locators));
        }
        let seeds: Vec<IpAddr> = configs
            .iter()
            .take(SEEDS)
            .filter_map(|(_, _, locators)| locators.keys().next().copied())
            .collect();
        // Whoever shares the seed shares the key; nobody else is in a simulation.
        let mut random = SplitMix64::new(self.network.seed ^ (index.0 as u64 + 1) << 48);
        let now = self.now();
        let mut hosts = Vec::with_capacity(configs.len());
        let ids = configs.iter().map(|(_, own, _)| *own).collect();
        let most = configs.len();
        for (node, own, locators) in configs {
            let config = Config {
                application: spec.application,
                own,
                seeds: seeds.iter().filter(|seed| !locators.contains_key(seed)).copied().collect(),
                locators,
                group: spec.group,
                key: Key::new(*b"a key of simulated members").expect("it is long enough"),
                plane: spec.plane,
                interval: spec.interval,
                neighbours: spec.neighbours,
            };
            let mut draws = SplitMix64::new(random.draw());
            let forwarding = spec.data_plane.map(|plane| forwarding::Forwarding::new(&config, plane, most));
            let member = OverlayNode::new(config, now, move || draws.draw(), forwarding, spec.is_recorded);
            let host = self.simulation.add_host(node, port::OVERLAY_CONTROL, Box::new(member))?;
            if let Some(plane) = spec.data_plane {
                self.simulation.listen(host, forwarding::port_of(plane.encapsulation)?)?;
            }
            hosts.push((node, host));
        }
        self.overlays.all.push(Members { hosts, ids, group: spec.group });
        Ok(index)
    }

    /// A member of an overlay, by its place in the list that was given.
    pub fn member(&self, overlay: OverlayIndex, place: usize) -> Option<&OverlayNode> {
        self.simulation.host(self.overlays.all.get(overlay.0)?.hosts.get(place)?.1)
    }

    /// Changes a member, and wakes it: its plane, a frame to send.
    pub fn with_member<R>(
        &mut self,
        overlay: OverlayIndex,
        place: usize,
        change: impl FnOnce(&mut OverlayNode) -> R,
    ) -> Option<R> {
        let (_, host) = *self.overlays.all.get(overlay.0)?.hosts.get(place)?;
        self.simulation.with_host(host, change)
    }

    /// What members of recorded overlays were told and did until now: a recording for each node with any.
    pub fn recordings(&self) -> Vec<Recording> {
        let mut entries: BTreeMap<NodeIndex, Vec<Entry>> = BTreeMap::new();
        for (node, host) in self.overlays.all.iter().flat_map(|overlay| &overlay.hosts) {
            let member: Option<&OverlayNode> = self.simulation.host(*host);
            let recorded = member.map(OverlayNode::recording).filter(|recorded| !recorded.is_empty());
            entries.entry(*node).or_default().extend(recorded.unwrap_or_default().iter().cloned());
        }
        let recorded = entries.into_iter().filter(|(_, entries)| !entries.is_empty());
        let recording = |(node, mut entries): (NodeIndex, Vec<Entry>)| {
            entries.sort_by_key(|entry| entry.at);
            Recording::of(self.network.nodes[node.0 as usize].name.as_str(), entries)
        };
        recorded.map(recording).collect()
    }
}
