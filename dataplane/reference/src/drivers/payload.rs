//! What frames carry, whatever that is, without their headers: IP, MPLS labels, service paths. It is found by whatever bits of it
//! the device's configuration names, a label say, or by none (every row of the overlay FIB's table of tunnels).
//!
//! Choice: of what is no IP, identifiers are flows on the way, since nobody but its ends knows what is in it.

use super::ip::hosts_hash;
use super::{Driver, Identified, Identifier, mixed, taken, word};
use crate::tables::{Device, Tenant};
use plait_model_wire::ethernet::{self, Frame};
use plait_model_wire::number::{ether_type, protocol};
use plait_model_wire::{ipv4, ipv6, mpls, nsh};

/// What a packet carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// A frame.
    Ethernet,
    /// A packet of IPv4.
    Ipv4,
    /// A packet of IPv6.
    Ipv6,
    /// A stack of MPLS labels, and what is under it.
    Mpls,
    /// A network service header, and what is behind it.
    Nsh,
    /// The application knows.
    Unsaid,
    /// A message of the overlay itself.
    Control,
}

impl Payload {
    /// Whether that is IP.
    pub(crate) fn is_ip(self) -> bool {
        matches!(self, Self::Ipv4 | Self::Ipv6)
    }

    /// By the version that an IP packet begins with.
    pub(crate) fn of_ip(bytes: &[u8]) -> Self {
        match bytes.first().map(|first| first >> 4) {
            Some(6) => Self::Ipv6,
            _ => Self::Ipv4,
        }
    }

    /// By an EtherType, where a frame has that of transparent bridging.
    pub(crate) fn of_ether_type(number: u16) -> Option<Self> {
        match number {
            ether_type::ETHERNET => Some(Self::Ethernet),
            ether_type::IPV4 => Some(Self::Ipv4),
            ether_type::IPV6 => Some(Self::Ipv6),
            ether_type::MPLS => Some(Self::Mpls),
            ether_type::NSH => Some(Self::Nsh),
            _ => None,
        }
    }

    /// That EtherType.
    pub(crate) fn ether_type(self) -> u16 {
        match self {
            Self::Ethernet | Self::Unsaid | Self::Control => ether_type::ETHERNET,
            Self::Ipv4 => ether_type::IPV4,
            Self::Ipv6 => ether_type::IPV6,
            Self::Mpls => ether_type::MPLS,
            Self::Nsh => ether_type::NSH,
        }
    }

    /// By the number that it has in VXLAN-GPE and in a network service header.
    pub(crate) fn of_next(number: u8) -> Option<Self> {
        match number {
            nsh::next::ETHERNET => Some(Self::Ethernet),
            nsh::next::IPV4 => Some(Self::Ipv4),
            nsh::next::IPV6 => Some(Self::Ipv6),
            nsh::next::MPLS => Some(Self::Mpls),
            nsh::next::NSH => Some(Self::Nsh),
            _ => None,
        }
    }

    /// That number.
    pub(crate) fn next(self) -> u8 {
        match self {
            Self::Ethernet | Self::Unsaid | Self::Control => nsh::next::ETHERNET,
            Self::Ipv4 => nsh::next::IPV4,
            Self::Ipv6 => nsh::next::IPV6,
            Self::Mpls => nsh::next::MPLS,
            Self::Nsh => nsh::next::NSH,
        }
    }

    /// The IP protocol of a packet.
    pub(crate) fn protocol(self) -> u8 {
        if self == Self::Ipv6 { protocol::IPV6 } else { protocol::IPV4 }
    }

    /// Bytes that it has at least.
    pub(crate) fn least(self) -> usize {
        match self {
            Self::Ethernet | Self::Unsaid | Self::Control => ethernet::Header::LENGTH,
            Self::Ipv4 => ipv4::Header::LENGTH,
            Self::Ipv6 => ipv6::Header::LENGTH,
            Self::Mpls => mpls::Header::LENGTH,
            Self::Nsh => nsh::Header::LENGTH,
        }
    }
}

#[derive(Debug)]
pub(super) struct Payloads;

impl Driver for Payloads {
    fn takes(&self, payload: Payload) -> bool {
        payload != Payload::Ethernet
    }

    fn identify<'a>(&self, device: &Device, bytes: &'a [u8], flow: u32) -> Option<Identified<'a>> {
        let frame = Frame::parse(bytes).ok()?;
        let payload = Payload::of_ether_type(frame.ether_type()).filter(|payload| self.takes(*payload))?;
        let carried = frame.payload();
        if carried.len() < payload.least() {
            return None;
        }
        let identifier = taken(carried, (device.offset & 1023) as usize, &device.mask)?;
        Some(Identified { identifier, hash: flow, payload, carried })
    }

    fn find(&self, tenant: &Tenant, payload: Payload, carried: &[u8]) -> Option<(Identifier, u32)> {
        let identifier = taken(carried, (tenant.offset & 1023) as usize, &tenant.mask)?;
        let bits = |at: usize| word(&identifier, at);
        let hash = match payload.is_ip() {
            true => hosts_hash(payload, carried)?,
            false => mixed(bits(0), bits(4), bits(8) ^ bits(12)),
        };
        Some((identifier, hash))
    }
}
