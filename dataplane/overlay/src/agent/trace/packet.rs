//! The packet of a flow as a host would send it.

use crate::agent::entries::is_found_by;
use crate::agent::{Agent, AgentError, Live, heard_at, now};
use crate::config::Carries;
use crate::trace::{LARGEST_PACKET, TraceEntry, TraceRequest};
use crate::{BitField, Identifier, Neighbour};
use plait_dataplane_reference::tables::{Device, FibKey};
use plait_model_overlay::{Application, NodeId};
use plait_model_wire::ethernet::{self, Mac};
use plait_model_wire::number::{ether_type, protocol};
use plait_model_wire::{ipv4, ipv6, push, udp};
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

/// Whom a packet is for, as a device finds it.
struct Aim {
    identifier: Identifier,
    station: [u8; 6],
    /// The addresses of the IP packet in it, if it has one.
    packet: Option<(IpAddr, IpAddr)>,
}

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
        let from = sender(request, carries)?;
        let station = match from {
            From::Station(station) => station,
            _ => link.map_or([0; 6], |link| link.address),
        };
        let aim = self.aim(request, live, carries, &from, station)?;
        let (bits, is_payload) = (live.config.bits, carries == Carries::Payload);
        let other = if is_payload { type_of(bits) } else { ether_type::IPV4 };
        let mut frame = frame(station, aim.station, aim.packet, other, request.size);
        if let (Identifier::Bits(_), Some(field)) = (aim.identifier, bits) {
            let before = if is_payload { ethernet::Header::LENGTH } else { 0 };
            put_bits(&mut frame, before, field, aim.identifier.bytes(bits));
        }
        let device = Device {
            tenant: live.tenant,
            driver: carries.driver(),
            prefix: live.config.prefix.map(u32::from),
            offset: bits.map_or(0, |bits| bits.byte().into()),
            mask: bits.map_or([0; 16], BitField::mask),
        };
        let entry = self.known_of(live, aim.identifier)?;
        Ok(Made { application, device, frame, flow: request.flow.wrapping_mul(SPREAD), entry })
    }

    /// Whom a packet is for that a device carries.
    fn aim(
        &self,
        request: &TraceRequest,
        live: &Live,
        carries: Carries,
        from: &From,
        station: [u8; 6],
    ) -> Result<Aim, AgentError> {
        match (request.destination, carries) {
            (identifier @ Identifier::Station(station), Carries::Ethernet) => {
                Ok(Aim { identifier, station, packet: None })
            }
            (Identifier::Network(network), Carries::Ip) if is_host(network) => {
                let to = network.addr();
                let [four, six] = live.config.prefix;
                let prefix = if to.is_ipv4() { four } else { six };
                let found = ipnet::IpNet::new(to, prefix).map_or(network, |found| found.trunc());
                Ok(Aim {
                    identifier: Identifier::Network(found),
                    station,
                    packet: Some((from.address(to), to)),
                })
            }
            (Identifier::Network(network), Carries::Ethernet) if is_host(network) => {
                let to = network.addr();
                let neighbour = Neighbour { interface: live.interface, address: to };
                let known = self.underlay.neighbours.hardware_address(neighbour);
                let station = known.ok_or_else(|| AgentError::TraceNeighbour(request.device.clone(), to))?;
                let identifier = Identifier::Station(station);
                Ok(Aim { identifier, station, packet: Some((from.address(to), to)) })
            }
            (identifier @ Identifier::Bits(bits), Carries::Bits | Carries::Payload)
                if is_found_by(live.config.bits, bits) =>
            {
                Ok(Aim { identifier, station: [0; 6], packet: None })
            }
            (identifier, _) => Err(AgentError::TraceOf { device: request.device.clone(), identifier }),
        }
    }

    /// What the FIB knows of an identifier.
    fn known_of(&self, live: &Live, identifier: Identifier) -> Result<TraceEntry, AgentError> {
        let (tenant, bits) = (live.tenant, live.config.bits);
        let found = self.tables.fib.get(&FibKey { tenant, identifier: identifier.bytes(bits) })?;
        let unknown = self.tables.tenants.get(&tenant)?.map(|tenant| NodeId(tenant.unknown_node));
        let unknown = unknown.filter(|node| *node != NodeId(0));
        let age =
            |heard: u32| ((u64::from(heard_at(now()).saturating_sub(heard)) << 30) / 1_000_000_000) as u32;
        Ok(TraceEntry {
            identifier,
            is_known: found.is_some(),
            node: found.map(|found| NodeId(found.node)).or(unknown),
            heard: found.filter(|found| found.heard != 0).map(|found| age(found.heard)),
            packets: found.map_or(0, |found| found.packets),
            bytes: found.map_or(0, |found| found.bytes),
        })
    }
}

/// Whether it is one address.
fn is_host(network: ipnet::IpNet) -> bool {
    network.prefix_len() == network.max_prefix_len()
}

/// Who is asked to have sent it.
fn sender(request: &TraceRequest, carries: Carries) -> Result<From, AgentError> {
    match request.from {
        None => Ok(From::Host),
        Some(Identifier::Station(station)) if carries.are_frames() => Ok(From::Station(station)),
        Some(Identifier::Network(network)) if is_host(network) => Ok(From::Address(network.addr())),
        Some(identifier) => Err(AgentError::TraceOf { device: request.device.clone(), identifier }),
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
    let from = before + usize::from(field.byte());
    // The program reads as many bytes as the longest identifier has.
    if frame.len() < from + identifier.len() {
        frame.resize(from + identifier.len(), 0);
    }
    for ((byte, bits), mask) in frame[from..].iter_mut().zip(identifier).zip(field.mask()) {
        *byte = *byte & !mask | bits & mask;
    }
}
