//! Delays that are measured, ways that are short, and what that costs.

use super::*;

#[test]
fn many_that_measure_few_find_each_other_at_the_cost_of_their_pairs() {
    let sent = |count| {
        let mut world = World::measuring(count, Plane::Mesh, 5, Some(6));
        world.run(INTERVAL * 5);
        assert!(world.whole(), "{count} nodes");
        world.sent
    };
    // Nine times the pairs, not 27 times the triples.
    let (few, many) = (sent(30), sent(90));
    assert!(many < few * 14, "{few} messages of 30 nodes, {many} of 90");
}

#[test]
fn the_shorter_detour_is_taken_and_left_again() {
    let mut world = World::new(4, Plane::Delay, 2);
    for (a, b) in [(0, 3), (3, 0)] {
        world.delays[a][b] = 60;
    }
    world.run(INTERVAL * 8);
    assert_eq!(world.way(0, 3).unwrap().len(), 3);
    for (a, b) in [(0, 3), (3, 0)] {
        world.delays[a][b] = 5;
    }
    world.run(INTERVAL * 30);
    assert_eq!(world.way(0, 3).unwrap(), [0, 3]);
}

/// What each measured is told to all, so that all decide by the same; so it is again once delays are other ones.
#[test]
fn all_hold_the_same_matrix() {
    let count = 7;
    let mut world = World::new(count, Plane::Delay, 15);
    for change in [1, 3] {
        for (a, b) in (0..count).flat_map(|a| (0..a).map(move |b| (a, b))) {
            let delay = (change * (10 + 7 * a + 3 * b)) as u64;
            (world.delays[a][b], world.delays[b][a]) = (delay, delay);
        }
        world.run(INTERVAL * 60);
        let matrix = |node: usize| world.nodes[node].as_ref().unwrap().0.delays().clone();
        let first = matrix(0);
        for a in 0..count {
            assert_eq!(matrix(a), first, "node {a}");
            let told = first.of(id(a)).unwrap();
            assert_eq!(told.len(), count - 1);
            for (other, delay) in told {
                let b = (other.0 - id(0).0) as usize;
                let there = Duration::from_millis(world.delays[a][b]);
                // What differs by less than a tenth from what was told last is not told.
                assert!(delay.abs_diff(there) <= there / 9, "{a} to {b}: {delay:?} of {there:?}");
            }
        }
    }
}

#[test]
fn what_trembles_moves_nothing() {
    let mut world = World::new(5, Plane::Delay, 3);
    world.shuffle = 1;
    world.run(INTERVAL * 20);
    let before: Vec<Tables> = (0..5).map(|node| world.tables(node)).collect();
    world.run(INTERVAL * 40);
    let after: Vec<Tables> = (0..5).map(|node| world.tables(node)).collect();
    assert_eq!(before, after, "delays that differ by a millisecond of ten");
}

#[test]
fn a_few_neighbours_suffice_for_all_to_be_reached() {
    let count = 24;
    let mut world = World::new(count, Plane::Delay, 12);
    for node in 0..count {
        world.start(node, Plane::Delay, Some(4));
    }
    world.run(INTERVAL * 25);
    assert!(world.whole());
    let before = world.sent;
    world.run(INTERVAL * 10);
    let each = (world.sent - before) as f64 / 10.0 / count as f64;
    // Four probes, four echoes, and every report to four others at most.
    assert!(each <= 8.0 + 4.0 * count as f64, "{each} datagrams a node and interval");
}

#[test]
fn a_few_neighbours_make_short_ways_among_many() {
    let count = 60;
    let mut world = World::measuring(count, Plane::Delay, 12, Some(4));
    world.run(INTERVAL * 20);
    assert!(world.whole());
    let longest = (0..count).map(|to| world.way(0, to).unwrap().len()).max().unwrap();
    // On a ring where the two next on either side are neighbours, the far side is 15 hops away.
    assert!(longest <= 8, "{longest} nodes on a way");
    for (node, (member, _)) in world.nodes.iter().map(|node| node.as_ref().unwrap()).enumerate() {
        let told = member.delays().of(id(node)).unwrap();
        assert_eq!(told.len(), 4, "node {node} and its neighbours chose each other: {told:?}");
    }
}

#[test]
fn the_cost_is_what_the_documentation_says() {
    let count = 10;
    let mut world = World::new(count, Plane::Delay, 13);
    world.run(INTERVAL * 10);
    let (sent, recorded) = (world.sent, world.recorded.len());
    world.run(INTERVAL * 10);
    assert_eq!(
        (world.sent - sent) / 10,
        (count * 3 * (count - 1)) as u64,
        "a probe, an echo and a report to each"
    );
    let sizes: BTreeSet<usize> = world.recorded[recorded..].iter().map(|(.., bytes)| bytes.len()).collect();
    assert_eq!(sizes, BTreeSet::from([56, 24 + 18 + 8 * (count - 1) + 16]));
}
