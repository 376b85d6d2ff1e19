//! Bytes of strangers on a node whose tables are full: whatever they are, the walk ends, and what it sends is whole.

use plait_dataplane_reference::paths::{Family, flow_of, has_list, hash_of, pushed};
use plait_dataplane_reference::tables::*;
use plait_dataplane_reference::{OVERLAYS, Outcome, Walk, arrivals, mapped};
use plait_model_wire::ethernet::Mac;
use plait_model_wire::number::ether_type;
use plait_model_wire::{ethernet, ipv4, ipv6, push, relay_list, segment_routing};
use proptest::prelude::*;
use proptest::sample::select;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const APPLICATION: u32 = 7;
const TENANT: u32 = 3;
const OWN: u32 = 1;
const PEER: u32 = 2;
const GROUP: u32 = 4;
const STATION: [u8; 6] = [2, 0, 0, 0, 0, 9];

fn locator(is_ipv6: bool, last: u8) -> IpAddr {
    match is_ipv6 {
        false => Ipv4Addr::new(192, 0, 2, last).into(),
        true => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last.into()).into(),
    }
}

/// A node that takes every encapsulation of a peer over both families, and sends to it and to a group in one of them.
fn node(carries: u32, kind: u32, is_ipv6: bool, mtu: u32) -> (Walk, Device) {
    let mut walk = Walk::default();
    let application = APPLICATION;
    let own = Application { own: OWN, ttl: 16, driver: carries };
    walk.applications.insert(application, own);
    let tenant = Tenant {
        application,
        vni: 0,
        interface: 1,
        driver: carries,
        unknown_node: GROUP,
        unknown_path: 2,
        address: STATION,
        prefix: [24, 64],
        ..Tenant::default()
    };
    walk.tenants.insert(TENANT, tenant);
    walk.vnis.insert(VniKey { application, vni: 0 }, TENANT);
    walk.adjacency_slots.insert(9, Adjacency { interface: 1, mtu, destination: [2; 6], source: [4; 6] });
    walk.adjacencies.insert(5, 9);
    let wire = Wire::new(locator(is_ipv6, 1), locator(is_ipv6, 2), kind, 5).unwrap();
    walk.wires.insert(1, wire);
    let mut choices = [Choice { below: 0, wire: 0 }; size::CHOICES as usize];
    choices[0] = Choice { below: 50, wire: 1 };
    walk.hops.insert(1, Hop { node: PEER, weights: 50, count: 1, path: 1, choices });
    let mut hops = [0; size::GROUP as usize];
    hops[0] = 1;
    walk.groups.insert(0, Group { count: 1, includes_own: 1, hops });
    walk.paths.insert(1, u64::from(path::HOP) << 32 | 1);
    walk.paths.insert(2, u64::from(path::GROUP) << 32);
    for (node, path) in [(PEER, 1), (GROUP, 2)] {
        walk.nodes.insert(NodeKey { application, node }, path);
    }
    let mut identifier = [0; size::IDENTIFIER as usize];
    identifier[..6].copy_from_slice(&STATION);
    let entry = FibEntry { node: PEER, path: 1, heard: 0, reserved: 0, packets: 0, bytes: 0 };
    walk.fib.insert(FibKey { tenant: TENANT, identifier }, entry);
    for is_ipv6 in [false, true] {
        let [own, peer] = [1, 2].map(|last| mapped(locator(is_ipv6, last)));
        walk.locators.insert(LocatorKey { application, address: peer }, PEER);
        for kind in OVERLAYS {
            let known = Peer { encapsulation: kind, application, vni: 0, applications: [u32::MAX; 8] };
            for protocol_port in arrivals(kind, carries) {
                walk.peers.insert(PeerKey { locator: peer, own, protocol_port }, known);
                walk.endpoints.insert(EndpointKey { own, protocol_port }, 0);
            }
        }
    }
    let device = Device { tenant: TENANT, driver: carries, prefix: [24, 64], offset: 18, mask: [0xf0; 16] };
    (walk, device)
}

/// What stands before the bytes of an encapsulation of the peer: Ethernet, IP, and UDP or GRE.
fn front(kind: u32, is_ipv6: bool, behind: &[u8]) -> Vec<u8> {
    // What comes there in the encapsulations that there are: of each arrival the protocol, and the port or the type.
    let arrival = arrivals(kind, driver::ETHERNET)[0];
    let (protocol, number) = ((arrival >> 16) as u8, (arrival as u16).to_be_bytes());
    let mut packet = match protocol {
        17 => [&[0xc0, 1], &number[..], &[0; 4]].concat(),
        47 => [&[if arrival & arrival::KEYED > 0 { 0x20 } else { 0 }, 0], &number[..]].concat(),
        _ => Vec::new(),
    };
    packet.extend_from_slice(behind);
    let ether_type = match (locator(is_ipv6, 2), locator(is_ipv6, 1)) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let (ttl, tos, dont_fragment, identification) = (9, 3, true, 0);
            let ip = ipv4::Repr { source, destination, protocol, ttl, tos, dont_fragment, identification };
            push(&mut packet, &ip);
            ether_type::IPV4
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let (hop_limit, traffic_class, flow_label) = (9, 3, 0);
            let next_header = protocol;
            let ip = ipv6::Repr { source, destination, next_header, hop_limit, traffic_class, flow_label };
            push(&mut packet, &ip);
            ether_type::IPV6
        }
        _ => unreachable!("one family"),
    };
    let (destination, source) = (Mac([4; 6]), Mac([2; 6]));
    push(&mut packet, &ethernet::Repr { destination, source, ether_type });
    packet
}

