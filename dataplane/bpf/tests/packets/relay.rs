//! What passes on to the next node, in the kernel and before it.

use super::*;

#[test]
fn a_relay_changes_the_outer_header_and_one_hop() {
    let Some(node) = Node::new([Program::Receive], driver::ETHERNET) else { return };
    let frame = frame(STATION_A, STATION_C, ether_type::IPV4, &inner_ipv4(200, 0));
    let sent = ovstack::Repr { destination: FAR, ttl: 9, ..overlay_header() };
    let packet = arriving(&sent, &frame);
    let ran = node.programs.run(Program::Receive, &packet).unwrap();
    assert_eq!(ran.verdict, Verdict::Redirected, "{:?}", node.programs.drops());
    let outer = ethernet::Frame::parse(&ran.packet).unwrap();
    let ip = ipv4::Packet::parse(outer.payload()).unwrap();
    let said = ipv4::Repr::of(&ip).unwrap();
    assert_eq!((outer.destination(), said.source, said.destination), (GATEWAY, OWN_LOCATOR, FAR_LOCATOR));
    let came = udp::Datagram::parse(ipv4::Packet::parse(&packet[14..]).unwrap().payload()).unwrap().source();
    assert_eq!(udp::Datagram::parse(ip.payload()).unwrap().source(), came, "the flow stays what it was");
    let after = inside(&ran.packet);
    assert_eq!(ovstack::Repr::of(&after), ovstack::Repr { ttl: 8, ..sent });
    assert_eq!(after.payload(), frame);
}

#[test]
fn a_driver_relays_what_the_kernel_would() {
    for is_ipv6 in [false, true] {
        let Some(node) =
            Node::with([Program::Relay, Program::Receive], driver::ETHERNET, encapsulation::OVSTACK, is_ipv6)
        else {
            return;
        };
        let mut packet = arriving_in(encapsulation::OVSTACK, is_ipv6, &[0x99; 300], true, 0b01);
        let behind = if is_ipv6 { 62 } else { 42 };
        packet[behind + 12..behind + 16].copy_from_slice(&FAR.0.to_be_bytes());
        let (relayed, received) = [Program::Relay, Program::Receive]
            .map(|program| node.programs.run(program, &packet).unwrap())
            .into();
        assert_eq!(relayed.verdict, Verdict::Redirected);
        assert_eq!(relayed, received);
        assert_eq!(node.programs.path_count(FAR_PATH).unwrap(), Count { packets: 2, bytes: 600 });
    }
}

#[test]
fn a_driver_leaves_to_the_kernel_what_is_not_relayed_as_it_came() {
    let Some(node) = Node::new([Program::Relay], driver::ETHERNET) else { return };
    node.flood();
    let passing = ovstack::Repr { destination: FAR, ..overlay_header() };
    let mut by_a_stranger = arriving(&passing, &[1; 90]);
    change_source(&mut by_a_stranger, [203, 0, 113, 9]);
    let left = [
        ("its own", arriving(&overlay_header(), &[1; 90])),
        ("for a group", arriving(&ovstack::Repr { destination: GROUP, ..passing }, &[1; 90])),
        ("for nobody", arriving(&ovstack::Repr { destination: ovstack::NodeId(9), ..passing }, &[1; 90])),
        ("as if its own", arriving(&ovstack::Repr { source: OWN, ..passing }, &[1; 90])),
        ("at its last hop", arriving(&ovstack::Repr { ttl: 1, ..passing }, &[1; 90])),
        ("of another application", arriving(&ovstack::Repr { application: 9, ..passing }, &[1; 90])),
        ("too big", arriving(&passing, &[1; 1500])),
        ("a stranger's", by_a_stranger),
        ("VXLAN", arriving_in(encapsulation::VXLAN, false, &frame(STATION_F, STATION_C, 1, &[]), true, 0)),
        ("none of the overlay's", frame(UNDERLAY, GATEWAY, ether_type::IPV4, &inner_ipv4(64, 0))),
    ];
    for (what, packet) in &left {
        let ran = node.programs.run(Program::Relay, packet).unwrap();
        assert_eq!((ran.verdict, &ran.packet), (Verdict::Next, packet), "{what}");
    }
    // Nobody knows of this device that it takes packets from drivers.
    let slots = node.programs.table(&names::ADJACENCY_SLOTS).unwrap();
    let there = slots.get(&9).unwrap().unwrap();
    slots.set(&9, &Adjacency { interface: 77, ..there }).unwrap();
    let packet = arriving(&passing, &[1; 90]);
    let ran = node.programs.run(Program::Relay, &packet).unwrap();
    assert_eq!((ran.verdict, ran.packet), (Verdict::Next, packet));
    assert_eq!(node.programs.drops().unwrap(), Default::default(), "reasons are the kernel's part to count");
}

