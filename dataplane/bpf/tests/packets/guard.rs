//! What programs of this host may not send.

use super::*;

/// Of a packet cut at any byte, and of one with any byte of its headers another one, the guard and the walk say the same; and a whole
/// one is stopped right behind it.
#[test]
fn a_packet_cut_or_broken_at_any_byte_is_guarded_as_the_walk_does() {
    for is_ipv6 in [false, true] {
        let Some(node) = Node::with([Program::Guard], driver::ETHERNET, encapsulation::OVSTACK, is_ipv6)
        else {
            return;
        };
        let mut walk = node.walk();
        let mut both = |packet: &[u8]| {
            let before = node.drops(Drop::Forged);
            let ran = node.programs.run(Program::Guard, packet).unwrap();
            let is_forged = node.drops(Drop::Forged) > before;
            let verdict = if is_forged { Verdict::Dropped } else { Verdict::Next };
            assert_eq!((ran.verdict, &ran.packet[..]), (verdict, packet));
            let walked = walk.guard(packet, true);
            assert_eq!(walked == Outcome::Next, !is_forged, "{packet:02x?}");
            is_forged
        };
        let inner = inner_ipv4(64, 0);
        for kind in ENCAPSULATIONS {
            let is_frame = !matches!(kind, encapsulation::IPIP | encapsulation::GUE);
            let carried =
                if is_frame { frame(STATION_B, STATION_A, ether_type::IPV4, &inner) } else { inner.clone() };
            let others = arriving_in(kind, is_ipv6, &carried, is_frame, 0);
            let mut own = others.clone();
            let [source, destination, bytes] = if is_ipv6 { [22, 38, 16] } else { [26, 30, 4] };
            (0..bytes).for_each(|byte| own.swap(source + byte, destination + byte));
            // From its own locator nothing of an encapsulation leaves whose kind can be told; from another's what is ovstack.
            let told = behind_ip(is_ipv6) + 8;
            for length in (15..own.len()).filter(|length| !is_stunted(&own[..*length])) {
                assert_eq!(both(&own[..length]), length >= told, "{kind}: {length}");
                let is_ovstack = kind == encapsulation::OVSTACK && length >= told + 20;
                assert_eq!(both(&others[..length]), is_ovstack, "{kind}: {length}");
                assert!(both(&own), "{kind}: {length}");
            }
            for at in 12..own.len() - carried.len() {
                for change in [0xff, 0x01, 0x80] {
                    let mut broken = own.clone();
                    broken[at] ^= change;
                    if !is_stunted(&broken) {
                        both(&broken);
                    }
                    assert!(both(&own), "{kind}: {at}");
                }
            }
        }
    }
}

/// What a program of this host sends is stopped where only the overlay may say it, and is left as it is otherwise.
#[test]
fn who_speaks_as_this_node_is_stopped_and_nobody_else() {
    for is_ipv6 in [false, true] {
        let Some(node) = Node::with([Program::Guard], driver::ETHERNET, encapsulation::OVSTACK, is_ipv6)
        else {
            return;
        };
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
            // What nobody but the overlay speaks is forwarded for others, and not this host's own.
            let ran = node.programs.run_from(Program::Guard, &others, 1).unwrap();
            assert_eq!(
                (ran.verdict, ran.packet),
                (Verdict::Next, others.clone()),
                "another's, which is on its way"
            );
            let before = node.drops(Drop::Forged);
            let ran = node.programs.run(Program::Guard, &others).unwrap();
            let is_ours = kind == encapsulation::OVSTACK;
            let verdict = if is_ours { Verdict::Dropped } else { Verdict::Next };
            let dropped = node.drops(Drop::Forged) - before;
            assert_eq!((ran.verdict, dropped), (verdict, is_ours.into()), "{kind}, IPv6: {is_ipv6}");
            let (forged, before) = (turned(&others), node.drops(Drop::Forged));
            let ran = node.programs.run(Program::Guard, &forged).unwrap();
            let dropped = node.drops(Drop::Forged) - before;
            assert_eq!((ran.verdict, dropped), (Verdict::Dropped, 1), "{kind}, IPv6: {is_ipv6}");
        }
        let mut asks = turned(&arriving_in(encapsulation::OVSTACK, is_ipv6, &inner, false, 0));
        let port = if is_ipv6 { 56 } else { 36 };
        asks[port..port + 2].copy_from_slice(&53u16.to_be_bytes());
        passes(&asks, "its own to a port that is not the overlay's");
        // From an address of no locator, to who asked from ovstack's port.
        let mut answers = arriving_in(encapsulation::OVSTACK, is_ipv6, &inner, false, 0);
        let behind = port + 6;
        for (at, byte) in [(0, 9), (2, APPLICATION + 1)] {
            let before = std::mem::replace(&mut answers[behind + at], byte);
            passes(&answers, "what is no packet of an application of this node");
            answers[behind + at] = before;
        }
        passes(&answers[..behind + 10], "what is too short for one");
        passes(&frame(GATEWAY, UNDERLAY, ether_type::ARP, &[1; 28]), "what is no IP");
        let drops = node.programs.drops().unwrap();
        assert_eq!(drops.keys().collect::<Vec<_>>(), [&Drop::Forged], "{drops:?}");
    }
}
