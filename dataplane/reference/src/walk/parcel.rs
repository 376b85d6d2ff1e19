//! A packet on its way, apart from the headers that it happens to wear.

use super::place::masked;
use crate::tables::{Device, driver, size};
use plait_model_wire::ethernet::{self, Frame, Mac};
use plait_model_wire::number::{ether_type, protocol};
use plait_model_wire::ovstack::{self, NodeId};
use plait_model_wire::{ipv4, ipv6, nsh, push};
use std::net::Ipv6Addr;

/// What a packet carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Payload {
    Ethernet,
    Ipv4,
    Ipv6,
    /// The application knows.
    Unsaid,
    /// A message of the overlay itself.
    Control,
}

impl Payload {
    /// By the version that an IP packet begins with.
    pub fn of_ip(bytes: &[u8]) -> Self {
        match bytes.first().map(|first| first >> 4) {
            Some(6) => Self::Ipv6,
            _ => Self::Ipv4,
        }
    }

    /// By an EtherType, where a frame has that of transparent bridging.
    pub fn of_ether_type(number: u16) -> Option<Self> {
        match number {
            ether_type::ETHERNET => Some(Self::Ethernet),
            ether_type::IPV4 => Some(Self::Ipv4),
            ether_type::IPV6 => Some(Self::Ipv6),
            _ => None,
        }
    }

    /// That EtherType.
    pub fn ether_type(self) -> u16 {
        match self {
            Self::Ethernet | Self::Unsaid | Self::Control => ether_type::ETHERNET,
            Self::Ipv4 => ether_type::IPV4,
            Self::Ipv6 => ether_type::IPV6,
        }
    }

    /// By the number that it has in a network service header.
    pub fn of_next(number: u8) -> Option<Self> {
        match number {
            nsh::next::ETHERNET => Some(Self::Ethernet),
            nsh::next::IPV4 => Some(Self::Ipv4),
            nsh::next::IPV6 => Some(Self::Ipv6),
            _ => None,
        }
    }

    /// That number.
    pub fn next(self) -> u8 {
        match self {
            Self::Ethernet | Self::Unsaid | Self::Control => nsh::next::ETHERNET,
            Self::Ipv4 => nsh::next::IPV4,
            Self::Ipv6 => nsh::next::IPV6,
        }
    }

    /// The IP protocol of a packet.
    pub fn protocol(self) -> u8 {
        if self == Self::Ipv6 { protocol::IPV6 } else { protocol::IPV4 }
    }

    /// Bytes that it has at least.
    pub fn least(self) -> usize {
        match self {
            Self::Ethernet | Self::Unsaid | Self::Control => ethernet::Header::LENGTH,
            Self::Ipv4 => ipv4::Header::LENGTH,
            Self::Ipv6 => ipv6::Header::LENGTH,
        }
    }
}

/// A packet on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parcel {
    /// What the overlay says of it.
    pub overlay: ovstack::Repr,
    /// What it carries.
    pub payload: Payload,
    /// The bytes of that.
    pub carried: Vec<u8>,
    /// Congestion marks for the outer header.
    pub ecn: u8,
    /// The flow's port for the outer header.
    pub port: u16,
    /// The locator that it came from; nought of one that begins here.
    pub from: [u8; 16],
    /// Whether its header says from which node it is, and for which.
    pub placed: bool,
}

/// The port of a flow, RFC 7348 section 5.
pub(super) fn flow_port(hash: u32) -> u16 {
    0xc000 | ((hash ^ hash >> 16) & 0x3fff) as u16
}

