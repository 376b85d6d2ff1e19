//! What leaves a tenant's device.

use super::*;
use std::collections::BTreeSet;

#[test]
fn a_frame_leaves_with_a_whole_outer_header() {
    let Some(node) = Node::new([Program::Transmit], driver::ETHERNET) else { return };
    let frame = frame(STATION_B, STATION_A, ether_type::IPV4, &inner_ipv4(64, 0b10));
    let ran = node.programs.run(Program::Transmit, &frame).unwrap();
    assert_eq!(ran.verdict, Verdict::Redirected);

    let outer = ethernet::Frame::parse(&ran.packet).unwrap();
    assert_eq!((outer.destination(), outer.source()), (GATEWAY, UNDERLAY));
    let ip = ipv4::Packet::parse(outer.payload()).unwrap();
    let said = ipv4::Repr::of(&ip).unwrap();
    assert_eq!((said.source, said.destination), (OWN_LOCATOR, PEER_LOCATOR));
    assert_eq!(
        (said.ttl, said.tos, said.dont_fragment),
        (64, 0b10, true),
        "congestion marks are the packet's"
    );
    let datagram = udp::Datagram::parse(ip.payload()).unwrap();
    assert_eq!(datagram.destination(), number::port::OVSTACK);
    assert!(datagram.source() >= 0xc000 && !datagram.has_checksum());
    let overlay = ovstack::Packet::parse(datagram.payload()).unwrap();
    assert_eq!((overlay.source(), overlay.destination()), (OWN, PEER));
    assert_eq!((overlay.ttl(), overlay.vni(), overlay.application()), (60, VNI, APPLICATION));
    assert!(!overlay.is_control());
    assert_eq!(overlay.payload(), frame);
    assert_eq!(node.programs.drops().unwrap(), Default::default());
    assert_eq!(node.programs.tenant_count(TENANT).unwrap().sent.packets, 1);
    let entry = node.programs.table(&names::FIB).unwrap().get(&identifier(STATION_B)).unwrap().unwrap();
    assert_eq!((entry.packets, entry.bytes), (1, frame.len() as u64));
}

/// What the kernel at hand does is what the reference walk does, one packet of each kind: where many are drawn (`agreement`) is not
/// run on every kernel.
#[test]
fn each_driver_sends_and_hears_in_each_encapsulation_over_both_families() {
    // In how many of the ten each is carried.
    for (driver, inside, many) in [
        (driver::ETHERNET, Inside::Frame, 8),
        (driver::IP, Inside::Packet, 8),
        (driver::BITS, Inside::Frame, 8),
        (driver::PAYLOAD, Inside::Labels, 3),
    ] {
        let Some(node) = Node::new([Program::Transmit, Program::Receive], driver) else { return };
        let frame = match driver {
            driver::ETHERNET => frame(STATION_B, STATION_A, ether_type::IPV4, &inner_ipv4(64, 0)),
            driver::IP => frame(STATION_B, STATION_A, ether_type::IPV4, &inner_ipv4(64, 0)),
            // Of small numbers both find the same.
            driver::BITS => frame(STATION_B, STATION_A, ether_type::IPV4, &[5; 64]),
            _ => frame(STATION_B, STATION_A, ether_type::MPLS, &[1; 64]),
        };
        let carried = if matches!(inside, Inside::Frame) { &frame[..] } else { &frame[14..] };
        for is_ipv6 in [false, true] {
            let (mut sent, mut heard) = (0, 0);
            for kind in ENCAPSULATIONS {
                node.fill(driver, kind, is_ipv6);
                node.take(kind, is_ipv6);
                node.programs.turn().unwrap();
                let way = format!("driver {driver} in {kind} over IPv{}", if is_ipv6 { 6 } else { 4 });
                let mut walk = node.walk();
                let ran = node.programs.run(Program::Transmit, &frame).unwrap();
                match (ran.verdict, walk.transmit(&node.device, &frame, flow_in(&ran.packet), 1)) {
                    (Verdict::Redirected, Outcome::Sent(left)) => {
                        assert_eq!(left.len(), 1, "{way}: {:?}", walk.counts.drops);
                        assert_eq!(ran.packet, with_port_of(left[0].frame.clone(), &ran.packet), "{way}");
                        sent += 1;
                    }
                    (Verdict::Dropped, Outcome::Sent(left)) => assert!(left.is_empty(), "{way}: {left:?}"),
                    other => panic!("{way}: {other:?}"),
                }
                if ran.verdict == Verdict::Redirected {
                    let packet = arriving_with(kind, is_ipv6, carried, inside, 0);
                    let ran = node.programs.run(Program::Receive, &packet).unwrap();
                    match (ran.verdict, walk.receive(&packet, 1)) {
                        (Verdict::Redirected, Outcome::Sent(up)) => {
                            assert_eq!(up.len(), 1, "{way}: {:?}", walk.counts.drops);
                            assert_eq!(ran.packet, up[0].frame, "{way}");
                            heard += 1;
                        }
                        other => panic!("{way}: {other:?}"),
                    }
                }
            }
            assert_eq!((sent, heard), (many, many), "driver {driver}");
        }
    }
}

