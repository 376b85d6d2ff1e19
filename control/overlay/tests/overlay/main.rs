//! Overlays of many nodes on a wire that delays, loses, reorders and repeats.

mod faults;
mod inquiries;
mod lives;
mod measuring;

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

/// What a node is told at its start, with one other as its seed.
fn config(node: usize, seed: usize, plane: Plane) -> Config {
    Config {
        application: APPLICATION,
        own: id(node),
        locators: Locators::from([(address(node), Weight::default())]),
        group: Some(GROUP),
        key: Key::new(*b"a key that all share").unwrap(),
        seeds: vec![address(seed)],
        plane,
        interval: INTERVAL,
        neighbours: None,
    }
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
        let config = Config { neighbours, ..config(node, usize::from(node == 0), plane) };
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
