//! What of a frame decides where it goes.

use plait_control_openflow::{Fields, Port, Version};
use plait_model_wire::ethernet::Mac;
use plait_model_wire::number::{ether_type, protocol};
use plait_model_wire::{Malformed, arp, ethernet, ipv4, ipv6};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A frame as a switch's flow table sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parsed<'a> {
    pub source: Mac,
    pub destination: Mac,
    /// 0 is a frame without one.
    pub vlan: u16,
    /// Of what follows the VLAN.
    pub ether_type: u16,
    /// From Ethernet's payload on, behind the VLAN.
    pub payload: &'a [u8],
    /// Of IP: both addresses. Of ARP, too.
    pub addresses: Option<(IpAddr, IpAddr)>,
    /// Of IP the protocol, of ARP the operation.
    pub protocol: Option<u8>,
    /// Ports, or type and code of ICMP.
    pub ports: Option<(u16, u16)>,
}

impl<'a> Parsed<'a> {
    /// A frame, of which perhaps only the beginning is there. What is malformed further in has no more fields than a
    /// switch finds.
    pub fn of(frame: &'a [u8]) -> Result<Self, Malformed> {
        let frame = ethernet::Frame::parse(frame)?;
        let (mut ether_type, mut payload, mut vlan) = (frame.ether_type(), frame.payload(), 0);
        if ether_type == ether_type::VLAN
            && let [high, low, a, b, rest @ ..] = payload
        {
            vlan = u16::from_be_bytes([*high, *low]) & 0xfff;
            ether_type = u16::from_be_bytes([*a, *b]);
            payload = rest;
        }
        let mut parsed = Self {
            source: frame.source(),
            destination: frame.destination(),
            vlan,
            ether_type,
            payload,
            addresses: None,
            protocol: None,
            ports: None,
        };
        match ether_type {
            ether_type::IPV4 => parsed.ipv4(),
            ether_type::IPV6 => parsed.ipv6(),
            ether_type::ARP => parsed.arp(),
            _ => {}
        }
        Ok(parsed)
    }

    fn ipv4(&mut self) {
        // By hand and not by `ipv4::Packet`, which wants the whole packet; a switch sends a beginning perhaps.
        let Some((header, _)) = self.payload.split_at_checked(ipv4::Header::LENGTH) else { return };
        let length = usize::from(header[0] & 15) * 4;
        if header[0] >> 4 != 4 || length < ipv4::Header::LENGTH || self.payload.len() < length {
            return;
        }
        let address = |at: usize| {
            let bytes: Option<[u8; 4]> = header[at..at + 4].try_into().ok();
            bytes.map(Ipv4Addr::from)
        };
        let (Some(source), Some(destination)) = (address(12), address(16)) else { return };
        let number = header[9];
        self.addresses = Some((source.into(), destination.into()));
        self.protocol = Some(number);
        let fragment = u16::from_be_bytes([header[6], header[7]]);
        let whole = fragment & (ipv4::fragment::MORE | ipv4::fragment::OFFSET) == 0;
        self.ports = ports(number, whole, &self.payload[length..]);
    }

    fn ipv6(&mut self) {
        let Some((header, mut rest)) = self.payload.split_at_checked(ipv6::Header::LENGTH) else { return };
        if header[0] >> 4 != 6 {
            return;
        }
        let address = |at: usize| {
            let bytes: Option<[u8; 16]> = header[at..at + 16].try_into().ok();
            bytes.map(Ipv6Addr::from)
        };
        let (Some(source), Some(destination)) = (address(8), address(24)) else { return };
        self.addresses = Some((source.into(), destination.into()));
        let (mut next, mut whole) = (header[6], true);
        // Switches match what follows the extension headers (1.3.5 section 7.2.3.8).
        while let (0 | 43 | 44 | 60, [following, eights, behind @ ..]) = (next, rest) {
            let length = if next == 44 {
                whole = false;
                8
            } else {
                usize::from(*eights) * 8 + 8
            };
            next = *following;
            rest = behind.get(length - 2..).unwrap_or_default();
        }
        self.protocol = Some(next);
        self.ports = ports(next, whole, rest);
    }

    fn arp(&mut self) {
        if let Ok(packet) = arp::Packet::parse(self.payload) {
            self.addresses = Some((packet.sender().1.into(), packet.target().1.into()));
            self.protocol = u8::try_from(packet.operation()).ok();
        }
    }

    /// A match that this frame and those of its flow have alone: every field that an access list may name, so that
    /// all of them meet the same verdict.
    pub fn exactly(&self, in_port: Port, version: Version) -> Fields {
        let mut fields = Fields {
            in_port: Some(in_port),
            eth_src: Some(self.source.0),
            eth_dst: Some(self.destination.0),
            eth_type: Some(self.ether_type),
            vlan: Some(self.vlan),
            ..Fields::ANY
        };
        match self.addresses {
            Some((IpAddr::V4(source), IpAddr::V4(destination))) => {
                fields.ipv4_src = Some((source, 32));
                fields.ipv4_dst = Some((destination, 32));
            }
            // 1.0 looks no further into IPv6 than its EtherType.
            Some(_) if version == Version::V10 => return fields,
            Some((IpAddr::V6(source), IpAddr::V6(destination))) => {
                fields.ipv6_src = Some((source, 128));
                fields.ipv6_dst = Some((destination, 128));
            }
            _ => {}
        }
        fields.protocol = self.protocol;
        fields.source_port = self.ports.map(|ports| ports.0);
        fields.destination_port = self.ports.map(|ports| ports.1);
        fields
    }

    /// Whether it is for bridges only, which do not pass it on (IEEE 802.1Q table 8-1).
    pub fn is_for_bridges(&self) -> bool {
        matches!(self.destination.0, [0x01, 0x80, 0xc2, 0, 0, 0..=0x0f])
    }
}

/// Whether an address can be a station's.
#[inline]
pub(crate) fn is_station(mac: Mac) -> bool {
    !mac.is_group() && mac != Mac::default()
}

/// Whether hosts can be behind a port.
#[inline]
pub(crate) fn is_attachment(port: Port) -> bool {
    port.is_physical() || port == Port::LOCAL
}

/// Of a fragment, switches take the ports as 0.
fn ports(number: u8, whole: bool, bytes: &[u8]) -> Option<(u16, u16)> {
    match (number, whole, bytes) {
        (protocol::TCP | protocol::UDP | protocol::SCTP | protocol::ICMP | protocol::ICMPV6, false, _) => {
            Some((0, 0))
        }
        (protocol::TCP | protocol::UDP | protocol::SCTP, true, [a, b, c, d, ..]) => {
            Some((u16::from_be_bytes([*a, *b]), u16::from_be_bytes([*c, *d])))
        }
        (protocol::ICMP | protocol::ICMPV6, true, [kind, code, ..]) => Some(((*kind).into(), (*code).into())),
        _ => None,
    }
}
