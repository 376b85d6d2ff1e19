//! Which packets a flow of 1.0 is for: section 5.2.3.

use super::PortNumber;
use crate::ethernet::Mac;
use crate::openflow::tables::{flags, record};
use std::net::Ipv4Addr;

flags! {
    /// Which fields may be anything. Of each address of IP, a number of six bits says how many of its lower bits may be:
    /// 32 or more stand for all.
    pub struct Wildcards(u32) {
        /// The port that the packet came by.
        IN_PORT = 1,
        /// VLAN.
        VLAN = 1 << 1,
        /// Source address of Ethernet.
        ETHERNET_SOURCE = 1 << 2,
        /// Destination address of Ethernet.
        ETHERNET_DESTINATION = 1 << 3,
        /// EtherType.
        ETHER_TYPE = 1 << 4,
        /// Protocol of IP.
        PROTOCOL = 1 << 5,
        /// Source port.
        SOURCE_PORT = 1 << 6,
        /// Destination port.
        DESTINATION_PORT = 1 << 7,
        /// The whole source address of IP.
        SOURCE_ALL = 32 << 8,
        /// The whole destination address of IP.
        DESTINATION_ALL = 32 << 14,
        /// VLAN priority.
        VLAN_PRIORITY = 1 << 20,
        /// DSCP.
        TYPE_OF_SERVICE = 1 << 21,
    }
}

impl Wildcards {
    /// Every field may be anything.
    pub const ALL: Self = Self((1 << 22) - 1);

    /// How many lower bits of the source address may be anything, at most 32.
    pub fn source_bits(self) -> u32 {
        (self.0 >> 8 & 0x3f).min(32)
    }

    /// How many lower bits of the destination address may be anything, at most 32.
    pub fn destination_bits(self) -> u32 {
        (self.0 >> 14 & 0x3f).min(32)
    }

    /// With as many lower bits of the source address wild as said, at most 32.
    #[must_use]
    pub fn with_source_bits(self, bits: u32) -> Self {
        Self(self.0 & !(0x3f << 8) | bits.min(32) << 8)
    }

    /// With as many lower bits of the destination address wild as said, at most 32.
    #[must_use]
    pub fn with_destination_bits(self, bits: u32) -> Self {
        Self(self.0 & !(0x3f << 14) | bits.min(32) << 14)
    }
}

record! {
    /// Which packets: those that have each field that is not wild.
    pub struct Match {
        /// Which fields may be anything.
        pub wildcards: Wildcards,
        /// The port that the packet came by.
        pub in_port: PortNumber,
        /// Source address of Ethernet.
        pub ethernet_source: Mac,
        /// Destination address of Ethernet.
        pub ethernet_destination: Mac,
        /// VLAN, or [`NO_VLAN`].
        pub vlan: u16,
        /// VLAN priority.
        pub vlan_priority: u8, (pad 1)
        /// EtherType, or [`NO_ETHER_TYPE`].
        pub ether_type: u16,
        /// DSCP, the upper six bits.
        pub type_of_service: u8,
        /// Protocol of IP, or the lower 8 bits of ARP's operation.
        pub protocol: u8, (pad 2)
        /// Source address of IP or ARP.
        pub source: Ipv4Addr,
        /// Destination address of IP or ARP.
        pub destination: Ipv4Addr,
        /// Source port of TCP or UDP, or type of ICMP.
        pub source_port: u16,
        /// Destination port of TCP or UDP, or code of ICMP.
        pub destination_port: u16,
    }
}

/// A frame without VLAN.
pub const NO_VLAN: u16 = 0xffff;
/// A frame of 802.3 that has no EtherType: without SNAP, or with another organisation in it.
pub const NO_ETHER_TYPE: u16 = 0x05ff;

impl Match {
    /// Bytes on the wire.
    pub const LENGTH: usize = 40;

    /// Every packet.
    pub const ANY: Self = Self {
        wildcards: Wildcards::ALL,
        in_port: PortNumber(0),
        ethernet_source: Mac([0; 6]),
        ethernet_destination: Mac([0; 6]),
        vlan: 0,
        vlan_priority: 0,
        ether_type: 0,
        type_of_service: 0,
        protocol: 0,
        source: Ipv4Addr::UNSPECIFIED,
        destination: Ipv4Addr::UNSPECIFIED,
        source_port: 0,
        destination_port: 0,
    };
}
