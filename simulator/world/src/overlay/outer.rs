//! Packets of an overlay as the network below has them, and as the walk does: in frames with their outer headers.
//!
//! What a walk sends becomes a packet of the simulated network with the same addresses, IP protocol, ports, hops and payload, and
//! what comes is put into a frame again. Choice: outer congestion bits are those that the simulation gives its packets.

use plait_model_wire::ethernet::{self, Mac};
use plait_model_wire::number::{ether_type, protocol};
use plait_model_wire::{ipv4, ipv6, push, udp};
use plait_simulator_engine::hash::flow_hash;
use plait_simulator_engine::{Datagram, Transmit};
use std::net::{IpAddr, SocketAddr};

/// The frame of a packet that came, between hardware addresses. None for addresses of two IP versions, which nobody sends.
pub(super) fn framed(datagram: &Datagram<'_>, source: Mac, destination: Mac) -> Option<Vec<u8>> {
    let &Datagram { protocol, ttl, .. } = datagram;
    let mut frame = datagram.payload.to_vec();
    if protocol == protocol::UDP {
        let (from, to) = (datagram.source.port(), datagram.destination.port());
        push(&mut frame, &udp::Repr { source: from, destination: to, checked: None });
    }
    let marks = if datagram.is_marked { 3 } else { 0 };
    let ether_type =
        push_ip(&mut frame, [datagram.source.ip(), datagram.destination.ip()], protocol, ttl, marks)?;
    push(&mut frame, &ethernet::Repr { destination, source, ether_type });
    Some(frame)
}

/// Puts an IP header before what it carries, and says of which EtherType the whole is.
pub(super) fn push_ip(
    bytes: &mut Vec<u8>,
    addresses: [IpAddr; 2],
    protocol: u8,
    ttl: u8,
    tos: u8,
) -> Option<u16> {
    match addresses {
        [IpAddr::V4(source), IpAddr::V4(destination)] => {
            let (dont_fragment, identification) = (true, 0);
            push(
                bytes,
                &ipv4::Repr { source, destination, protocol, ttl, tos, dont_fragment, identification },
            );
            Some(ether_type::IPV4)
        }
        [IpAddr::V6(source), IpAddr::V6(destination)] => {
            let (next_header, hop_limit, traffic_class, flow_label) = (protocol, ttl, tos, 0);
            let header =
                ipv6::Repr { source, destination, next_header, hop_limit, traffic_class, flow_label };
            push(bytes, &header);
            Some(ether_type::IPV6)
        }
        _ => None,
    }
}

/// What an IP packet says in a frame.
struct Packet<'a> {
    addresses: [IpAddr; 2],
    protocol: u8,
    ttl: u8,
    payload: &'a [u8],
}

impl<'a> Packet<'a> {
    fn of(frame: &'a [u8]) -> Option<Self> {
        let frame = ethernet::Frame::parse(frame).ok()?;
        match frame.ether_type() {
            ether_type::IPV4 => {
                let packet = ipv4::Packet::parse(frame.payload()).ok()?;
                let addresses = [packet.source().into(), packet.destination().into()];
                let (protocol, ttl, payload) = (packet.protocol(), packet.ttl(), packet.payload());
                Some(Self { addresses, protocol, ttl, payload })
            }
            ether_type::IPV6 => {
                let packet = ipv6::Packet::parse(frame.payload()).ok()?;
                let addresses = [packet.source().into(), packet.destination().into()];
                let (protocol, ttl, payload) = (packet.next_header(), packet.hop_limit(), packet.payload());
                Some(Self { addresses, protocol, ttl, payload })
            }
            _ => None,
        }
    }
}

/// What a frame that leaves is in the simulated network.
pub(super) fn below(frame: &[u8]) -> Option<Transmit> {
    let Packet { addresses: [source, destination], protocol, ttl, payload } = Packet::of(frame)?;
    let (port, to, payload) = match protocol {
        protocol::UDP => {
            let datagram = udp::Datagram::parse(payload).ok()?;
            (Some(datagram.source()), datagram.destination(), datagram.payload())
        }
        _ => (None, 0, payload),
    };
    let destination = SocketAddr::new(destination, to);
    Some(Transmit {
        source: Some(source),
        port,
        protocol,
        ttl,
        ..Transmit::to(destination, payload.to_vec())
    })
}

/// By what a kernel would tell the flows of a host apart. Choice: by addresses, protocol and UDP ports, without a seed; all that is
/// no IP is one flow.
pub(super) fn flow_of(frame: &[u8]) -> u32 {
    let Some(Packet { addresses: [source, destination], protocol, payload, .. }) = Packet::of(frame) else {
        return 0;
    };
    let ports = match udp::Datagram::parse(payload) {
        Ok(datagram) if protocol == protocol::UDP => [datagram.source(), datagram.destination()],
        _ => [0; 2],
    };
    flow_hash(source, destination, protocol, ports)
}
