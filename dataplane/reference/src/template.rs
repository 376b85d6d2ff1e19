//! Outer headers as wires hold them.

use crate::tables::{Wire, arrival, driver, encapsulation, form, size};
use plait_model_wire::number::{ether_type, port, protocol};
use plait_model_wire::{
    Emit, checksum, ethernet, geneve, gre, gue, ipv4, ipv6, mpls, nsh, nvgre, ovstack, push, udp, vxlan,
    vxlan_gpe,
};
use std::net::IpAddr;
use zerocopy::IntoBytes;

/// The service index of packets that begin here. Choice: the most; no service function of Plait counts it down yet.
pub(crate) const SERVICE_INDEX: u8 = 255;

/// Where an outer IPv4 header's source address stands, from the first byte of the Ethernet header.
pub(crate) const IPV4_SOURCE: usize = ethernet::Header::LENGTH + 12;
/// The same of IPv6.
pub(crate) const IPV6_SOURCE: usize = ethernet::Header::LENGTH + 8;

/// The UDP port of an encapsulation, of those that have one.
pub fn udp_port(kind: u32) -> Option<u16> {
    match kind {
        encapsulation::OVSTACK => Some(port::OVSTACK),
        encapsulation::VXLAN => Some(port::VXLAN),
        encapsulation::GENEVE => Some(port::GENEVE),
        encapsulation::NSH => Some(port::VXLAN_GPE),
        encapsulation::GUE => Some(port::GUE),
        encapsulation::GPE => Some(port::VXLAN_GPE),
        _ => None,
    }
}

/// The encapsulations of overlays: all but those that path control alone has.
pub const OVERLAYS: [u32; 10] = [
    encapsulation::OVSTACK,
    encapsulation::VXLAN,
    encapsulation::GENEVE,
    encapsulation::NVGRE,
    encapsulation::GRE,
    encapsulation::IPIP,
    encapsulation::MPLS,
    encapsulation::NSH,
    encapsulation::GUE,
    encapsulation::GPE,
];

/// Bytes between the outer IP header and what is carried; none for an encapsulation that there is not.
pub fn shim_bytes(kind: u32) -> Option<usize> {
    shim(kind).map(|shim| shim.len())
}

/// The IP protocol that carries an encapsulation.
pub(crate) fn carrier(kind: u32) -> u8 {
    match kind {
        encapsulation::IPIP => protocol::IPV4,
        encapsulation::NVGRE | encapsulation::GRE | encapsulation::MPLS => protocol::GRE,
        _ => protocol::UDP,
    }
}

/// What stands between outer IP and payload, with nought for what programs fill in.
///
/// None for an encapsulation that there is not.
pub(crate) fn shim(kind: u32) -> Option<Vec<u8>> {
    let mut header = Vec::new();
    match kind {
        encapsulation::OVSTACK => {
            let fields = ovstack::Header { version: ovstack::VERSION, ..Default::default() };
            header.extend_from_slice(fields.as_bytes());
        }
        encapsulation::VXLAN => push(&mut header, &vxlan::Repr { vni: 0 }),
        encapsulation::GENEVE => push(&mut header, &geneve::Repr { vni: 0, protocol: 0, options: &[] }),
        encapsulation::NVGRE => push(&mut header, &nvgre::Repr { subnet: 0, flow: 0 }),
        encapsulation::GRE => push(&mut header, &gre::Repr::default()),
        encapsulation::IPIP => {}
        encapsulation::MPLS => {
            push(&mut header, &mpls::Repr { label: 0, traffic_class: 0, is_bottom: false, ttl: 0 });
            push(&mut header, &gre::Repr { protocol: ether_type::MPLS, ..Default::default() });
        }
        encapsulation::NSH => {
            let fields = nsh::Repr {
                ttl: 0,
                service_path: 0,
                service_index: SERVICE_INDEX,
                next_protocol: 0,
                metadata: nsh::Metadata::List(&[]),
            };
            push(&mut header, &fields);
            push(&mut header, &vxlan_gpe::Repr { vni: 0, next_protocol: vxlan_gpe::next::NSH });
        }
        encapsulation::GUE => push(&mut header, &gue::Repr::Header { protocol: 0 }),
        encapsulation::GPE => push(&mut header, &vxlan_gpe::Repr { vni: 0, next_protocol: 0 }),
        _ => return None,
    }
    if let Some(destination) = udp_port(kind) {
        let fields = udp::Header { destination: destination.into(), ..Default::default() };
        header.splice(0..0, fields.as_bytes().iter().copied());
    }
    Some(header)
}

