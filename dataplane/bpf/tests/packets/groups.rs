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
