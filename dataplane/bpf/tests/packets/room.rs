//! What does not fit, and what is said about it.

use super::*;
use std::net::IpAddr;

#[test]
fn what_is_too_big_too_often_is_counted_and_not_answered() {
    const BURST: u128 = 100;
    let Some(node) = Node::new([Program::Receive], driver::ETHERNET) else { return };
    let large = frame(STATION_F, STATION_A, ether_type::IPV4, &inner_ipv4(1450, 0));
    let packet = arriving(&ovstack::Repr { destination: FAR, ..overlay_header() }, &large);
    let (mut came, mut answered, mut dropped) = (0, 0, 0);
    let begun = std::time::Instant::now();
    while dropped < 200 && came < 100_000 {
        let ran = node.programs.run(Program::Receive, &packet).unwrap();
        came += 1;
        match ran.verdict {
            Verdict::Redirected => {
                assert!(inside(&ran.packet).is_control());
                answered += 1;
            }
            Verdict::Dropped => dropped += 1,
            other => panic!("{other:?}"),
        }
    }
    let most = BURST + begun.elapsed().as_millis() + 1;
    assert!(
        dropped == 200 && (BURST..=most).contains(&answered),
        "{answered} of {came} in {:?}",
        begun.elapsed()
    );
    assert_eq!(node.drops(Drop::TooBig), came);
    assert_eq!(node.programs.path_count(FAR_PATH).unwrap().packets, came);
    assert_eq!(u128::from(node.programs.path_count(PEER_PATH).unwrap().packets), answered);
}

/// A relay's answer to what does not fit, and what its source makes of it.
#[test]
fn a_packet_too_big_is_answered_heeded_and_told() {
    let Some(node) = Node::new([Program::Receive, Program::Transmit], driver::ETHERNET) else { return };
    let large = frame(STATION_F, STATION_A, ether_type::IPV4, &inner_ipv4(1450, 0));
    let sent = ovstack::Repr { destination: FAR, ..overlay_header() };
    let ran = node.programs.run(Program::Receive, &arriving(&sent, &large)).unwrap();
    assert_eq!((ran.verdict, node.drops(Drop::TooBig)), (Verdict::Redirected, 1));
    let answer = inside(&ran.packet);
    assert!(answer.is_control());
    assert_eq!((answer.destination(), answer.source(), answer.ttl()), (PEER, OWN, 60));
    let said = too_big::Repr::parse(answer.payload()).unwrap();
    assert_eq!(said, too_big::Repr { room: 1500 - 48, destination: FAR });
    // Nothing is said about what is said, however long it is.
    let long = ovstack::Repr { is_control: true, ..sent };
    let ran = node.programs.run(Program::Receive, &arriving(&long, &[1; 1490])).unwrap();
    assert_eq!(ran.verdict, Verdict::Dropped);

    // Heeded is who is known, and what can be.
    let limits = node.programs.table(&names::LIMITS).unwrap();
    let hear = |source: ovstack::NodeId, room: u32, destination: ovstack::NodeId| {
        let mut message = Vec::new();
        push(&mut message, &too_big::Repr { room, destination });
        let header = ovstack::Repr { is_control: true, source, ..overlay_header() };
        let ran = node.programs.run(Program::Receive, &arriving(&header, &message)).unwrap();
        assert_eq!(ran.verdict, Verdict::Dropped);
        limits.get(&FAR_PATH).unwrap().unwrap() as u32
    };
    assert_eq!(hear(ovstack::NodeId(77), 1000, FAR), 0);
    assert_eq!(node.drops(Drop::UnknownSource), 1);
    assert_eq!(hear(PEER, 589, FAR), 0);
    assert_eq!(hear(PEER, 1000, ovstack::NodeId(77)), 0);
    assert_eq!(hear(PEER, 1000, FAR), 1000);
    assert_eq!(hear(PEER, 1200, FAR), 1000, "the least counts");

    // The host is told what its packets may be, by ICMP; so is one whose packet is a byte too long, and no other.
    for (bytes, is_told) in [(1000 - 14 - 28, false), (1000 - 14 - 28 + 1, true)] {
        let frame = frame(STATION_F, STATION_A, ether_type::IPV4, &inner_ipv4(bytes, 0));
        let ran = node.programs.run(Program::Transmit, &frame).unwrap();
        assert_eq!(ran.verdict, Verdict::Redirected);
        let outer = ethernet::Frame::parse(&ran.packet).unwrap();
        let ip = ipv4::Packet::parse(outer.payload()).unwrap();
        assert!(ip.checksum_fits());
        if is_told {
            let asked = ipv4::Packet::parse(&frame[14..]).unwrap();
            assert_eq!((outer.destination(), outer.source()), (STATION_A, STATION_F));
            assert_eq!((ip.source(), ip.destination()), (asked.destination(), asked.source()));
            let (said, quoted) =
                icmp::TooBig::of(ip.payload(), ip.source().into(), ip.destination().into()).unwrap();
            assert_eq!(said, icmp::TooBig::V4 { mtu: 1000 - 14 });
            assert_eq!(quoted, &frame[14..14 + quoted.len()]);
        } else {
            assert_eq!(inside(&ran.packet).payload(), frame);
        }
    }
}

