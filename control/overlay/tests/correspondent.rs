//! Nodes whose tables are written by others, on a wire without loss: they ask and answer along what stands there.

use plait_control_overlay::{Correspondent, Direction, Inquiry, Key};
use plait_model_overlay::{Application, Locators, NodeId, Tables, Weight};
use std::collections::{BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

const KEY: &[u8] = b"a key that all share";
/// From one question to its repetition.
const PATIENCE: Duration = Duration::from_millis(500);

fn id(node: usize) -> NodeId {
    NodeId(0x0a00_0001 + node as u32)
}

fn address(node: usize) -> IpAddr {
    [0x2001, 0xdb8, 0, 0, 0, 0, 0, node as u16 + 1].into()
}

/// A locator that nobody here could send to.
const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

/// Nodes in a row, each with its neighbours in its tables and nobody else.
struct Row {
    now: Duration,
    nodes: Vec<(Correspondent, Tables)>,
    under_way: VecDeque<(usize, usize, Vec<u8>)>,
    /// All that was ever sent.
    sent: Vec<(usize, usize, Vec<u8>)>,
}

impl Row {
    fn new(keys: &[&[u8]]) -> Self {
        let nodes = (0..keys.len()).map(|node| {
            let mut drawn = node as u64 * 1_000_003;
            let draw = move || {
                drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                drawn
            };
            let key = Key::new(keys[node]).unwrap();
            let locators = Locators::from([(address(node), Weight::default())]);
            let mut tables = Tables { locators, ..Tables::default() };
            let neighbours = [node.checked_sub(1), Some(node + 1).filter(|next| *next < keys.len())];
            for neighbour in neighbours.into_iter().flatten() {
                let locators = [OTHER, address(neighbour)].map(|locator| (locator, Weight::default()));
                tables.nodes.insert(id(neighbour), Locators::from(locators));
            }
            (Correspondent::new(Application::ETHERNET, key, draw), tables)
        });
        Self {
            now: Duration::from_secs(100),
            nodes: nodes.collect(),
            under_way: VecDeque::new(),
            sent: Vec::new(),
        }
    }

    /// Has a node ask or answer; whether it was sent.
    fn inquire(&mut self, node: usize, direction: Direction, inquiry: Inquiry) -> bool {
        let (correspondent, tables) = &mut self.nodes[node];
        let is_sent = correspondent.inquire(direction, inquiry, id(node), tables);
        self.run();
        is_sent
    }

    /// Until nothing is under way; what of it was refused.
    fn run(&mut self) -> usize {
        let mut refused = 0;
        loop {
            let count = self.nodes.len();
            for (from, (correspondent, _)) in self.nodes.iter_mut().enumerate() {
                while let Some((to, bytes)) = correspondent.poll_transmit() {
                    let to = (0..count).find(|node| address(*node) == to).expect("a node of the row");
                    self.sent.push((from, to, bytes.clone()));
                    self.under_way.push_back((from, to, bytes));
                }
            }
            let Some((from, to, bytes)) = self.under_way.pop_front() else { return refused };
            let (correspondent, tables) = &mut self.nodes[to];
            refused += usize::from(
                correspondent.handle_datagram(self.now, address(from), &bytes, id(to), tables).is_err(),
            );
        }
    }

    /// Repeats a question as a driver does, until it arrives; how often it was asked.
    fn asked(&mut self, inquiry: &Inquiry) -> Option<usize> {
        let ends = [inquiry.way.first()?, inquiry.way.last()?];
        let [first, last] = ends.map(|node| (node.0 - id(0).0) as usize);
        for times in 1..=4 {
            self.now += PATIENCE;
            assert!(self.inquire(first, Direction::Question, inquiry.clone()));
            if let Some(heard) = self.nodes[last].0.poll_inquiry() {
                assert_eq!(heard, (Direction::Question, inquiry.clone()));
                return Some(times);
            }
        }
        None
    }
}

fn inquiry(way: &[usize]) -> Inquiry {
    Inquiry { token: 77, way: way.iter().map(|node| id(*node)).collect(), body: b"where to?".to_vec() }
}

#[test]
fn nodes_without_a_control_plane_ask_along_their_tables_and_answer() {
    let mut row = Row::new(&[KEY; 4]);
    row.run();
    assert_eq!(row.sent, [], "who is not asked says nothing");
    // As a trace asks: node by node. The first question between two only shows them to each other.
    for far in 1..4 {
        let asked = inquiry(&(0..=far).collect::<Vec<_>>());
        assert_eq!(row.asked(&asked), Some(2));
        let said = Inquiry { body: b"up here".to_vec(), ..asked };
        assert!(row.inquire(far, Direction::Answer, said.clone()));
        assert_eq!(row.nodes[0].0.poll_inquiry(), Some((Direction::Answer, said)));
    }
    let before = row.sent.len();
    assert_eq!(row.asked(&inquiry(&[0, 1, 2, 3])), Some(1), "once they know each other, nothing is repeated");
    assert_eq!(row.sent.len() - before, 3);
    // What was said is old.
    let recorded = row.sent.clone();
    row.under_way.extend(recorded);
    row.run();
    assert!(row.nodes.iter_mut().all(|(correspondent, _)| correspondent.poll_inquiry().is_none()));
    // Whom nobody's tables know is not asked, nor along a way that cannot be.
    for way in [&[0, 3][..], &[0], &[1, 0], &[0, 1, 0]] {
        assert!(!row.inquire(0, Direction::Question, inquiry(way)), "{way:?}");
    }
    // An agent that starts again is another life, which shows itself anew.
    let keys = Row::new(&[KEY; 4]);
    let second = keys.nodes.into_iter().nth(2).unwrap();
    row.nodes[1].0 = second.0;
    assert!(row.asked(&inquiry(&[0, 1, 2])).is_some_and(|times| times > 1));
}

#[test]
fn who_has_another_key_is_not_heard_and_hears_nothing() {
    let mut row = Row::new(&[KEY, KEY, b"a key that nobody shares"]);
    assert_eq!(row.asked(&inquiry(&[0, 1])), Some(2));
    assert_eq!(row.asked(&inquiry(&[0, 1, 2])), None);
    assert!(row.sent.iter().any(|(from, to, _)| (*from, *to) == (1, 2)));
    // Nor are a stranger's words a reason to speak.
    let senders: BTreeSet<usize> = row.sent.iter().map(|(from, ..)| *from).collect();
    assert_eq!(senders, BTreeSet::from([0, 1]));
}
