//! Copies for the members of a group.

use super::*;

/// Sets the group's next hops.
fn gather(node: &Node, next: &[u32], includes_own: bool) {
    let mut hops = [0; size::GROUP as usize];
    hops[..next.len()].copy_from_slice(next);
    let group = Group { count: next.len() as u32, includes_own: includes_own.into(), hops };
    node.programs.table(&names::GROUPS).unwrap().set(&0, &group).unwrap();
    node.programs.turn().unwrap();
}

/// Frames for all begin here, come from one of the others, and end here or not: each other member gets one copy.
#[test]
fn of_a_group_each_gets_one_copy_and_its_sender_none() {
    if !may_load() {
        return;
    }
    let namespace = Namespace::new().unwrap();
    let copies = || {
        let line = Line::new(&namespace);
        let node = Node::new([Program::Receive, Program::Transmit], driver::ETHERNET).unwrap();
        let application = u32::from(APPLICATION);
        let slots = node.programs.table(&names::ADJACENCY_SLOTS).unwrap();
        let there = slots.get(&9).unwrap().unwrap();
        slots.set(&9, &Adjacency { interface: line.index, ..there }).unwrap();
        node.flood();
        let nodes = node.programs.table(&names::NODES).unwrap();
        nodes.set(&NodeKey { application, node: GROUP.0 }, &GROUP_PATH).unwrap();
        let includes_own = |includes_own: bool| {
            gather(&node, &[PEER_HOP, FAR_HOP], includes_own);
        };
        // The last one is what the program has in its hands at its end.
        let run = |program, packet: &[u8], count: usize| {
            let ran = node.programs.run(program, packet).unwrap();
            assert_eq!(ran.verdict, Verdict::Redirected, "{:?}", node.programs.drops());
            let mut all = line.left(count - 1);
            all.push(ran.packet);
            assert_eq!(all.len(), count, "{all:?}");
            all
        };
        let is_copy = |copy: &[u8], locator, header: ovstack::Repr, frame: &[u8]| {
            let outer = ethernet::Frame::parse(copy).unwrap();
            assert_eq!((outer.destination(), outer.source()), (GATEWAY, UNDERLAY));
            assert_eq!(destination(copy), locator);
            let said = inside(copy);
            assert_eq!(ovstack::Repr::of(&said), ovstack::Repr { hash: said.hash(), ..header });
            assert_eq!(said.payload(), frame);
        };
        let payload = inner_ipv4(64, 0);
        let shouted = frame(Mac::BROADCAST, STATION_A, ether_type::IPV4, &payload);
        let heard = frame(Mac::BROADCAST, STATION_C, ether_type::IPV4, &payload);
        for own in [true, false] {
            includes_own(own);
            let all = run(Program::Transmit, &shouted, 2);
            let header = ovstack::Repr { source: OWN, destination: GROUP, ..overlay_header() };
            is_copy(&all[0], PEER_LOCATOR, header, &shouted);
            is_copy(&all[1], FAR_LOCATOR, header, &shouted);
            for (from, from_locator, to_locator) in
                [(PEER, PEER_LOCATOR, FAR_LOCATOR), (FAR, FAR_LOCATOR, PEER_LOCATOR)]
            {
                let header = ovstack::Repr { source: from, destination: GROUP, ..overlay_header() };
                let mut packet = arriving(&header, &heard);
                change_source(&mut packet, from_locator.octets());
                let all = run(Program::Receive, &packet, 1 + usize::from(own));
                is_copy(&all[0], to_locator, ovstack::Repr { ttl: header.ttl - 1, ..header }, &heard);
                assert_eq!(inside(&all[0]).hash(), header.hash, "the flow stays what it was");
                if own {
                    assert_eq!(all[1], heard, "here it comes up");
                }
            }
        }
        assert_eq!(node.programs.drops().unwrap(), Default::default());
        assert_eq!(node.programs.tenant_count(TENANT).unwrap().received.packets, 2);
    };
    namespace.run(copies).unwrap();
}

/// What comes from a node that a group's packets are not sent to ends here: were it sent on where two nodes differ on the tree,
/// copies would go in circles and each be many after some rounds.
#[test]
fn what_comes_for_a_group_from_none_of_its_next_hops_goes_no_further() {
    if !may_load() {
        return;
    }
    let node = Node::new([Program::Receive], driver::ETHERNET).unwrap();
    node.flood();
    let nodes = node.programs.table(&names::NODES).unwrap();
    nodes.set(&NodeKey { application: u32::from(APPLICATION), node: GROUP.0 }, &GROUP_PATH).unwrap();
    let shouted = frame(Mac::BROADCAST, STATION_C, ether_type::IPV4, &inner_ipv4(64, 0));
    let from_far = {
        let header = ovstack::Repr { source: FAR, destination: GROUP, ..overlay_header() };
        let mut packet = arriving(&header, &shouted);
        change_source(&mut packet, FAR_LOCATOR.octets());
        packet
    };
    let refused = |count| [((Drop::NoRoute), count)].into_iter().filter(|(_, count)| *count > 0).collect();
    for (next, own, is_taken, counted) in [
        (&[PEER_HOP][..], true, true, 1),
        (&[PEER_HOP], false, false, 2),
        // A leaf has nobody to send to, and so nothing is wrong.
        (&[], true, true, 2),
    ] {
        gather(&node, next, own);
        let ran = node.programs.run(Program::Receive, &from_far).unwrap();
        let expected = if is_taken { Verdict::Redirected } else { Verdict::Dropped };
        assert_eq!(ran.verdict, expected, "{next:?}, {own}");
        if is_taken {
            assert_eq!(ran.packet, shouted, "it comes up");
        }
        assert_eq!(node.programs.drops().unwrap(), refused(counted), "{next:?}, {own}");
    }
    assert_eq!(node.programs.tenant_count(TENANT).unwrap().received.packets, 2);
}

