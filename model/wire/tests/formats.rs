//! What holds for every format: what is emitted parses to the same, what is cut is refused, and no bytes make a parser
//! panic.

use plait_model_wire::ethernet::{self, Mac};
use plait_model_wire::icmp::TooBig;
use plait_model_wire::neighbor::Neighbor;
use plait_model_wire::nsh::Metadata;
use plait_model_wire::ovstack::NodeId;
use plait_model_wire::*;
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A payload behind a header.
fn packet(repr: &impl Emit, payload: &[u8]) -> Vec<u8> {
    let mut packet = payload.to_vec();
    push(&mut packet, repr);
    assert_eq!(packet.len(), repr.length() + payload.len());
    packet
}

/// No prefix that is shorter than the header parses.
fn cut<T>(bytes: &[u8], header: usize, parse: impl Fn(&[u8]) -> Result<T, Malformed>) {
    for length in 0..header {
        assert!(parse(&bytes[..length]).is_err(), "{length} of {header} bytes");
    }
}

fn payload() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(0u8.., 0..80)
}

proptest! {
    #[test]
    fn ethernet_is_what_was_said(destination: [u8; 6], source: [u8; 6], ether_type: u16, payload in payload()) {
        let repr = ethernet::Repr { destination: Mac(destination), source: Mac(source), ether_type };
        let bytes = packet(&repr, &payload);
        let frame = ethernet::Frame::parse(&bytes).unwrap();
        prop_assert_eq!((ethernet::Repr::of(&frame), frame.payload()), (repr, &payload[..]));
        cut(&bytes, 14, |bytes| ethernet::Frame::parse(bytes).map(drop));
    }

    #[test]
    fn arp_is_what_was_said(operation: u16, macs: ([u8; 6], [u8; 6]), addresses: (u32, u32), padding in payload()) {
        let sender = (Mac(macs.0), addresses.0.into());
        let repr = arp::Repr { operation, sender, target: (Mac(macs.1), addresses.1.into()) };
        let mut bytes = packet(&repr, &padding);
        prop_assert_eq!(arp::Repr::of(&arp::Packet::parse(&bytes).unwrap()), repr);
        cut(&bytes, 28, |bytes| arp::Packet::parse(bytes).map(drop));
        // Of other networks' addresses nothing is understood.
        for place in 0..6 {
            bytes[place] ^= 0x20;
            prop_assert!(arp::Packet::parse(&bytes).is_err());
            bytes[place] ^= 0x20;
        }
    }

    #[test]
    fn neighbours_are_what_was_said(
        asks: bool, target: u128, mac: Option<[u8; 6]>, flags: (bool, bool, bool), ends: (u128, u128),
        wrong: prop::sample::Index,
    ) {
        let (target, mac) = (target.into(), mac.map(Mac));
        let says = match (asks, flags) {
            (true, _) => Neighbor::Solicitation { target, source: mac },
            (_, (router, solicited, overrides)) =>
                Neighbor::Advertisement { target, mac, router, solicited, overrides },
        };
        let (source, destination) = (ends.0.into(), ends.1.into());
        let mut bytes = packet(&says.between(source, destination), &[]);
        prop_assert_eq!(Neighbor::of(&bytes, source, destination, 255), Ok(says));
        prop_assert!(Neighbor::of(&bytes, source, destination, 254).is_err(), "from another link");
        // What is cut behind its header is a message too, that a checksum alone tells apart: not always.
        let parse = |bytes: &[u8]| Neighbor::of(bytes, source, destination, 255).map(drop);
        cut(&bytes, 24, parse);
        for length in 25..bytes.len() {
            prop_assert!(parse(&bytes[..length]).is_err(), "{length} of {} bytes", bytes.len());
        }
        let wrong = wrong.index(bytes.len());
        bytes[wrong] ^= 0x10;
        prop_assert!(Neighbor::of(&bytes, source, destination, 255).is_err());
    }

    #[test]
    fn lldp_is_what_was_said(
        chassis: (u8, [u8; 8]), port: (u8, [u8; 4]), time_to_live: u16,
        own in proptest::collection::vec((any::<[u8; 3]>(), 0u8.., payload()), 0..4), padding in payload(),
    ) {
        let repr = lldp::Repr {
            chassis: (chassis.0, chassis.1.to_vec()), port: (port.0, port.1.to_vec()), time_to_live, organisational: own,
        };
        let bytes = packet(&repr, &padding);
        prop_assert_eq!(lldp::Repr::of(&lldp::Packet::parse(&bytes).unwrap()), repr);
        cut(&bytes, bytes.len() - padding.len(), |bytes| lldp::Packet::parse(bytes).map(drop));
    }

    #[test]
    fn ipv4_is_what_was_said(
        addresses: (u32, u32), protocol: u8, ttl: u8, tos: u8, dont_fragment: bool, identification: u16,
        payload in payload(),
    ) {
        let repr = ipv4::Repr {
            source: addresses.0.into(), destination: addresses.1.into(), protocol, ttl, tos, dont_fragment, identification,
        };
        let mut bytes = packet(&repr, &payload);
        cut(&bytes, bytes.len(), |bytes| ipv4::Packet::parse(bytes).map(drop));
        bytes.extend_from_slice(b"padding");
        let packet = ipv4::Packet::parse(&bytes).unwrap();
        prop_assert_eq!((ipv4::Repr::of(&packet), packet.payload()), (Ok(repr), &payload[..]));
        // Every single wrong bit of the header is seen, by the checksum if by nothing else.
        for bit in 0..20 * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            let parsed = ipv4::Packet::parse(&bytes).and_then(|packet| ipv4::Repr::of(&packet));
            prop_assert!(parsed.is_err(), "bit {}", bit);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn ipv6_is_what_was_said(
        addresses: (u128, u128), next_header: u8, hop_limit: u8, traffic_class: u8, flow_label in 0u32..1 << 20,
        payload in payload(),
    ) {
        let repr = ipv6::Repr {
            source: addresses.0.into(), destination: addresses.1.into(), next_header, hop_limit, traffic_class, flow_label,
        };
        let bytes = packet(&repr, &payload);
        let parsed = ipv6::Packet::parse(&bytes).unwrap();
        prop_assert_eq!((ipv6::Repr::of(&parsed), parsed.payload()), (repr, &payload[..]));
        cut(&bytes, bytes.len(), |bytes| ipv6::Packet::parse(bytes).map(drop));
    }

    #[test]
    fn udp_is_what_was_said(
        source: u16, destination: u16, checked: bool, v6: bool, payload in payload(), wrong: prop::sample::Index,
    ) {
        let addresses = match v6 {
            true => (IpAddr::from(Ipv6Addr::LOCALHOST), IpAddr::from(Ipv6Addr::UNSPECIFIED)),
            false => (IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv4Addr::BROADCAST)),
        };
        let repr = udp::Repr { source, destination, checked: checked.then_some(addresses) };
        let mut bytes = packet(&repr, &payload);
        cut(&bytes, bytes.len(), |bytes| udp::Datagram::parse(bytes).map(drop));
        {
            let datagram = udp::Datagram::parse(&bytes).unwrap();
            let said = udp::Repr::of(&datagram, addresses.0, addresses.1);
            prop_assert_eq!((said, datagram.payload()), (Ok(repr), &payload[..]));
        }
        if checked && !payload.is_empty() {
            bytes[8 + wrong.index(payload.len())] ^= 0x10;
            let datagram = udp::Datagram::parse(&bytes).unwrap();
            prop_assert!(!datagram.checksum_fits(addresses.0, addresses.1));
        }
    }

    #[test]
    fn gre_is_what_was_said(
        protocol: u16, key: Option<u32>, sequence: Option<u32>, checksum: bool, payload in payload(),
    ) {
        let repr = gre::Repr { protocol, key, sequence, checksum };
        let mut bytes = packet(&repr, &payload);
        let header = bytes.len() - payload.len();
        let parsed = gre::Packet::parse(&bytes).unwrap();
        prop_assert_eq!((gre::Repr::of(&parsed), parsed.payload()), (Ok(repr), &payload[..]));
        cut(&bytes, header, |bytes| gre::Packet::parse(bytes).map(drop));
        if checksum {
            *bytes.last_mut().unwrap() ^= 1;
            prop_assert!(gre::Repr::of(&gre::Packet::parse(&bytes).unwrap()).is_err());
        }
    }

    #[test]
    fn nvgre_is_what_was_said(subnet in 0u32..1 << 24, flow: u8, payload in payload()) {
        let repr = nvgre::Repr { subnet, flow };
        let bytes = packet(&repr, &payload);
        let parsed = gre::Packet::parse(&bytes).unwrap();
        prop_assert_eq!((nvgre::Repr::of(&parsed), parsed.payload()), (Ok(repr), &payload[..]));
    }

    #[test]
    fn vxlan_is_what_was_said(vni in 0u32..1 << 24, payload in payload()) {
        let bytes = packet(&vxlan::Repr { vni }, &payload);
        let parsed = vxlan::Packet::parse(&bytes).unwrap();
        prop_assert_eq!((vxlan::Repr::of(&parsed), parsed.payload()), (vxlan::Repr { vni }, &payload[..]));
        cut(&bytes, 8, |bytes| vxlan::Packet::parse(bytes).map(drop));
        // A header that says what it carries is none that always carries a frame, and the other way round.
        prop_assert!(vxlan_gpe::Packet::parse(&bytes).is_err());
    }

    #[test]
    fn vxlan_gpe_is_what_was_said(vni in 0u32..1 << 24, next_protocol: u8, payload in payload()) {
        let repr = vxlan_gpe::Repr { vni, next_protocol };
        let bytes = packet(&repr, &payload);
        let parsed = vxlan_gpe::Packet::parse(&bytes).unwrap();
        prop_assert_eq!((vxlan_gpe::Repr::of(&parsed), parsed.payload()), (Ok(repr), &payload[..]));
        cut(&bytes, 8, |bytes| vxlan_gpe::Packet::parse(bytes).map(drop));
    }

    #[test]
    fn nsh_is_what_was_said(
        service_path in 0u32..1 << 24, service_index: u8, ttl in 0u8..64, next_protocol: u8, fixed: Option<[u8; 16]>,
        items in proptest::collection::vec((any::<u16>(), any::<u8>(), proptest::collection::vec(0u8.., 0..20)), 0..4),
        payload in payload(),
    ) {
        let mut list = Vec::new();
        for (class, kind, value) in &items {
            list.extend_from_slice(&class.to_be_bytes());
            list.extend_from_slice(&[*kind, value.len() as u8]);
            list.extend_from_slice(value);
            list.resize(list.len().next_multiple_of(4), 0);
        }
        let metadata = fixed.as_ref().map_or(Metadata::List(&list), Metadata::Fixed);
        let repr = nsh::Repr { service_path, service_index, ttl, next_protocol, metadata };
        let bytes = packet(&repr, &payload);
        let parsed = nsh::Packet::parse(&bytes).unwrap();
        prop_assert_eq!((nsh::Repr::of(&parsed), parsed.payload()), (Ok(repr), &payload[..]));
        cut(&bytes, bytes.len() - payload.len(), |bytes| nsh::Packet::parse(bytes).map(drop));
        if let Metadata::List(list) = parsed.metadata() {
            let walked: Vec<_> = nsh::Items(list).map(|item| item.unwrap()).map(|item| (item.class, item.kind, item.value.to_vec())).collect();
            prop_assert_eq!(walked, items);
        }
    }

    #[test]
    fn geneve_is_what_was_said(
        vni in 0u32..1 << 24, protocol: u16, payload in payload(),
        options in proptest::collection::vec((any::<u16>(), any::<u8>(), proptest::collection::vec(any::<u32>(), 0..6)), 0..5),
    ) {
        let mut list = Vec::new();
        for (class, kind, words) in &options {
            list.extend_from_slice(&class.to_be_bytes());
            list.extend_from_slice(&[*kind, words.len() as u8]);
            words.iter().for_each(|word| list.extend_from_slice(&word.to_be_bytes()));
        }
        let repr = geneve::Repr { vni, protocol, options: &list };
        let bytes = packet(&repr, &payload);
        let parsed = geneve::Packet::parse(&bytes).unwrap();
        prop_assert_eq!((geneve::Repr::of(&parsed), parsed.payload()), (Ok(repr), &payload[..]));
        prop_assert_eq!(parsed.is_critical(), options.iter().any(|(_, kind, _)| kind & 0x80 != 0));
        prop_assert_eq!(geneve::Options(parsed.options()).count(), options.len());
        cut(&bytes, bytes.len() - payload.len(), |bytes| geneve::Packet::parse(bytes).map(drop));
    }

    #[test]
    fn gue_is_what_was_said(protocol: u8, payload in payload()) {
        let repr = gue::Repr::Header { protocol };
        let bytes = packet(&repr, &payload);
        let parsed = gue::Packet::parse(&bytes).unwrap();
        prop_assert_eq!((gue::Repr::of(&parsed), parsed.payload()), (Ok(repr), &payload[..]));
        cut(&bytes, 4, |bytes| gue::Packet::parse(bytes).map(drop));
    }

    #[test]
    fn mpls_is_what_was_said(
        label in 0u32..1 << 20, traffic_class in 0u8..8, is_bottom: bool, ttl: u8, payload in payload(),
    ) {
        let repr = mpls::Repr { label, traffic_class, is_bottom, ttl };
        let bytes = packet(&repr, &payload);
        let parsed = mpls::Label::parse(&bytes).unwrap();
        prop_assert_eq!((mpls::Repr::of(&parsed), parsed.payload()), (repr, &payload[..]));
        cut(&bytes, 4, |bytes| mpls::Label::parse(bytes).map(drop));
    }

    #[test]
    fn ovstack_is_what_was_said(
        ttl: u8, application: u8, is_control: bool, vni in 0u32..1 << 24, hash: u32, nodes: (u32, u32),
        payload in payload(),
    ) {
        let (destination, source) = (NodeId(nodes.0), NodeId(nodes.1));
        let repr = ovstack::Repr { ttl, application, is_control, vni, hash, destination, source };
        let bytes = packet(&repr, &payload);
        let parsed = ovstack::Packet::parse(&bytes).unwrap();
        prop_assert_eq!((ovstack::Repr::of(&parsed), parsed.payload()), (repr, &payload[..]));
        cut(&bytes, 20, |bytes| ovstack::Packet::parse(bytes).map(drop));
        prop_assert_eq!(destination.to_string().parse(), Ok(destination));
    }

    #[test]
    fn a_packet_too_big_is_told(mtu: u16, v6: bool, quoted in payload()) {
        let (from, to) = (Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1), Ipv6Addr::LOCALHOST);
        let (repr, source, destination) = match v6 {
            true => (TooBig::V6 { mtu: mtu.into(), source: from, destination: to }, from.into(), to.into()),
            false => (TooBig::V4 { mtu }, IpAddr::from(Ipv4Addr::LOCALHOST), Ipv4Addr::BROADCAST.into()),
        };
        let mut bytes = packet(&repr, &quoted);
        prop_assert_eq!(TooBig::of(&bytes, source, destination), Ok((repr, &quoted[..])));
        bytes[5] ^= 1;
        prop_assert!(TooBig::of(&bytes, source, destination).is_err());
    }

    #[test]
    fn a_relay_says_what_fits(room: u32, destination: u32, behind in payload()) {
        let repr = too_big::Repr { room, destination: NodeId(destination) };
        let mut bytes = packet(&repr, &behind);
        prop_assert_eq!(too_big::Repr::parse(&bytes), Ok(repr));
        bytes[0] = 2;
        prop_assert!(too_big::Repr::parse(&bytes).is_err());
        prop_assert!(too_big::Repr::parse(&bytes[..11]).is_err());
    }

    #[test]
    fn no_bytes_make_a_parser_panic(mut bytes in proptest::collection::vec(0u8.., 0..200), likely: (u8, u8)) {
        for first in [bytes.first().copied().unwrap_or_default(), 0x45, 0x4f, 0x60, 0x08, 0x0c, likely.0 & 0x3f] {
            if let Some(byte) = bytes.first_mut() {
                *byte = first;
            }
            let (four, six) = (IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST));
            let _ = ethernet::Frame::parse(&bytes).map(|frame| ethernet::Repr::of(&frame));
            let _ = ipv4::Packet::parse(&bytes).map(|packet| (packet.options(), ipv4::Repr::of(&packet)));
            let _ = ipv6::Packet::parse(&bytes).map(|packet| ipv6::Repr::of(&packet));
            let _ = udp::Datagram::parse(&bytes).map(|datagram| udp::Repr::of(&datagram, four, four));
            let _ = gre::Packet::parse(&bytes).map(|packet| (gre::Repr::of(&packet), nvgre::Repr::of(&packet)));
            let _ = vxlan::Packet::parse(&bytes).map(|packet| vxlan::Repr::of(&packet));
            let _ = vxlan_gpe::Packet::parse(&bytes).map(|packet| vxlan_gpe::Repr::of(&packet));
            let _ = nsh::Packet::parse(&bytes).map(|packet| nsh::Repr::of(&packet).map(|repr| repr.length()));
            let _ = geneve::Packet::parse(&bytes).map(|packet| geneve::Repr::of(&packet).map(|repr| repr.length()));
            let _ = gue::Packet::parse(&bytes).map(|packet| (packet.fields(), gue::Repr::of(&packet)));
            let _ = mpls::Label::parse(&bytes).map(|label| mpls::Repr::of(&label));
            let _ = ovstack::Packet::parse(&bytes).map(|packet| ovstack::Repr::of(&packet));
            let _ = too_big::Repr::parse(&bytes);
            let _ = relay_list::Packet::parse(&bytes).map(|packet| relay_list::Repr::of(&packet));
            let _ = segment_routing::Packet::parse(&bytes).map(|packet| segment_routing::Repr::of(&packet));
            let _ = arp::Packet::parse(&bytes).map(|packet| arp::Repr::of(&packet));
            let _ = lldp::Packet::parse(&bytes).map(|packet| lldp::Repr::of(&packet));
            let _ = Neighbor::of(&bytes, Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST, 255);
            let _ = (TooBig::of(&bytes, four, four).is_ok(), TooBig::of(&bytes, six, six).is_ok());
        }
    }
}