#[test]
fn a_flow_has_a_port_of_its_own_and_keeps_it() {
    for driver in [driver::ETHERNET, driver::IP] {
        let Some(node) = Node::with([Program::Transmit], driver, encapsulation::GENEVE, false) else {
            return;
        };
        let port_of = |flow: u16| {
            let mut packet = inner_ipv4(64, 0);
            packet[20..22].copy_from_slice(&flow.to_be_bytes());
            let frame = frame(STATION_B, STATION_A, ether_type::IPV4, &packet);
            let ran = node.programs.run(Program::Transmit, &frame).unwrap();
            assert_eq!(ran.verdict, Verdict::Redirected);
            u16::from_be_bytes([ran.packet[34], ran.packet[35]])
        };
        let ports: Vec<u16> = (1..=64).map(port_of).collect();
        // Of so many out of 16,384 hardly two are alike.
        assert!(BTreeSet::from_iter(&ports).len() >= 56, "{ports:?}");
        assert_eq!(ports, (1..=64).map(port_of).collect::<Vec<_>>());
    }
}

#[test]
fn what_no_device_would_segment_leaves_as_well() {
    let Some(node) = Node::new([Program::Transmit], driver::ETHERNET) else { return };
    for (kind, payload) in [(ether_type::ARP, vec![1; 28]), (0x88cc, vec![7; 100])] {
        let frame = frame(STATION_B, STATION_A, kind, &payload);
        let ran = node.programs.run(Program::Transmit, &frame).unwrap();
        assert_eq!(ran.verdict, Verdict::Redirected, "{:?}", node.programs.drops());
        assert_eq!(inside(&ran.packet).payload(), frame);
    }
}

#[test]
fn frames_between_two_stations_have_one_hash_and_others_another() {
    let Some(node) = Node::new([Program::Transmit], driver::ETHERNET) else { return };
    let hash = |source: Mac, payload: &[u8]| {
        let ran = node
            .programs
            .run(Program::Transmit, &frame(STATION_B, source, ether_type::IPV4, payload))
            .unwrap();
        inside(&ran.packet).hash()
    };
    let one = hash(STATION_A, &inner_ipv4(64, 0));
    assert_eq!(one, hash(STATION_A, &inner_ipv4(900, 0)));
    assert_ne!(one, hash(Mac([2, 0, 0, 0, 0, 0xcc]), &inner_ipv4(64, 0)));
}