#[test]
fn a_packet_dies_with_its_last_hop() {
    let Some(node) = Node::new([Program::Receive], driver::ETHERNET) else { return };
    let frame = frame(STATION_A, STATION_C, ether_type::IPV4, &inner_ipv4(64, 0));
    for (ttl, verdict) in [(2, Verdict::Redirected), (1, Verdict::Dropped), (0, Verdict::Dropped)] {
        let sent = ovstack::Repr { destination: FAR, ttl, ..overlay_header() };
        assert_eq!(node.programs.run(Program::Receive, &arriving(&sent, &frame)).unwrap().verdict, verdict);
    }
    assert_eq!(node.drops(Drop::Expired), 2);
    // For this node itself the last hop is enough.
    let sent = ovstack::Repr { ttl: 1, ..overlay_header() };
    assert_eq!(
        node.programs.run(Program::Receive, &arriving(&sent, &frame)).unwrap().verdict,
        Verdict::Redirected
    );
}

/// Of a packet cut at any byte, and of one with any byte of its headers another one, a driver relays what the walk sends on just so,
/// and leaves all else as it came; and a whole one passes right behind it.
#[test]
fn a_packet_cut_or_broken_at_any_byte_is_relayed_as_the_walk_does_or_left() {
    for is_ipv6 in [false, true] {
        let programs = [Program::Relay];
        let Some(node) = Node::with(programs, driver::ETHERNET, encapsulation::OVSTACK, is_ipv6) else {
            return;
        };
        let mut walk = node.walk();
        let mut both = |packet: &[u8]| {
            let ran = node.programs.run(Program::Relay, packet).unwrap();
            walk.counts.drops.clear();
            let sent = match walk.receive(packet, 1) {
                Outcome::Sent(mut sent) if walk.counts.drops.is_empty() => sent.pop(),
                _ => None,
            };
            let sent = sent.filter(|sent| !sent.is_up && sent.frame.len() == packet.len());
            let is_relayed = sent.is_some();
            let expected =
                sent.map_or((Verdict::Next, packet.to_vec()), |sent| (Verdict::Redirected, sent.frame));
            assert_eq!((ran.verdict, ran.packet), expected);
            is_relayed
        };
        let headers = behind_ip(is_ipv6) + 8 + 20;
        let mut whole = arriving_in(encapsulation::OVSTACK, is_ipv6, &[0x99; 64], true, 0);
        whole[headers - 8..headers - 4].copy_from_slice(&FAR.0.to_be_bytes());
        for length in 15..whole.len() {
            assert_eq!(both(&whole[..length]), length >= headers, "{length}");
            assert!(both(&whole), "{length}");
        }
        for at in 12..headers {
            for change in [0xff, 0x01, 0x80] {
                let mut broken = whole.clone();
                broken[at] ^= change;
                both(&broken);
                assert!(both(&whole), "{at}");
            }
        }
        assert_eq!(node.programs.drops().unwrap(), Default::default());
    }
}
