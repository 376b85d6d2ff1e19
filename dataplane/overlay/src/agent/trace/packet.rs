//! The packet of a flow as a host would send it, and outer headers as people read them.

use crate::agent::{Agent, AgentError, heard_at, now};
use crate::config::{BitField, Carries};
use crate::trace::{LARGEST_PACKET, TraceEntry, TraceOuter, TraceRequest};
use crate::{Encapsulation, Identifier, Neighbour};
use plait_dataplane_reference::tables::{Device, FibKey};
use plait_dataplane_reference::udp_port;
use plait_model_overlay::{Application, NodeId};
use plait_model_wire::ethernet::{self, Frame, Mac};
use plait_model_wire::number::{ether_type, protocol};
use plait_model_wire::{gre, ipv4, ipv6, ovstack, push, udp};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

/// A packet that a host could send.
pub(super) struct Made {
    pub application: Application,
    /// As the program on the device knows it.
    pub device: Device,
    pub frame: Vec<u8>,
    /// In the place of the kernel's hash.
    pub flow: u32,
    pub entry: TraceEntry,
}

/// Consecutive numbers spread over all hashes: what is left of the golden ratio (Knuth, volume 3, section 6.4).
const SPREAD: u32 = 0x9e37_79b9;

impl Agent {
    /// Makes a packet of the flow that is asked for, and says what the FIB knows of where it goes.
    pub(super) fn make_packet(&self, request: &TraceRequest) -> Result<Made, AgentError> {
        let name = &request.device;
        let live = self.devices.get(name).ok_or_else(|| AgentError::NoDevice(name.clone()))?;
        let application = live.config.application;
        let carries = self.application(application)?.carries;
        let link = self.underlay.links.get(&live.interface);
        if request.size > LARGEST_PACKET || link.is_some_and(|link| u32::from(request.size) > link.mtu) {
            let mtu = link.map_or(0, |link| link.mtu);
            return Err(AgentError::TraceSize { device: name.clone(), size: request.size, mtu });
        }
        let not = |identifier: Identifier| AgentError::TraceOf { device: name.clone(), identifier };
        let from = match request.from {
            None => From::Host,
            Some(Identifier::Station(station)) if carries.are_frames() => From::Station(station),
            Some(Identifier::Network(network)) if network.prefix_len() == network.max_prefix_len() => {
                From::Address(network.addr())
            }
            Some(other) => return Err(not(other)),
        };
        let station = match from {
            From::Station(station) => station,
            _ => link.map_or([0; 6], |link| link.address),
        };
        let (identifier, destination, packet) = match (request.destination, carries) {
            (Identifier::Station(to), Carries::Ethernet) => (Identifier::Station(to), to, None),
            (Identifier::Network(network), Carries::Ethernet | Carries::Ip)
                if network.prefix_len() == network.max_prefix_len() =>
            {
                let to = network.addr();
                let packet = Some((from.address(to), to));
                if carries == Carries::Ip {
                    let [four, six] = live.config.prefix;
                    let prefix = if to.is_ipv4() { four } else { six };
                    let found = ipnet::IpNet::new(to, prefix).map_or(network, |found| found.trunc());
                    (Identifier::Network(found), station, packet)
                } else {
                    let neighbour = Neighbour { interface: live.interface, address: to };
                    let known = self.underlay.hardware_address(neighbour);
                    let known = known.ok_or_else(|| AgentError::TraceNeighbour(name.clone(), to))?;
                    (Identifier::Station(known), known, packet)
                }
            }
            (Identifier::Bits(bits), Carries::Bits | Carries::Payload)
                if live.config.bits.map_or(0, |field| field.length) == bits.length() =>
            {
                (Identifier::Bits(bits), [0; 6], None)
            }
            (other, _) => return Err(not(other)),
        };
        let bits = live.config.bits.filter(|_| matches!(identifier, Identifier::Bits(_)));
        let other = if carries == Carries::Payload { type_of(live.config.bits) } else { ether_type::IPV4 };
        let mut frame = frame(station, destination, packet, other, request.size);
        if let Some(field) = bits {
            let before = if carries == Carries::Payload { ethernet::Header::LENGTH } else { 0 };
            put_bits(&mut frame, before, field, identifier.bytes());
        }
        let device = Device {
            tenant: live.tenant,
            driver: carries.driver(),
            prefix: live.config.prefix.map(u32::from),
            offset: live.config.bits.map_or(0, |bits| u32::from(bits.offset / 8)),
            mask: live.config.bits.map_or([0; 16], BitField::mask),
        };
        let key = FibKey { tenant: live.tenant, identifier: identifier.bytes() };
        let found = self.tables.fib.get(&key)?;
        let tenant = self.tables.tenants.get(&live.tenant)?;
        let unknown = tenant.map(|tenant| NodeId(tenant.unknown_node)).filter(|node| *node != NodeId(0));
        let age =
            |heard: u32| ((u64::from(heard_at(now()).saturating_sub(heard)) << 30) / 1_000_000_000) as u32;
        let entry = TraceEntry {
            identifier,
            is_known: found.is_some(),
            node: found.map(|found| NodeId(found.node)).or(unknown),
            heard: found.filter(|found| found.heard != 0).map(|found| age(found.heard)),
            packets: found.map_or(0, |found| found.packets),
            bytes: found.map_or(0, |found| found.bytes),
        };
        Ok(Made { application, device, frame, flow: request.flow.wrapping_mul(SPREAD), entry })
    }
}

