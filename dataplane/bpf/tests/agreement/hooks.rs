//! The guard, and the relay in a driver, by tables as they are drawn.

use super::tables::drawn;
use super::*;
use proptest::collection::vec;
use proptest::sample::select;

/// What a program of this host, or one that it forwards for, may send: from an own locator, another's, or nobody's.
fn sent(is_ipv6: bool) -> impl Strategy<Value = Vec<u8>> {
    let from = select(vec![OWN_LOCATOR, PEER_LOCATOR, Ipv4Addr::new(203, 0, 113, 9)]);
    let kinds = select(ENCAPSULATIONS.to_vec());
    let whole = (kinds, frames(), from, any::<[u8; 2]>()).prop_map(move |(kind, frame, from, spoofed)| {
        let mut packet = arriving_in(kind, is_ipv6, &frame, true, 0);
        match of_family(from, is_ipv6) {
            std::net::IpAddr::V4(address) => packet[26..30].copy_from_slice(&address.octets()),
            std::net::IpAddr::V6(address) => packet[22..38].copy_from_slice(&address.octets()),
        }
        // Of ovstack that is the application.
        let [is_another, application] = spoofed;
        if kind == encapsulation::OVSTACK && is_another < 60 {
            packet[behind_ip(is_ipv6) + 8 + 2] = application;
        }
        packet
    });
    broken(whole)
}

#[test]
fn both_guard_by_any_tables_alike() {
    for is_ipv6 in [false, true] {
        let wanted = [Program::Guard];
        let Some(node) = Node::with(wanted, driver::ETHERNET, encapsulation::OVSTACK, is_ipv6) else {
            return;
        };
        let endpoints = node.programs.table(&names::ENDPOINTS).unwrap();
        let keys: Vec<EndpointKey> = endpoints.keys().collect();
        let applications = node.programs.table(&names::APPLICATIONS).unwrap();
        let passed = RefCell::new(0);
        let packets = vec((sent(is_ipv6), any::<bool>()), 30);
        let tables = (vec(prop::bool::weighted(0.7), keys.len()), prop::bool::weighted(0.8), packets);
        runner(60)
            .run(&tables, |(are_there, is_known, packets)| {
                for (key, is_there) in keys.iter().zip(are_there) {
                    match is_there {
                        true => endpoints.set(key, &0).unwrap(),
                        false => drop(endpoints.remove(key).unwrap()),
                    }
                }
                let own = if is_known { OWN.0 } else { 0 };
                let application = Application { own, ttl: 60, driver: driver::ETHERNET };
                applications.set(&APPLICATION.into(), &application).unwrap();
                let mut walk = node.walk();
                for (packet, is_own) in packets.iter().filter(|(packet, _)| !is_stunted(packet)) {
                    walk.counts.drops = node.programs.drops().unwrap();
                    let from = if *is_own { 0 } else { 1 };
                    let ran = node.programs.run_from(Program::Guard, packet, from).unwrap();
                    let verdict = match walk.guard(packet, *is_own) {
                        Outcome::Next => Verdict::Next,
                        Outcome::Sent(sent) if sent.is_empty() => Verdict::Dropped,
                        Outcome::Sent(sent) => panic!("the walk sends {sent:?}"),
                    };
                    prop_assert_eq!((ran.verdict, &ran.packet), (verdict, packet));
                    *passed.borrow_mut() += u32::from(verdict == Verdict::Next);
                    prop_assert_eq!(node.programs.drops().unwrap(), walk.counts.drops.clone());
                }
                Ok(())
            })
            .unwrap();
        let (forged, passed) = (node.drops(Drop::Forged), passed.into_inner());
        assert!(forged > 200 && passed > 200, "{forged} are forged, and {passed} are not");
    }
}

#[test]
fn both_relay_by_any_tables_alike() {
    for is_ipv6 in [false, true] {
        let way = Way { driver: driver::ETHERNET, encapsulation: encapsulation::OVSTACK, is_ipv6 };
        let Some(node) = way.node() else { return };
        let headers = behind_ip(is_ipv6) + 8 + 20;
        let to = select(vec![FAR, FAR, PEER, OWN]);
        let whole =
            (frames(), any::<u32>(), 0u8..4, 0u8..4, to).prop_map(move |(frame, hash, ttl, tos, to)| {
                let mut packet = arriving_in(encapsulation::OVSTACK, is_ipv6, &frame, true, tos);
                let at = behind_ip(is_ipv6) + 8;
                packet[at + 1] = ttl;
                packet[at + 8..at + 12].copy_from_slice(&hash.to_be_bytes());
                packet[at + 12..at + 16].copy_from_slice(&to.0.to_be_bytes());
                packet
            });
        let relayed = RefCell::new(0);
        let tables = drawn(way.driver, size::CHOICES as usize);
        let tables = (tables.prop_map(move |tables| tables.of_ovstack(is_ipv6)), vec(broken(whole), 30));
        runner(120)
            .run(&tables, |(tables, packets)| {
                tables.write(&node);
                let mut walk = node.walk();
                // What carries nothing fits for the kernel where there is room for no header; a driver leaves it to that.
                for packet in packets.iter().filter(|packet| packet.len() > headers) {
                    *relayed.borrow_mut() += u32::from(relays_alike(&node, &mut walk, packet)?);
                }
                Ok(())
            })
            .unwrap();
        let relayed = relayed.into_inner();
        assert!(relayed > 20, "{relayed} of {way:?}");
    }
}
