//! The beginning of a packet's way through this node: whether it is one of the overlay's, and what it says.
//!
//! Only what decides is read, as the programs do: a receiver that looked at more would drop what others let pass.

use super::parcel::Parcel;
use super::{Walk, mapped};
use crate::drivers::Payload;
use crate::tables::*;
use plait_model_wire::ethernet::Frame;
use plait_model_wire::number::{ether_type, protocol};
use plait_model_wire::ovstack::{self, NodeId};
use plait_model_wire::{geneve, gre, gue, ipv4, ipv6, mpls, nsh, nvgre, udp, vxlan, vxlan_gpe};
use std::net::IpAddr;
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

impl Walk {
    /// Whether a frame that a program of this host sends by the underlay looks like one of the overlay's.
    pub(super) fn is_forged(&self, bytes: &[u8], is_own: bool) -> bool {
        let Some(outer) = Outer::parse(bytes) else { return false };
        let Some(arrival) = Arrival::of(&outer) else { return false };
        let protocol_port = u32::from(outer.protocol) << 16 | arrival.number;
        let is_taken = |own| self.endpoints.contains_key(&EndpointKey { own, protocol_port });
        is_own && is_taken([0; 16]) && self.is_ovstack(arrival.rest) || is_taken(mapped(outer.source))
    }

    /// Whether what is sent to ovstack's port is that, of an application of this node.
    fn is_ovstack(&self, rest: &[u8]) -> bool {
        let Ok((header, _)) = split::<ovstack::Header>(rest) else { return false };
        let application = self.applications.get(&u32::from(header.application));
        header.version == ovstack::VERSION && application.is_some_and(|application| application.own != 0)
    }

    /// Reads the headers before the payload of what came by some device. None for what is not the overlay's.
    pub(super) fn arrive(&self, bytes: &[u8], entrance: Option<u32>) -> Result<Option<Parcel>, Drop> {
        let Some(outer) = Outer::parse(bytes) else { return Ok(None) };
        let Some(Arrival { number, port, rest }) = Arrival::of(&outer) else { return Ok(None) };
        let protocol_port = u32::from(outer.protocol) << 16 | number;
        let (locator, own) = (mapped(outer.source), mapped(outer.destination));
        let Some(peer) = self.peers.get(&PeerKey { locator, own, protocol_port }) else {
            return match self.endpoints.contains_key(&EndpointKey { own, protocol_port }) {
                true => Err(Drop::UnknownLocator),
                false => Ok(None),
            };
        };
        match entrance {
            Some(entrance::OPEN) => {}
            Some(entrance::BELOW) => return Ok(None),
            _ => return Err(Drop::WrongDevice),
        }
        let said = Said::read(&peer, protocol_port, rest)?;
        let application = said.application.unwrap_or(peer.application as u8);
        if peer.applications[usize::from(application >> 5)] >> (application & 31) & 1 == 0 {
            return Err(Drop::UnknownLocator);
        }
        let placed = said.placed.is_some();
        let (hash, destination, source) = said.placed.unwrap_or((0, NodeId(0), NodeId(0)));
        Ok(Some(Parcel {
            overlay: ovstack::Repr {
                ttl: said.ttl.unwrap_or(outer.ttl),
                application,
                is_control: false,
                vni: said.vni.unwrap_or(peer.vni),
                hash,
                destination,
                source,
            },
            payload: said.payload,
            carried: said.carried.to_vec(),
            ecn: outer.tos & 3,
            port,
            from: locator,
            placed,
        }))
    }
}

/// What a packet's shim says, as far as it does.
struct Said<'a> {
    application: Option<u8>,
    vni: Option<u32>,
    ttl: Option<u8>,
    /// Hash, destination, source.
    placed: Option<(u32, NodeId, NodeId)>,
    payload: Payload,
    carried: &'a [u8],
}

/// The header that some bytes begin with, and the rest.
fn split<H: FromBytes + KnownLayout + Immutable + Unaligned>(bytes: &[u8]) -> Result<(&H, &[u8]), Drop> {
    H::ref_from_prefix(bytes).map_err(|_| Drop::Malformed)
}

/// What follows so many bytes.
fn beyond(bytes: &[u8], count: usize) -> Result<&[u8], Drop> {
    bytes.get(count..).ok_or(Drop::Malformed)
}

