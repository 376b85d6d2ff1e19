//! Protocols on nodes: what wakes them, what they get and what they send.

use super::walk::{inner_hash, wear};
use super::{NEVER, Partition, event};
use crate::encapsulation::StackIndex;
use crate::fabric::{Fabric, Way};
use crate::host::{Datagram, Transmit};
use crate::packet::{NO_FLOW, Packet, UDP_HEADER, flag, headers};
use crate::reason::Reason;
use crate::source::nanos;
use plait_model_link::Parcel;
use plait_model_wire::number::protocol;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

impl Partition {
    pub(super) fn host_event(&mut self, fabric: &Fabric, now: u64, number: u32) {
        let place = number & event::PLACE;
        let local = fabric.hosts[place as usize].local as usize;
        let state = &mut self.hosts[local];
        if state.scheduled != now {
            return;
        }
        state.scheduled = NEVER;
        state.host.handle_timeout(Duration::from_nanos(now));
        self.drain_host(fabric, now, place, local);
    }

    pub(super) fn deliver_to_host(&mut self, fabric: &Fabric, now: u64, way: &Way, packet: &Packet) {
        let counters = &mut self.nodes[way.local as usize];
        let at = fabric.addresses.owner(packet.destination);
        let Some(&place) = fabric.listeners.get(&(at, packet.protocol(), packet.udp_ports()[1])) else {
            return counters.drop(Reason::NoListener);
        };
        counters.received += 1;
        let local = fabric.hosts[place as usize].local as usize;
        let address = |index, port| SocketAddr::new(fabric.addresses.address(index), port);
        let [from, to] = packet.udp_ports();
        let datagram = Datagram {
            source: address(packet.source, from),
            destination: address(packet.destination, to),
            protocol: packet.protocol(),
            ttl: packet.ttl,
            payload: packet.body.as_ref().map_or(&[], |body| body.as_slice()),
            is_marked: packet.flags & flag::MARKED != 0,
        };
        self.hosts[local].host.handle_datagram(Duration::from_nanos(now), &datagram);
        self.drain_host(fabric, now, place, local);
    }

    /// Sends what a protocol has to send, and asks it when to come back.
    pub fn drain_host(&mut self, fabric: &Fabric, now: u64, place: u32, local: usize) {
        while let Some(transmit) = self.hosts[local].host.poll_transmit() {
            let (node, port) = (self.hosts[local].node, self.hosts[local].port);
            match datagram(fabric, now, node, port, transmit) {
                Some(packet) => self.transmit(fabric, now, node, Parcel::new(packet)),
                None => {
                    let counters = &mut self.nodes[fabric.nodes[node as usize].place.local as usize];
                    counters.sent += 1;
                    counters.drop(Reason::NoRoute);
                }
            }
        }
        let state = &mut self.hosts[local];
        let Some(next) = state.host.poll_timeout().map(nanos) else { return state.scheduled = NEVER };
        // One that wants to be called at once is called a moment later, or time would stand still.
        let next = next.max(now + 1);
        if next != state.scheduled {
            state.scheduled = next;
            self.queue.push(next, event::HOST | place);
        }
    }
}

/// The packet of a datagram; none if it is from or for an address that nobody knows.
fn datagram(fabric: &Fabric, now: u64, node: u32, port: u16, transmit: Transmit) -> Option<Packet> {
    let destination = fabric.addresses.find(transmit.destination.ip())?;
    let is_ipv6 = transmit.destination.is_ipv6();
    let source = match transmit.source {
        Some(source) => fabric.addresses.find(source)?,
        None => *fabric.nodes[node as usize].first[usize::from(is_ipv6)].as_ref()?,
    };
    let length = u32::try_from(transmit.payload.len()).ok()?;
    let (ports, headers, other) = match transmit.protocol {
        protocol::UDP => ([transmit.port.unwrap_or(port), transmit.destination.port()], headers(is_ipv6), 0),
        other => ([0, other.into()], headers(is_ipv6) - UDP_HEADER, flag::OTHER),
    };
    let mut packet = Packet {
        body: Some(Arc::new(transmit.payload)),
        sent: now,
        source,
        destination,
        ports,
        frame: headers.checked_add(length)?,
        hash: 0,
        station: 0,
        stack: StackIndex::NONE,
        flow: NO_FLOW,
        number: 0,
        ttl: transmit.ttl,
        inner_ttl: transmit.ttl,
        position: 0,
        flags: other | if is_ipv6 { flag::IPV6 } else { 0 },
    };
    packet.hash = inner_hash(fabric, &packet);
    wear(fabric, &mut packet, transmit.relays)?;
    Some(packet)
}