impl Wire {
    /// The outer header from one locator to another, of one family. What programs fill in is nought.
    ///
    /// None for an encapsulation that there is not, or two families.
    pub fn new(source: IpAddr, destination: IpAddr, kind: u32, adjacency: u32) -> Option<Self> {
        let mut header = shim(kind)?;
        let (form, sum, ether_type) = match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let repr = ipv4::Repr {
                    source,
                    destination,
                    protocol: carrier(kind),
                    ttl: 0,
                    tos: 0,
                    dont_fragment: true,
                    identification: 0,
                };
                let mut fields = repr.header(0);
                (fields.total_length, fields.checksum) = (0.into(), 0.into());
                // The sum as a program on this machine adds it up: of words as they lie in memory.
                let sum = checksum::Sum::new().add(fields.as_bytes()).folded().to_be();
                header.splice(0..0, fields.as_bytes().iter().copied());
                (kind, u32::from(sum), ether_type::IPV4)
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                let (hop_limit, traffic_class, flow_label) = (0, 0, 0);
                let repr = ipv6::Repr {
                    source,
                    destination,
                    next_header: carrier(kind),
                    hop_limit,
                    traffic_class,
                    flow_label,
                };
                header.splice(0..0, repr.header(0).as_bytes().iter().copied());
                (kind + form::IPV6, 0, ether_type::IPV6)
            }
            _ => return None,
        };
        let ethernet =
            ethernet::Repr { destination: Default::default(), source: Default::default(), ether_type };
        push(&mut header, &ethernet);
        debug_assert_eq!(ethernet.length(), ethernet::Header::LENGTH);
        let mut bytes = [0; size::HEADER as usize];
        bytes.get_mut(..header.len())?.copy_from_slice(&header);
        Some(Self { header: bytes, length: header.len() as u32, sum, adjacency, form })
    }

    /// The locators from which it leads and to which; none of a slot to which nothing was written.
    pub fn locators(&self) -> Option<[IpAddr; 2]> {
        match (self.length, self.form & form::IPV6) {
            (0, _) => None,
            (_, 0) => Some(self.addresses(IPV4_SOURCE).map(|bytes: [u8; 4]| bytes.into())),
            _ => Some(self.addresses(IPV6_SOURCE).map(|bytes: [u8; 16]| bytes.into())),
        }
    }

    /// Source and destination of the outer header, which follow each other from there on.
    pub(crate) fn addresses<const BYTES: usize>(&self, at: usize) -> [[u8; BYTES]; 2] {
        let address = |at: usize| self.header[at..at + BYTES].try_into().expect("an address's bytes");
        [address(at), address(at + BYTES)]
    }
}

/// How packets of an encapsulation arrive: [`PeerKey::protocol_port`](crate::tables::PeerKey), one for each kind of
/// payload that IP or GRE tell apart and that a driver has.
pub fn arrivals(kind: u32, driver: u32) -> Vec<u32> {
    let of = |protocol: u8, number: u16| u32::from(protocol) << 16 | u32::from(number);
    match (kind, udp_port(kind)) {
        (_, Some(port)) => vec![of(protocol::UDP, port)],
        (encapsulation::IPIP, _) => vec![of(protocol::IPV4, 0), of(protocol::IPV6, 0)],
        (encapsulation::NVGRE, _) => vec![of(protocol::GRE, ether_type::ETHERNET) | arrival::KEYED],
        // Labels are the shim of another encapsulation, but where they are what is carried.
        (encapsulation::GRE, _) if driver == driver::PAYLOAD => {
            [ether_type::IPV4, ether_type::IPV6, ether_type::MPLS, ether_type::NSH]
                .map(|kind| of(protocol::GRE, kind))
                .to_vec()
        }
        (encapsulation::GRE, _) => [ether_type::ETHERNET, ether_type::IPV4, ether_type::IPV6]
            .map(|kind| of(protocol::GRE, kind))
            .to_vec(),
        (encapsulation::MPLS, _) => vec![of(protocol::GRE, ether_type::MPLS)],
        _ => Vec::new(),
    }
}
