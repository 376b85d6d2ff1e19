//! What programs of this host may not send.

use super::*;

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