/// A node whose group has the peer and one who is far, to whom no packet goes that is longer than a thousand bytes.
fn narrow(line: &Line, includes_own: bool) -> Node {
    let node = Node::new([Program::Receive, Program::Transmit], driver::ETHERNET).unwrap();
    let slots = node.programs.table(&names::ADJACENCY_SLOTS).unwrap();
    let there = slots.get(&9).unwrap().unwrap();
    slots.set(&9, &Adjacency { interface: line.index, ..there }).unwrap();
    slots.set(&10, &Adjacency { interface: line.index, mtu: 1000, ..there }).unwrap();
    node.programs.table(&names::ADJACENCIES).unwrap().set(&6, &10).unwrap();
    let wire = Wire::new(OWN_LOCATOR.into(), FAR_LOCATOR.into(), encapsulation::OVSTACK, 6).unwrap();
    node.programs.table(&names::WIRES).unwrap().set(&FAR_HOP, &wire).unwrap();
    node.flood();
    let nodes = node.programs.table(&names::NODES).unwrap();
    nodes.set(&NodeKey { application: u32::from(APPLICATION), node: GROUP.0 }, &GROUP_PATH).unwrap();
    gather(&node, &[PEER_HOP, FAR_HOP], includes_own);
    node
}

/// What fits the one that is far: a frame, with its header.
const NARROW: u32 = 1000 - 48;

/// A relay sends the copies that fit, and takes its own; of one that does not it tells the node that the packet is from, which
/// remembers it for the group.
#[test]
fn of_a_copy_that_is_too_big_its_source_is_told_and_the_others_leave() {
    if !may_load() {
        return;
    }
    let namespace = Namespace::new().unwrap();
    let answers = || {
        let line = Line::new(&namespace);
        for includes_own in [false, true] {
            let node = narrow(&line, includes_own);
            let header = ovstack::Repr { source: PEER, destination: GROUP, ..overlay_header() };
            let shouted = |bytes| frame(Mac::BROADCAST, STATION_C, ether_type::IPV4, &inner_ipv4(bytes, 0));
            // A byte less fits.
            let most = NARROW as usize - 14 - 28;
            let fits = node.programs.run(Program::Receive, &arriving(&header, &shouted(most))).unwrap();
            assert_eq!((fits.verdict, node.drops(Drop::TooBig)), (Verdict::Redirected, 0));
            let left = line.left(usize::from(includes_own));
            assert_eq!(left.len(), usize::from(includes_own), "the copy before the one that comes up");

            let large = shouted(most + 1);
            let ran = node.programs.run(Program::Receive, &arriving(&header, &large)).unwrap();
            assert_eq!((ran.verdict, node.drops(Drop::TooBig)), (Verdict::Redirected, 1));
            assert!(line.left(0).is_empty(), "there is no other next hop");
            let answer = inside(&ran.packet);
            assert_eq!(destination(&ran.packet), PEER_LOCATOR);
            assert!(answer.is_control());
            assert_eq!((answer.destination(), answer.source(), answer.ttl()), (PEER, OWN, 60));
            assert_eq!(answer.payload().len(), message::BYTES as usize);
            let said = too_big::Repr::parse(answer.payload()).unwrap();
            assert_eq!(said, too_big::Repr { room: NARROW, destination: GROUP });
            assert!(
                answer.payload().ends_with(&large[large.len() - 64..]),
                "it is what is left of the packet"
            );
            let count = node.programs.tenant_count(TENANT).unwrap().received;
            let came_up = if includes_own { [2, (2 * large.len() - 1) as u64] } else { [0, 0] };
            assert_eq!([count.packets, count.bytes], came_up);

            // From the one that is far the peer gets all of it.
            let mut packet = arriving(&ovstack::Repr { source: FAR, ..header }, &large);
            change_source(&mut packet, FAR_LOCATOR.octets());
            let ran = node.programs.run(Program::Receive, &packet).unwrap();
            let mut left = line.left(usize::from(includes_own));
            left.push(ran.packet);
            assert_eq!(inside(&left[0]).payload(), large);
            assert_eq!(node.drops(Drop::TooBig), 1);
        }
    };
    namespace.run(answers).unwrap();
}