/// Bytes, of which some begin as what is read of them may begin.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let first = prop_oneof![
        // ovstack to this node and from the peer, as a message of the overlay and as none.
        (any::<bool>(), 0u8..3, 0u8..6, 0u8..6).prop_map(|(is_control, ttl, to, from)| {
            let flags = if is_control { 0x80 } else { 0 };
            vec![1, ttl, APPLICATION as u8, flags, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, to, 0, 0, 0, from, 1, 0]
        }),
        Just(vec![0x08, 0, 0, 0, 0, 0, 0, 0]),
        Just(vec![0x02, 0, 0x65, 0x58, 0, 0, 0, 0]),
        Just(vec![0x0c, 0, 0, 4, 0, 0, 0, 0, 0x0f, 0xc2, 2, 3, 0, 0, 0, 255]),
        Just(vec![0, 0, 1, 9]),
        Just(vec![0, 4, 0, 0]),
        Just(vec![0x45, 3]),
        Just(vec![0x60, 0x30]),
        Just(STATION.to_vec()),
        Just(Vec::new()),
    ];
    let rest = prop::collection::vec(prop_oneof![Just(0u8), any::<u8>()], 0..200);
    (first, rest).prop_map(|(first, rest)| [first, rest].concat())
}

fn carried() -> impl Strategy<Value = u32> {
    prop_oneof![Just(driver::ETHERNET), Just(driver::IP), Just(driver::BITS), Just(driver::PAYLOAD), Just(9)]
}

/// The frames that leave are whole, and as long as they say.
fn whole(outcome: &Outcome, of: &[u8]) -> Result<(), TestCaseError> {
    let Outcome::Sent(sent) = outcome else { return Ok(()) };
    prop_assert!(sent.len() <= 2, "a group of one other and this node");
    for sent in sent.iter().filter(|sent| sent.via.is_some()) {
        let frame = ethernet::Frame::parse(&sent.frame).unwrap();
        let inside = match frame.ether_type() {
            ether_type::IPV4 => {
                let ip = ipv4::Packet::parse(frame.payload()).unwrap();
                prop_assert!(ip.checksum_fits());
                ip.payload().len() + ipv4::Header::LENGTH
            }
            _ => ipv6::Packet::parse(frame.payload()).unwrap().payload().len() + ipv6::Header::LENGTH,
        };
        prop_assert_eq!(inside, frame.payload().len());
        prop_assert!(sent.frame.len() <= of.len() + size::HEADER as usize + message::BYTES as usize);
    }
    Ok(())
}

proptest! {
    #[test]
    fn no_bytes_make_the_walk_panic(
        bytes in bytes(), carries in carried(), arrives in select(OVERLAYS.to_vec()), leaves in select(OVERLAYS.to_vec()), six: (bool, bool),
        mtu in prop_oneof![Just(1500u32), 0u32..300], cut in prop::option::of(any::<prop::sample::Index>()), flow: u32,
    ) {
        let (mut walk, device) = node(carries, leaves, six.0, mtu);
        let mut frame = front(arrives, six.1, &bytes);
        if let Some(cut) = cut {
            frame.truncate(cut.index(frame.len()));
        }
        let second = flow >> 8;
        whole(&walk.receive(&frame, second), &frame)?;
        let _ = walk.guard(&frame, six.0);
        let sent = [frame, bytes];
        for frame in &sent {
            whole(&walk.transmit(&device, frame, flow, second), frame)?;
        }
    }

    #[test]
    fn no_bytes_make_a_stack_that_is_not_whole(
        mut bytes in prop::collection::vec(any::<u8>(), 0..120), version in 0u8..16, kind in 0u32..12, hash: u32,
        is_ipv6: bool, count in 0u8..17,
    ) {
        if let Some(first) = bytes.first_mut() {
            *first = version << 4 | 5;
        }
        if let Some(flow) = flow_of(&bytes) {
            let _ = hash_of(&flow);
        }
        let relays: Vec<IpAddr> = (0..count).map(|last| locator(is_ipv6, 10 + last)).collect();
        let Some(stack) = pushed(&bytes, locator(is_ipv6, 1), &relays, kind, hash) else { return Ok(()) };
        prop_assert!(stack.ends_with(&bytes));
        // Header by header, each relay's; those with a list inside have one.
        let (mut rest, mut seen) = (&stack[..], Vec::new());
        while seen.len() < relays.len() {
            let (destination, payload): (IpAddr, &[u8]) = match Family::of_packet(rest) {
                Some(Family::Ipv4) => {
                    let ip = ipv4::Packet::parse(rest).unwrap();
                    prop_assert!(ip.checksum_fits());
                    (ip.destination().into(), ip.payload())
                }
                _ => {
                    let ip = ipv6::Packet::parse(rest).unwrap();
                    (ip.destination().into(), ip.payload())
                }
            };
            seen.push(destination);
            rest = match kind {
                encapsulation::GRE => &payload[4..],
                encapsulation::GUE => &payload[8 + 4..],
                encapsulation::IPIP => payload,
                encapsulation::OVSTACK => {
                    let list = relay_list::Packet::parse(&payload[8 + 20..]).unwrap();
                    seen.extend(list.relays());
                    list.payload()
                }
                _ if count > 1 => {
                    let list = segment_routing::Packet::parse(payload).unwrap();
                    seen.extend(list.segments().map(IpAddr::from));
                    list.payload()
                }
                _ => payload,
            };
        }
        prop_assert_eq!(&seen, &relays);
        prop_assert_eq!(rest, &bytes[..]);
        prop_assert!(count == 0 || has_list(kind) || (encapsulation::GRE..=encapsulation::GUE).contains(&kind));
    }
}
