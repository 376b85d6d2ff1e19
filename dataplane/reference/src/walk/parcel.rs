//! A packet on its way, apart from the headers that it happens to wear.

use crate::drivers::{Driver, Identified, Identifier, Payload};
use crate::tables::Device;
use plait_model_wire::ethernet::{self, Frame, Mac};
use plait_model_wire::number::{ether_type, protocol};
use plait_model_wire::ovstack::{self, NodeId};
use plait_model_wire::{ipv4, ipv6, push};
use std::net::Ipv6Addr;

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
        driver: &dyn Driver,
        device: &Device,
        bytes: &[u8],
        flow: u32,
    ) -> Option<(Identifier, Self)> {
        let ecn = ecn(&Frame::parse(bytes).ok()?);
        let Identified { identifier, hash, payload, carried } = driver.identify(device, bytes, flow)?;
        let overlay = ovstack::Repr {
            ttl: 0,
            application: 0,
            is_control: false,
            vni: 0,
            hash,
            destination: NodeId(0),
            source: NodeId(0),
        };
        let (carried, port) = (carried.to_vec(), flow_port(flow));
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
            _ => return false,
        };
        match Ipv6Addr::from(self.from).to_ipv4_mapped() {
            Some(_) => inner == ether_type::IPV4,
            None => inner == ether_type::IPV6 && is_of_no_link(packet),
        }
    }

    /// The frame that a tenant's device gets.
    pub fn stripped(&self, address: [u8; 6]) -> Vec<u8> {
        let mut frame = self.carried.clone();
        let is_frame = matches!(self.payload, Payload::Ethernet | Payload::Unsaid | Payload::Control);
        // The kernel's way to take a header off leaves no less than one of IP.
        let least = ipv4::Header::LENGTH + if is_frame { ethernet::Header::LENGTH } else { 0 };
        if frame.len() < least {
            frame.resize(least, 0);
        }
        if !is_frame {
            let (destination, source) = (Mac(address), Mac(address));
            push(&mut frame, &ethernet::Repr { destination, source, ether_type: self.payload.ether_type() });
        }
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
