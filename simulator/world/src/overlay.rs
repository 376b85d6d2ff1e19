//! Overlays among simulated nodes: the control planes and the data plane of the testbed, unchanged.

mod flows;
mod forwarding;
mod meeting;
mod member;
mod neighbours;
mod node;
mod outer;
mod spec;
mod station;

pub use flows::{OverlayFlowIndex, OverlayFlowSpec};
pub use member::{OverlayCounters, OverlayMember};
pub use spec::{DataPlane, MemberSpec, OverlaySpec};

use crate::build::MTU;
use crate::replay::Recording;
use crate::world::{World, WorldError};
use forwarding::Forwarding;
use node::OverlayNode;
use plait_control_overlay::record::Entry;
use plait_control_overlay::{Config, Key, written};
use plait_dataplane_overlay::Miss;
use plait_dataplane_reference::Counts;
use plait_model_overlay::{Application, Locators, NodeId, Weight};
use plait_model_topology::random::SplitMix64;
use plait_model_wire::number::{port, protocol};
use plait_simulator_engine::{HostIndex, NodeIndex};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// How many members others join by. Choice: two, so that neither's loss keeps anyone out.
const SEEDS: usize = 2;

/// An overlay by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OverlayIndex(pub usize);

/// The overlays of a world.
#[derive(Debug, Default)]
pub(crate) struct Overlays {
    all: Vec<Members>,
    /// Where each node is that is a member of any.
    nodes: BTreeMap<NodeIndex, HostIndex>,
    /// The overlay of each flow, and the places of sender and receiver in it.
    flows: Vec<(OverlayIndex, [usize; 2])>,
}

impl Overlays {
    /// What the data plane of each member's node counted.
    pub fn counts<'a>(&'a self, world: &'a World) -> impl Iterator<Item = (NodeIndex, &'a Counts)> {
        self.nodes
            .iter()
            .filter_map(|(node, host)| Some((*node, world.simulation.host::<OverlayNode>(*host)?.counts())))
    }
}

/// The members of an overlay.
#[derive(Debug)]
struct Members {
    application: Application,
    hosts: Vec<(NodeIndex, HostIndex)>,
    ids: Vec<NodeId>,
    group: Option<NodeId>,
    /// Whether what a member does not know leaves by its node's routes.
    falls_back: bool,
}

/// A member as the others know it.
struct Known {
    node: NodeIndex,
    id: NodeId,
    locators: Locators,
}

impl World {
    /// Adds an overlay, whose members begin to join each other now if they decide.
    ///
    /// # Errors
    /// Nodes that are not there or are members of the same application's overlay, members without a locator.
    pub fn add_overlay(&mut self, spec: &OverlaySpec) -> Result<OverlayIndex, WorldError> {
        let index = OverlayIndex(self.overlays.all.len());
        let known = self.known(spec)?;
        let seeds: Vec<IpAddr> =
            known.iter().take(SEEDS).filter_map(|known| known.locators.keys().next().copied()).collect();
        // Whoever shares the seed shares the key; nobody else is in a simulation.
        let mut random = SplitMix64::new(self.network.seed ^ (index.0 as u64 + 1) << 48);
        let (now, mtus) = (self.now(), self.mtus());
        let mut hosts = Vec::with_capacity(known.len());
        for (member, own) in spec.members.iter().zip(&known) {
            let mut draws = SplitMix64::new(random.draw());
            let mut joining = told(spec, member, own, &known);
            if let Some(config) = config(spec, own, &seeds) {
                joining.decide_by(config, now, move || draws.draw(), spec.is_recorded);
            }
            let host = self.overlay_node(own.node, mtus[own.node.0 as usize])?;
            let data_plane = member.data_plane.as_ref().or(spec.data_plane.as_ref());
            if let Some(plane) = data_plane {
                joining.give(own.id, plane);
                self.listen(host, plane)?;
            }
            let join = |node: &mut OverlayNode| {
                if let Some(plane) = data_plane {
                    node.forwarding().join(spec.application, spec.group, plane, own.id);
                }
                node.join(now, spec.application, joining);
            };
            self.simulation.with_host(host, join);
            hosts.push((own.node, host));
        }
        let ids = known.iter().map(|known| known.id).collect();
        let planes = spec.members.iter().filter_map(|member| member.data_plane.as_ref());
        let falls_back = planes.chain(&spec.data_plane).any(|plane| plane.config.miss == Miss::Kernel);
        let (application, group) = (spec.application, spec.group);
        self.overlays.all.push(Members { application, hosts, ids, group, falls_back });
        Ok(index)
    }

    /// Who the members are, and where each is reached.
    fn known(&self, spec: &OverlaySpec) -> Result<Vec<Known>, WorldError> {
        let known = |(place, member): (usize, &MemberSpec)| {
            let node = self.node(&member.node)?;
            let all = || self.assignment.all(node.0 as usize).map(|net| net.addr());
            let locators: Locators = match &member.locators {
                Some(given) => given.clone(),
                None => all().map(|locator| (locator, Weight::default())).collect(),
            };
            if locators.is_empty() {
                let message = format!("`{}` has no address that others could reach it at", member.node);
                return Err(WorldError::new(message));
            }
            let of_node = |of: &&Members| of.hosts.iter().any(|(known, _)| *known == node);
            if self.overlays.all.iter().filter(of_node).any(|of| of.application == spec.application) {
                let message = format!(
                    "`{}` is a member of an overlay of application {} already: give this one another number",
                    member.node, spec.application
                );
                return Err(WorldError::new(message));
            }
            Ok(Known { node, id: member.id.unwrap_or(NodeId(place as u32 + 1)), locators })
        };
        spec.members.iter().enumerate().map(known).collect()
    }

