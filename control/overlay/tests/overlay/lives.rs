//! Nodes that join, leave, die and start again.

use super::*;

#[test]
fn nodes_that_know_one_seed_find_all() {
    for plane in [Plane::Mesh, Plane::Delay] {
        let mut world = World::new(9, plane, 1);
        world.run(INTERVAL * 6);
        assert!(world.whole());
        for node in 0..9 {
            let tables = world.tables(node);
            assert_eq!(tables.nodes.len(), 8, "{plane:?}");
            assert_eq!(world.way(node, (node + 4) % 9).unwrap().len(), 2, "equal delays are straight ways");
            let copies = world.copies(node);
            assert!(copies.len() == 8 && copies.values().all(|count| *count == 1), "{plane:?}: {copies:?}");
        }
    }
}

#[test]
fn a_silent_death_is_noticed_by_all() {
    for plane in [Plane::Mesh, Plane::Delay] {
        let mut world = World::new(6, plane, 4);
        world.run(INTERVAL * 6);
        world.kill(5);
        world.run(INTERVAL * 9);
        for node in 0..5 {
            assert_eq!(world.tables(node).nodes.len(), 4, "{plane:?}");
            assert_eq!(world.copies(node).len(), 4, "{plane:?}: without the reflector another reflects");
        }
        assert!(world.whole());
    }
}

/// Whenever an agent dies between two of the others' rounds: they send its node packets for three intervals, since its tables go on
/// without it, and for four at most; and take its own packets for three more.
#[test]
fn a_silent_agent_is_borne_for_three_intervals_and_its_packets_for_three_more() {
    let on_the_wire = Duration::from_millis(10);
    for (plane, phase) in
        [Plane::Mesh, Plane::Delay].into_iter().flat_map(|plane| (0..10).map(move |of| (plane, of)))
    {
        let mut world = World::new(4, plane, 16);
        world.run(INTERVAL * 6 + INTERVAL * phase / 10);
        world.kill(3);
        let dies = world.now;
        // Who still sends to it, and who still takes what it sends.
        let mut bear = |intervals: u32, later: bool| {
            let at = dies + INTERVAL * intervals;
            let at = if later { at + 2 * on_the_wire } else { at - 2 * on_the_wire };
            world.run(at - world.now);
            let tables = (0..3).map(|node| world.tables(node));
            let of = tables.map(|of| (of.routes.contains_key(&id(3)), of.nodes.contains_key(&id(3))));
            let all: BTreeSet<(bool, bool)> = of.collect();
            Vec::from_iter(all)
        };
        assert_eq!(bear(3, false), [(true, true)], "{plane:?}, {phase}");
        assert_eq!(bear(4, true), [(false, true)], "{plane:?}, {phase}");
        assert_eq!(bear(6, false), [(false, true)], "{plane:?}, {phase}");
        assert_eq!(bear(7, true), [(false, false)], "{plane:?}, {phase}");
    }
}

/// All forget a node that died, though each does so at another moment and they tell each other of whom they know.
#[test]
fn nobody_speaks_of_the_dead_for_ever() {
    let mut world = World::new(6, Plane::Mesh, 9);
    world.run(INTERVAL * 6);
    // Rounds of half of them are between those of the others.
    for node in [0, 1, 2] {
        world.kill(node);
        world.run(INTERVAL / 2);
        world.start(node, Plane::Mesh, None);
        world.run(INTERVAL * 3 - INTERVAL / 7);
    }
    // Half of them hear of it for longer.
    world.cut.extend((0..3).flat_map(|a| (3..6).map(move |b| (a, b))));
    world.run(INTERVAL * 30);
    world.kill(5);
    world.cut.clear();
    world.run(INTERVAL * 120);
    world.recorded.clear();
    world.run(INTERVAL * 40);
    let to_it = world.recorded.iter().filter(|(_, to, _)| *to == 5).count();
    assert_eq!(to_it, 0, "of {}", world.recorded.len());
    // Another life of it is welcome.
    world.start(5, Plane::Mesh, None);
    world.run(INTERVAL * 6);
    assert!(world.whole());
}

#[test]
fn who_leaves_is_gone_at_once() {
    let mut world = World::new(4, Plane::Mesh, 5);
    world.run(INTERVAL * 6);
    let (mut leaving, _) = world.nodes[3].take().unwrap();
    leaving.leave();
    while let Some((to, bytes)) = leaving.poll_transmit() {
        let to = (0..4).find(|node| address(*node) == to).unwrap();
        world.under_way.push(Reverse((world.now, 0, 3, to, bytes)));
    }
    world.run(Duration::from_millis(100));
    assert!((0..3).all(|node| !world.tables(node).nodes.contains_key(&id(3))));
}

#[test]
fn a_node_that_starts_again_is_taken_back() {
    let mut world = World::new(5, Plane::Delay, 6);
    world.run(INTERVAL * 6);
    world.kill(2);
    world.run(Duration::from_millis(300));
    world.start(2, Plane::Delay, None);
    world.run(INTERVAL * 6);
    assert!(world.whole());
    assert_eq!(world.tables(2).nodes.len(), 4);
}

