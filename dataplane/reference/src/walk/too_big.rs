//! Packets that do not fit a next hop: relays tell the node they are from, which tells its hosts; where headers name no nodes, relays
//! tell the hosts, also of what is said behind them.

use super::parcel::Parcel;
use super::{Sent, Walk};
use crate::drivers::Payload;
use crate::tables::*;
use plait_model_wire::ethernet::{self, Frame};
use plait_model_wire::icmp::TooBig;
use plait_model_wire::number::{ether_type, protocol};
use plait_model_wire::ovstack::{self, NodeId};
use plait_model_wire::{Emit as _, ipv4, ipv6, push, too_big};

const _: () = assert!(message::FLAG == ovstack::CONTROL as u32 && message::TOO_BIG == too_big::KIND as u32);

/// IPv6 goes no lower (RFC 8200 section 5).
const LEAST_IPV6: u32 = 1280;

impl Walk {
    /// What fits a path, if any relay said so lately.
    fn limit(&self, path: u32, second: u32) -> Option<u32> {
        let word = self.limits.get(&path).unwrap_or_default();
        let (heard, room) = ((word >> 32) as u32, word as u32);
        (room != 0 && second.wrapping_sub(heard) <= limits::AGE).then_some(room)
    }

    /// What fits a path by what a relay said lately, if so many bytes do not.
    pub(super) fn exceeded(&self, path: u32, bytes: usize, second: u32) -> Option<u32> {
        self.limit(path, second).filter(|room| bytes > *room as usize)
    }

    /// Remembers what a relay says.
    pub(super) fn heed(&mut self, parcel: &Parcel, second: u32) -> Result<(), Drop> {
        let key = |node: NodeId| NodeKey { application: parcel.overlay.application.into(), node: node.0 };
        if !self.nodes.contains_key(&key(parcel.overlay.source)) {
            return Err(Drop::UnknownSource);
        }
        let said = too_big::Repr::parse(&parcel.carried).map_err(|_| Drop::Malformed)?;
        if said.room < message::LEAST_ROOM {
            return Err(Drop::Malformed);
        }
        let path = self.nodes.get(&key(said.destination)).ok_or(Drop::NoRoute)?;
        // Of several relays the one with the least room counts, for as long as it is remembered.
        if self.limit(path, second).is_none_or(|known| said.room <= known) {
            self.limits.insert(path, u64::from(second) << 32 | u64::from(said.room));
        }
        Ok(())
    }

    /// What the host of a packet is told whose header names no nodes: it leaves by the tenant's device, as if a host behind it had said
    /// so.
    pub(super) fn answer_host(&self, parcel: &Parcel, room: u32) -> Option<Sent> {
        let key = VniKey { application: parcel.overlay.application.into(), vni: parcel.overlay.vni };
        let tenant = self.tenants.get(&self.vnis.get(&key)?)?;
        let told = tell_host(&tenant, parcel.payload, &parcel.stripped(tenant.address), room)?;
        Some(Sent { is_up: false, ..told })
    }
}

impl Parcel {
    /// The message that a packet is too big, to the node it is from. None where nobody is told, or would believe it.
    pub(super) fn answer(&self, room: u32, application: &Application) -> Option<Self> {
        if self.payload == Payload::Control || room < message::LEAST_ROOM {
            return None;
        }
        let message = too_big::Repr { room, destination: self.overlay.destination };
        let begin = self.carried.len().checked_sub(message::BYTES as usize)? + message.length();
        let mut carried = self.carried[begin..].to_vec();
        push(&mut carried, &message);
        let overlay = ovstack::Repr {
            is_control: true,
            ttl: application.ttl as u8,
            destination: self.overlay.source,
            source: NodeId(application.own),
            ..self.overlay
        };
        Some(Self { overlay, payload: Payload::Control, carried, ecn: 0, ..self.clone() })
    }
}

/// The ICMP message that tells a host that its packet was too big, and comes up by the device that it was sent by. None
/// where a host is not told (RFC 1122 section 3.2.2, RFC 4443 section 2.4).
///
/// Choice: of what is for many, too, which RFC 1122 has nobody told of, lest all that it comes to answer: here the node that it is from
/// does, and nobody else. It is from the address beside the host's, since no host takes a message from many.
pub(super) fn tell_host(tenant: &Tenant, payload: Payload, bytes: &[u8], room: u32) -> Option<Sent> {
    let less = if payload == Payload::Ethernet { ethernet::Header::LENGTH as u32 } else { 0 };
    // Of a way that no host would believe in nothing is said.
    let mtu = room.checked_sub(less).filter(|mtu| *mtu >= message::LEAST_TOLD)?;
    let sent = Frame::parse(bytes).ok()?;
    let packet = sent.payload();
    let mut frame = packet.get(..message::QUOTED as usize)?.to_vec();
    let is_to_many = sent.destination().is_group();
    match sent.ether_type() {
        ether_type::IPV4 => {
            let [destination, of] = [12, 16].map(|at| array::<4>(packet, at));
            let source = if is_to_many || of[0] >= 224 { beside(destination) } else { of };
            let is_later = u16::from_be_bytes([packet[6], packet[7]]) & 0x1fff != 0;
            let is_error = packet[9] == protocol::ICMP && !matches!(packet[20], 0 | 8);
            if is_later || is_error {
                return None;
            }
            push(&mut frame, &TooBig::V4 { mtu: mtu as u16 });
            let ip = ipv4::Repr {
                source: source.into(),
                destination: destination.into(),
                protocol: protocol::ICMP,
                ttl: 64,
                tos: 0,
                dont_fragment: false,
                identification: 0,
            };
            push(&mut frame, &ip);
        }
        ether_type::IPV6 => {
            let [destination, of] = [8, 24].map(|at| array::<16>(packet, at));
            let source = if is_to_many || of[0] == 0xff { beside(destination) } else { of };
            let (source, destination) = (source.into(), destination.into());
            if packet[6] == protocol::ICMPV6 && packet[40] < 128 {
                return None;
            }
            push(&mut frame, &TooBig::V6 { mtu: mtu.max(LEAST_IPV6), source, destination });
            let next_header = protocol::ICMPV6;
            let ip = ipv6::Repr {
                source,
                destination,
                next_header,
                hop_limit: 64,
                traffic_class: 0,
                flow_label: 0,
            };
            push(&mut frame, &ip);
        }
        _ => return None,
    }
    // Bridges take nothing from many: of a frame to those the answer is from nobody's address.
    let (destination, mut source) = (sent.source(), sent.destination());
    if is_to_many {
        source = destination;
        source.0[0] ^= 2;
    }
    push(&mut frame, &ethernet::Repr { destination, source, ether_type: sent.ether_type() });
    Some(Sent { interface: tenant.interface, is_up: true, frame, via: None })
}

fn array<const N: usize>(packet: &[u8], at: usize) -> [u8; N] {
    packet[at..at + N].try_into().expect("as many bytes")
}

/// An even address beside a host's: all ones are for many.
fn beside<const N: usize>(mut address: [u8; N]) -> [u8; N] {
    address[N - 1] ^= if address[N - 1] & 1 == 1 { 1 } else { 2 };
    address
}
