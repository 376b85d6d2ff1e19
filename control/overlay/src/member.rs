//! A node that takes part in an overlay: joins, measures, reports, and keeps LIB and RIB.

mod decide;
mod hear;
mod known;
mod round;

use crate::session::{Draws, Word};
use crate::{DelayMatrix, Direction, Inquiry, Key, Message, Refused, Routes, Sealed};
use known::Known;
use plait_model_overlay::{Application, Locators, NodeId, Operation};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

/// Probes without an echo after which a way is gone. Choice: three, so that a single loss is none.
const MISSED: u32 = 3;
/// Intervals at most in which nodes find each other. Choice: a probe of a seed, a challenge, an introduction and a report,
/// each of which may be lost once.
const SETTLING: u32 = 8;
/// How much of a sample is taken into the mean, as of TCP's round trips (RFC 6298).
const SMOOTHING: u32 = 8;

/// What a member is told at its start.
#[derive(Debug, Clone)]
pub struct Config {
    /// Whose overlay.
    pub application: Application,
    /// This node.
    pub own: NodeId,
    /// Its locators.
    pub locators: Locators,
    /// The identity that stands for all nodes.
    pub group: Option<NodeId>,
    /// What all nodes share.
    pub key: Key,
    /// Locators of nodes to join by. The first node has none, and needs none.
    pub seeds: Vec<IpAddr>,
    /// How routes are decided at first.
    pub plane: Plane,
    /// From one probe to the next. Each node sends one to each other in that time, gets an echo, and tells each its
    /// delays: with N nodes 2(N−1) messages of 56 bytes and N−1 of 58 + 8(N−1), and as many come in.
    pub interval: Duration,
    /// Probes at most so many others, all of them without it: on the ring of identities half of them before and half after, at
    /// distances that grow from 1 by the same factor, so that ways are short and two nodes choose each other. With k of N the cost
    /// is that of k nodes, each report passes through all, and each interval one other by lot is told what this node knows, by a
    /// digest.
    pub neighbours: Option<usize>,
}

/// How routes are decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Plane {
    /// Everyone straight to everyone: [`mesh`].
    Mesh,
    /// By paths of least delay: [`DelayMatrix::routes`].
    Delay,
}

/// A node that takes part.
#[derive(Debug)]
pub struct Member {
    config: Config,
    incarnation: u64,
    sequence: u64,
    revision: u32,
    known: BTreeMap<NodeId, Known>,
    /// Those of them that there is a measured way to: few, where few are measured.
    near: BTreeSet<NodeId>,
    /// Lives that were forgotten, until nobody tells of them any more.
    gone: BTreeMap<NodeId, (u64, Duration)>,
    /// Everyone's reports, this node's among them.
    matrix: DelayMatrix,
    report: u32,
    next_round: Duration,
    /// When anything happened last.
    now: Duration,
    /// Whether anything happened that LIB or RIB may depend on.
    stale: bool,
    lib: BTreeMap<NodeId, Locators>,
    /// Nodes that are gone and whose packets are taken still, and until when.
    lingering: BTreeMap<NodeId, Duration>,
    rib: Routes,
    /// Until when tables of a former life stay as they are at the latest.
    settles: Option<Duration>,
    draws: Draws,
    transmits: VecDeque<(IpAddr, Vec<u8>)>,
    operations: VecDeque<Operation>,
    inquiries: VecDeque<(Direction, Inquiry)>,
}

impl Member {
    /// A member that begins to join. `draw` gives random numbers that nobody can guess.
    pub fn new(config: Config, now: Duration, mut draw: impl FnMut() -> u64 + Send + 'static) -> Self {
        let incarnation = draw();
        let mut matrix = DelayMatrix::default();
        matrix.report(config.own, BTreeMap::new());
        let mut member = Self {
            config,
            incarnation,
            sequence: 0,
            revision: 0,
            known: BTreeMap::new(),
            near: BTreeSet::new(),
            gone: BTreeMap::new(),
            matrix,
            report: 0,
            next_round: now,
            now,
            stale: true,
            lib: BTreeMap::new(),
            lingering: BTreeMap::new(),
            rib: Routes::new(),
            settles: None,
            draws: Draws::new(draw),
            transmits: VecDeque::new(),
            operations: VecDeque::new(),
            inquiries: VecDeque::new(),
        };
        member.handle_timeout(now);
        member
    }

    /// Begins with the tables that a former life of this node left. They stay as they are until the others have shown
    /// themselves, so that a member that starts again takes no way from packets; and no longer, since the others go on to
    /// decide by what they measure, and packets could circle between them and a node that does not.
    pub fn adopt(&mut self, now: Duration, nodes: BTreeMap<NodeId, Locators>, routes: Routes) {
        (self.lib, self.rib) = (nodes, routes);
        self.operations.clear();
        self.settles = Some(now + self.config.interval * SETTLING);
        self.stale = true;
    }

    /// Everyone who takes part as far as this node knows, itself among them.
    pub fn members(&self) -> BTreeSet<NodeId> {
        let there = self.lib.keys().filter(|node| !self.lingering.contains_key(node));
        there.copied().chain([self.config.own]).collect()
    }

