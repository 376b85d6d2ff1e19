//! What comes in by the underlay: up to a tenant, dropped for a reason, or the kernel's.

use super::*;

#[test]
fn a_packet_for_this_node_comes_up_as_it_left() {
    let Some(node) = Node::new([Program::Receive], driver::ETHERNET) else { return };
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
        let Some(node) = Node::with([Program::Receive], driver, kind, true) else { return };
        let is_frame = driver == driver::ETHERNET;
        let packet = arriving_in(kind, true, carried, is_frame, 0);
        let ran = node.programs.run(Program::Receive, &packet).unwrap();
        assert_eq!(ran.verdict, Verdict::Redirected, "{:?}", node.programs.drops());
        let came = if is_frame { &ran.packet[..] } else { &ran.packet[14..] };
        assert_eq!(came, &carried[..]);
    }
}

#[test]
fn gue_without_a_header_of_its_own_carries_packets_of_both_families() {
    for is_ipv6 in [false, true] {
        let Some(node) = Node::with([Program::Receive], driver::IP, encapsulation::GUE, is_ipv6) else {
            return;
        };
        let mut walk = node.walk();
        for carried in [inner_ipv4(64, 0), inner_ipv6(64, 0, false)] {
            let packet = arriving_bare(is_ipv6, &carried);
            let ran = node.programs.run(Program::Receive, &packet).unwrap();
            assert_eq!((ran.verdict, &ran.packet[14..]), (Verdict::Redirected, &carried[..]));
            assert!(matches!(walk.receive(&packet, 1), Outcome::Sent(sent) if sent.len() == 1));
        }
        // Neither a family nor a variant that there is.
        let mut odd = arriving_bare(is_ipv6, &inner_ipv4(64, 0));
        let at = odd.len() - inner_ipv4(64, 0).len();
        for (first, reason) in [(0x75, Drop::Version), (0xf5, Drop::Version)] {
            odd[at] = first;
            let before = node.drops(reason);
            assert_eq!(node.programs.run(Program::Receive, &odd).unwrap().verdict, Verdict::Dropped);
            assert_eq!(node.drops(reason), before + 1, "{first:x}");
        }
    }
}

