//! A node that takes part in an overlay: joins, measures, reports, and keeps LIB and RIB.

mod known;

use crate::inquiry::Step;
use crate::message::{Introduced, LARGEST, MOST_DELAYS, Report};
use crate::session::Word;
use crate::{DelayMatrix, Direction, Inquiry, Key, Message, Refused, Routes, Sealed, mesh, operations};
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
/// A report says something new when a delay differs by this part of it, and by this much at least: what is measured
/// always trembles, and every new report makes all nodes compute.
const HYSTERESIS: (u32, Duration) = (10, Duration::from_micros(500));
/// How much of a sample is taken into the mean, as of TCP's round trips (RFC 6298).
const SMOOTHING: u32 = 8;

/// The token of a probe whose echo is no measurement.
const UNMEASURED: u64 = 0;

/// Inquiries that wait for the driver. Choice: more than it leaves, if it looks at all.
const MOST_WAITING: usize = 1024;

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
    /// delays: with N nodes 2(N−1) messages of 56 bytes and N−1 of 82 + 8(N−1), and as many come in.
    pub interval: Duration,
    /// Probes at most so many others, those that follow in the order of identities, half of them before and half
    /// after: all of them without it. With k of N the cost is that of k nodes, and each report passes through all.
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

/// Random numbers that nobody can guess, given from outside.
struct Draws(Box<dyn FnMut() -> u64 + Send>);

