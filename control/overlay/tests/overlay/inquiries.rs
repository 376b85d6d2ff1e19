//! Questions along a way, and their answers.

use super::*;

/// Four nodes in a row, of which each reaches its neighbours only.
fn in_a_row() -> World {
    let mut world = World::new(4, Plane::Delay, 15);
    world.cut = BTreeSet::from([(0, 2), (0, 3), (1, 3)]);
    for node in 1..4 {
        let mut draws = Draws(world.draws.next());
        // Each joins by the one before it.
        let config = config(node, node - 1, Plane::Delay);
        let member = Member::new(config, world.now, move || draws.next());
        world.nodes[node] = Some((member, Overlay::default()));
        world.collect(node);
    }
    world.run(INTERVAL * 12);
    assert_eq!(world.way(0, 3), Some(vec![0, 1, 2, 3]));
    world
}

fn inquiry(way: &[usize]) -> Inquiry {
    Inquiry { token: 77, way: way.iter().map(|node| id(*node)).collect(), body: b"where to?".to_vec() }
}

/// Has a node ask or answer, and gives what others heard in a second.
fn inquire(world: &mut World, node: usize, direction: Direction, inquiry: Inquiry) -> Vec<(usize, Inquiry)> {
    world.nodes[node].as_mut().unwrap().0.inquire(direction, inquiry);
    world.collect(node);
    world.run(INTERVAL);
    heard(world, direction)
}

fn heard(world: &mut World, direction: Direction) -> Vec<(usize, Inquiry)> {
    let mut heard = Vec::new();
    for node in 0..world.nodes.len() {
        let Some((member, _)) = &mut world.nodes[node] else { continue };
        while let Some((said, inquiry)) = member.poll_inquiry() {
            assert_eq!(said, direction);
            heard.push((node, inquiry));
        }
    }
    heard
}

#[test]
fn a_question_goes_along_its_way_and_the_answer_comes_back() {
    let mut world = in_a_row();
    let asked = inquiry(&[0, 1, 2, 3]);
    assert_eq!(inquire(&mut world, 0, Direction::Question, asked.clone()), [(3, asked.clone())]);
    let said = Inquiry { body: b"up here".to_vec(), ..asked.clone() };
    assert_eq!(inquire(&mut world, 3, Direction::Answer, said.clone()), [(0, said)]);
    // A way that leaves one out is none here, and whoever is not there says nothing.
    assert_eq!(inquire(&mut world, 0, Direction::Question, inquiry(&[0, 3])), []);
    world.kill(2);
    assert_eq!(inquire(&mut world, 0, Direction::Question, asked), []);
    // Nobody asks in another's name, nor along a way with a loop.
    let (member, _) = world.nodes[0].as_mut().unwrap();
    for way in [&[1, 0][..], &[0], &[0, 1, 0], &[0, 1, 2, 1]] {
        assert!(!member.inquire(Direction::Question, inquiry(way)), "{way:?}");
    }
}

#[test]
fn a_node_that_asks_without_end_is_heard_so_often_and_no_more() {
    let mut world = in_a_row();
    let (member, _) = world.nodes[0].as_mut().unwrap();
    for _ in 0..1000 {
        assert!(member.inquire(Direction::Question, inquiry(&[0, 1, 2])));
    }
    world.collect(0);
    let before = world.sent;
    world.run(INTERVAL / 4);
    let count = heard(&mut world, Direction::Question).len();
    assert!((1..=64 + 16).contains(&count), "{count}");
    assert!(world.sent - before < 150, "nor is it handed on");
    // Others are heard still.
    let (member, _) = world.nodes[3].as_mut().unwrap();
    assert!(member.inquire(Direction::Question, inquiry(&[3, 2])));
    world.collect(3);
    world.run(INTERVAL / 4);
    assert!(heard(&mut world, Direction::Question).iter().any(|(_, asked)| asked.way[0] == id(3)));
}

#[test]
fn who_did_not_show_itself_is_asked_who_it_is_and_told_nothing() {
    let mut world = in_a_row();
    let now = world.now;
    let (member, _) = world.nodes[1].as_mut().unwrap();
    // With the key, but in no life that this node knows: a recording, or a node that was never there.
    for (sender, incarnation) in [(id(0), 1), (id(9), 1)] {
        let asked = Inquiry { token: 1, way: vec![sender, id(1)], body: Vec::new() };
        let message = Message::Inquiry(Direction::Question, asked);
        let sealed = Sealed { application: APPLICATION, sender, incarnation, sequence: 1 << 40, message };
        let bytes = sealed.seal(&Key::new(*b"a key that all share").unwrap());
        member.handle_datagram(now, address(8), &bytes).unwrap();
        assert_eq!(member.poll_inquiry(), None);
        let (to, bytes) = member.poll_transmit().expect("a question who it is");
        let said = Sealed::open(&bytes, &Key::new(*b"a key that all share").unwrap()).unwrap();
        assert!(to == address(8) && matches!(said.message, Message::Challenge(_)), "{said:?}");
        assert!(member.poll_transmit().is_none());
    }
}
