//! Tenants' packets: the reference walk over compiled tables, as the programs of the kernel have them.

use super::outer::{below, flow_of, framed};
use super::spec::DataPlane;
use plait_dataplane_overlay::{
    ApplicationConfig, Compiler, DeviceConfig, Exit, Identifier, Kind, Miss, Neighbour, Room, Underlay, Write,
};
use plait_dataplane_reference::tables::{Adjacency, Device, Drop, FibEntry, FibKey, Tenant, VniKey, WayOut};
use plait_dataplane_reference::{Counts, Outcome, Table, Walk, arrivals};
use plait_model_overlay::{Application, Event, NodeId, Overlay};
use plait_model_wire::ethernet::{self, Mac};
use plait_simulator_engine::{Datagram, Transmit};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

/// What moves tenants' packets on one node, of all its overlays.
#[derive(Debug)]
pub(super) struct Forwarding {
    compiler: Compiler,
    walk: Walk,
    applications: BTreeMap<Application, Carried>,
    /// By tenants' numbers, of which the first is 1.
    ports: Vec<Port>,
    /// The second at which silent stations are forgotten next.
    sweeps: u32,
}

/// What an overlay's packets carry.
#[derive(Debug)]
struct Carried {
    config: ApplicationConfig,
    group: Option<NodeId>,
    /// The identifiers that are said to be at each node.
    entries: BTreeMap<NodeId, Vec<FibKey>>,
}

/// A tenant's device.
#[derive(Debug)]
struct Port {
    config: DeviceConfig,
    device: Device,
    address: Mac,
    /// Its place among those of its overlay.
    place: usize,
}

/// Seconds from one look for silent stations to the next, as an agent has it.
const SWEEP: u32 = 10;

const UNDERLAY_INTERFACE: u32 = 1;

/// The slot of where packets leave that nobody knows. Choice: by the node's best route, where an agent asks those of one device; of a
/// host with one link that is the same.
const WAY_OUT: u32 = 1;

/// Everything is behind one neighbour: the simulated network finds the way.
struct Beyond;

const GATEWAY: Exit = Exit {
    neighbour: Neighbour { interface: UNDERLAY_INTERFACE, address: IpAddr::V4(Ipv4Addr::LOCALHOST) },
    mtu: None,
};

/// Room for all that there is: nothing here is as long as it says.
const ROOM: Room = Room {
    nodes: u32::MAX,
    hops: u32::MAX,
    groups: u32::MAX,
    wires: u32::MAX,
    neighbours: 4,
    neighbour_slots: 8,
};

impl Underlay for Beyond {
    fn exit(&self, _: IpAddr, _: IpAddr) -> Option<Exit> {
        Some(GATEWAY)
    }
}

/// What becomes of a packet: each of its copies.
#[derive(Debug)]
pub(super) enum Step {
    /// A packet of the overlay leaves by the network below.
    Below(Transmit),
    /// A frame comes up by a tenant's device, of an overlay by its place.
    Up(Application, usize, Vec<u8>),
}

impl Forwarding {
    /// That of a node whose packets below are so long at most, and that has routes of IPv4, and of IPv6.
    pub fn new(mtu: u32, families: [bool; 2]) -> Self {
        let mut compiler = Compiler::new(ROOM);
        let adjacency = Adjacency { interface: UNDERLAY_INTERFACE, mtu, destination: mac(1), source: mac(0) };
        let (writes, _) = compiler.exit(GATEWAY, Some(adjacency), Duration::ZERO);
        let (mut walk, applications) = (Walk::default(), BTreeMap::new());
        let interfaces = families.map(|is_there| if is_there { UNDERLAY_INTERFACE } else { 0 });
        walk.ways_out.insert(WAY_OUT, WayOut { interfaces, gateway: [0; 16] });
        let mut forwarding = Self { compiler, walk, applications, ports: Vec::new(), sweeps: SWEEP };
        writes.into_iter().for_each(|write| forwarding.write(write));
        forwarding
    }