/// Where headers name no nodes a relay tells the host itself, by the device of its tenant.
#[test]
fn a_packet_too_big_is_told_to_its_host_where_headers_name_no_nodes() {
    for is_over_ipv6 in [false, true] {
        let Some(node) = Node::with([Program::Receive], driver::ETHERNET, encapsulation::VXLAN, is_over_ipv6)
        else {
            return;
        };
        // Of frames in VXLAN, 50 bytes over IPv4 and 70 over IPv6.
        let room = 1500 + 14 - if is_over_ipv6 { 70 } else { 50 };
        let passing =
            |frame: &[u8]| arriving_with(encapsulation::VXLAN, is_over_ipv6, frame, Inside::Frame, 0);
        let frame_of = |ether_type: u16, bytes: u32| {
            let packet = match ether_type {
                ether_type::IPV4 => inner_ipv4(bytes as usize - 14 - 28, 0),
                _ => inner_ipv6(bytes as usize - 14 - 48, 0, true),
            };
            frame(STATION_F, STATION_A, ether_type, &packet)
        };
        let mut known = room;
        for step in 0..2 {
            for ether_type in [ether_type::IPV4, ether_type::IPV6] {
                let ran =
                    node.programs.run(Program::Receive, &passing(&frame_of(ether_type, known))).unwrap();
                assert_eq!(ran.verdict, Verdict::Redirected);
                assert!(ran.packet.ends_with(&frame_of(ether_type, known)), "{ether_type:x}");
                let large = frame_of(ether_type, known + 1);
                let before = node.drops(Drop::TooBig);
                let ran = node.programs.run(Program::Receive, &passing(&large)).unwrap();
                assert_eq!((ran.verdict, node.drops(Drop::TooBig)), (Verdict::Redirected, before + 1));
                let told = ethernet::Frame::parse(&ran.packet).unwrap();
                assert_eq!(
                    (told.destination(), told.source(), told.ether_type()),
                    (STATION_A, STATION_F, ether_type)
                );
                let (source, destination, payload): (IpAddr, IpAddr, _) = match ether_type {
                    ether_type::IPV4 => {
                        let ip = ipv4::Packet::parse(told.payload()).unwrap();
                        assert!(ip.checksum_fits());
                        (ip.source().into(), ip.destination().into(), ip.payload())
                    }
                    _ => {
                        let ip = ipv6::Packet::parse(told.payload()).unwrap();
                        (ip.source().into(), ip.destination().into(), ip.payload())
                    }
                };
                let (said, quoted) = icmp::TooBig::of(payload, source, destination).unwrap();
                let mtu = match said {
                    icmp::TooBig::V4 { mtu } => u32::from(mtu),
                    icmp::TooBig::V6 { mtu, .. } => mtu,
                };
                assert_eq!(mtu, known - 14);
                assert_eq!(quoted, &large[14..14 + quoted.len()]);
            }
            // What is said by who is farther on to who would not understand it, this node keeps.
            if step == 0 {
                known = 1400;
                let mut message = Vec::new();
                push(&mut message, &too_big::Repr { room: known, destination: FAR });
                let header =
                    ovstack::Repr { is_control: true, source: FAR, destination: PEER, ..overlay_header() };
                node.accept(false);
                let ran = node.programs.run(Program::Receive, &arriving(&header, &message)).unwrap();
                assert_eq!(ran.verdict, Verdict::Dropped);
                let limits = node.programs.table(&names::LIMITS).unwrap();
                assert_eq!(limits.get(&FAR_PATH).unwrap().unwrap() as u32, known);
            }
        }
    }
}

/// What has no room for a frame's header has none for a packet, and an MTU of less than nothing is told to nobody; nor is one that
/// no link has.
#[test]
fn of_a_way_that_no_frame_fits_nothing_is_said() {
    let Some(node) = Node::new([Program::Transmit], driver::ETHERNET) else { return };
    let frame = frame(STATION_F, STATION_A, ether_type::IPV4, &inner_ipv4(64, 0));
    // A header of 62 bytes leaves so much of the MTU and of Ethernet's 14, and the frame's own header is 14.
    for (mtu, is_told) in [(40, false), (49, false), (62, false), (62 + 67, false), (62 + 68, true)] {
        let slots = node.programs.table(&names::ADJACENCY_SLOTS).unwrap();
        let there = slots.get(&9).unwrap().unwrap();
        slots.set(&9, &Adjacency { mtu, ..there }).unwrap();
        let ran = node.programs.run(Program::Transmit, &frame).unwrap();
        let verdict = if is_told { Verdict::Redirected } else { Verdict::Dropped };
        assert_eq!(ran.verdict, verdict, "an MTU of {mtu}");
    }
    assert_eq!(node.drops(Drop::TooBig), 5);
}
