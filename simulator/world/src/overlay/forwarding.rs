//! Tenants' frames: the reference walk over compiled tables, as the programs of the kernel have them.

use super::DataPlane;
use crate::world::WorldError;
use plait_control_overlay::Config;
use plait_dataplane_overlay::{Compiler, Encapsulation, Kind, Neighbour, Room, Underlay, Write};
use plait_dataplane_reference::tables::{Adjacency, Device, Drop, Tenant, VniKey, driver, size};
use plait_dataplane_reference::{Counts, Outcome, Sent, Table, Walk};
use plait_model_overlay::{Application, Event, NodeId, Overlay};
use plait_model_wire::ethernet::{self, Mac};
use plait_model_wire::number::{ether_type, port, protocol};
use plait_model_wire::{ipv4, ipv6, push, udp};
use plait_simulator_engine::{Datagram, StackIndex, Transmit};
use std::hash::Hash;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

/// What moves tenants' frames on one node.
///
/// The underlay is the simulated network: what a walk sends below becomes a datagram of that network with the same
/// ports and payload, and what comes is put into a frame again. Choice: hop limit and congestion bits of the outer
/// header are those that the simulation gives its packets.
#[derive(Debug)]
pub(super) struct Forwarding {
    application: Application,
    group: Option<NodeId>,
    plane: DataPlane,
    port: u16,
    compiler: Compiler,
    walk: Walk,
    /// The second at which silent stations are forgotten next.
    sweeps: u32,
}

/// Seconds from one look for silent stations to the next, as an agent has it.
const SWEEP: u32 = 10;

/// The one tenant of a node, and its device.
const TENANT: u32 = 1;
const TENANT_INTERFACE: u32 = 2;
const UNDERLAY_INTERFACE: u32 = 1;

const DEVICE: Device =
    Device { tenant: TENANT, driver: driver::ETHERNET, prefix: [0; 2], offset: 0, mask: [0; 16] };

/// Everything is behind one neighbour: the simulated network finds the way.
struct Beyond;

const GATEWAY: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

impl Underlay for Beyond {
    fn neighbour(&self, _: IpAddr, _: IpAddr) -> Option<Neighbour> {
        Some(Neighbour { interface: UNDERLAY_INTERFACE, address: GATEWAY })
    }
}

/// What becomes of a frame or packet: each of its copies.
#[derive(Debug)]
pub(super) enum Step {
    /// A packet of the overlay leaves by the network below.
    Below(Transmit),
    /// A frame comes up by the tenant's device.
    Up(Vec<u8>),
}

/// The UDP port at which an encapsulation comes.
pub(super) fn port_of(encapsulation: Encapsulation) -> Result<u16, WorldError> {
    match encapsulation {
        Encapsulation::Ovstack => Ok(port::OVSTACK),
        Encapsulation::Vxlan => Ok(port::VXLAN),
        Encapsulation::Geneve => Ok(port::GENEVE),
        other => Err(WorldError::new(format!(
            "simulated nodes send nothing but UDP, and `{other}` is not in it: use ovstack, vxlan or geneve"
        ))),
    }
}

impl Forwarding {
    pub fn new(config: &Config, plane: DataPlane, members: usize) -> Self {
        let most = members as u32 + 16;
        let room = Room {
            nodes: most,
            hops: 2 * most,
            groups: 32,
            wires: 2 * most * size::CHOICES,
            neighbours: 4,
            neighbour_slots: 8,
        };
        let mut compiler = Compiler::new(room);
        let mut kind = Kind::of(driver::ETHERNET);
        kind.ttl = plane.ttl;
        kind.encapsulation = plane.encapsulation;
        kind.accepts.insert(plane.encapsulation);
        kind.vni = plane.vni;
        compiler.set_kind(config.application, kind);
        let port = port_of(plane.encapsulation).unwrap_or(port::OVSTACK);
        let (application, group) = (config.application, config.group.filter(|_| plane.floods));
        let walk = Walk::default();
        let mut forwarding = Self { application, group, plane, port, compiler, walk, sweeps: SWEEP };
        let adjacency =
            Adjacency { interface: UNDERLAY_INTERFACE, mtu: 1500, destination: mac(1), source: mac(0) };
        let gateway = Neighbour { interface: UNDERLAY_INTERFACE, address: GATEWAY };
        let (writes, _) = forwarding.compiler.neighbour(gateway, Some(adjacency), Duration::ZERO);
        writes.into_iter().for_each(|write| forwarding.write(write));
        let key = VniKey { application: application.0.into(), vni: plane.vni };
        forwarding.walk.vnis.insert(key, TENANT);
        forwarding
    }