impl<'a> Said<'a> {
    fn of(payload: Payload, vni: Option<u32>, carried: &'a [u8]) -> Self {
        Self { application: None, vni, ttl: None, placed: None, payload, carried }
    }

    fn read(peer: &Peer, protocol_port: u32, rest: &'a [u8]) -> Result<Self, Drop> {
        match peer.encapsulation {
            encapsulation::OVSTACK => Self::ovstack(rest),
            encapsulation::VXLAN => {
                let (header, carried) = split::<vxlan::Header>(rest)?;
                match header.flags & vxlan::HAS_VNI {
                    0 => Err(Drop::Malformed),
                    _ => Ok(Self::of(Payload::Ethernet, Some(header.vni.get()), carried)),
                }
            }
            encapsulation::GENEVE => Self::geneve(rest),
            encapsulation::NVGRE => {
                let (key, carried) = split::<nvgre::Key>(rest)?;
                Ok(Self::of(Payload::Ethernet, Some(key.subnet.get()), carried))
            }
            encapsulation::GRE => {
                let payload = Payload::of_ether_type(protocol_port as u16).ok_or(Drop::Malformed)?;
                Ok(Self::of(payload, None, rest))
            }
            encapsulation::IPIP => {
                let is_ipv6 = protocol_port >> 16 == u32::from(protocol::IPV6);
                Ok(Self::of(if is_ipv6 { Payload::Ipv6 } else { Payload::Ipv4 }, None, rest))
            }
            encapsulation::MPLS => {
                let (label, carried) = split::<mpls::Header>(rest)?;
                let word = label.label_class_bottom_ttl.get();
                match word & 0x100 {
                    0 => Err(Drop::Malformed),
                    _ => Ok(Self::of(Payload::Unsaid, Some(word >> 12), carried)),
                }
            }
            encapsulation::NSH => Self::nsh(rest),
            encapsulation::GUE => Self::gue(rest),
            encapsulation::GPE => Self::gpe(rest),
            _ => Err(Drop::Malformed),
        }
    }

    fn ovstack(rest: &'a [u8]) -> Result<Self, Drop> {
        let (header, carried) = split::<ovstack::Header>(rest)?;
        if header.version != ovstack::VERSION {
            return Err(Drop::Version);
        }
        let (destination, source) = (NodeId(header.destination.get()), NodeId(header.source.get()));
        Ok(Self {
            application: Some(header.application),
            vni: Some(header.vni.get()),
            ttl: Some(header.ttl),
            placed: Some((header.hash.get(), destination, source)),
            payload: if header.flags & ovstack::CONTROL != 0 { Payload::Control } else { Payload::Unsaid },
            carried,
        })
    }

    fn geneve(rest: &'a [u8]) -> Result<Self, Drop> {
        let (header, options) = split::<geneve::Header>(rest)?;
        if header.version_length >> 6 != 0 {
            return Err(Drop::Version);
        }
        let payload = Payload::of_ether_type(header.protocol.get());
        match payload {
            Some(payload) if header.flags & (geneve::flag::CONTROL | geneve::flag::CRITICAL) == 0 => {
                let carried = beyond(options, usize::from(header.version_length & 0x3f) * 4)?;
                Ok(Self::of(payload, Some(header.vni.get()), carried))
            }
            _ => Err(Drop::Malformed),
        }
    }

    fn gpe(rest: &'a [u8]) -> Result<Self, Drop> {
        use vxlan_gpe::flag;
        let (header, carried) = split::<vxlan_gpe::Header>(rest)?;
        if header.flags & flag::VERSION != 0 {
            return Err(Drop::Version);
        }
        let flags = header.flags & (flag::VNI | flag::NEXT | flag::MAINTENANCE);
        // Labels are none of what it carries.
        match Payload::of_next(header.next_protocol) {
            Some(payload) if flags == flag::VNI | flag::NEXT && payload != Payload::Mpls => {
                Ok(Self::of(payload, Some(header.vni.get()), carried))
            }
            _ => Err(Drop::Malformed),
        }
    }