#[test]
fn an_ip_packet_is_gue_without_a_header() {
    let v4 = ipv4::Repr {
        source: Ipv4Addr::LOCALHOST,
        destination: Ipv4Addr::BROADCAST,
        protocol: number::protocol::TCP,
        ttl: 3,
        tos: 0,
        dont_fragment: false,
        identification: 0,
    };
    let bytes = packet(&v4, b"inside");
    let parsed = gue::Packet::parse(&bytes).unwrap();
    assert_eq!((gue::Repr::of(&parsed), parsed.protocol()), (Ok(gue::Repr::Bare), number::protocol::IPV4));
    assert_eq!(parsed.payload(), bytes, "the packet is the payload");
    // 01 begins variant 1 in which IP's version stands; 5 is none.
    assert!(gue::Packet::parse(&[0x50, 0, 0, 0]).is_err());
    assert!(gue::Packet::parse(&[0x80, 0, 0, 0]).is_err());
}

#[test]
fn fields_that_must_be_so_are_looked_at() {
    let refused = |parsed: bool| assert!(parsed);
    refused(vxlan::Packet::parse(&[0; 8]).is_err());
    refused(ovstack::Packet::parse(&[9; 20]).is_err());
    // GRE of RFC 1701 with routing, and PPTP's version 1.
    refused(gre::Packet::parse(&[0x40, 0, 8, 0, 0, 0, 0, 0]).is_err());
    refused(gre::Packet::parse(&[0, 1, 8, 0]).is_err());
    // A key makes no NVGRE of a packet that carries no frame, nor a frame of one without a key.
    let of = |bytes: &[u8]| nvgre::Repr::of(&gre::Packet::parse(bytes).unwrap());
    refused(of(&[0x20, 0, 8, 0, 0, 0, 1, 0]).is_err());
    refused(of(&[0, 0, 0x65, 0x58]).is_err());
    refused(of(&[0x30, 0, 0x65, 0x58, 0, 0, 1, 0, 0, 0, 0, 1]).is_err());
    // A list of metadata with an item that overruns it.
    refused(nsh::Packet::parse(&[0x0f, 0xc3, 2, 1, 0, 0, 1, 1, 0, 0, 0, 9]).is_err());
    // Metadata of type 1 has sixteen bytes.
    refused(nsh::Packet::parse(&[0x0f, 0xc2, 1, 1, 0, 0, 1, 1]).is_err());
    refused(geneve::Packet::parse(&[0x01, 0, 0x65, 0x58, 0, 0, 1, 0, 0, 0, 0, 1]).is_err());
}