/// A relay whose agent dies and starts again with the tables that it had: nobody takes a way from packets meanwhile.
#[test]
fn a_node_that_starts_again_at_once_was_never_away() {
    for plane in [Plane::Mesh, Plane::Delay] {
        let mut world = World::new(5, plane, 6);
        // To 4 by way of 2.
        for (a, b) in [(0, 4), (1, 4), (3, 4)] {
            (world.delays[a][b], world.delays[b][a]) = (90, 90);
        }
        world.run(INTERVAL * 12);
        let (_, overlay) = world.nodes[2].take().unwrap();
        world.run(INTERVAL / 2);
        world.start(2, plane, None);
        let (member, tables) = world.nodes[2].as_mut().unwrap();
        let known = overlay.tables(APPLICATION).unwrap();
        member.adopt(world.now, known.nodes.clone(), known.routes.clone());
        *tables = overlay;
        for _ in 0..300 {
            world.run(INTERVAL / 20);
            assert!(world.whole());
        }
        if plane == Plane::Delay {
            assert_eq!(world.way(0, 4), Some(vec![0, 2, 4]));
        }
    }
}

/// The others go on to decide while a node starts again: they turn to a way through it that its former life did not know.
#[test]
fn a_node_that_starts_again_sends_nothing_back_to_where_it_came_from() {
    let mut world = World::new(3, Plane::Delay, 6);
    // From 2 to 0 by way of 1.
    let set = |world: &mut World, a: usize, b: usize, delay| {
        (world.delays[a][b], world.delays[b][a]) = (delay, delay);
    };
    set(&mut world, 0, 2, 60);
    world.run(INTERVAL * 12);
    assert_eq!(world.way(2, 0).unwrap(), [2, 1, 0]);
    let (_, overlay) = world.nodes[2].take().unwrap();
    world.run(INTERVAL / 4);
    world.start(2, Plane::Delay, None);
    let (member, tables) = world.nodes[2].as_mut().unwrap();
    let known = overlay.tables(APPLICATION).unwrap();
    member.adopt(world.now, known.nodes.clone(), known.routes.clone());
    *tables = overlay;
    // From now on 1 has 0 sooner by way of 2.
    set(&mut world, 0, 2, 5);
    set(&mut world, 0, 1, 90);
    let mut missing = 0;
    for _ in 0..12 * 50 {
        world.run(INTERVAL / 50);
        missing += usize::from(!world.whole());
    }
    assert_eq!(world.way(1, 0).unwrap(), [1, 2, 0]);
    assert!(missing <= 2, "{missing} fiftieths of an interval in which some packets did not arrive");
}

/// A node that is close to all is a relay at once when it joins, but nobody sends to it before it relays.
#[test]
fn a_node_that_joins_takes_no_packet_from_others() {
    for seed in 0..16 {
        let mut world = World::new(5, Plane::Delay, seed);
        world.kill(4);
        world.shuffle = 5;
        world.delays = vec![vec![50; 5]; 5];
        world.delays[4] = vec![1, 2, 3, 4, 0];
        (0..4).for_each(|other| world.delays[other][4] = world.delays[4][other]);
        world.run(INTERVAL * 12);
        world.start(4, Plane::Delay, None);
        for _ in 0..1500 {
            world.run(INTERVAL / 500);
            for (from, to) in (0..4).flat_map(|from| (0..4).map(move |to| (from, to))) {
                assert!(world.way(from, to).is_some(), "seed {seed}: {from} to {to} at {:?}", world.now);
            }
        }
        world.run(INTERVAL * 5);
        assert_eq!(world.way(0, 3), Some(vec![0, 4, 3]));
    }
}

#[test]
fn a_change_of_plane_leaves_no_destination_without_a_way() {
    let mut world = World::new(7, Plane::Mesh, 11);
    for (a, b) in [(0, 6), (6, 0), (1, 5), (5, 1)] {
        world.delays[a][b] = 90;
    }
    world.run(INTERVAL * 8);
    assert_eq!(world.way(0, 6).unwrap().len(), 2);
    for plane in [Plane::Delay, Plane::Mesh] {
        for node in 0..7 {
            let (member, overlay) = world.nodes[node].as_mut().unwrap();
            member.set_plane(world.now, plane);
            while let Some(operation) = member.poll_operation() {
                overlay.apply(&operation).unwrap();
                let unicast = overlay.tables(APPLICATION).unwrap().routes.len();
                assert_eq!(unicast, 7, "six nodes and the group, after each operation: {operation:?}");
                assert!(!matches!(operation, Operation::NodeDel { .. }));
            }
            // While some follow the one and some the other, packets still arrive.
            assert!(world.whole());
        }
        world.run(INTERVAL * 3);
        let expected = if plane == Plane::Delay { 3 } else { 2 };
        assert_eq!(world.way(0, 6).unwrap().len(), expected);
    }
}