#[test]
fn an_unknown_station_is_sent_to_all_or_dropped() {
    let Some(node) = Node::new([Program::Transmit], driver::ETHERNET) else { return };
    let nobody = frame(Mac([2, 9, 9, 9, 9, 9]), STATION_A, ether_type::IPV4, &inner_ipv4(64, 0));
    let ran = node.programs.run(Program::Transmit, &nobody).unwrap();
    assert_eq!(ran.verdict, Verdict::Dropped);
    assert_eq!(node.drops(Drop::UnknownIdentifier), 1);

    node.flood();
    let ran = node.programs.run(Program::Transmit, &nobody).unwrap();
    assert_eq!(ran.verdict, Verdict::Redirected, "{:?}", node.programs.drops());
    assert_eq!(inside(&ran.packet).destination(), GROUP);
    assert_eq!(node.programs.tenant_count(TENANT).unwrap().missed.packets, 2);
}

#[test]
fn what_nobody_knows_leaves_by_the_kernels_own_route_as_it_is() {
    for driver in [driver::IP, driver::BITS] {
        let Some(node) = Node::new([Program::Transmit], driver) else { return };
        let four = inner_ipv4_for(std::net::Ipv4Addr::new(10, 77, 0, 2), 64, 0);
        let six = [&inner_ipv6(64, 0, false)[..24], &[0xfd; 16], &[0; 72]].concat();
        let other = frame(STATION_B, STATION_A, 0x88cc, &[0xff; 60]);
        let sent = [(ether_type::IPV4, four), (ether_type::IPV6, six)]
            .map(|(kind, packet)| frame(Mac([0xfe; 6]), STATION_A, kind, &packet));
        let send = |packet: &[u8], verdict| {
            let ran = node.programs.run(Program::Transmit, packet).unwrap();
            assert_eq!((ran.verdict, &ran.packet[..]), (verdict, packet), "{:?}", node.programs.drops());
        };
        sent.iter().for_each(|packet| send(packet, Verdict::Dropped));
        node.fall_back([1, 0]);
        send(&sent[0], Verdict::Redirected);
        send(&sent[1], Verdict::Dropped);
        node.fall_back([1, 1]);
        sent.iter().for_each(|packet| send(packet, Verdict::Redirected));
        // What the kernel has no routes for; of IP it is malformed, and misses nothing.
        send(&other, Verdict::Dropped);
        let (missed, dropped) = if driver == driver::IP { (6, 3) } else { (7, 4) };
        assert_eq!(node.drops(Drop::UnknownIdentifier), dropped);
        let count = node.programs.tenant_count(TENANT).unwrap();
        assert_eq!((count.missed.packets, count.sent.packets), (missed, 0));
        // What is known goes the overlay's way.
        let known = match driver {
            driver::IP => frame(STATION_B, STATION_A, ether_type::IPV4, &inner_ipv4(64, 0)),
            _ => frame(STATION_B, STATION_A, ether_type::IPV4, &[0; 60]),
        };
        let ran = node.programs.run(Program::Transmit, &known).unwrap();
        assert_eq!(inside(&ran.packet).destination(), PEER);
        assert_eq!(node.programs.tenant_count(TENANT).unwrap().missed.packets, missed);
    }
}

#[test]
fn weights_are_shares_of_flows() {
    for driver in [driver::ETHERNET, driver::IP, driver::BITS, driver::PAYLOAD] {
        // Those that find packets by bits find these by the address that they are for.
        let from = if driver == driver::BITS { 14 + 16 } else { 16 };
        let mut mask = [0; 16];
        mask[..4].fill(0xff);
        let Some(node) = Node::by_bits([Program::Transmit], driver, (from, mask), false) else { return };
        let mut address = [0; 16];
        address[..4].copy_from_slice(&[10, 1, 0, 2]);
        let entry = FibEntry { node: PEER.0, path: PEER_PATH, heard: 0, reserved: 0, packets: 0, bytes: 0 };
        let key = FibKey { tenant: TENANT, identifier: address };
        node.programs.table(&names::FIB).unwrap().set(&key, &entry).unwrap();
        shares_are_weights(&node, driver);
    }
}