#[test]
fn a_packet_in_place_stays_with_the_device_it_came_by() {
    for is_ipv6 in [false, true] {
        let Some(node) = Node::with([Program::Receive], driver::IP, encapsulation::OVSTACK, is_ipv6) else {
            return;
        };
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

#[test]
fn a_frame_in_place_stays_if_it_is_for_the_devices_own_address() {
    for is_ipv6 in [false, true] {
        let drives = driver::ETHERNET;
        let Some(node) = Node::with([Program::Receive], drives, encapsulation::OVSTACK, is_ipv6) else {
            return;
        };
        node.take_in_place();
        let (ipv4, ipv6) = (inner_ipv4(64, 0), inner_ipv6(64, 0, false));
        // What neighbours say to each other, and what is for an address of a link, is of the device.
        let (mut of_neighbours, mut of_link) = (ipv6.clone(), ipv6.clone());
        of_neighbours[6] = protocol::ICMPV6;
        of_link[24..26].copy_from_slice(&[0xfe, 0x80]);
        for (to, kind, carried, stays) in [
            (STATION_A, ether_type::IPV4, &ipv4, !is_ipv6),
            (STATION_A, ether_type::IPV6, &ipv6, is_ipv6),
            // Another station's, behind a bridge; everybody's; and no packet of IP.
            (STATION_B, ether_type::IPV4, &ipv4, false),
            (Mac([0xff; 6]), ether_type::IPV4, &ipv4, false),
            (STATION_A, ether_type::ARP, &vec![1; 28], false),
            (STATION_A, ether_type::IPV6, &of_neighbours, false),
            (STATION_A, ether_type::IPV6, &of_link, false),
        ] {
            let frame = frame(to, STATION_C, kind, carried);
            let packet = arriving_in(encapsulation::OVSTACK, is_ipv6, &frame, true, 0);
            let ran = node.programs.run(Program::Receive, &packet).unwrap();
            let verdict = if stays { Verdict::Next } else { Verdict::Redirected };
            assert_eq!((ran.verdict, &ran.packet[..]), (verdict, &frame[..]), "{:?}", node.programs.drops());
        }
        assert_eq!(node.programs.tenant_count(TENANT).unwrap().received.packets, 7);
    }
}

/// Packets like those that came in lately are not looked up again: what changed must count all the same.
#[test]
fn what_tables_say_anew_counts_for_those_who_were_heard_just_before() {
    let Some(node) = Node::new([Program::Receive], driver::ETHERNET) else { return };
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

#[test]
fn what_must_not_be_is_dropped_and_counted() {
    let Some(node) = Node::new([Program::Receive], driver::ETHERNET) else { return };
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

/// Whoever is behind a device that leads to no node speaks for none, in no encapsulation; and the true one goes on right behind.
#[test]
fn a_nodes_packets_come_by_a_device_that_leads_to_nodes_and_by_no_other() {
    for is_ipv6 in [false, true] {
        for driver in [driver::ETHERNET, driver::IP] {
            let Some(node) = Node::with([Program::Receive], driver, encapsulation::OVSTACK, is_ipv6) else {
                return;
            };
            let inner = inner_ipv4(64, 0);
            let is_frame = driver == driver::ETHERNET;
            let carried =
                if is_frame { frame(STATION_A, STATION_C, ether_type::IPV4, &inner) } else { inner };
            for kind in ENCAPSULATIONS {
                let carries = match kind {
                    encapsulation::VXLAN | encapsulation::NVGRE => is_frame,
                    encapsulation::IPIP | encapsulation::GUE => !is_frame,
                    _ => true,
                };
                if !carries {
                    continue;
                }
                node.take(kind, is_ipv6);
                node.programs.turn().unwrap();
                let mut walk = node.walk();
                let packet = arriving_in(kind, is_ipv6, &carried, is_frame, 0);
                for (by, verdict) in [
                    (ENTRANCE, Verdict::Redirected),
                    (INSIDE, Verdict::Dropped),
                    (ENTRANCE, Verdict::Redirected),
                    // Another device will be asked, if the kernel takes it there.
                    (PORT, Verdict::Next),
                ] {
                    let before = node.drops(Drop::WrongDevice);
                    let ran = node.programs.run_from(Program::Receive, &packet, by).unwrap();
                    let refused = node.drops(Drop::WrongDevice) - before;
                    let is_refused = verdict == Verdict::Dropped;
                    assert_eq!((ran.verdict, refused), (verdict, is_refused.into()), "{kind} by {by}");
                    let walked = match walk.receive_by(by, &packet, 1) {
                        Outcome::Next => Verdict::Next,
                        Outcome::Sent(sent) if sent.is_empty() => Verdict::Dropped,
                        Outcome::Sent(_) => Verdict::Redirected,
                    };
                    assert_eq!(walked, verdict, "{kind} by {by}");
                }
                assert_eq!(walk.counts.drops.get(&Drop::WrongDevice), Some(&1));
                // A device that leads to nodes no more, or again, counts for those who were heard just before.
                let entrances = node.programs.table(&names::ENTRANCES).unwrap();
                for (is_there, verdict) in [(false, Verdict::Dropped), (true, Verdict::Redirected)] {
                    match is_there {
                        true => entrances.set(&ENTRANCE, &entrance::OPEN).unwrap(),
                        false => assert!(entrances.remove(&ENTRANCE).unwrap()),
                    }
                    node.programs.turn().unwrap();
                    let ran = node.programs.run_from(Program::Receive, &packet, ENTRANCE).unwrap();
                    assert_eq!(ran.verdict, verdict, "{kind}: {is_there}");
                }
            }
            let drops = node.programs.drops().unwrap();
            assert_eq!(drops.keys().collect::<Vec<_>>(), [&Drop::WrongDevice], "{drops:?}");
        }
    }
}

#[test]
fn what_is_not_the_overlays_is_the_kernels() {
    let Some(node) = Node::new([Program::Receive], driver::ETHERNET) else { return };
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
    let drivers = [driver::ETHERNET, driver::IP, driver::BITS, driver::PAYLOAD];
    for (driver, is_ipv6) in drivers.into_iter().flat_map(|driver| [(driver, false), (driver, true)]) {
        // Of what carries labels nobody makes ovstack.
        let kind = if driver == driver::PAYLOAD { encapsulation::GENEVE } else { encapsulation::OVSTACK };
        let Some(node) = Node::with([Program::Receive, Program::Transmit], driver, kind, is_ipv6) else {
            return;
        };
        let walk = RefCell::new(node.walk());
        let (is_frame, inner) = (matches!(driver, driver::ETHERNET | driver::BITS), inner_ipv4(64, 0));
        let sent = match driver {
            // What is found by bits is at the other where they are small.
            driver::BITS => frame(STATION_B, STATION_A, ether_type::IPV4, &[5; 64]),
            driver::PAYLOAD => frame(STATION_B, STATION_A, ether_type::MPLS, &[1; 64]),
            _ => frame(STATION_B, STATION_A, ether_type::IPV4, &inner),
        };
        let carried = if is_frame { frame(STATION_A, STATION_C, ether_type::IPV4, &inner) } else { inner };
        let both = |program, packet: &[u8]| {
            let mut walk = walk.borrow_mut();
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
        let labels = (Inside::Labels, [&[0, 1, 0x41, 9], &[1; 64][..]].concat());
        let insides = [(if is_frame { Inside::Frame } else { Inside::Packet }, carried), labels];
        let ways =
            ENCAPSULATIONS.into_iter().flat_map(|kind| insides.iter().map(move |inside| (kind, inside)));
        for (kind, (inside, carried)) in ways.filter(|(kind, (inside, _))| match *kind {
            encapsulation::GRE | encapsulation::GENEVE | encapsulation::NSH if *inside == Inside::Labels => {
                driver == driver::PAYLOAD
            }
            _ if *inside == Inside::Labels => false,
            encapsulation::VXLAN | encapsulation::NVGRE => is_frame,
            encapsulation::IPIP | encapsulation::GUE => !is_frame,
            _ => true,
        }) {
            // Of those that arrive alike a node takes one.
            node.take(kind, is_ipv6);
            node.programs.turn().unwrap();
            let drops = walk.borrow().counts.drops.clone();
            *walk.borrow_mut() = node.walk();
            walk.borrow_mut().counts.drops = drops;
            let whole = arriving_with(kind, is_ipv6, carried, *inside, 0);
            for length in (15..whole.len()).filter(|length| !is_stunted(&whole[..*length])) {
                let (verdict, reasons) = both(Program::Receive, &whole[..length]);
                if matches!(driver, driver::BITS | driver::PAYLOAD) {
                    // Which bits are asked for is the device's to say: that both say the same is all there is to say.
                    assert!(
                        reasons.iter().all(|reason| *reason == Drop::Malformed),
                        "{kind}: {length} {reasons:?}"
                    );
                    both(Program::Receive, &whole);
                    continue;
                }
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
