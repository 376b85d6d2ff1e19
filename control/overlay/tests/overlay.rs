//! Overlays of many nodes on a wire that delays, loses, reorders and repeats.

use plait_control_overlay::{Config, Direction, Inquiry, Key, Member, Message, Plane, Sealed};
use plait_model_overlay::{Application, Locators, NodeId, Operation, Overlay, Tables, Weight};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::net::IpAddr;
use std::time::Duration;

const APPLICATION: Application = Application::ETHERNET;
const GROUP: NodeId = NodeId(0xe000_0001);
const INTERVAL: Duration = Duration::from_secs(1);

fn id(node: usize) -> NodeId {
    NodeId(0x0a00_0001 + node as u32)
}

fn address(node: usize) -> IpAddr {
    [192, 0, 2, node as u8 + 1].into()
}

/// A sequence that a seed stands for.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn happens(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }
}

/// When it arrives, its number, from whom, to whom, and what.
type Datagram = (Duration, u64, usize, usize, Vec<u8>);

/// Nodes, and a wire between each two.
struct World {
    now: Duration,
    nodes: Vec<Option<(Member, Overlay)>>,
    /// One way, in milliseconds.
    delays: Vec<Vec<u64>>,
    /// Pairs between which nothing passes.
    cut: BTreeSet<(usize, usize)>,
    loss: u64,
    shuffle: u64,
    draws: Draws,
    under_way: BinaryHeap<Reverse<Datagram>>,
    sent: u64,
    /// Every datagram that was ever sent to a node, for those who play recordings.
    recorded: Vec<(usize, usize, Vec<u8>)>,
}

impl World {
    /// Nodes that have each other in 10 ms, of which all but the first join by it.
    fn new(count: usize, plane: Plane, seed: u64) -> Self {
        Self::measuring(count, plane, seed, None)
    }

    /// The same of nodes that measure the ways to so many others.
    fn measuring(count: usize, plane: Plane, seed: u64, neighbours: Option<usize>) -> Self {
        let mut world = Self {
            now: Duration::from_secs(100),
            nodes: (0..count).map(|_| None).collect(),
            delays: vec![vec![10; count]; count],
            cut: BTreeSet::new(),
            loss: 0,
            shuffle: 0,
            draws: Draws(seed),
            under_way: BinaryHeap::new(),
            sent: 0,
            recorded: Vec::new(),
        };
        (0..count).for_each(|node| world.start(node, plane, neighbours));
        world
    }

    fn start(&mut self, node: usize, plane: Plane, neighbours: Option<usize>) {
        let config = Config {
            application: APPLICATION,
            own: id(node),
            locators: Locators::from([(address(node), Weight::default())]),
            group: Some(GROUP),
            key: Key::new(*b"a key that all share").unwrap(),
            seeds: if node == 0 { vec![address(1)] } else { vec![address(0)] },
            plane,
            interval: INTERVAL,
            neighbours,
        };
        let mut draws = Draws(self.draws.next());
        let member = Member::new(config, self.now, move || draws.next());
        self.nodes[node] = Some((member, Overlay::default()));
        self.collect(node);
    }

    fn kill(&mut self, node: usize) {
        self.nodes[node] = None;
    }

    /// Takes what a node has to send and to change.
    fn collect(&mut self, node: usize) {
        let count = self.nodes.len();
        let Some((member, overlay)) = &mut self.nodes[node] else { return };
        while let Some(operation) = member.poll_operation() {
            overlay.apply(&operation).unwrap_or_else(|error| panic!("{operation:?}: {error}"));
        }
        while let Some((to, bytes)) = member.poll_transmit() {
            let Some(to) = (0..count).find(|node| address(*node) == to) else { continue };
            self.recorded.push((node, to, bytes.clone()));
            self.sent += 1;
            if self.cut.contains(&(node.min(to), node.max(to))) || self.draws.happens(self.loss) {
                continue;
            }
            let late = self.draws.next() % (self.shuffle + 1);
            let at = self.now + Duration::from_millis(self.delays[node][to] + late);
            self.under_way.push(Reverse((at, self.sent, node, to, bytes)));
        }
    }

    fn run(&mut self, time: Duration) {
        let until = self.now + time;
        loop {
            let arrival = self.under_way.peek().map(|Reverse((at, ..))| *at);
            let due = self.nodes.iter().flatten().map(|(member, _)| member.poll_timeout()).min();
            let next = arrival.into_iter().chain(due).min().unwrap_or(until);
            if next > until {
                break;
            }
            self.now = self.now.max(next);
            if arrival == Some(next) {
                let Reverse((.., from, to, bytes)) = self.under_way.pop().expect("seen just now");
                if let Some((member, _)) = &mut self.nodes[to] {
                    member.handle_datagram(self.now, address(from), &bytes).unwrap();
                }
                self.collect(to);
            } else {
                for node in 0..self.nodes.len() {
                    if let Some((member, _)) = &mut self.nodes[node]
                        && member.poll_timeout() <= self.now
                    {
                        member.handle_timeout(self.now);
                    }
                    self.collect(node);
                }
            }
        }
        self.now = until;
    }

