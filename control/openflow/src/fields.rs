//! Which packets a flow is for, in words that both versions have.

use crate::Port;
use plait_control_runtime::wit;
use plait_model_wire::ethernet::Mac;
use plait_model_wire::openflow::v10::{self, Wildcards, flow_match::NO_VLAN};
use plait_model_wire::openflow::v13::oxm::{Masked, Oxm, VlanId};
use std::net::{Ipv4Addr, Ipv6Addr};

/// A match: a packet must have each field that is given. What a field needs before it (an IPv4 address the EtherType
/// of IPv4, a port the protocol) must be given, too, as 1.3.5 section 7.2.3.6 asks.
///
/// Choice: the fields that ordinary applications use, in one form for both versions, so that an application need not
/// know which version a switch speaks. Whatever else a version can say goes as a [raw](crate::Command::Raw) message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Fields {
    /// The port that it came by.
    pub in_port: Option<Port>,
    /// Source address of Ethernet.
    pub eth_src: Option<[u8; 6]>,
    /// Destination address of Ethernet.
    pub eth_dst: Option<[u8; 6]>,
    /// EtherType, of what follows VLANs.
    pub eth_type: Option<u16>,
    /// VLAN; 0 is a frame without one.
    pub vlan: Option<u16>,
    /// Protocol of IP; of ARP the operation.
    pub protocol: Option<u8>,
    /// Source of IPv4 or ARP, and how many bits of it count.
    pub ipv4_src: Option<(Ipv4Addr, u8)>,
    /// Destination of IPv4 or ARP, and how many bits of it count.
    pub ipv4_dst: Option<(Ipv4Addr, u8)>,
    /// Source of IPv6, and how many bits of it count; not in 1.0.
    pub ipv6_src: Option<(Ipv6Addr, u8)>,
    /// Destination of IPv6, and how many bits of it count; not in 1.0.
    pub ipv6_dst: Option<(Ipv6Addr, u8)>,
    /// Source port of TCP, UDP or SCTP, or type of ICMP.
    pub source_port: Option<u16>,
    /// Destination port of TCP, UDP or SCTP, or code of ICMP.
    pub destination_port: Option<u16>,
}
wit!(struct Fields {
    in_port, eth_src, eth_dst, eth_type, vlan, protocol, ipv4_src, ipv4_dst, ipv6_src, ipv6_dst, source_port,
    destination_port
});

const ARP: u16 = 0x0806;

impl Fields {
    /// Every packet.
    pub const ANY: Self = Self {
        in_port: None,
        eth_src: None,
        eth_dst: None,
        eth_type: None,
        vlan: None,
        protocol: None,
        ipv4_src: None,
        ipv4_dst: None,
        ipv6_src: None,
        ipv6_dst: None,
        source_port: None,
        destination_port: None,
    };

    /// As 1.0 says it, unless it names IPv6 or a port that 1.0 cannot number.
    pub(crate) fn v10(&self) -> Option<v10::Match> {
        if self.ipv6_src.is_some() || self.ipv6_dst.is_some() {
            return None;
        }
        let mut found = v10::Match::ANY;
        let mut wild = found.wildcards;
        let mut set = |bit: Wildcards| wild = Wildcards(wild.0 & !bit.0);
        if let Some(port) = self.in_port {
            set(Wildcards::IN_PORT);
            found.in_port = port.v10()?;
        }
        if let Some(address) = self.eth_src {
            set(Wildcards::ETHERNET_SOURCE);
            found.ethernet_source = Mac(address);
        }
        if let Some(address) = self.eth_dst {
            set(Wildcards::ETHERNET_DESTINATION);
            found.ethernet_destination = Mac(address);
        }
        if let Some(kind) = self.eth_type {
            set(Wildcards::ETHER_TYPE);
            found.ether_type = kind;
        }
        if let Some(vlan) = self.vlan {
            set(Wildcards::VLAN);
            found.vlan = if vlan == 0 { NO_VLAN } else { vlan };
        }
        if let Some(protocol) = self.protocol {
            set(Wildcards::PROTOCOL);
            found.protocol = protocol;
        }
        if let Some(port) = self.source_port {
            set(Wildcards::SOURCE_PORT);
            found.source_port = port;
        }
        if let Some(port) = self.destination_port {
            set(Wildcards::DESTINATION_PORT);
            found.destination_port = port;
        }
        if let Some((address, bits)) = self.ipv4_src {
            wild = wild.with_source_bits(32 - u32::from(bits.min(32)));
            found.source = address;
        }
        if let Some((address, bits)) = self.ipv4_dst {
            wild = wild.with_destination_bits(32 - u32::from(bits.min(32)));
            found.destination = address;
        }
        found.wildcards = wild;
        Some(found)
    }