    /// Takes part in an overlay, as that member. An identifier that is said of several members is the last one's, as an agent has it.
    pub fn join(&mut self, application: Application, group: Option<NodeId>, plane: &DataPlane, own: NodeId) {
        let config = plane.config.clone();
        let first = self.ports.len() as u32 + 1;
        for (place, device) in plane.devices.iter().enumerate() {
            let config = DeviceConfig { application, ..device.clone() };
            let tenant = first + place as u32;
            let key = VniKey { application: application.0.into(), vni: config.vni };
            self.walk.vnis.insert(key, tenant);
            let device = config.device(plane.config.carries, tenant);
            self.ports.push(Port { config, device, address: plane.address(own, place), place });
        }
        let key = |(device, identifier): (usize, &Identifier)| FibKey {
            tenant: first + device as u32,
            identifier: identifier.bytes(plane.devices.get(device).and_then(|device| device.bits)),
        };
        let last: HashMap<FibKey, NodeId> = plane
            .entries
            .iter()
            .map(|(device, identifier, node)| (key((*device, identifier)), *node))
            .collect();
        let mut entries: BTreeMap<NodeId, Vec<FibKey>> = BTreeMap::new();
        for (device, identifier, node) in &plane.entries {
            let key = key((*device, identifier));
            if last.get(&key) == Some(node) {
                entries.entry(*node).or_default().push(key);
            }
        }
        self.compiler.set_kind(application, config.kind());
        self.applications.insert(application, Carried { config, group, entries });
    }

    /// Follows changes of an overlay's LIB and RIB.
    pub fn follow(&mut self, application: Application, overlay: &Overlay, events: &[Event], now: Duration) {
        let (writes, _) = self.compiler.follow(overlay, events, &Beyond, now);
        writes.into_iter().for_each(|write| self.write(write));
        let Some(carried) = self.applications.get(&application) else { return };
        let Self { compiler, walk, ports, .. } = self;
        let path = |node: NodeId| compiler.path(application, node);
        let unknown = carried.group.filter(|_| carried.config.floods());
        let unknown = unknown.and_then(|group| Some((group.0, path(group)?)));
        for port in ports.iter().filter(|port| port.config.application == application) {
            let interface = interface_of(port.device.tenant);
            let tenant = port.config.tenant(carried.config.carries, interface, port.address.0, unknown);
            let way_out = if carried.config.miss == Miss::Kernel { WAY_OUT } else { 0 };
            walk.tenants.insert(port.device.tenant, Tenant { way_out, ..tenant });
        }
        let changed: BTreeSet<NodeId> = events
            .iter()
            .filter_map(|event| match *event {
                Event::Own { .. } => None,
                Event::Node { node, .. } | Event::Route { destination: node, .. } => Some(node),
            })
            .collect();
        for node in changed {
            let keys = carried.entries.get(&node).into_iter().flatten();
            let Some(path) = path(node) else { continue };
            for key in keys {
                // What was counted stays where the way is the same.
                let known = walk.fib.get(key).filter(|known| (known.node, known.path) == (node.0, path));
                let fresh = FibEntry { node: node.0, path, heard: 0, reserved: 0, packets: 0, bytes: 0 };
                walk.fib.insert(*key, known.map_or(fresh, |known| FibEntry { heard: 0, ..known }));
            }
        }
    }

    /// What comes to an overlay's nodes by the network below: IP protocols, of UDP with their ports.
    pub fn arrivals(config: &ApplicationConfig) -> BTreeSet<(u8, u16)> {
        let Kind { accepts, driver, .. } = config.kind();
        let all = accepts.iter().flat_map(|kind| arrivals(*kind as u32, driver));
        all.map(|arrival| ((arrival >> 16) as u8, arrival as u16)).collect()
    }

    /// A tenant's frame leaves a device of an overlay, by its place.
    pub fn transmit(
        &mut self,
        application: Application,
        place: usize,
        frame: &[u8],
        second: u32,
    ) -> Vec<Step> {
        self.sweep(second);
        let is_it = |port: &&Port| (port.config.application, port.place) == (application, place);
        let Some(port) = self.ports.iter().find(is_it) else { return Vec::new() };
        let tenant = port.device.tenant;
        if port.config.mtu.is_some_and(|mtu| frame.len() > mtu as usize + ethernet::Header::LENGTH) {
            *self.walk.counts.drops.entry(Drop::TooBig).or_default() += 1;
            return Vec::new();
        }
        self.leave(tenant, frame, second)
    }