    fn tables(&self, node: usize) -> Tables {
        let (_, overlay) = self.nodes[node].as_ref().expect("it runs");
        overlay.tables(APPLICATION).cloned().unwrap_or_default()
    }

    /// Where a packet goes from hop to hop, by the tables of each.
    fn way(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let mut way = vec![from];
        while *way.last()? != to && way.len() <= self.nodes.len() {
            let at = *way.last()?;
            self.nodes[at].as_ref()?;
            let tables = self.tables(at);
            let hop = *tables.routes.get(&id(to))?.first()?;
            assert!(tables.nodes.contains_key(&hop), "a next hop has a locator");
            let hop = (hop.0 - id(0).0) as usize;
            self.nodes[hop].as_ref()?;
            // It takes packets of those alone whom it knows.
            if !self.tables(hop).nodes.contains_key(&id(at)) {
                return None;
            }
            way.push(hop);
        }
        (*way.last()? == to).then_some(way)
    }

    /// Every pair of nodes that run reach each other.
    fn whole(&self) -> bool {
        let there: Vec<usize> = (0..self.nodes.len()).filter(|node| self.nodes[*node].is_some()).collect();
        there.iter().all(|a| there.iter().all(|b| self.way(*a, *b).is_some()))
    }

    /// How often a packet to the group reaches each node.
    fn copies(&self, origin: usize) -> BTreeMap<usize, usize> {
        let mut reached = BTreeMap::new();
        let mut under_way = vec![(origin, None)];
        while let Some((at, from)) = under_way.pop() {
            for hop in self.tables(at).routes.get(&GROUP).into_iter().flatten() {
                let hop = (hop.0 - id(0).0) as usize;
                if hop == at {
                    if at != origin {
                        *reached.entry(at).or_default() += 1;
                    }
                } else if Some(hop) != from {
                    under_way.push((hop, Some(at)));
                }
            }
            assert!(under_way.len() < 1000, "a group's packet multiplies");
        }
        reached
    }
}

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
    let mut world = World::new(6, Plane::Delay, 8);
    world.run(INTERVAL * 6);
    world.cut = (0..3).flat_map(|a| (3..6).map(move |b| (a, b))).collect();
    world.run(INTERVAL * 10);
    for node in 0..6 {
        assert_eq!(world.tables(node).nodes.len(), 2);
    }
    assert!(world.way(0, 2).is_some() && world.way(3, 5).is_some() && world.way(0, 4).is_none());
    world.cut.clear();
    world.run(INTERVAL * 12);
    assert!(world.whole());
}

#[test]
fn loss_and_disorder_are_borne() {
    let mut world = World::new(8, Plane::Delay, 9);
    (world.loss, world.shuffle) = (10, 40);
    world.run(INTERVAL * 30);
    // A way counts as lost after three probes in a row; one in a thousand is, and the next echo brings it back.
    let mut whole = 0;
    for _ in 0..50 {
        world.run(INTERVAL);
        whole += usize::from(world.whole());
    }
    assert!(whole >= 40, "{whole} of 50 rounds");
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

#[test]
fn a_stranger_with_another_key_is_nobody() {
    let mut world = World::new(3, Plane::Mesh, 14);
    world.run(INTERVAL * 5);
    let config = Config {
        application: APPLICATION,
        own: id(9),
        locators: Locators::from([(address(9), Weight::default())]),
        group: None,
        key: Key::new(*b"some other key of mine").unwrap(),
        seeds: vec![address(0)],
        plane: Plane::Mesh,
        interval: INTERVAL,
        neighbours: None,
    };
    let mut draws = Draws(99);
    let mut stranger = Member::new(config, world.now, move || draws.next());
    let (_, bytes) = stranger.poll_transmit().unwrap();
    let now = world.now;
    let (member, _) = world.nodes[0].as_mut().unwrap();
    assert!(member.handle_datagram(now, address(9), &bytes).is_err());
    assert!(member.poll_transmit().is_none(), "nor does it get a word");
}

/// Four nodes in a row, of which each reaches its neighbours only.
fn in_a_row() -> World {
    let mut world = World::new(4, Plane::Delay, 15);
    world.cut = BTreeSet::from([(0, 2), (0, 3), (1, 3)]);
    for node in 1..4 {
        let mut draws = Draws(world.draws.next());
        let config = Config {
            application: APPLICATION,
            own: id(node),
            locators: Locators::from([(address(node), Weight::default())]),
            group: Some(GROUP),
            key: Key::new(*b"a key that all share").unwrap(),
            // Each joins by the one before it.
            seeds: vec![address(node - 1)],
            plane: Plane::Delay,
            interval: INTERVAL,
            neighbours: None,
        };
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