    fn nsh(rest: &'a [u8]) -> Result<Self, Drop> {
        let Self { payload: Payload::Nsh, carried: service, .. } = Self::gpe(rest)? else {
            return Err(Drop::Malformed);
        };
        let (header, _) = split::<nsh::Header>(service)?;
        let first = header.version_ttl_length.get();
        let length = usize::from(first & 0x3f) * 4;
        if first >> 14 != 0 {
            return Err(Drop::Version);
        }
        if first & 0x2000 != 0 || length < nsh::Header::LENGTH {
            return Err(Drop::Malformed);
        }
        let payload = Payload::of_next(header.next_protocol).ok_or(Drop::Malformed)?;
        Ok(Self::of(payload, Some(header.service_path.get()), beyond(service, length)?))
    }

    fn gue(rest: &'a [u8]) -> Result<Self, Drop> {
        let (header, carried) = split::<gue::Header>(rest)?;
        match header.variant_length >> 4 {
            4 => return Ok(Self::of(Payload::Ipv4, None, rest)),
            6 => return Ok(Self::of(Payload::Ipv6, None, rest)),
            _ if header.variant_length >> 6 != 0 => return Err(Drop::Version),
            _ => {}
        }
        if header.variant_length != 0 || header.flags.get() != 0 {
            return Err(Drop::Malformed);
        }
        match header.protocol {
            protocol::IPV4 => Ok(Self::of(Payload::Ipv4, None, carried)),
            protocol::IPV6 => Ok(Self::of(Payload::Ipv6, None, carried)),
            _ => Err(Drop::Malformed),
        }
    }
}

/// What stands behind the IP header: the lower half of [`PeerKey::protocol_port`], the flow's port, and the shim.
struct Arrival<'a> {
    number: u32,
    port: u16,
    rest: &'a [u8],
}

impl<'a> Arrival<'a> {
    /// None for what no overlay sends.
    fn of(outer: &Outer<'a>) -> Option<Self> {
        match outer.protocol {
            protocol::UDP => {
                let (header, rest) = udp::Header::ref_from_prefix(outer.payload).ok()?;
                let number = header.destination.get().into();
                Some(Self { number, port: header.source.get(), rest })
            }
            protocol::GRE => {
                let (header, rest) = gre::Header::ref_from_prefix(outer.payload).ok()?;
                let keyed = match header.flags_version.get() {
                    0 => 0,
                    gre::flag::KEY => arrival::KEYED,
                    _ => return None,
                };
                Some(Self { number: u32::from(header.protocol.get()) | keyed, port: 0, rest })
            }
            _ => Some(Self { number: 0, port: 0, rest: outer.payload }),
        }
    }
}

/// The outer IP header, as far as an overlay's packets have one.
struct Outer<'a> {
    source: IpAddr,
    destination: IpAddr,
    tos: u8,
    ttl: u8,
    protocol: u8,
    payload: &'a [u8],
}

impl<'a> Outer<'a> {
    /// None for what no overlay sends: options, fragments, anything but IP. Lengths in headers are not looked at: what
    /// is there is what came.
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let frame = Frame::parse(bytes).ok()?;
        let packet = frame.payload();
        let least = |header: usize| packet.len() >= header + udp::Header::LENGTH;
        match frame.ether_type() {
            ether_type::IPV4 if least(ipv4::Header::LENGTH) => {
                let fragment = u16::from_be_bytes([packet[6], packet[7]]);
                if packet[0] != 0x45 || fragment & 0x3fff != 0 {
                    return None;
                }
                let address = |at: usize| <[u8; 4]>::try_from(&packet[at..at + 4]).expect("four bytes");
                Some(Self {
                    source: address(12).into(),
                    destination: address(16).into(),
                    tos: packet[1],
                    ttl: packet[8],
                    protocol: packet[9],
                    payload: &packet[ipv4::Header::LENGTH..],
                })
            }
            ether_type::IPV6 if least(ipv6::Header::LENGTH) => {
                let address = |at: usize| <[u8; 16]>::try_from(&packet[at..at + 16]).expect("sixteen bytes");
                Some(Self {
                    source: address(8).into(),
                    destination: address(24).into(),
                    tos: packet[0] << 4 | packet[1] >> 4,
                    ttl: packet[7],
                    protocol: packet[6],
                    payload: &packet[ipv6::Header::LENGTH..],
                })
            }
            _ => None,
        }
    }
}