    /// A packet comes in by the underlay.
    pub fn receive(&mut self, datagram: &Datagram<'_>, second: u32) -> Vec<Step> {
        self.sweep(second);
        let Some(frame) = framed(datagram, Mac(mac(1)), Mac(mac(0))) else { return Vec::new() };
        let outcome = self.walk.receive(&frame, second);
        self.steps(outcome, second)
    }

    fn port(&self, tenant: u32) -> Option<&Port> {
        self.ports.get(tenant.checked_sub(1)? as usize)
    }

    fn leave(&mut self, tenant: u32, frame: &[u8], second: u32) -> Vec<Step> {
        let Some(port) = self.port(tenant) else { return Vec::new() };
        let device = port.device;
        let outcome = self.walk.transmit(&device, frame, flow_of(frame), second);
        self.steps(outcome, second)
    }

    /// Forgets stations that were silent for long. Choice: as the next packet passes, which is the first that can tell.
    fn sweep(&mut self, second: u32) {
        if second < self.sweeps {
            return;
        }
        self.sweeps = second - second % SWEEP + SWEEP;
        let Self { walk, ports, .. } = self;
        let age = |tenant: u32| ports.get(tenant as usize - 1).map_or(0, |port| port.config.ageing);
        walk.fib
            .retain(|key, entry| entry.heard == 0 || second.saturating_sub(entry.heard) <= age(key.tenant));
    }

    pub fn counts(&self) -> &Counts {
        &self.walk.counts
    }

    fn steps(&mut self, outcome: Outcome, second: u32) -> Vec<Step> {
        let Outcome::Sent(sent) = outcome else { return Vec::new() };
        let mut steps = Vec::new();
        for sent in sent {
            if sent.via.is_some() || sent.interface == UNDERLAY_INTERFACE {
                steps.extend(below(&sent.frame).map(Step::Below));
                continue;
            }
            let tenant = tenant_of(sent.interface);
            if !sent.is_up {
                // What a host is told leaves by the tenant's device.
                steps.extend(self.leave(tenant, &sent.frame, second));
            } else if let Some(port) = self.port(tenant) {
                steps.push(Step::Up(port.config.application, port.place, sent.frame));
            }
        }
        steps
    }

    fn write(&mut self, write: Write) {
        let walk = &mut self.walk;
        match write {
            Write::Application(key, value) => put(&mut walk.applications, key, Some(value)),
            Write::Node(key, value) => put(&mut walk.nodes, key, value),
            Write::Path(key, value) => {
                put(&mut walk.paths, key, Some(value));
                // What relays said was of the way before.
                put(&mut walk.limits, key, None);
            }
            Write::Hop(key, value) => put(&mut walk.hops, key, Some(value)),
            Write::Group(key, value) => put(&mut walk.groups, key, Some(*value)),
            Write::Wire(key, value) => put(&mut walk.wires, key, Some(value)),
            Write::Adjacency(key, value) => put(&mut walk.adjacencies, key, Some(value)),
            Write::AdjacencySlot(key, value) => put(&mut walk.adjacency_slots, key, Some(value)),
            Write::Peer(key, value) => put(&mut walk.peers, key, value),
            Write::Endpoint(key, is_there) => put(&mut walk.endpoints, key, is_there.then_some(0)),
            Write::Locator(key, value) => put(&mut walk.locators, key, value),
            Write::UncountHop(path) => drop(walk.counts.hops.remove(&path)),
            Write::UncountWire(wire) => drop(walk.counts.wires.remove(&wire)),
            Write::Forget(node) => {
                let Walk { fib, tenants, .. } = walk;
                let is_its = |tenant: u32| {
                    tenants.get(&tenant).is_some_and(|tenant| tenant.application == node.application)
                };
                fib.retain(|key, entry| entry.node != node.node || !is_its(key.tenant));
            }
        }
    }
}

fn put<K: Hash + Eq, V>(table: &mut Table<K, V>, key: K, value: Option<V>) {
    match value {
        Some(value) => drop(table.insert(key, value)),
        None => drop(table.remove(&key)),
    }
}

/// A locally administered address.
fn mac(last: u8) -> [u8; 6] {
    [2, 0, 0, 0, 1, last]
}

/// The interface of a tenant's device.
fn interface_of(tenant: u32) -> u32 {
    tenant + UNDERLAY_INTERFACE
}

/// The tenant whose device an interface is.
fn tenant_of(interface: u32) -> u32 {
    interface.saturating_sub(UNDERLAY_INTERFACE)
}