proptest! {
    #[test]
    fn a_relay_list_is_read_as_it_was_written(relays in proptest::collection::vec(any::<u128>(), 0..17), is_ipv6: bool, left: u8) {
        let address = |number: u128| match is_ipv6 {
            true => IpAddr::from(Ipv6Addr::from(number)),
            false => IpAddr::from(Ipv4Addr::from(number as u32)),
        };
        let relays: Vec<_> = relays.into_iter().map(address).collect();
        let left = if relays.is_empty() { 0 } else { left % relays.len() as u8 };
        let repr = relay_list::Repr { left, relays, next: number::protocol::IPV4 };
        let bytes = packet(&repr, b"inside");
        let parsed = relay_list::Packet::parse(&bytes).unwrap();
        prop_assert_eq!(parsed.payload(), b"inside");
        prop_assert_eq!(relay_list::Repr::of(&parsed), repr);
    }

    #[test]
    fn segments_are_read_as_they_were_written(segments in proptest::collection::vec(any::<u128>(), 1..17), left: u8) {
        let segments: Vec<_> = segments.into_iter().map(Ipv6Addr::from).collect();
        let repr = segment_routing::Repr { next: 41, left: left % (segments.len() as u8 + 1), segments };
        let bytes = packet(&repr, b"inside");
        let parsed = segment_routing::Packet::parse(&bytes).unwrap();
        prop_assert_eq!(parsed.payload(), b"inside");
        prop_assert_eq!(segment_routing::Repr::of(&parsed), repr);
        let mut beyond = bytes.clone();
        beyond[3] = beyond[4] + 2;
        prop_assert!(segment_routing::Packet::parse(&beyond).is_err());
    }

    #[test]
    fn no_bytes_changed_in_a_list_or_a_stack_make_a_parser_panic(
        relays in proptest::collection::vec(any::<u128>(), 1..17), is_ipv6: bool, left: u8, inside in payload(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), 0u8..), 0..6),
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let segments: Vec<_> = relays.iter().map(|relay| Ipv6Addr::from(*relay)).collect();
        let four = |relay: &u128| IpAddr::from(Ipv4Addr::from(*relay as u32));
        let list: Vec<IpAddr> = match is_ipv6 {
            true => segments.iter().map(|segment| IpAddr::from(*segment)).collect(),
            false => relays.iter().map(four).collect(),
        };
        let left = left % (relays.len() as u8 + 1);
        let label = mpls::Repr { label: 5, traffic_class: 0, is_bottom: true, ttl: 3 };
        let written = [
            packet(&relay_list::Repr { left, relays: list, next: number::protocol::IPV6 }, &inside),
            packet(&segment_routing::Repr { next: number::protocol::IPV6, left, segments }, &inside),
            packet(&gre::Repr { protocol: 0x8847, key: Some(7), ..gre::Repr::default() }, &packet(&label, &inside)),
            packet(&gue::Repr::Header { protocol: number::protocol::IPV6 }, &inside),
        ];
        for mut bytes in written {
            // What decides stands in front.
            for (at, byte) in &changes {
                let at = at.index(bytes.len().min(40));
                bytes[at] = *byte;
            }
            if let Some(cut) = cut {
                bytes.truncate(cut.index(bytes.len() + 1));
            }
            if let Ok(parsed) = relay_list::Packet::parse(&bytes) {
                let repr = relay_list::Repr::of(&parsed);
                prop_assert!(usize::from(repr.left) <= repr.relays.len());
                prop_assert_eq!(repr.relays.len(), usize::from(bytes[1]));
                prop_assert!(bytes.ends_with(parsed.payload()));
            }
            if let Ok(parsed) = segment_routing::Packet::parse(&bytes) {
                let repr = segment_routing::Repr::of(&parsed);
                prop_assert!(usize::from(repr.left) <= repr.segments.len());
                prop_assert_eq!(parsed.payload().len(), bytes.len() - 8 - usize::from(bytes[1]) * 8);
            }
            if let Ok(parsed) = gre::Packet::parse(&bytes) {
                let _ = (gre::Repr::of(&parsed), nvgre::Repr::of(&parsed), mpls::Label::parse(parsed.payload()).is_ok());
            }
            if let Ok(parsed) = gue::Packet::parse(&bytes) {
                let _ = (gue::Repr::of(&parsed), parsed.fields());
                prop_assert!(bytes.ends_with(parsed.payload()));
            }
        }
    }
}
