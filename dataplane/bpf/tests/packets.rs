//! Packets in, packets out: each program on this kernel, without a device.

mod support;

use plait_dataplane_bpf::{Mirror, Program, RELAYED, Verdict, names};
use plait_dataplane_links::scratch::Namespace;
use plait_dataplane_reference::Outcome;
use plait_dataplane_reference::tables::*;
use plait_model_wire::ethernet::Mac;
use plait_model_wire::number::ether_type;
use plait_model_wire::*;
use support::line::Line;
use support::*;

#[test]
fn a_frame_leaves_with_a_whole_outer_header() {
    let Some(node) = Node::new(driver::ETHERNET) else { return };
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

#[test]
fn what_no_device_would_segment_leaves_as_well() {
    let Some(node) = Node::new(driver::ETHERNET) else { return };
    for (kind, payload) in [(ether_type::ARP, vec![1; 28]), (0x88cc, vec![7; 100])] {
        let frame = frame(STATION_B, STATION_A, kind, &payload);
        let ran = node.programs.run(Program::Transmit, &frame).unwrap();
        assert_eq!(ran.verdict, Verdict::Redirected, "{:?}", node.programs.drops());
        assert_eq!(inside(&ran.packet).payload(), frame);
    }
}

#[test]
fn frames_between_two_stations_have_one_hash_and_others_another() {
    let Some(node) = Node::new(driver::ETHERNET) else { return };
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
    let Some(node) = Node::new(driver::ETHERNET) else { return };
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
        let Some(node) = Node::new(driver) else { return };
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
fn a_packet_for_this_node_comes_up_as_it_left() {
    let Some(node) = Node::new(driver::ETHERNET) else { return };
    for (kind, payload) in
        [(ether_type::IPV4, inner_ipv4(64, 0)), (ether_type::ARP, vec![1; 28]), (0x88cc, vec![3; 9])]
    {
        let frame = frame(STATION_A, STATION_C, kind, &payload);
        let ran = node.programs.run(Program::Receive, &arriving(&overlay_header(), &frame)).unwrap();
        assert_eq!(ran.verdict, Verdict::Redirected, "{:?}", node.programs.drops());
        assert_eq!(ran.packet[..frame.len()], frame);
        assert!(ran.packet[frame.len()..].iter().all(|byte| *byte == 0), "what is too short is padded");
    }
    let learned = node.programs.table(&names::FIB).unwrap().get(&identifier(STATION_C)).unwrap().unwrap();
    assert_eq!((learned.node, learned.path), (PEER.0, PEER_PATH));
    assert!(learned.heard > 0);
    assert_eq!(node.programs.tenant_count(TENANT).unwrap().received.packets, 3);
}

/// Of a packet with an outer header of IPv6 the kernel leaves no less than another such header.
#[test]
fn a_packet_shorter_than_its_outer_header_comes_up_as_it_left() {
    let payload = inner_ipv4(0, 0);
    let arp = frame(STATION_A, STATION_C, ether_type::ARP, &[1; 28]);
    for (driver, kind, carried) in
        [(driver::IP, encapsulation::IPIP, &payload), (driver::ETHERNET, encapsulation::GRE, &arp)]
    {
        let Some(node) = Node::with(driver, kind, true) else { return };
        let is_frame = driver == driver::ETHERNET;
        let packet = arriving_in(kind, true, carried, is_frame, 0);
        let ran = node.programs.run(Program::Receive, &packet).unwrap();
        assert_eq!(ran.verdict, Verdict::Redirected, "{:?}", node.programs.drops());
        let came = if is_frame { &ran.packet[..] } else { &ran.packet[14..] };
        assert_eq!(came, &carried[..]);
    }
}

#[test]
fn a_packet_in_place_stays_with_the_device_it_came_by() {
    for is_ipv6 in [false, true] {
        let Some(node) = Node::with(driver::IP, encapsulation::OVSTACK, is_ipv6) else { return };
        node.take_in_place();
        // What is of the other family is looked at anew, by the tenant's device.
        for (carried, stays) in [(inner_ipv4(64, 0), !is_ipv6), (inner_ipv6(64, 0, false), is_ipv6)] {
            let packet = arriving_in(encapsulation::OVSTACK, is_ipv6, &carried, false, 0);
            let ran = node.programs.run(Program::Receive, &packet).unwrap();
            let verdict = if stays { Verdict::Next } else { Verdict::Redirected };
            assert_eq!((ran.verdict, &ran.packet[14..]), (verdict, &carried[..]));
        }
        assert_eq!(node.programs.tenant_count(TENANT).unwrap().received.packets, 2);
    }
}

/// Packets like those that came in lately are not looked up again: what changed must count all the same.
#[test]
fn what_tables_say_anew_counts_for_those_who_were_heard_just_before() {
    let Some(node) = Node::new(driver::ETHERNET) else { return };
    let application = u32::from(APPLICATION);
    let payload = inner_ipv4(64, 0);
    let arrived = arriving(&overlay_header(), &frame(STATION_A, STATION_C, ether_type::IPV4, &payload));
    let passing = ovstack::Repr { destination: FAR, ..overlay_header() };
    let passing = arriving(&passing, &frame(STATION_A, STATION_C, ether_type::IPV4, &payload));
    let receive = |packet: &[u8]| node.programs.run(Program::Receive, packet).unwrap().verdict;
    let heard = || {
        for _ in 0..3 {
            assert_eq!(receive(&arrived), Verdict::Redirected, "{:?}", node.programs.drops());
            assert_eq!(receive(&passing), Verdict::Redirected, "{:?}", node.programs.drops());
        }
    };
    let dropped = |packet: &[u8], reason| {
        node.programs.turn().unwrap();
        let before = node.drops(reason);
        assert_eq!((receive(packet), node.drops(reason) - before), (Verdict::Dropped, 1), "{reason:?}");
    };

    let vnis = node.programs.table(&names::VNIS).unwrap();
    let key = VniKey { application, vni: VNI };
    heard();
    assert!(vnis.remove(&key).unwrap());
    dropped(&arrived, Drop::UnknownTenant);
    vnis.set(&key, &TENANT).unwrap();

    let nodes = node.programs.table(&names::NODES).unwrap();
    let key = NodeKey { application, node: FAR.0 };
    heard();
    assert!(nodes.remove(&key).unwrap());
    dropped(&passing, Drop::NoRoute);
    nodes.set(&key, &FAR_PATH).unwrap();

    // The station is said to be elsewhere, and may not be here then.
    let fib = node.programs.table(&names::FIB).unwrap();
    heard();
    let learned = fib.get(&identifier(STATION_C)).unwrap().unwrap();
    fib.set(&identifier(STATION_C), &FibEntry { node: FAR.0, heard: 0, ..learned }).unwrap();
    dropped(&arrived, Drop::UnknownSource);
    fib.set(&identifier(STATION_C), &learned).unwrap();

    let peers = node.programs.table(&names::PEERS).unwrap();
    heard();
    for key in peers.keys().collect::<Vec<_>>() {
        peers.remove(&key).unwrap();
    }
    dropped(&arrived, Drop::UnknownLocator);
    dropped(&passing, Drop::UnknownLocator);
}

/// One node's station is heard at another's, and at the first again: each is learned, though nobody else says so.
#[test]
fn a_station_that_moves_to_and_fro_is_learned_each_time() {
    let Some(node) = Node::new(driver::ETHERNET) else { return };
    let fib = node.programs.table(&names::FIB).unwrap();
    let from = |source| {
        let header = ovstack::Repr { source, ..overlay_header() };
        arriving(&header, &frame(STATION_A, STATION_C, ether_type::IPV4, &inner_ipv4(64, 0)))
    };
    for source in [PEER, FAR, PEER, FAR] {
        for _ in 0..3 {
            let ran = node.programs.run(Program::Receive, &from(source)).unwrap();
            assert_eq!(ran.verdict, Verdict::Redirected, "{:?}", node.programs.drops());
        }
        assert_eq!(fib.get(&identifier(STATION_C)).unwrap().unwrap().node, source.0);
    }
}

#[test]
fn a_relay_changes_the_outer_header_and_one_hop() {
    let Some(node) = Node::new(driver::ETHERNET) else { return };
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

/// Frames for all begin here, come from one of the others, and end here or not: each other member gets one copy.
#[test]
fn of_a_group_each_gets_one_copy_and_its_sender_none() {
    if !may_load() {
        return;
    }
    let namespace = Namespace::new().unwrap();
    let copies = || {
        let line = Line::new(&namespace);
        let node = Node::new(driver::ETHERNET).unwrap();
        let application = u32::from(APPLICATION);
        let slots = node.programs.table(&names::ADJACENCY_SLOTS).unwrap();
        let there = slots.get(&9).unwrap().unwrap();
        slots.set(&9, &Adjacency { interface: line.index, ..there }).unwrap();
        node.flood();
        let nodes = node.programs.table(&names::NODES).unwrap();
        nodes.set(&NodeKey { application, node: GROUP.0 }, &GROUP_PATH).unwrap();
        let includes_own = |includes_own: bool| {
            let mut hops = [0; size::GROUP as usize];
            hops[..2].copy_from_slice(&[PEER_HOP, FAR_HOP]);
            let group = Group { count: 2, includes_own: includes_own.into(), hops };
            node.programs.table(&names::GROUPS).unwrap().set(&0, &group).unwrap();
            node.programs.turn().unwrap();
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

/// What a program of this host sends is stopped where only the overlay may say it, and is left as it is otherwise.
#[test]
fn who_speaks_as_this_node_is_stopped_and_nobody_else() {
    for is_ipv6 in [false, true] {
        let Some(node) = Node::with(driver::ETHERNET, encapsulation::OVSTACK, is_ipv6) else { return };
        // As if from this node, to the peer.
        let turned = |packet: &[u8]| {
            let mut packet = packet.to_vec();
            let [source, destination, bytes] = if is_ipv6 { [22, 38, 16] } else { [26, 30, 4] };
            (0..bytes).for_each(|byte| packet.swap(source + byte, destination + byte));
            packet
        };
        let passes = |packet: &[u8], what: &str| {
            let ran = node.programs.run(Program::Guard, packet).unwrap();
            assert_eq!((ran.verdict, &ran.packet[..]), (Verdict::Next, packet), "{what}");
        };
        let inner = inner_ipv4(64, 0);
        for kind in ENCAPSULATIONS {
            let is_frame = !matches!(kind, encapsulation::IPIP | encapsulation::GUE);
            let carried =
                if is_frame { frame(STATION_B, STATION_A, ether_type::IPV4, &inner) } else { inner.clone() };
            let others = arriving_in(kind, is_ipv6, &carried, is_frame, 0);
            passes(&others, "another's, which is on its way");
            let (forged, before) = (turned(&others), node.drops(Drop::Forged));
            let ran = node.programs.run(Program::Guard, &forged).unwrap();
            let dropped = node.drops(Drop::Forged) - before;
            assert_eq!((ran.verdict, dropped), (Verdict::Dropped, 1), "{kind}, IPv6: {is_ipv6}");
        }
        let mut asks = turned(&arriving_in(encapsulation::OVSTACK, is_ipv6, &inner, false, 0));
        let port = if is_ipv6 { 56 } else { 36 };
        asks[port..port + 2].copy_from_slice(&53u16.to_be_bytes());
        passes(&asks, "its own to a port that is not the overlay's");
        passes(&frame(GATEWAY, UNDERLAY, ether_type::ARP, &[1; 28]), "what is no IP");
        let drops = node.programs.drops().unwrap();
        assert_eq!(drops.keys().collect::<Vec<_>>(), [&Drop::Forged], "{drops:?}");
    }
}

#[test]
fn a_driver_relays_what_the_kernel_would() {
    for is_ipv6 in [false, true] {
        let Some(node) = Node::with(driver::ETHERNET, encapsulation::OVSTACK, is_ipv6) else { return };
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
    let Some(node) = Node::new(driver::ETHERNET) else { return };
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
    let Some(node) = Node::new(driver::ETHERNET) else { return };
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

#[test]
fn what_must_not_be_is_dropped_and_counted() {
    let Some(node) = Node::new(driver::ETHERNET) else { return };
    let frame = frame(STATION_A, STATION_C, ether_type::IPV4, &inner_ipv4(64, 0));
    let whole = overlay_header();
    let cases = [
        (Drop::UnknownSource, ovstack::Repr { source: OWN, ..whole }),
        (Drop::UnknownSource, ovstack::Repr { source: ovstack::NodeId(0x7f00_0001), ..whole }),
        (Drop::UnknownTenant, ovstack::Repr { vni: VNI + 1, ..whole }),
        (Drop::UnknownLocator, ovstack::Repr { application: APPLICATION + 1, ..whole }),
        (Drop::NoRoute, ovstack::Repr { destination: ovstack::NodeId(0x7f00_0002), ..whole }),
    ];
    for (reason, sent) in cases {
        let before = node.drops(reason);
        let ran = node.programs.run(Program::Receive, &arriving(&sent, &frame)).unwrap();
        assert_eq!((ran.verdict, node.drops(reason)), (Verdict::Dropped, before + 1), "{sent:?}");
    }
    // From an address that is nobody's.
    let mut packet = arriving(&whole, &frame);
    change_source(&mut packet, [198, 51, 100, 66]);
    assert_eq!(node.programs.run(Program::Receive, &packet).unwrap().verdict, Verdict::Dropped);
    assert_eq!(node.drops(Drop::UnknownLocator), 2);
    // A frame that says it is from a group.
    let shouting = support::frame(STATION_A, Mac::BROADCAST, ether_type::IPV4, &inner_ipv4(64, 0));
    assert_eq!(
        node.programs.run(Program::Receive, &arriving(&whole, &shouting)).unwrap().verdict,
        Verdict::Dropped
    );
    // Another version of the header.
    let mut packet = arriving(&whole, &frame);
    packet[42] = 2;
    node.programs.run(Program::Receive, &packet).unwrap();
    assert_eq!((node.drops(Drop::Version), node.drops(Drop::Malformed)), (1, 1));
}

#[test]
fn what_is_not_the_overlays_is_the_kernels() {
    let Some(node) = Node::new(driver::ETHERNET) else { return };
    let whole =
        arriving(&overlay_header(), &frame(STATION_A, STATION_C, ether_type::IPV4, &inner_ipv4(64, 0)));
    let mut elsewhere = whole.clone();
    elsewhere[36..38].copy_from_slice(&53u16.to_be_bytes());
    let mut fragment = whole.clone();
    fragment[20] = 0x20;
    let mut to_another = whole.clone();
    to_another[33] ^= 1;
    let arp = frame(STATION_A, STATION_C, ether_type::ARP, &[1; 28]);
    for packet in [elsewhere, fragment, to_another, arp] {
        let ran = node.programs.run(Program::Receive, &packet).unwrap();
        assert_eq!((ran.verdict, ran.packet), (Verdict::Next, packet));
    }
    assert_eq!(node.programs.drops().unwrap(), Default::default());
}

/// Whatever is left of a packet, both say the same of it, for the same reason; and a whole one passes right behind it.
#[test]
fn a_packet_cut_at_any_byte_harms_nobody() {
    for (driver, is_ipv6) in [(driver::ETHERNET, false), (driver::IP, true)] {
        let Some(node) = Node::with(driver, encapsulation::OVSTACK, is_ipv6) else { return };
        let mut walk = node.walk();
        let (is_frame, inner) = (driver != driver::IP, inner_ipv4(64, 0));
        let sent = frame(STATION_B, STATION_A, ether_type::IPV4, &inner);
        let carried = if is_frame { frame(STATION_A, STATION_C, ether_type::IPV4, &inner) } else { inner };
        let mut both = |program, packet: &[u8]| {
            let before = walk.counts.drops.clone();
            let verdict = node.programs.run(program, packet).unwrap().verdict;
            let outcome = match program {
                Program::Receive => walk.receive(packet, 1),
                _ => walk.transmit(&node.device, packet, 0, 1),
            };
            let expected = match outcome {
                Outcome::Next => Verdict::Next,
                Outcome::Sent(sent) if sent.is_empty() => Verdict::Dropped,
                Outcome::Sent(_) => Verdict::Redirected,
            };
            assert_eq!((verdict, node.programs.drops().unwrap()), (expected, walk.counts.drops.clone()));
            let reasons: Vec<Drop> =
                Drop::ALL.iter().copied().filter(|of| walk.counts.drops.get(of) != before.get(of)).collect();
            (verdict, reasons)
        };
        for kind in ENCAPSULATIONS.filter(|kind| match *kind {
            encapsulation::VXLAN | encapsulation::NVGRE => is_frame,
            encapsulation::IPIP | encapsulation::GUE => !is_frame,
            _ => true,
        }) {
            let whole = arriving_in(kind, is_ipv6, &carried, is_frame, 0);
            for length in (15..whole.len()).filter(|length| !is_stunted(&whole[..*length])) {
                let (verdict, reasons) = both(Program::Receive, &whole[..length]);
                let headers = whole.len() - carried.len();
                let ip = if is_ipv6 { 40 } else { 20 };
                let (outer, least) = (14 + ip + 8, if is_frame { 14 } else { 20 });
                let told = (verdict, &reasons[..]);
                match length {
                    // What is too short for any header behind IP is the kernel's.
                    _ if length < outer => assert_eq!(told, (Verdict::Next, &[][..]), "{kind}: {length}"),
                    _ if length < headers + least => {
                        assert_eq!(told, (Verdict::Dropped, &[Drop::Malformed][..]), "{kind}: {length}");
                    }
                    _ => assert_eq!(told, (Verdict::Redirected, &[][..]), "{kind}: {length}"),
                }
                assert_eq!(
                    both(Program::Receive, &whole),
                    (Verdict::Redirected, Vec::new()),
                    "{kind}: {length}"
                );
            }
        }
        for length in (15..sent.len()).filter(|length| !is_stunted(&sent[..*length])) {
            both(Program::Transmit, &sent[..length]);
            assert_eq!(both(Program::Transmit, &sent), (Verdict::Redirected, Vec::new()), "{length}");
        }
    }
}

/// A station for each of these numbers.
fn numbered(number: u32) -> Mac {
    let [_, a, b, c] = number.to_be_bytes();
    Mac([2, 0, 7, a, b, c])
}

/// The bound is one on what is written: the frames pass all the same.
#[test]
fn stations_that_come_too_fast_are_heard_and_not_learned() {
    const BURST: u128 = 1000;
    let Some(node) = Node::new(driver::ETHERNET) else { return };
    let fib = node.programs.table(&names::FIB).unwrap();
    let is_learned = |number| fib.get(&identifier(numbered(number))).unwrap().is_some();
    let mut came = 0;
    let begun = std::time::Instant::now();
    while came < 100_000 {
        for _ in 0..1000 {
            let frame = frame(STATION_A, numbered(came), ether_type::IPV4, &inner_ipv4(64, 0));
            let ran = node.programs.run(Program::Receive, &arriving(&overlay_header(), &frame)).unwrap();
            assert_eq!((ran.verdict, &ran.packet), (Verdict::Redirected, &frame));
            came += 1;
        }
        if came > 2000 && !is_learned(came - 1) {
            break;
        }
    }
    let most = BURST + begun.elapsed().as_millis() + 1;
    let learned = (0..came).filter(|number| is_learned(*number)).count() as u128;
    assert!((BURST..=most).contains(&learned), "{learned} of {came} in {:?}", begun.elapsed());
    assert!(learned < u128::from(came), "nobody came too fast");
    assert!((0..1000).all(is_learned), "the first are learned");
    assert_eq!(node.programs.tenant_count(TENANT).unwrap().received.packets, u64::from(came));
    assert_eq!(node.programs.drops().unwrap(), Default::default());
    // One that moves to and fro costs as much as new ones: it stays where it was.
    let away = ovstack::Repr { source: FAR, ..overlay_header() };
    let learning = node.programs.table(&names::LEARNING).unwrap();
    let spent = learning.get(&TENANT).unwrap().unwrap().spent_until;
    learning.set(&TENANT, &Bucket { spent_until: spent + 3_600_000_000_000 }).unwrap();
    let frame = frame(STATION_A, numbered(0), ether_type::IPV4, &inner_ipv4(64, 0));
    let ran = node.programs.run(Program::Receive, &arriving(&away, &frame)).unwrap();
    assert_eq!(ran.verdict, Verdict::Redirected);
    assert_eq!(fib.get(&identifier(numbered(0))).unwrap().unwrap().node, PEER.0);
}

#[test]
fn what_is_too_big_too_often_is_counted_and_not_answered() {
    const BURST: u128 = 100;
    let Some(node) = Node::new(driver::ETHERNET) else { return };
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

#[test]
fn weights_are_shares_of_flows() {
    let Some(node) = Node::new(driver::ETHERNET) else { return };
    // Three locators of the peer with 1, 2 and 5 eighths.
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
    let hop = Hop { node: PEER.0, weights: 8, count: 3, reserved: 0, choices };
    node.programs.table(&names::HOPS).unwrap().set(&PEER_HOP, &hop).unwrap();
    let mut shares = [0u32; 3];
    let flows = 4000;
    for flow in 0..flows {
        let [_, _, a, b] = u32::to_be_bytes(flow);
        let source = Mac([2, 0, 0, 7, a, b]);
        let frame = frame(STATION_B, source, ether_type::IPV4, &inner_ipv4(64, 0));
        let first = destination(&node.programs.run(Program::Transmit, &frame).unwrap().packet);
        if flow % 100 == 0 {
            let again = destination(&node.programs.run(Program::Transmit, &frame).unwrap().packet);
            assert_eq!(first, again, "a flow stays on its path");
        }
        shares[locators.iter().position(|locator| *locator == first).unwrap()] += 1;
    }
    for (share, weight) in shares.into_iter().zip([1.0, 2.0, 5.0]) {
        let expected = f64::from(flows) * weight / 8.0;
        // Five standard deviations of a binomial draw: one in a million would miss it.
        let tolerance = 5.0 * (expected * (1.0 - weight / 8.0)).sqrt();
        assert!((f64::from(share) - expected).abs() < tolerance, "{shares:?}");
    }
}

/// A relay's answer to what does not fit, and what its source makes of it.
#[test]
fn a_packet_too_big_is_answered_heeded_and_told() {
    let Some(node) = Node::new(driver::ETHERNET) else { return };
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

#[test]
fn a_mirror_sends_back_puts_as_it_was_forwards_swallows_and_notes() {
    if !may_load() {
        return;
    }
    let packet = arriving(&overlay_header(), &[1; 90]);
    let mirror = Mirror::load(packet[..RELAYED].try_into().unwrap()).unwrap();
    let sent = mirror.reflect(&packet).unwrap();
    assert_eq!(sent.verdict, Verdict::Redirected);
    let frame = ethernet::Frame::parse(&sent.packet).unwrap();
    assert_eq!((frame.destination(), frame.source(), frame.payload()), (GATEWAY, UNDERLAY, &packet[14..]));

    let mut changed = packet.clone();
    changed[..RELAYED].fill(0xee);
    let taken = mirror.restore(&changed).unwrap();
    assert_eq!((taken.verdict, &taken.packet), (Verdict::Dropped, &packet));
    assert_eq!(mirror.swallow(&packet).unwrap().verdict, Verdict::Dropped);
    assert_eq!(mirror.swallowed().unwrap(), 1);
    assert_eq!(mirror.forward(&packet, 0).unwrap().verdict, Verdict::Dropped);
    assert_eq!(mirror.forward(&packet, 1).unwrap().verdict, Verdict::Redirected);
    assert_eq!(mirror.restore(&[0xee; 40]).unwrap().packet, [0xee; 40], "one that is shorter stays as it is");

    // For an address of each kind, and for one that mixes two; to the original's port, and to another.
    let counts = || mirror.sightings().unwrap().map(|kinds| kinds.map(|sighting| sighting.packets));
    for (bytes, kind) in [([0x10; 5], 0), ([0x11; 5], 1), ([0x11, 0x11, 0x10, 0x11, 0x11], 2)] {
        let mut packet = packet.clone();
        packet[1..6].copy_from_slice(&bytes);
        let mut other = packet.clone();
        other[14 + 20 + 3] ^= 1;
        mirror.forget_sightings().unwrap();
        for (packet, of) in [(&packet, 0), (&other, 1), (&packet, 0)] {
            assert_eq!(mirror.sight(packet).unwrap().verdict, Verdict::Dropped);
            let sighting = mirror.sightings().unwrap()[of][kind];
            assert!(sighting.first > 0 && sighting.last >= sighting.first, "{sighting:?}");
        }
        let mut expected = [[0; 3]; 2];
        (expected[0][kind], expected[1][kind]) = (2, 1);
        assert_eq!(counts(), expected);
    }
    let arp = support::frame(STATION_A, STATION_B, ether_type::ARP, &[1; 60]);
    assert_eq!(mirror.sight(&arp).unwrap().verdict, Verdict::Next, "what is no UDP goes on");
}