    /// What 1.0 says, as far as these are words for it.
    pub(crate) fn of_v10(said: &v10::Match) -> Self {
        let wild = said.wildcards;
        fn some<T>(is_wild: bool, value: T) -> Option<T> {
            (!is_wild).then_some(value)
        }
        let prefix = |bits: u32, address| (bits < 32).then(|| (address, (32 - bits) as u8));
        let vlan = if said.vlan == NO_VLAN { 0 } else { said.vlan };
        Self {
            in_port: some(wild.contains(Wildcards::IN_PORT), said.in_port.into()),
            eth_src: some(wild.contains(Wildcards::ETHERNET_SOURCE), said.ethernet_source.0),
            eth_dst: some(wild.contains(Wildcards::ETHERNET_DESTINATION), said.ethernet_destination.0),
            eth_type: some(wild.contains(Wildcards::ETHER_TYPE), said.ether_type),
            vlan: some(wild.contains(Wildcards::VLAN), vlan),
            protocol: some(wild.contains(Wildcards::PROTOCOL), said.protocol),
            ipv4_src: prefix(wild.source_bits(), said.source),
            ipv4_dst: prefix(wild.destination_bits(), said.destination),
            ipv6_src: None,
            ipv6_dst: None,
            source_port: some(wild.contains(Wildcards::SOURCE_PORT), said.source_port),
            destination_port: some(wild.contains(Wildcards::DESTINATION_PORT), said.destination_port),
        }
    }

    /// What 1.3 says, if these are words for it.
    pub(crate) fn of_v13(said: &[Oxm]) -> Option<Self> {
        let mut found = Self::ANY;
        for field in said {
            match *field {
                Oxm::InPort(port) => found.in_port = Some(whole(port)?.into()),
                Oxm::EthDst(address) => found.eth_dst = Some(whole(address)?.0),
                Oxm::EthSrc(address) => found.eth_src = Some(whole(address)?.0),
                Oxm::EthType(kind) => found.eth_type = Some(whole(kind)?),
                Oxm::VlanVid(vlan) => found.vlan = Some(whole(vlan)?.0 & 0xfff),
                Oxm::IpProto(protocol) => found.protocol = Some(whole(protocol)?),
                Oxm::ArpOp(operation) => found.protocol = Some(whole(operation)?.try_into().ok()?),
                Oxm::Ipv4Src(address) | Oxm::ArpSpa(address) => {
                    found.ipv4_src =
                        Some((address.value, bits(address.mask.map(|mask| mask.to_bits().into()), 32)));
                }
                Oxm::Ipv4Dst(address) | Oxm::ArpTpa(address) => {
                    found.ipv4_dst =
                        Some((address.value, bits(address.mask.map(|mask| mask.to_bits().into()), 32)));
                }
                Oxm::Ipv6Src(address) => {
                    found.ipv6_src =
                        Some((address.value, bits(address.mask.map(|mask| mask.to_bits()), 128)));
                }
                Oxm::Ipv6Dst(address) => {
                    found.ipv6_dst =
                        Some((address.value, bits(address.mask.map(|mask| mask.to_bits()), 128)));
                }
                Oxm::TcpSrc(port) | Oxm::UdpSrc(port) | Oxm::SctpSrc(port) => {
                    found.source_port = Some(whole(port)?);
                }
                Oxm::Icmpv4Type(kind) | Oxm::Icmpv6Type(kind) => {
                    found.source_port = Some(whole(kind)?.into())
                }
                Oxm::TcpDst(port) | Oxm::UdpDst(port) | Oxm::SctpDst(port) => {
                    found.destination_port = Some(whole(port)?);
                }
                Oxm::Icmpv4Code(code) | Oxm::Icmpv6Code(code) => {
                    found.destination_port = Some(whole(code)?.into());
                }
                _ => return None,
            }
        }
        Some(found)
    }

