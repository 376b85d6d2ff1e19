//! Which superpackets are cut before they go on: by tables as they are drawn, with what the walk finds in them.

use super::tables::drawn;
use super::*;
use plait_model_wire::number::protocol;
use proptest::collection::vec;
use proptest::sample::select;

/// Frames of a superpacket, and whether it is one of UDP.
fn frames_of() -> impl Strategy<Value = (Vec<u8>, bool)> {
    let to = select(vec![STATION_A, STATION_B, STATION_F]);
    let inside = select(vec![Some(protocol::UDP), Some(protocol::TCP), None]);
    (to, inside, any::<bool>(), 200usize..1400).prop_map(|(to, inside, is_ipv6, bytes)| {
        let (mut packet, kind, at) = match is_ipv6 {
            true => (inner_ipv6(bytes, 0, false), ether_type::IPV6, 6),
            false => (inner_ipv4(bytes, 0), ether_type::IPV4, 9),
        };
        let kind = if inside.is_some() { kind } else { 0x88b5 };
        packet[at] = inside.unwrap_or(packet[at]);
        (frame(to, STATION_C, kind, &packet), inside == Some(protocol::UDP))
    })
}

/// The IP protocol that carries an encapsulation.
fn tunnel_of(kind: u32) -> u8 {
    match kind {
        encapsulation::NVGRE | encapsulation::GRE | encapsulation::MPLS => protocol::GRE,
        _ => protocol::UDP,
    }
}

/// The tunnel by which a path's next hop is reached: of one that leads to a single one which is found.
fn next_tunnel(walk: &Walk, hop: u32) -> Option<u8> {
    let hop = walk.hops.get(&hop).filter(|hop| hop.count > 0)?;
    let wire = walk.wires.get(&hop.choices[0].wire)?;
    let slot = walk.adjacencies.get(&wire.adjacency)? as u32;
    let adjacency = walk.adjacency_slots.get(&slot)?;
    let at = if wire.form & form::IPV6 == 0 { 23 } else { 20 };
    (adjacency.interface != 0).then(|| wire.header[at])
}

/// Whether a superpacket from the peer is cut: where its mark, of the kind of tunnel that it came in, is taken for a header.
fn is_cut(walk: &Walk, kind: u32, to: ovstack::NodeId, frame: &[u8], is_datagram: bool) -> bool {
    let application = u32::from(APPLICATION);
    let own = walk.applications.get(&application).map_or(0, |application| application.own);
    let kind_of = |path: u32| walk.paths.get(&path).map(|word| ((word >> 32) as u32, word as u32));
    let destination = match kind {
        encapsulation::OVSTACK => to.0,
        _ => {
            let station = Mac(frame[..6].try_into().expect("six bytes"));
            let entry = walk.fib.get(&identifier(station)).filter(|entry| entry.node != PEER.0);
            let is_one = |path: u32| kind_of(path).is_some_and(|(kind, _)| kind != path::GROUP);
            entry.filter(|entry| is_one(entry.path)).map_or(own, |entry| entry.node)
        }
    };
    if own == 0 {
        return false;
    }
    if destination == own {
        return is_datagram && tunnel_of(kind) == protocol::UDP;
    }
    let path = walk.nodes.get(&NodeKey { application, node: destination });
    match path.and_then(kind_of) {
        None => false,
        Some((path::HOP, hop)) => next_tunnel(walk, hop).is_some_and(|tunnel| tunnel != tunnel_of(kind)),
        // Copies for a group may come up here, too.
        Some(_) => is_datagram,
    }
}

#[test]
fn both_cut_the_same_superpackets_by_any_tables() {
    let kinds = ENCAPSULATIONS
        .into_iter()
        .filter(|kind| !matches!(*kind, encapsulation::IPIP | encapsulation::GUE | encapsulation::GPE));
    let kinds: Vec<u32> = kinds.collect();
    for is_ipv6 in [false, true] {
        let way = Way { driver: driver::ETHERNET, encapsulation: encapsulation::OVSTACK, is_ipv6 };
        let Some(node) = way.node() else { return };
        let segmenters = node.programs.table(&names::SEGMENTERS).unwrap();
        let to = select(vec![OWN, FAR, PEER]);
        let packets = vec((select(kinds.clone()), to, frames_of()), 30);
        let fates = RefCell::new([0; 2]);
        runner(200)
            .run(&(drawn(way.driver, 1), any::<bool>(), packets), |(tables, is_there, packets)| {
                tables.write(&node);
                let front = if is_there { 5 } else { 0 };
                segmenters.set(&0, &Segmenter { front, back: 6 }).unwrap();
                // The station that is learned meanwhile is nobody's destination.
                let walk = node.walk();
                for (kind, to, (frame, is_datagram)) in packets {
                    let mut packet = arriving_in(kind, is_ipv6, &frame, true, 0);
                    let at = behind_ip(is_ipv6) + 8 + 12;
                    if kind == encapsulation::OVSTACK {
                        packet[at..at + 4].copy_from_slice(&to.0.to_be_bytes());
                    }
                    let ran = node.programs.run_superpacket(Program::Receive, &packet, 100).unwrap();
                    // To who cuts it goes as it came.
                    let came = ran.verdict == Verdict::Redirected && ran.packet == packet;
                    let cut = is_there && is_cut(&walk, kind, to, &frame, is_datagram);
                    prop_assert_eq!(came, cut, "{} to {:?}: {:?}", kind, to, ran.verdict);
                    fates.borrow_mut()[usize::from(came)] += 1;
                    // And one that is none is never cut.
                    let ran = node.programs.run(Program::Receive, &packet).unwrap();
                    prop_assert!(ran.verdict != Verdict::Redirected || ran.packet != packet);
                }
                Ok(())
            })
            .unwrap();
        let [whole, cut] = fates.into_inner();
        assert!(whole > 100 && cut > 100, "{whole} whole and {cut} cut, IPv6: {is_ipv6}");
    }
}