    /// What a node is to its overlays, which begins with its first one.
    fn overlay_node(&mut self, node: NodeIndex, mtu: u32) -> Result<HostIndex, WorldError> {
        if let Some(known) = self.overlays.nodes.get(&node) {
            return Ok(*known);
        }
        let addresses: Vec<IpAddr> = self.assignment.all(node.0 as usize).map(|net| net.addr()).collect();
        let families =
            [false, true].map(|is_ipv6| addresses.iter().any(|address| address.is_ipv6() == is_ipv6));
        let begins = Box::new(OverlayNode::new(Forwarding::new(mtu, families)));
        let host = self.simulation.add_host(node, port::OVERLAY_CONTROL, begins)?;
        self.overlays.nodes.insert(node, host);
        Ok(host)
    }

    /// Has a node take what comes to a data plane.
    fn listen(&mut self, host: HostIndex, plane: &DataPlane) -> Result<(), WorldError> {
        for (protocol, port) in Forwarding::arrivals(&plane.config) {
            match protocol {
                protocol::UDP => self.simulation.listen(host, port)?,
                _ => self.simulation.listen_to(host, protocol)?,
            }
        }
        Ok(())
    }

    /// By node, the largest packet that fits all of its links. Choice: a packet may fit the one that it would leave by and is not
    /// tried there, since routes change, and with them that link.
    fn mtus(&self) -> Vec<u32> {
        let mut mtus = vec![None; self.network.nodes.len()];
        let links = self.network.links.iter().map(|link| (&link.ends[..], link.mtu));
        let lans = self.network.lans.iter().map(|lan| (&lan.members[..], lan.mtu));
        for (ports, mtu) in links.chain(lans) {
            let own = mtu.unwrap_or(MTU);
            for port in ports {
                let known = &mut mtus[port.node];
                *known = Some(known.map_or(own, |known: u32| known.min(own)));
            }
        }
        mtus.into_iter().map(|mtu| mtu.unwrap_or(MTU)).collect()
    }

    /// A member of an overlay, by its place in the list that was given.
    pub fn member(&self, overlay: OverlayIndex, place: usize) -> Option<&OverlayMember> {
        self.overlays.all.get(overlay.0)?.member(self, place)
    }

    /// What the data plane of a member's node counted, of all overlays that the node is a member of.
    pub fn member_counts(&self, overlay: OverlayIndex, place: usize) -> Option<&Counts> {
        let (_, host) = self.overlays.all.get(overlay.0)?.hosts.get(place)?;
        Some(self.simulation.host::<OverlayNode>(*host)?.counts())
    }

    /// Changes a member, and wakes it: its plane, a frame to send.
    pub fn with_member<R>(
        &mut self,
        overlay: OverlayIndex,
        place: usize,
        change: impl FnOnce(&mut OverlayMember) -> R,
    ) -> Option<R> {
        let overlay = self.overlays.all.get(overlay.0)?;
        let (application, (_, host)) = (overlay.application, *overlay.hosts.get(place)?);
        let with = |node: &mut OverlayNode| node.member_mut(application).map(change);
        self.simulation.with_host(host, with).flatten()
    }

    /// What members of recorded overlays were told and did until now: a recording for each node with any.
    pub fn recordings(&self) -> Vec<Recording> {
        let mut entries: BTreeMap<NodeIndex, Vec<Entry>> = BTreeMap::new();
        for overlay in &self.overlays.all {
            for (place, (node, _)) in overlay.hosts.iter().enumerate() {
                let recorded = overlay.member(self, place).map(OverlayMember::recording);
                entries.entry(*node).or_default().extend(recorded.unwrap_or_default().iter().cloned());
            }
        }
        let recorded = entries.into_iter().filter(|(_, entries)| !entries.is_empty());
        let recording = |(node, mut entries): (NodeIndex, Vec<Entry>)| {
            entries.sort_by_key(|entry| entry.at);
            Recording::of(self.network.nodes[node.0 as usize].name.as_str(), entries)
        };
        recorded.map(recording).collect()
    }
}

impl Members {
    fn member<'a>(&self, world: &'a World, place: usize) -> Option<&'a OverlayMember> {
        let (_, host) = self.hosts.get(place)?;
        world.simulation.host::<OverlayNode>(*host)?.member(self.application)
    }
}

/// A member as it begins: who decides knows itself, others know all.
fn told(spec: &OverlaySpec, member: &MemberSpec, own: &Known, known: &[Known]) -> OverlayMember {
    let others = known.iter().filter(|other| spec.plane.is_none() && other.id != own.id);
    let others = others.map(|other| (other.id, other.locators.clone())).collect();
    let tables = written(own.id, own.locators.clone(), others, spec.group, member.routes.clone());
    OverlayMember::new(spec.application, &tables)
}

/// What a member decides by, if it does.
fn config(spec: &OverlaySpec, own: &Known, seeds: &[IpAddr]) -> Option<Config> {
    Some(Config {
        application: spec.application,
        own: own.id,
        seeds: seeds.iter().filter(|seed| !own.locators.contains_key(seed)).copied().collect(),
        locators: own.locators.clone(),
        group: spec.group,
        key: Key::new(*b"a key of simulated members").expect("it is long enough"),
        plane: spec.plane?,
        interval: spec.interval,
        neighbours: spec.neighbours,
    })
}