    /// What everyone said of delays.
    pub fn delays(&self) -> &DelayMatrix {
        &self.matrix
    }

    /// The RIB as it was decided.
    pub fn routes(&self) -> &Routes {
        &self.rib
    }

    /// Takes a datagram that came from an address.
    ///
    /// # Errors
    /// One that no node of this overlay sent; nothing was changed by it.
    pub fn handle_datagram(&mut self, now: Duration, from: IpAddr, bytes: &[u8]) -> Result<(), Refused> {
        let sealed = Sealed::open(bytes, &self.config.key)?;
        if sealed.application != self.config.application || sealed.sender == self.config.own {
            return Err(Refused::Malformed);
        }
        let Sealed { sender, incarnation, sequence, message, .. } = sealed;
        let known = self.known.entry(sender).or_default();
        match message {
            Message::Challenge(number) => {
                self.send(from, Message::Answer(number));
                self.question(now, sender, incarnation, from);
            }
            Message::Answer(number) => {
                if known.session.answer(number, incarnation, sequence) {
                    // What a former life said holds until this one says more, or nothing: packets still go there.
                    known.begin(now, from);
                    self.stale = true;
                    // The others are told of by those that it measures its way to; else N nodes would tell N others of N.
                    if self.probed().contains(&sender) {
                        self.introduce_all(from);
                        self.probe(now, sender);
                    } else {
                        self.introduce(from, [self.introduction()]);
                    }
                }
            }
            message => match known.session.hear(incarnation, sequence) {
                Word::New => self.take(now, sender, from, message),
                Word::Old => {}
                Word::Stranger => self.question(now, sender, incarnation, from),
            },
        }
        self.now = now;
        Ok(())
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Duration) {
        if now >= self.next_round {
            // After a long sleep one round is enough.
            self.next_round = now + self.config.interval;
            self.round(now);
        }
        if self.settles.is_some_and(|settles| now >= settles || self.knows_what_its_former_life_knew()) {
            self.settles = None;
        }
        self.stale |= self.lingering.values().any(|until| now >= *until);
        self.now = now;
    }

    /// Changes this node's locators.
    pub fn handle_locators(&mut self, locators: Locators) {
        if locators != self.config.locators {
            self.config.locators = locators;
            self.revision += 1;
        }
    }

    /// Decides routes in another way from now on.
    pub fn set_plane(&mut self, now: Duration, plane: Plane) {
        self.config.plane = plane;
        self.stale = true;
        self.now = now;
    }

    /// Asks the last node of a way that begins here, or answers the first of one that ends here. Neither is sure to arrive.
    /// Whether it was sent: not along a way that cannot be, nor to a neighbour that is not known.
    pub fn inquire(&mut self, direction: Direction, inquiry: Inquiry) -> bool {
        let next = inquiry.first_step(direction, self.config.own);
        match next.filter(|_| inquiry.is_possible()) {
            Some(next) => self.hand_on(next, direction, inquiry),
            None => false,
        }
    }

    /// Tells everyone that this node takes part no more.
    pub fn leave(&mut self) {
        for to in self.known.values().filter_map(Known::address).collect::<Vec<_>>() {
            self.send(to, Message::Leave);
        }
    }

    /// A datagram to send, and the locator it is for.
    pub fn poll_transmit(&mut self) -> Option<(IpAddr, Vec<u8>)> {
        self.transmits.pop_front()
    }

    /// A change of LIB or RIB to make. Those that are there together belong together.
    ///
    /// Only here it is decided what LIB and RIB are to be: who hears of many things before asking has it decided once.
    pub fn poll_operation(&mut self) -> Option<Operation> {
        self.decide(self.now);
        self.operations.pop_front()
    }

    /// A question to this node, or an answer to one of its own.
    pub fn poll_inquiry(&mut self) -> Option<(Direction, Inquiry)> {
        self.inquiries.pop_front()
    }

    /// When to come back at the latest.
    pub fn poll_timeout(&self) -> Duration {
        self.next_round
    }

    fn send(&mut self, to: IpAddr, message: Message) {
        self.sequence += 1;
        let sealed = Sealed {
            application: self.config.application,
            sender: self.config.own,
            incarnation: self.incarnation,
            sequence: self.sequence,
            message,
        };
        self.transmits.push_back((to, sealed.seal(&self.config.key)));
    }

    /// Sends an inquiry to the next on its way.
    fn hand_on(&mut self, next: NodeId, direction: Direction, inquiry: Inquiry) -> bool {
        let Some(to) = self.known.get(&next).and_then(Known::address) else { return false };
        self.send(to, Message::Inquiry(direction, inquiry));
        true
    }

    /// Asks a life that is not known to show itself.
    fn question(&mut self, now: Duration, node: NodeId, incarnation: u64, at: IpAddr) {
        let known = self.known.entry(node).or_default();
        if known.session.incarnation() == Some(incarnation) {
            return;
        }
        if let Some(number) = known.session.challenge(now, self.draws.by_ref()) {
            self.send(at, Message::Challenge(number));
        }
    }
}