/// Where a packet for a group begins the copies that fit leave, too, and its host is told what would fit all: by what is known of the
/// next hops, and by what relays said.
#[test]
fn a_host_is_told_of_copies_that_are_too_big_and_the_others_leave() {
    if !may_load() {
        return;
    }
    let namespace = Namespace::new().unwrap();
    let tells = || {
        let line = Line::new(&namespace);
        let node = narrow(&line, true);
        let all_nodes = |bytes| {
            let mut packet = inner_ipv6(bytes, 0, false);
            packet[24..40].copy_from_slice(&"ff02::1".parse::<std::net::Ipv6Addr>().unwrap().octets());
            packet
        };
        let many = Mac([0x33, 0x33, 0, 0, 0, 1]);
        let multicast = "239.1.2.3".parse().unwrap();
        let frames = |bytes: usize| {
            [
                (frame(Mac::BROADCAST, STATION_A, ether_type::IPV4, &inner_ipv4(bytes - 42, 0)), true),
                (frame(many, STATION_A, ether_type::IPV4, &inner_ipv4_for(multicast, bytes - 42, 0)), true),
                (frame(many, STATION_A, ether_type::IPV6, &all_nodes(bytes - 62)), true),
                // For one whom nobody knows, it is from that one.
                (frame(STATION_C, STATION_A, ether_type::IPV4, &inner_ipv4(bytes - 42, 0)), false),
            ]
        };
        let tells = |bytes: usize, copies: usize, room: u32| {
            for (frame, is_for_many) in frames(bytes) {
                let ran = node.programs.run(Program::Transmit, &frame).unwrap();
                assert_eq!(ran.verdict, Verdict::Redirected);
                let left = line.left(copies);
                assert_eq!(left.len(), copies);
                assert!(left.iter().all(|copy| inside(copy).payload() == frame));
                let outer = ethernet::Frame::parse(&ran.packet).unwrap();
                let asked = ethernet::Frame::parse(&frame).unwrap();
                let beside = Mac([STATION_A.0[0] ^ 2, STATION_A.0[1], 0, 0, 0, STATION_A.0[5]]);
                let source = if is_for_many { beside } else { STATION_C };
                assert_eq!((outer.destination(), outer.source()), (STATION_A, source));
                let (source, destination, own, payload): (IpAddr, IpAddr, IpAddr, _) =
                    match asked.ether_type() {
                        ether_type::IPV4 => {
                            let ip = ipv4::Packet::parse(outer.payload()).unwrap();
                            assert!(ip.checksum_fits());
                            let own = ipv4::Packet::parse(asked.payload()).unwrap().source();
                            (ip.source().into(), ip.destination().into(), own.into(), ip.payload())
                        }
                        _ => {
                            let ip = ipv6::Packet::parse(outer.payload()).unwrap();
                            let own = ipv6::Packet::parse(asked.payload()).unwrap().source();
                            (ip.source().into(), ip.destination().into(), own.into(), ip.payload())
                        }
                    };
                assert_eq!(destination, own);
                let expected: IpAddr = match (is_for_many, own) {
                    (false, _) => "10.1.0.2".parse().unwrap(),
                    (true, IpAddr::V4(_)) => "10.9.0.0".parse().unwrap(),
                    (true, IpAddr::V6(_)) => "2001:db8:9::".parse().unwrap(),
                };
                assert_eq!(source, expected);
                let (said, quoted) = icmp::TooBig::of(payload, source, destination).unwrap();
                let mtu = match said {
                    icmp::TooBig::V4 { mtu } => u32::from(mtu),
                    // No host believes less.
                    icmp::TooBig::V6 { mtu, .. } => mtu.min(room - 14),
                };
                assert_eq!(mtu, room - 14);
                assert_eq!(quoted, &asked.payload()[..quoted.len()]);
            }
        };
        tells(NARROW as usize + 1, 1, NARROW);
        assert_eq!(node.drops(Drop::TooBig), 4);
        // What a relay says counts for the group, and the one with the least room of all.
        let mut said = Vec::new();
        push(&mut said, &too_big::Repr { room: 700, destination: GROUP });
        let header = ovstack::Repr { is_control: true, ..overlay_header() };
        node.programs.run(Program::Receive, &arriving(&header, &said)).unwrap();
        tells(701, 2, 700);
        assert_eq!(node.drops(Drop::TooBig), 4, "both left");
        tells(NARROW as usize + 1, 1, 700);
        assert_eq!(node.drops(Drop::TooBig), 8);
        let fits = frame(Mac::BROADCAST, STATION_A, ether_type::IPV4, &inner_ipv4(700 - 42, 0));
        let ran = node.programs.run(Program::Transmit, &fits).unwrap();
        assert_eq!(inside(&ran.packet).payload(), fits, "the last copy, and nothing is told");
        assert_eq!(line.left(1).len(), 1);
        // Nobody is told of what is no IP.
        let arp = frame(Mac::BROADCAST, STATION_A, ether_type::ARP, &[1; NARROW as usize]);
        let ran = node.programs.run(Program::Transmit, &arp).unwrap();
        assert_eq!((ran.verdict, line.left(1).len()), (Verdict::Dropped, 1));
    };
    namespace.run(tells).unwrap();
}