/// Who sends.
enum From {
    Host,
    Station([u8; 6]),
    Address(IpAddr),
}

impl From {
    /// The address that a packet to another is from.
    fn address(&self, to: IpAddr) -> IpAddr {
        let any: IpAddr =
            if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        match *self {
            Self::Address(address) if address.is_ipv4() == to.is_ipv4() => address,
            // The kernel chooses as it would of a packet; connecting sends none.
            _ => UdpSocket::bind((any, 0))
                .and_then(|socket| socket.connect((to, 9)).and_then(|()| socket.local_addr()))
                .map_or(any, |address| address.ip()),
        }
    }
}

/// What frames are taken to carry whose device finds their payload by some bits: those of a label, or of a service path and
/// index, where labels and service headers have them (Table 4.1 of the thesis).
fn type_of(bits: Option<BitField>) -> u16 {
    match bits {
        Some(BitField { offset: 0, length: 20 }) => ether_type::MPLS,
        Some(BitField { offset: 32, length: 32 }) => ether_type::NSH,
        _ => ether_type::IPV4,
    }
}

/// A frame with an IP packet of so many bytes. Without addresses the packet is all nought, and one of another type, which is what
/// tells flows of frames apart.
fn frame(
    source: [u8; 6],
    destination: [u8; 6],
    packet: Option<(IpAddr, IpAddr)>,
    other: u16,
    size: u16,
) -> Vec<u8> {
    let size = usize::from(size);
    let mut bytes = Vec::new();
    let mut payload = |headers: usize| bytes.resize(size.saturating_sub(headers), 0);
    let (source, destination) = (Mac(source), Mac(destination));
    let datagram = udp::Repr { source: 0, destination: 0, checked: None };
    let ether_type = match packet {
        Some((IpAddr::V4(source), IpAddr::V4(destination))) => {
            payload(ipv4::Header::LENGTH + udp::Header::LENGTH);
            push(&mut bytes, &datagram);
            let (protocol, ttl, tos) = (protocol::UDP, 64, 0);
            let (dont_fragment, identification) = (true, 0);
            push(
                &mut bytes,
                &ipv4::Repr { source, destination, protocol, ttl, tos, dont_fragment, identification },
            );
            ether_type::IPV4
        }
        Some((IpAddr::V6(source), IpAddr::V6(destination))) => {
            payload(ipv6::Header::LENGTH + udp::Header::LENGTH);
            push(&mut bytes, &datagram);
            let (next_header, hop_limit) = (protocol::UDP, 64);
            let (traffic_class, flow_label) = (0, 0);
            push(
                &mut bytes,
                &ipv6::Repr { source, destination, next_header, hop_limit, traffic_class, flow_label },
            );
            ether_type::IPV6
        }
        _ => {
            payload(0);
            other
        }
    };
    push(&mut bytes, &ethernet::Repr { destination, source, ether_type });
    bytes
}

