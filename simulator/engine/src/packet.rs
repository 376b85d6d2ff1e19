//! A packet: what its headers say, and how long it is. Payloads of traffic are never there, those of protocols are
//! shared.

use crate::address::AddressIndex;
use crate::encapsulation::StackIndex;
use plait_model_wire::number::protocol;
use std::sync::Arc;

/// A packet under way, 56 bytes: with what a link keeps of it 104. What only its ends ask for comes first, what every node does
/// last, beside what every link does: see [`Parcel`](plait_model_link::Parcel).
#[derive(Debug, Clone)]
#[repr(C)]
pub(crate) struct Packet {
    /// What a datagram of a [`Host`](crate::Host) says.
    pub body: Option<Arc<Vec<u8>>>,
    /// When it was sent.
    pub sent: u64,
    /// The inner header's source.
    pub source: AddressIndex,
    /// Those of UDP; of another payload of IP nought and its protocol.
    pub ports: [u16; 2],
    /// Whose packet it is; [`NO_FLOW`] belongs to a host's protocol.
    pub flow: u32,
    /// How many packets of its flow went before it.
    pub number: u32,
    /// The inner header's destination.
    pub destination: AddressIndex,
    /// Bytes of the whole frame as it is now, Ethernet header included, checksum not.
    pub frame: u32,
    /// What switches hash of the outermost header, folded: see [`crate::hash`].
    pub hash: u32,
    /// The interface that it is for on this segment, by the number of the direction out of it: its link-layer address.
    pub station: u32,
    /// The relays whose headers it wears; [`StackIndex::NONE`] wears none.
    pub stack: StackIndex,
    /// Hops left to the outermost header.
    pub ttl: u8,
    /// Hops left to the innermost one, while others are outside it.
    pub inner_ttl: u8,
    /// How many relays it has passed.
    pub position: u8,
    pub flags: u8,
}

/// The flow of a packet that belongs to none.
pub(crate) const NO_FLOW: u32 = u32::MAX;

/// Bits of [`Packet::flags`].
pub(crate) mod flag {
    /// It can carry a congestion mark.
    pub const ECN_CAPABLE: u8 = 1;
    /// It carries one.
    pub const MARKED: u8 = 2;
    /// A bit of its payload is wrong.
    pub const DAMAGED: u8 = 4;
    /// Its inner header is IPv6.
    pub const IPV6: u8 = 8;
    /// What its inner IP header carries is no UDP.
    pub const OTHER: u8 = 16;
}

/// Hops that a packet may take. Choice: Linux's default.
pub(crate) const TTL: u8 = 64;

/// Bytes of the headers around a payload of UDP, without any stack: Ethernet, IP, UDP.
pub const fn headers(is_ipv6: bool) -> u32 {
    14 + if is_ipv6 { 40 } else { 20 } + UDP_HEADER
}

/// Bytes of a UDP header.
pub(crate) const UDP_HEADER: u32 = 8;

impl Packet {
    pub fn is_ipv6(&self) -> bool {
        self.flags & flag::IPV6 != 0
    }

    /// What its inner IP header carries.
    pub fn protocol(&self) -> u8 {
        if self.flags & flag::OTHER != 0 { self.ports[1] as u8 } else { protocol::UDP }
    }

    /// The ports of its UDP header; nought where it has none.
    pub fn udp_ports(&self) -> [u16; 2] {
        if self.flags & flag::OTHER != 0 { [0; 2] } else { self.ports }
    }

    /// Bytes of UDP payload, once no stack is around it.
    pub fn payload(&self) -> u32 {
        self.frame.saturating_sub(headers(self.is_ipv6()))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_packet_is_small() {
        assert_eq!(size_of::<super::Packet>(), 56);
    }
}