    /// Follows changes of LIB and RIB.
    pub fn follow(&mut self, overlay: &Overlay, events: &[Event], now: Duration) {
        // A full table keeps what it had; there is room for every member.
        let (writes, _) = self.compiler.follow(overlay, events, &Beyond, now);
        writes.into_iter().for_each(|write| self.write(write));
        let group = self.group.unwrap_or(NodeId(0));
        let tenant = Tenant {
            application: self.application.0.into(),
            vni: self.plane.vni,
            interface: TENANT_INTERFACE,
            driver: driver::ETHERNET,
            unknown_node: group.0,
            unknown_path: self.compiler.path(self.application, group).unwrap_or(0),
            address: mac(2),
            ..Tenant::default()
        };
        self.walk.tenants.insert(TENANT, tenant);
    }

    /// A tenant's frame leaves its device.
    pub fn transmit(&mut self, frame: &[u8], second: u32) -> Vec<Step> {
        self.sweep(second);
        if self.plane.mtu.is_some_and(|mtu| frame.len() > mtu as usize + ethernet::Header::LENGTH) {
            *self.walk.counts.drops.entry(Drop::TooBig).or_default() += 1;
            return Vec::new();
        }
        let outcome = self.walk.transmit(&DEVICE, frame, 0, second);
        self.steps(outcome, second)
    }

    /// A packet comes in by the underlay.
    pub fn receive(&mut self, datagram: &Datagram<'_>, second: u32) -> Vec<Step> {
        self.sweep(second);
        let mut frame = datagram.payload.to_vec();
        let (from, to) = (datagram.source.port(), datagram.destination.port());
        push(&mut frame, &udp::Repr { source: from, destination: to, checked: None });
        let (protocol, hops, marks) = (protocol::UDP, 64, if datagram.is_marked { 3 } else { 0 });
        let ether_type = match (datagram.source.ip(), datagram.destination.ip()) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let (dont_fragment, identification) = (true, 0);
                let (ttl, tos) = (hops, marks);
                let outer =
                    ipv4::Repr { source, destination, protocol, ttl, tos, dont_fragment, identification };
                push(&mut frame, &outer);
                ether_type::IPV4
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                let (next_header, hop_limit, traffic_class, flow_label) = (protocol, hops, marks, 0);
                let outer =
                    ipv6::Repr { source, destination, next_header, hop_limit, traffic_class, flow_label };
                push(&mut frame, &outer);
                ether_type::IPV6
            }
            _ => return Vec::new(),
        };
        push(&mut frame, &ethernet::Repr { destination: Mac(mac(0)), source: Mac(mac(1)), ether_type });
        let outcome = self.walk.receive(&frame, second);
        self.steps(outcome, second)
    }

    /// Forgets stations that were silent for long. Choice: as the next packet passes, which is the first that can tell.
    fn sweep(&mut self, second: u32) {
        if second < self.sweeps {
            return;
        }
        self.sweeps = second - second % SWEEP + SWEEP;
        let age = self.plane.ageing;
        self.walk.fib.retain(|_, entry| entry.heard == 0 || second.saturating_sub(entry.heard) <= age);
    }

    pub fn counts(&self) -> &Counts {
        &self.walk.counts
    }

    fn steps(&mut self, outcome: Outcome, second: u32) -> Vec<Step> {
        let Outcome::Sent(sent) = outcome else { return Vec::new() };
        let mut steps = Vec::new();
        for sent in sent {
            if sent.is_up {
                steps.push(Step::Up(sent.frame));
            } else if sent.via.is_some() {
                steps.extend(self.below(&sent).map(Step::Below));
            } else {
                // What a host is told leaves by the tenant's device.
                let outcome = self.walk.transmit(&DEVICE, &sent.frame, 0, second);
                steps.extend(self.steps(outcome, second));
            }
        }
        steps
    }

    /// What a frame that leaves is in the simulated network.
    fn below(&self, sent: &Sent) -> Option<Transmit> {
        let frame = ethernet::Frame::parse(&sent.frame).ok()?;
        let (source, destination, payload): (IpAddr, IpAddr, _) = match frame.ether_type() {
            ether_type::IPV6 => {
                let packet = ipv6::Packet::parse(frame.payload()).ok()?;
                (packet.source().into(), packet.destination().into(), packet.payload())
            }
            _ => {
                let packet = ipv4::Packet::parse(frame.payload()).ok()?;
                (packet.source().into(), packet.destination().into(), packet.payload())
            }
        };
        let datagram = udp::Datagram::parse(payload).ok()?;
        Some(Transmit {
            source: Some(source),
            port: Some(datagram.source()),
            destination: SocketAddr::new(destination, self.port),
            payload: datagram.payload().to_vec(),
            relays: StackIndex::NONE,
        })
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
            Write::Uncount(path) => drop(walk.counts.hops.remove(&path)),
            Write::Forget(node) => walk.fib.retain(|_, entry| entry.node != node.node),
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