/// Puts an identifier where its device finds it, behind so many bytes; the frame grows to have it.
fn put_bits(frame: &mut Vec<u8>, before: usize, field: BitField, identifier: [u8; 16]) {
    let from = before + usize::from(field.offset / 8);
    // The program reads as many bytes as the longest identifier has.
    if frame.len() < from + identifier.len() {
        frame.resize(from + identifier.len(), 0);
    }
    for ((byte, bits), mask) in frame[from..].iter_mut().zip(identifier).zip(field.mask()) {
        *byte = *byte & !mask | bits & mask;
    }
}

/// What stands before a packet in the underlay. None for what no overlay sends.
/// Of two encapsulations that arrive alike it is the one that the application takes.
pub(super) fn outer(bytes: &[u8], takes: &BTreeSet<Encapsulation>) -> Option<TraceOuter> {
    let (mut outer, shim) = read(bytes)?;
    let alike = match outer.encapsulation {
        Encapsulation::Nsh => Encapsulation::Gpe,
        Encapsulation::Mpls => Encapsulation::Gre,
        other => other,
    };
    if !takes.contains(&outer.encapsulation) && takes.contains(&alike) {
        (outer.encapsulation, outer.vni) = (alike, vni(alike, shim));
    }
    Some(outer)
}

/// Whether it is a message of the overlay itself.
pub(super) fn is_message(bytes: &[u8]) -> bool {
    let is_control = |shim: &[u8]| ovstack::Packet::parse(shim).is_ok_and(|packet| packet.is_control());
    read(bytes).is_some_and(|(outer, shim)| outer.encapsulation == Encapsulation::Ovstack && is_control(shim))
}

/// The outer header, and the shim with what follows.
fn read(bytes: &[u8]) -> Option<(TraceOuter, &[u8])> {
    let frame = Frame::parse(bytes).ok()?;
    let (locators, ttl, number, payload): ([IpAddr; 2], _, _, _) = match frame.ether_type() {
        ether_type::IPV4 => {
            let packet = ipv4::Packet::parse(frame.payload()).ok()?;
            let locators = [packet.source().into(), packet.destination().into()];
            (locators, packet.ttl(), packet.protocol(), packet.payload())
        }
        ether_type::IPV6 => {
            let packet = ipv6::Packet::parse(frame.payload()).ok()?;
            let locators = [packet.source().into(), packet.destination().into()];
            (locators, packet.hop_limit(), packet.next_header(), packet.payload())
        }
        _ => return None,
    };
    let half = |at: usize| Some(u16::from_be_bytes(payload.get(at..at + 2)?.try_into().ok()?));
    let (encapsulation, ports, begins) = match number {
        protocol::UDP => {
            let ports = [half(0)?, half(2)?];
            let is_it = |kind: &&Encapsulation| udp_port(**kind as u32) == Some(ports[1]);
            (*Encapsulation::ALL.iter().find(is_it)?, Some(ports), udp::Header::LENGTH)
        }
        protocol::GRE => match (half(0)?, half(2)?) {
            (gre::flag::KEY, _) => (Encapsulation::Nvgre, None, 0),
            (_, ether_type::MPLS) => (Encapsulation::Mpls, None, 0),
            _ => (Encapsulation::Gre, None, 0),
        },
        protocol::IPV4 | protocol::IPV6 => (Encapsulation::Ipip, None, 0),
        _ => return None,
    };
    let shim = payload.get(begins..)?;
    let outer = TraceOuter {
        hardware: [frame.source().to_string(), frame.destination().to_string()],
        locators,
        ports,
        ttl,
        encapsulation,
        vni: vni(encapsulation, shim),
        hops: shim.get(1).copied().filter(|_| encapsulation == Encapsulation::Ovstack),
    };
    Some((outer, shim))
}

/// In all encapsulations that name one it begins at the fourth byte; of a label it is the first twenty bits.
fn vni(encapsulation: Encapsulation, shim: &[u8]) -> Option<u32> {
    let word = u32::from_be_bytes(shim.get(4..8)?.try_into().ok()?);
    match encapsulation {
        Encapsulation::Gre | Encapsulation::Ipip | Encapsulation::Gue => None,
        Encapsulation::Mpls => Some(word >> 12),
        _ => Some(word >> 8),
    }
}