impl std::fmt::Debug for Draws {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Draws")
    }
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
            draws: Draws(Box::new(draw)),
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

    // What there is to see.

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

    // What happened.

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
                    known.begin(from);
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
        let own = Some(&self.config.own);
        let next = match direction {
            Direction::Question => inquiry.way.get(1).filter(|_| inquiry.way.first() == own),
            Direction::Answer => inquiry.way.iter().rev().nth(1).filter(|_| inquiry.way.last() == own),
        };
        match next.copied().filter(|_| inquiry.is_possible()) {
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

    // What to do next.

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
        if let Some(number) = known.session.challenge(now, &mut self.draws.0) {
            self.send(at, Message::Challenge(number));
        }
    }

    /// A message of a life that is known.
    fn take(&mut self, now: Duration, sender: NodeId, from: IpAddr, message: Message) {
        // It is a sum over all nodes, and most messages are reports.
        let asks = matches!(message, Message::Probe { .. } | Message::Echo { .. });
        let digest = if asks { self.digest() } else { 0 };
        let known = self.known.get_mut(&sender).expect("whose words count is known");
        match message {
            Message::Probe { token, digest: theirs } => {
                known.from = Some(from);
                self.send(from, Message::Echo { token, digest });
                if theirs != digest {
                    self.introduce_all(from);
                }
            }
            Message::Echo { token, digest: theirs } => {
                if known.echo(now, token) {
                    self.stale = true;
                }
                if theirs != digest {
                    self.introduce_all(from);
                }
            }
            Message::Members(members) => {
                for introduced in members {
                    self.meet(now, sender, introduced);
                }
            }
            Message::Report(report) => self.hear_report(now, sender, report),
            Message::Leave => {
                known.silence();
                self.matrix.forget(sender);
                self.stale = true;
            }
            Message::Inquiry(direction, inquiry) => {
                if !known.allowance.take(now) {
                    return;
                }
                match inquiry.step(direction, self.config.own, sender) {
                    Some(Step::Arrived) if self.inquiries.len() < MOST_WAITING => {
                        self.inquiries.push_back((direction, inquiry))
                    }
                    Some(Step::HandOn(next)) => drop(self.hand_on(next, direction, inquiry)),
                    Some(Step::Arrived) | None => {}
                }
            }
            Message::Challenge(_) | Message::Answer(_) => {}
        }
    }

    /// Somebody told of a node.
    fn meet(&mut self, now: Duration, teller: NodeId, introduced: Introduced) {
        let Introduced { node, incarnation, revision, locators } = introduced;
        if node == self.config.own || locators.is_empty() {
            return;
        }
        let is_first_hand = teller == node;
        // Who has not forgotten it yet tells of it still, and nobody would ever forget it.
        if !is_first_hand && self.gone.get(&node).is_some_and(|(gone, _)| *gone == incarnation) {
            return;
        }
        let known = self.known.entry(node).or_default();
        // Of a life that showed itself to this node others' tales of another are old.
        let other_life = known.session.incarnation().is_some_and(|known| known != incarnation);
        let newer = known
            .introduced
            .as_ref()
            .is_none_or(|before| before.incarnation != incarnation || before.revision < revision);
        if (other_life && !is_first_hand) || !newer {
            return;
        }
        let locator = locators.keys().next().copied();
        known.introduced = Some(Introduced { node, incarnation, revision, locators });
        self.stale = true;
        if self.known[&node].session.incarnation().is_none()
            && let Some(locator) = locator
        {
            self.question(now, node, incarnation, locator);
        }
    }

    /// Somebody's report, from the reporter or passed on.
    fn hear_report(&mut self, now: Duration, sender: NodeId, report: Report) {
        if report.node == self.config.own {
            return;
        }
        let origin = self.known.entry(report.node).or_default();
        if origin.session.incarnation().is_some_and(|known| known != report.incarnation) {
            return;
        }
        let Some(news) = origin.reports(now, &report) else { return };
        if let Some(delays) = news.delays.filter(|delays| self.matrix.of(report.node) != Some(delays)) {
            self.matrix.report(report.node, delays);
            self.stale = true;
        }
        // To those that the reporter does not reach itself.
        let reached = self.matrix.of(report.node);
        let direct: Vec<IpAddr> = self
            .known
            .iter()
            .filter(|(node, known)| known.is_near(now, self.config.interval) && **node != sender)
            .filter(|(node, _)| {
                **node != report.node && reached.is_none_or(|reached| !reached.contains_key(node))
            })
            .filter_map(|(_, known)| known.address())
            .collect();
        for to in direct {
            self.send(to, Message::Report(report.clone()));
        }
    }

    /// What is due every interval: who is gone, a probe to each, and this node's report.
    fn round(&mut self, now: Duration) {
        let silence = self.config.interval * MISSED;
        for (node, known) in &mut self.known {
            if known.lose(now, silence) {
                self.stale = true;
            }
            if known.is_silent(now, silence) {
                self.matrix.forget(*node);
                self.stale = true;
            }
        }
        let long = silence * 20;
        self.gone.retain(|_, (_, until)| now < *until);
        self.known.retain(|node, known| {
            let is_forgotten = known.is_forgotten(now, long);
            if let Some(introduced) = known.introduced.as_ref().filter(|_| is_forgotten) {
                self.gone.insert(*node, (introduced.incarnation, now + 2 * long));
            }
            !is_forgotten
        });
        for node in self.probed() {
            self.probe(now, node);
        }
        self.compare_with_anyone();
        let seeds: Vec<IpAddr> = self.config.seeds.clone();
        for seed in seeds {
            // One that is a member is probed as such.
            if !self.known.values().any(|known| known.address() == Some(seed)) {
                let digest = self.digest();
                self.send(seed, Message::Probe { token: UNMEASURED, digest });
            }
        }
        self.tell_delays(now);
    }

    /// Where few are measured, tells one of all others by lot what this node knows: it answers when it knows something else.
    /// Choice: anti-entropy (Demers et al., PODC 1987), so that news reaches N nodes after about log N intervals; along those
    /// that are measured it would take N over their number.
    fn compare_with_anyone(&mut self) {
        if self.config.neighbours.is_none_or(|most| most >= self.known.len()) {
            return;
        }
        let place = (self.draws.0)() % self.known.len() as u64;
        if let Some(to) = self.known.values().nth(place as usize).and_then(Known::address) {
            let digest = self.digest();
            self.send(to, Message::Probe { token: UNMEASURED, digest });
        }
    }

    /// Those that this node measures its way to.
    fn probed(&self) -> Vec<NodeId> {
        let all: Vec<NodeId> = self.known.keys().copied().collect();
        let Some(most) = self.config.neighbours.filter(|most| *most < all.len()) else { return all };
        // Who probes is probed by, since before and after are the same distance.
        let place = all.partition_point(|node| *node < self.config.own);
        let each = most.div_ceil(2);
        let after = (0..each).map(|step| all[(place + step) % all.len()]);
        let before = (1..=most - each).map(|step| all[(place + all.len() - step) % all.len()]);
        after.chain(before).collect::<BTreeSet<_>>().into_iter().collect()
    }

    fn probe(&mut self, now: Duration, node: NodeId) {
        let digest = self.digest();
        let Some(known) = self.known.get_mut(&node) else { return };
        let token = (self.draws.0)();
        if let Some(to) = known.probed(now, token) {
            self.send(to, Message::Probe { token, digest });
        }
    }

    /// This node's delays, as everyone is told.
    fn tell_delays(&mut self, now: Duration) {
        let interval = self.config.interval;
        let mut delays = BTreeMap::new();
        for (node, known) in &mut self.known {
            if known.is_near(now, interval)
                && let Some(delay) = known.told(HYSTERESIS)
            {
                delays.insert(*node, delay);
            }
        }
        // A number each round, so that others hear that this node is there, and pass each report on once.
        self.report += 1;
        if self.matrix.of(self.config.own) != Some(&delays) {
            self.matrix.report(self.config.own, delays.clone());
            self.stale = true;
        }
        let delays: Vec<(NodeId, Duration)> = delays.into_iter().collect();
        let parts: Vec<&[(NodeId, Duration)]> = match delays.is_empty() {
            true => vec![&[]],
            false => delays.chunks(MOST_DELAYS).collect(),
        };
        let to: Vec<IpAddr> = self
            .known
            .values()
            .filter(|known| known.is_near(now, interval))
            .filter_map(Known::address)
            .collect();
        for to in to {
            for (part, delays) in parts.iter().enumerate() {
                let report = Report {
                    node: self.config.own,
                    incarnation: self.incarnation,
                    number: self.report,
                    part: (part as u8, parts.len() as u8),
                    delays: delays.to_vec(),
                };
                self.send(to, Message::Report(report));
            }
        }
    }

    /// This node, and everyone it knows, to an address.
    fn introduce_all(&mut self, to: IpAddr) {
        let others: Vec<Introduced> =
            self.known.values().filter_map(|known| known.introduced.clone()).collect();
        self.introduce(to, [self.introduction()].into_iter().chain(others));
    }

    /// Who this node is.
    fn introduction(&self) -> Introduced {
        Introduced {
            node: self.config.own,
            incarnation: self.incarnation,
            revision: self.revision,
            locators: self.config.locators.clone(),
        }
    }

    fn introduce(&mut self, to: IpAddr, nodes: impl IntoIterator<Item = Introduced>) {
        let mut messages: Vec<Vec<Introduced>> = vec![Vec::new()];
        let mut room = LARGEST - 40;
        for introduced in nodes {
            if introduced.length() > room {
                messages.push(Vec::new());
                room = LARGEST - 40;
            }
            room = room.saturating_sub(introduced.length());
            messages.last_mut().expect("one at least").push(introduced);
        }
        for members in messages {
            self.send(to, Message::Members(members));
        }
    }

    /// The same for two nodes that know the same lives and locators of the same nodes.
    fn digest(&self) -> u64 {
        let own = (self.config.own.0, self.incarnation, self.revision);
        let others = self.known.iter().filter_map(|(node, known)| {
            let introduced = known.introduced.as_ref()?;
            Some((node.0, introduced.incarnation, introduced.revision))
        });
        // The sum does not depend on the order; the seal keeps those who would forge one out.
        [own].into_iter().chain(others).fold(0u64, |sum, (node, incarnation, revision)| {
            let mixed = (u64::from(node) << 32 | u64::from(revision)) ^ incarnation.rotate_left(17);
            sum.wrapping_add(mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29))
        })
    }

    /// Whether all members that were adopted have told their delays, and this node its own to all that it sends to.
    fn knows_what_its_former_life_knew(&self) -> bool {
        let told = self.matrix.of(self.config.own);
        let is_measured = |hop: &NodeId| told.is_some_and(|told| told.contains_key(hop));
        let mut hops = self.rib.values().flatten().filter(|hop| **hop != self.config.own);
        self.lib.keys().all(|node| self.matrix.of(*node).is_some()) && hops.all(is_measured)
    }

    /// LIB and RIB anew, if anything happened.
    fn decide(&mut self, now: Duration) {
        if self.settles.is_some() || !std::mem::take(&mut self.stale) {
            return;
        }
        let application = self.config.application;
        let mut there = self.matrix.reachable(self.config.own);
        there.remove(&self.config.own);
        let mut lib = BTreeMap::new();
        for node in &there {
            if let Some(introduced) = self.known.get(node).and_then(|known| known.introduced.as_ref()) {
                lib.insert(*node, introduced.locators.clone());
            }
        }
        let members: BTreeSet<NodeId> = lib.keys().copied().chain([self.config.own]).collect();
        // Others may send through one that fell silent until they hear of it. Who left said so to all.
        let left = |node| self.known.get(node).is_none_or(|known| known.introduced.is_none());
        for (node, locators) in &self.lib {
            if lib.contains_key(node) || left(node) {
                self.lingering.remove(node);
            } else if now < *self.lingering.entry(*node).or_insert(now + self.config.interval * MISSED) {
                lib.insert(*node, locators.clone());
            } else {
                self.lingering.remove(node);
            }
        }
        let mut rib = match self.config.plane {
            Plane::Mesh => mesh(self.config.own, &members, self.config.group),
            Plane::Delay => self.matrix.routes(self.config.own, self.config.group),
        };
        // A next hop without a locator is none yet.
        rib.retain(|_, hops| {
            hops.retain(|hop| members.contains(hop));
            !hops.is_empty()
        });
        // Nodes before the routes that lead to them, and routes away before the nodes they led to.
        for (node, locators) in &lib {
            let before = self.lib.get(node);
            for (locator, weight) in locators {
                if before.and_then(|before| before.get(locator)) != Some(weight) {
                    let (node, locator, weight) = (*node, *locator, *weight);
                    self.operations.push_back(Operation::NodeAdd { application, node, locator, weight });
                }
            }
        }
        self.operations.extend(operations(application, &self.rib, &rib));
        for (node, locators) in &self.lib {
            let after = lib.get(node);
            for locator in locators.keys() {
                if after.is_none_or(|after| !after.contains_key(locator)) {
                    let (node, locator) = (*node, *locator);
                    self.operations.push_back(Operation::NodeDel { application, node, locator });
                }
            }
        }
        self.lib = lib;
        self.rib = rib;
    }
}
