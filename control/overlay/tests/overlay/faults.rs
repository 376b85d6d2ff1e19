//! Wires and strangers that nobody can rely on.

use super::*;

#[test]
fn a_broken_way_is_gone_around() {
    let mut world = World::new(5, Plane::Delay, 7);
    world.run(INTERVAL * 6);
    world.cut.insert((1, 3));
    world.run(INTERVAL * 8);
    assert_eq!(world.way(1, 3).unwrap().len(), 3);
    assert_eq!(world.tables(1).nodes.len(), 4, "it is still a member");
    world.cut.clear();
    world.run(INTERVAL * 8);
    assert_eq!(world.way(1, 3).unwrap().len(), 2);
}

#[test]
fn two_halves_go_on_and_find_each_other_again() {
    for plane in [Plane::Mesh, Plane::Delay] {
        let mut world = World::new(6, plane, 8);
        world.run(INTERVAL * 6);
        world.cut = (0..3).flat_map(|a| (3..6).map(move |b| (a, b))).collect();
        world.run(INTERVAL * 10);
        for node in 0..6 {
            assert_eq!(world.tables(node).nodes.len(), 2, "{plane:?}");
            assert_eq!(
                world.copies(node).len(),
                2,
                "{plane:?}: each half has a tree, or a reflector, of its own"
            );
        }
        assert!(world.way(0, 2).is_some() && world.way(3, 5).is_some() && world.way(0, 4).is_none());
        world.cut.clear();
        world.run(INTERVAL * 12);
        assert!(world.whole(), "{plane:?}");
        assert!((0..6).all(|node| world.copies(node).len() == 5), "{plane:?}");
    }
}

#[test]
fn loss_and_disorder_are_borne() {
    for plane in [Plane::Mesh, Plane::Delay] {
        let mut world = World::new(8, plane, 9);
        (world.loss, world.shuffle) = (10, 40);
        world.run(INTERVAL * 30);
        // A way counts as lost after three probes in a row; one in a thousand is, and the next echo brings it back.
        let mut whole = 0;
        for _ in 0..50 {
            world.run(INTERVAL);
            whole += usize::from(world.whole());
        }
        assert!(whole >= 40, "{plane:?}: {whole} of 50 rounds");
    }
}

#[test]
fn recordings_change_nothing() {
    let mut world = World::new(4, Plane::Delay, 10);
    world.run(INTERVAL * 6);
    world.kill(3);
    world.run(INTERVAL * 10);
    let before: Vec<Tables> = (0..3).map(|node| world.tables(node)).collect();
    // All that was ever said, from whoever it was from, once more and in disorder.
    let mut recorded = std::mem::take(&mut world.recorded);
    for place in (1..recorded.len()).rev() {
        let other = (world.draws.next() % (place as u64 + 1)) as usize;
        recorded.swap(place, other);
    }
    for (from, to, bytes) in recorded {
        if let Some((member, _)) = &mut world.nodes[to] {
            let _ = member.handle_datagram(world.now, address(from), &bytes);
        }
        world.collect(to);
        world.under_way.clear();
    }
    let after: Vec<Tables> = (0..3).map(|node| world.tables(node)).collect();
    assert_eq!(before, after);
    world.run(INTERVAL * 8);
    assert!(world.whole());
}

#[test]
fn a_stranger_with_another_key_is_nobody() {
    let mut world = World::new(3, Plane::Mesh, 14);
    world.run(INTERVAL * 5);
    let config = Config {
        group: None,
        key: Key::new(*b"some other key of mine").unwrap(),
        ..config(9, 0, Plane::Mesh)
    };
    let mut draws = Draws(99);
    let mut stranger = Member::new(config, world.now, move || draws.next());
    let (_, bytes) = stranger.poll_transmit().unwrap();
    let now = world.now;
    let (member, _) = world.nodes[0].as_mut().unwrap();
    assert!(member.handle_datagram(now, address(9), &bytes).is_err());
    assert!(member.poll_transmit().is_none(), "nor does it get a word");
}