    /// As 1.3 says it. What needs another field to have a meaning, and has not got it, is left out, which no switch would
    /// take.
    pub(crate) fn v13(&self) -> Vec<Oxm> {
        let mut all = Vec::with_capacity(8);
        all.extend(self.in_port.map(|port| Oxm::InPort(exactly(port.into()))));
        all.extend(self.eth_dst.map(|address| Oxm::EthDst(exactly(Mac(address)))));
        all.extend(self.eth_src.map(|address| Oxm::EthSrc(exactly(Mac(address)))));
        all.extend(self.eth_type.map(|kind| Oxm::EthType(exactly(kind))));
        all.extend(self.vlan.map(|vlan| {
            let id = if vlan == 0 { VlanId::NONE } else { VlanId::of(vlan) };
            Oxm::VlanVid(exactly(id))
        }));
        let (source, destination) = (self.ipv4_src.map(prefix4), self.ipv4_dst.map(prefix4));
        if self.eth_type == Some(ARP) {
            all.extend(self.protocol.map(|operation| Oxm::ArpOp(exactly(operation.into()))));
            all.extend(source.map(Oxm::ArpSpa));
            all.extend(destination.map(Oxm::ArpTpa));
            return all;
        }
        all.extend(self.protocol.map(|protocol| Oxm::IpProto(exactly(protocol))));
        all.extend(source.map(Oxm::Ipv4Src));
        all.extend(destination.map(Oxm::Ipv4Dst));
        all.extend(self.ipv6_src.map(|address| Oxm::Ipv6Src(prefix6(address))));
        all.extend(self.ipv6_dst.map(|address| Oxm::Ipv6Dst(prefix6(address))));
        if let Some(protocol) = self.protocol {
            all.extend(self.source_port.and_then(|port| of_source(protocol, port)));
            all.extend(self.destination_port.and_then(|port| of_destination(protocol, port)));
        }
        all
    }
}

fn exactly<T>(value: T) -> Masked<T> {
    Masked { value, mask: None }
}

fn whole<T>(masked: Masked<T>) -> Option<T> {
    masked.mask.is_none().then_some(masked.value)
}

/// How many bits of an address count. A mask that is no prefix is told by who writes it again.
fn bits(mask: Option<u128>, all: u8) -> u8 {
    mask.map_or(all, |mask| mask.count_ones() as u8)
}

fn prefix4((address, bits): (Ipv4Addr, u8)) -> Masked<Ipv4Addr> {
    let mask = u32::MAX.checked_shl(32 - u32::from(bits.min(32))).unwrap_or(0);
    let mask = (bits < 32).then_some(Ipv4Addr::from_bits(mask));
    Masked { value: mask.map_or(address, |mask| address & mask), mask }
}

fn prefix6((address, bits): (Ipv6Addr, u8)) -> Masked<Ipv6Addr> {
    let mask = u128::MAX.checked_shl(128 - u32::from(bits.min(128))).unwrap_or(0);
    let mask = (bits < 128).then_some(Ipv6Addr::from_bits(mask));
    Masked { value: mask.map_or(address, |mask| address & mask), mask }
}

fn of_source(protocol: u8, port: u16) -> Option<Oxm> {
    Some(match protocol {
        1 => Oxm::Icmpv4Type(exactly(port.try_into().ok()?)),
        6 => Oxm::TcpSrc(exactly(port)),
        17 => Oxm::UdpSrc(exactly(port)),
        58 => Oxm::Icmpv6Type(exactly(port.try_into().ok()?)),
        132 => Oxm::SctpSrc(exactly(port)),
        _ => return None,
    })
}

fn of_destination(protocol: u8, port: u16) -> Option<Oxm> {
    Some(match protocol {
        1 => Oxm::Icmpv4Code(exactly(port.try_into().ok()?)),
        6 => Oxm::TcpDst(exactly(port)),
        17 => Oxm::UdpDst(exactly(port)),
        58 => Oxm::Icmpv6Code(exactly(port.try_into().ok()?)),
        132 => Oxm::SctpDst(exactly(port)),
        _ => return None,
    })
}