/// Three locators of the peer have 1, 2 and 5 eighths of the flows that a driver finds.
fn shares_are_weights(node: &Node, driver: u32) {
    let locators: Vec<std::net::Ipv4Addr> = (1..4).map(|last| [203, 0, 113, last].into()).collect();
    let wires = node.programs.table(&names::WIRES).unwrap();
    for (index, locator) in locators.iter().enumerate() {
        let wire =
            Wire::new(OWN_LOCATOR.into(), (*locator).into(), encapsulation::OVSTACK, ADJACENCY).unwrap();
        wires.set(&(10 + index as u32), &wire).unwrap();
    }
    let mut choices = [Choice { below: 0, wire: 0 }; size::CHOICES as usize];
    for (index, below) in [1, 3, 8].into_iter().enumerate() {
        choices[index] = Choice { below, wire: 10 + index as u32 };
    }
    let hop = Hop { node: PEER.0, weights: 8, count: 3, path: PEER_PATH, choices };
    node.programs.table(&names::HOPS).unwrap().set(&PEER_HOP, &hop).unwrap();
    let mut shares = [0u32; 3];
    let flows = 4000;
    for flow in 0..flows {
        let [_, _, a, b] = u32::to_be_bytes(flow);
        // Frames' flows are of stations, and packets' of ports.
        let (source, port) = match driver {
            driver::ETHERNET => (Mac([2, 0, 0, 7, a, b]), [5, 5]),
            _ => (STATION_A, [a, b]),
        };
        let mut packet = inner_ipv4(64, 0);
        packet[20..22].copy_from_slice(&port);
        let frame = frame(STATION_B, source, ether_type::IPV4, &packet);
        let first = destination(&node.programs.run(Program::Transmit, &frame).unwrap().packet);
        if flow % 100 == 0 {
            let again = destination(&node.programs.run(Program::Transmit, &frame).unwrap().packet);
            assert_eq!(first, again, "a flow stays on its path");
        }
        shares[locators.iter().position(|locator| *locator == first).unwrap()] += 1;
    }
    for (index, share) in (0..).zip(shares) {
        // What was sent twice to see that it stays.
        let counted = node.programs.wire_count(10 + index).unwrap().packets;
        node.programs.forget_wire_count(10 + index).unwrap();
        assert!((share.into()..=u64::from(share) + 40).contains(&counted), "{counted} of {share}");
        assert_eq!(node.programs.wire_count(10 + index).unwrap().packets, 0);
    }
    for (share, weight) in shares.into_iter().zip([1.0, 2.0, 5.0]) {
        let expected = f64::from(flows) * weight / 8.0;
        // Five standard deviations of a binomial draw: one in a million would miss it.
        let tolerance = 5.0 * (expected * (1.0 - weight / 8.0)).sqrt();
        assert!((f64::from(share) - expected).abs() < tolerance, "driver {driver}: {shares:?}");
    }
}

#[test]
fn what_is_counted_of_an_entry_is_forgotten_with_it() {
    let Some(node) = Node::new([Program::Transmit], driver::ETHERNET) else { return };
    let sent = frame(STATION_B, STATION_A, ether_type::IPV4, &inner_ipv4(64, 0));
    let counted = |path: u32| {
        [node.programs.path_count(path).unwrap().packets, node.programs.hop_count(path).unwrap().packets]
    };
    // By way of the other node: a destination, and a next hop.
    node.path(PEER_PATH, path::HOP, FAR_HOP);
    for packets in 1..4 {
        node.programs.run(Program::Transmit, &sent).unwrap();
        assert_eq!([counted(PEER_PATH), counted(FAR_PATH)], [[packets, 0], [0, packets]]);
    }
    node.programs.forget_counts(PEER_PATH).unwrap();
    assert_eq!([counted(PEER_PATH), counted(FAR_PATH)], [[0, 0], [0, 3]]);
    node.programs.forget_counts(FAR_PATH).unwrap();
    assert_eq!([counted(PEER_PATH), counted(FAR_PATH)], [[0, 0], [0, 0]]);
}