impl Parcel {
    /// The identifier of a frame on a tenant's device, and the parcel that it becomes.
    pub fn identify(
        device: &Device,
        bytes: &[u8],
        flow: u32,
    ) -> Option<([u8; size::IDENTIFIER as usize], Self)> {
        let frame = Frame::parse(bytes).ok()?;
        let mut identifier = [0; size::IDENTIFIER as usize];
        let (hash, payload, carried) = match device.driver {
            driver::ETHERNET => {
                identifier[..6].copy_from_slice(&frame.destination().0);
                (stations_hash(&frame), Payload::Ethernet, bytes)
            }
            driver::IP => {
                let (address, bits, payload) = match frame.ether_type() {
                    ether_type::IPV4 => {
                        let address = frame.payload().get(16..20)?;
                        let address: [u8; 4] = address.try_into().ok()?;
                        let address = std::net::Ipv4Addr::from(address).to_ipv6_mapped().octets();
                        (frame.payload().get(..20).map(|_| address)?, 96 + device.prefix[0], Payload::Ipv4)
                    }
                    ether_type::IPV6 => {
                        let address = frame.payload().get(24..40)?;
                        (address.try_into().ok()?, device.prefix[1], Payload::Ipv6)
                    }
                    _ => return None,
                };
                identifier = masked(address, bits);
                (flow, payload, frame.payload())
            }
            driver::BITS => {
                let from = (device.offset & 1023) as usize;
                let bits = bytes.get(from..from + identifier.len())?;
                for ((byte, bits), mask) in identifier.iter_mut().zip(bits).zip(device.mask) {
                    *byte = bits & mask;
                }
                (flow, Payload::Ethernet, bytes)
            }
            _ => return None,
        };
        let overlay = ovstack::Repr {
            ttl: 0,
            application: 0,
            is_control: false,
            vni: 0,
            hash,
            destination: NodeId(0),
            source: NodeId(0),
        };
        let (carried, ecn, port) = (carried.to_vec(), ecn(&frame), flow_port(flow));
        Some((identifier, Self { overlay, payload, carried, ecn, port, from: [0; 16], placed: true }))
    }

    /// Whether the kernel can go on with it on the device that it came by: it carries a packet of the outer header's family, of
    /// frames in one for this address, and of IPv6 one that means the same by whatever device it comes.
    pub fn may_stay(&self, address: [u8; 6]) -> bool {
        let (inner, packet) = match self.payload {
            Payload::Ipv4 => (ether_type::IPV4, &self.carried[..]),
            Payload::Ipv6 => (ether_type::IPV6, &self.carried[..]),
            Payload::Ethernet => match Frame::parse(&self.carried) {
                Ok(frame) if frame.destination() == Mac(address) => (frame.ether_type(), frame.payload()),
                _ => return false,
            },
            Payload::Unsaid | Payload::Control => return false,
        };
        match Ipv6Addr::from(self.from).to_ipv4_mapped() {
            Some(_) => inner == ether_type::IPV4,
            None => inner == ether_type::IPV6 && is_of_no_link(packet),
        }
    }

    /// The frame that a tenant's device gets.
    pub fn stripped(&self, address: [u8; 6]) -> Vec<u8> {
        let mut frame = self.carried.clone();
        let ether_type = match self.payload {
            Payload::Ethernet | Payload::Unsaid | Payload::Control => {
                // The kernel's way to take a header off leaves no less than one of IP.
                let least = ethernet::Header::LENGTH + ipv4::Header::LENGTH;
                if frame.len() < least {
                    frame.resize(least, 0);
                }
                return frame;
            }
            Payload::Ipv4 => ether_type::IPV4,
            Payload::Ipv6 => ether_type::IPV6,
        };
        push(&mut frame, &ethernet::Repr { destination: Mac(address), source: Mac(address), ether_type });
        frame
    }
}

/// Whether a packet of IPv6 is none that neighbours say to each other, and for no address of a link.
fn is_of_no_link(packet: &[u8]) -> bool {
    let header = packet.get(..ipv6::Header::LENGTH);
    header.is_some_and(|ip| {
        matches!(ip[6], protocol::TCP | protocol::UDP) && (ip[24] != 0xfe || ip[25] & 0xc0 != 0x80)
    })
}

/// Congestion marks of what a frame carries, if that is IP.
fn ecn(frame: &Frame<'_>) -> u8 {
    match (frame.ether_type(), frame.payload()) {
        (ether_type::IPV4, [_, tos, ..]) if frame.payload().len() >= ipv4::Header::LENGTH => tos & 3,
        (ether_type::IPV6, [_, class, ..]) if frame.payload().len() >= ipv4::Header::LENGTH => class >> 4 & 3,
        _ => 0,
    }
}

/// What must not overtake each other: frames of one type between two stations.
pub(super) fn stations_hash(frame: &Frame<'_>) -> u32 {
    let ([a, b, c, d, e, f], [g, h, i, j, k, l]) = (frame.destination().0, frame.source().0);
    let word = u32::from_ne_bytes;
    // As they lie in memory.
    let ether_type = u32::from(frame.ether_type().to_be());
    mixed(word([a, b, c, d]), word([e, f, g, h]), word([i, j, k, l]) ^ ether_type)
}

/// The last step of Bob Jenkins' lookup3, which mixes three words into one.
pub(crate) fn mixed(mut a: u32, mut b: u32, mut c: u32) -> u32 {
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}
