//! From LIB and RIB to the tables of the data plane, a change at a time.
//!
//! Every write leaves the tables such that each packet meets either what was before or what comes after: what a pointer
//! leads to is written before the pointer, and a slot is written again only when nobody can still be reading it.

mod encapsulation;
mod peers;
mod rerouted;
mod slots;
mod wires;

pub use encapsulation::{Encapsulation, NoEncapsulation};
pub use rerouted::Rerouted;
pub use slots::Full;
pub(crate) use slots::QUIET;

use plait_dataplane_reference::tables::{
    Adjacency, Choice, EndpointKey, Group, Hop, LocatorKey, NodeKey, Peer, PeerKey, Wire, path, size,
};
use plait_model_overlay::{Application, Event, NodeId, Overlay, Tables};
use plait_model_wire::ovstack;
use slots::{Indices, Slots};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::time::Duration;

/// A neighbour in the underlay, by which locators are reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Neighbour {
    /// The interface.
    pub interface: u32,
    /// The gateway, or the locator itself on the same link.
    pub address: IpAddr,
}

/// What the underlay says of a locator.
pub trait Underlay {
    /// The neighbour by which packets from an own locator reach another's, if there is a route.
    fn neighbour(&self, from: IpAddr, to: IpAddr) -> Option<Neighbour>;
}

/// A write to the tables, to be done in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// An application's own identity, TTL and kind.
    Application(u32, plait_dataplane_reference::tables::Application),
    /// A node's or group's path.
    Node(NodeKey, Option<u32>),
    /// What a path leads to.
    Path(u32, u64),
    /// A next hop.
    Hop(u32, Hop),
    /// A group.
    Group(u32, Box<Group>),
    /// An outer header.
    Wire(u32, Wire),
    /// The slot of an adjacency.
    Adjacency(u32, u64),
    /// A neighbour.
    AdjacencySlot(u32, Adjacency),
    /// A known pair of locators.
    Peer(PeerKey, Option<Peer>),
    /// An own locator.
    Endpoint(EndpointKey, bool),
    /// Whose a locator is.
    Locator(LocatorKey, Option<u32>),
    /// Identifiers that lead to a node are to be forgotten, because its path is another's soon.
    Forget(NodeKey),
}

/// A wire by what makes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct WireKey {
    from: IpAddr,
    to: IpAddr,
    encapsulation: Encapsulation,
}

/// What a path leads to now.
#[derive(Debug, Clone, Default)]
struct Led {
    word: u64,
    /// What stands in the slot of a group.
    group: Option<Group>,
    /// The next hops it uses, of which each knows it.
    hops: BTreeSet<NodeId>,
}

/// A next hop as it is compiled now.
#[derive(Debug, Clone, Default)]
struct Compiled {
    slot: Option<u32>,
    hop: Option<Hop>,
    /// Bytes of the longest of its outer headers.
    length: u32,
    wires: Vec<WireKey>,
    /// The destinations whose paths lead over it.
    used_by: BTreeSet<NodeId>,
}

/// How many entries the tables have. Of what is written anew for each change there is room for all, and for all once
/// more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Nodes and groups.
    pub nodes: u32,
    /// Next hops.
    pub hops: u32,
    /// Groups.
    pub groups: u32,
    /// Outer headers: one for each pair of locators and encapsulation.
    pub wires: u32,
    /// Neighbours.
    pub neighbours: u32,
    /// What is known of them.
    pub neighbour_slots: u32,
}

/// What was compiled so far.
#[derive(Debug)]
pub struct Compiler {
    /// What each application carries, and the encapsulations in which it comes.
    kinds: BTreeMap<Application, Kind>,
    /// The same as they were compiled last.
    compiled_kinds: BTreeMap<Application, Kind>,
    paths: Indices<(Application, NodeId)>,
    led: HashMap<(Application, NodeId), Led>,
    hops: Slots,
    compiled: HashMap<(Application, NodeId), Compiled>,
    groups: Slots,
    wires: Indices<WireKey>,
    /// By which neighbour each wire leaves.
    leaves_by: HashMap<WireKey, Neighbour>,
    /// How many wires have the same length and leave by the same neighbour.
    forms: BTreeMap<(Neighbour, Encapsulation), (usize, u32)>,
    adjacencies: Indices<Neighbour>,
    adjacency_slots: Slots,
    /// What is known of neighbours, and the slot it stands in.
    neighbours: HashMap<Neighbour, (Adjacency, Option<u32>)>,
    peers: BTreeMap<PairKey, BTreeSet<Application>>,
    locators: BTreeMap<(Application, IpAddr), BTreeSet<NodeId>>,
    /// Own locators with the encapsulations that are taken at them, and by which applications.
    endpoints: BTreeMap<(IpAddr, Encapsulation), BTreeSet<Application>>,
    /// The tables of the overlay as they were compiled last.
    before: BTreeMap<Application, Tables>,
    /// Destinations whose paths are to be led anew, once all else is compiled.
    stale: BTreeSet<(Application, NodeId)>,
    /// Slots of hops that are free as soon as no path leads there.
    retired: Vec<u32>,
    /// Whether a path had to stay as it was.
    is_behind: bool,
    writes: Vec<Write>,
    full: Option<Full>,
}

/// What an application is told beyond its tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    /// What its packets carry: [`driver`].
    pub driver: u32,
    /// Overlay hops of a packet that begins here.
    pub ttl: u8,
    /// How packets are sent to next hops that nothing else is said of.
    pub encapsulation: Encapsulation,
    /// How they are sent to others.
    pub to: BTreeMap<NodeId, Encapsulation>,
    /// How they may come.
    pub accepts: BTreeSet<Encapsulation>,
    /// The virtual network of packets that name none.
    pub vni: u32,
}

impl Kind {
    /// Ethernet frames or IP packets with ovstack's header both ways.
    pub fn of(driver: u32) -> Self {
        Self {
            driver,
            ttl: ovstack::DEFAULT_TTL,
            encapsulation: Encapsulation::Ovstack,
            to: BTreeMap::new(),
            accepts: BTreeSet::from([Encapsulation::Ovstack]),
            vni: 0,
        }
    }

    /// Whether packets are sent in an encapsulation.
    fn uses(&self, encapsulation: Encapsulation) -> bool {
        self.encapsulation == encapsulation || self.to.values().any(|kind| *kind == encapsulation)
    }
}

/// Bytes of an Ethernet header.
const ETHERNET: u32 = 14;

/// Another's locator and an own one.
type PairKey = (IpAddr, IpAddr, Encapsulation);

impl Compiler {
    /// A compiler of empty tables.
    pub fn new(room: Room) -> Self {
        Self {
            kinds: BTreeMap::new(),
            compiled_kinds: BTreeMap::new(),
            paths: Indices::new("paths", room.nodes),
            led: HashMap::new(),
            hops: Slots::new("hops", room.hops),
            compiled: HashMap::new(),
            groups: Slots::new("groups", room.groups),
            wires: Indices::new("wires", room.wires),
            leaves_by: HashMap::new(),
            forms: BTreeMap::new(),
            adjacencies: Indices::new("adjacencies", room.neighbours),
            adjacency_slots: Slots::new("adjacency slots", room.neighbour_slots),
            neighbours: HashMap::new(),
            peers: BTreeMap::new(),
            locators: BTreeMap::new(),
            endpoints: BTreeMap::new(),
            before: BTreeMap::new(),
            stale: BTreeSet::new(),
            retired: Vec::new(),
            is_behind: false,
            writes: Vec::new(),
            full: None,
        }
    }

    /// Says what an application carries; an event of its own has to follow. Before this nothing of it is compiled.
    pub fn set_kind(&mut self, application: Application, kind: Kind) {
        self.kinds.insert(application, kind);
    }

    /// The path of a node or group, for tables that name it.
    pub fn path(&self, application: Application, node: NodeId) -> Option<u32> {
        self.paths.get(&(application, node))
    }

    /// The neighbours whose hardware addresses are wanted.
    pub fn wanted(&self) -> impl Iterator<Item = Neighbour> + '_ {
        self.adjacencies.keys().copied()
    }

    /// The largest payload that fits all next hops of an application; nothing before any neighbour is known.
    pub fn room(&self, application: Application) -> Option<u32> {
        let kind = self.kinds.get(&application)?;
        let rooms = self.forms.iter().filter(|((_, form), _)| kind.uses(*form)).filter_map(
            |((neighbour, _), (_, length))| {
                let (adjacency, _) = self.neighbours.get(neighbour)?;
                // Of the MTU nothing is used by the outer frame's own header.
                (adjacency.mtu + ETHERNET).checked_sub(*length)
            },
        );
        rooms.min()
    }

    /// Follows events of the overlay, whose tables are as given now. Returns the writes to do, in order.
    ///
    /// # Errors
    /// A table is full: what did not find room is as it was before, the rest was compiled; the writes come with it.
    pub fn follow(
        &mut self,
        overlay: &Overlay,
        events: &[Event],
        underlay: &dyn Underlay,
        now: Duration,
    ) -> (Vec<Write>, Result<(), Full>) {
        let empty = Tables::default();
        for event in events {
            let application = match *event {
                Event::Own { application }
                | Event::Node { application, .. }
                | Event::Route { application, .. } => application,
            };
            if !self.kinds.contains_key(&application) {
                continue;
            }
            let tables = overlay.tables(application).unwrap_or(&empty);
            match *event {
                Event::Own { .. } => self.own(application, tables, underlay, now),
                Event::Node { node, .. } => self.node(application, node, tables, underlay, now),
                Event::Route { destination, .. } => self.route(application, destination, tables, now),
            }
        }
        self.lead_stale(overlay, now);
        self.done(now)
    }

    /// Follows a change of routes in the underlay. Of locators that it does not cover nothing is asked, unless another of the
    /// same node is covered.
    pub fn rerouted(
        &mut self,
        overlay: &Overlay,
        changed: &Rerouted,
        underlay: &dyn Underlay,
        now: Duration,
    ) -> (Vec<Write>, Result<(), Full>) {
        for (application, tables) in overlay.applications() {
            if !self.kinds.contains_key(&application) {
                continue;
            }
            for (node, locators) in &tables.nodes {
                if locators.keys().any(|locator| changed.covers(*locator)) {
                    self.hop(application, *node, tables, underlay, now);
                }
            }
        }
        self.lead_stale(overlay, now);
        self.done(now)
    }

    /// Each path is led anew once, however much of what it leads over changed.
    fn lead_stale(&mut self, overlay: &Overlay, now: Duration) {
        let empty = Tables::default();
        for (application, destination) in std::mem::take(&mut self.stale) {
            let tables = overlay.tables(application).unwrap_or(&empty);
            self.lead(application, destination, tables, now);
        }
    }

    /// Takes what is known of a neighbour: where its packets go, or that it is gone.
    pub fn neighbour(
        &mut self,
        neighbour: Neighbour,
        adjacency: Option<Adjacency>,
        now: Duration,
    ) -> (Vec<Write>, Result<(), Full>) {
        let before = self.neighbours.get(&neighbour).copied();
        if before.map(|(known, _)| known) != adjacency {
            let slot = before.and_then(|(_, slot)| slot);
            match adjacency {
                Some(adjacency) => self.neighbours.insert(neighbour, (adjacency, None)),
                None => self.neighbours.remove(&neighbour),
            };
            if !self.point(neighbour, now) {
                // There is no slot at the moment: what was known before is asked again later.
                match before {
                    Some(before) => self.neighbours.insert(neighbour, before),
                    None => self.neighbours.remove(&neighbour),
                };
            } else if let Some(slot) = slot {
                self.adjacency_slots.give(slot, now);
            }
        }
        self.done(now)
    }

    fn done(&mut self, now: Duration) -> (Vec<Write>, Result<(), Full>) {
        if !std::mem::take(&mut self.is_behind) {
            self.retired.drain(..).for_each(|slot| self.hops.give(slot, now));
        }
        (std::mem::take(&mut self.writes), self.full.take().map_or(Ok(()), Err))
    }

    /// What a table that is full gives is nothing, and is told at the end.
    fn found<T>(&mut self, taken: Result<T, Full>) -> Option<T> {
        taken.inspect_err(|full| self.full = Some(*full)).ok()
    }

    /// This node's identity or locators changed.
    fn own(&mut self, application: Application, tables: &Tables, underlay: &dyn Underlay, now: Duration) {
        let kind = &self.kinds[&application];
        let own = tables.own.map_or(0, |own| own.0);
        let entry = plait_dataplane_reference::tables::Application {
            own,
            ttl: u32::from(kind.ttl),
            driver: kind.driver,
        };
        self.writes.push(Write::Application(application.0.into(), entry));
        self.take_at(application, tables);
        let nodes: BTreeSet<NodeId> = tables.nodes.keys().copied().collect();
        for node in &nodes {
            self.node(application, *node, tables, underlay, now);
        }
        // What leads here does so by name.
        for destination in tables.routes.keys() {
            self.route(application, *destination, tables, now);
        }
        let kind = self.kinds[&application].clone();
        let before = self.compiled_kinds.insert(application, kind.clone());
        if before.is_some_and(|before| before.vni != kind.vni) {
            let its: Vec<PairKey> = self
                .peers
                .iter()
                .filter(|(_, applications)| applications.contains(&application))
                .map(|(pair, _)| *pair)
                .collect();
            its.into_iter().for_each(|pair| self.write_peer(pair));
        }
        self.before.entry(application).or_default().locators.clone_from(&tables.locators);
    }

    /// A node of the LIB changed.
    fn node(
        &mut self,
        application: Application,
        node: NodeId,
        tables: &Tables,
        underlay: &dyn Underlay,
        now: Duration,
    ) {
        self.pairs(application, node, tables);
        self.keep_path(application, node, tables, now);
        self.hop(application, node, tables, underlay, now);
        let before = self.before.entry(application).or_default();
        match tables.nodes.get(&node) {
            Some(locators) => before.nodes.insert(node, locators.clone()),
            None => before.nodes.remove(&node),
        };
    }

    /// A node or group of the RIB changed.
    fn route(&mut self, application: Application, destination: NodeId, tables: &Tables, now: Duration) {
        self.keep_path(application, destination, tables, now);
        self.stale.insert((application, destination));
    }

    /// Gives whatever LIB or RIB know a path, and takes it from what neither knows.
    fn keep_path(&mut self, application: Application, node: NodeId, tables: &Tables, now: Duration) {
        let key = (application, node);
        let is_known = tables.nodes.contains_key(&node) || tables.routes.contains_key(&node);
        let entry = NodeKey { application: application.0.into(), node: node.0 };
        match (self.paths.get(&key), is_known) {
            (None, true) => {
                let taken = self.paths.want(&key, now);
                if let Some((path, _)) = self.found(taken) {
                    self.writes.push(Write::Path(path, 0));
                    self.writes.push(Write::Node(entry, Some(path)));
                }
            }
            (Some(path), false) => {
                self.writes.extend([Write::Node(entry, None), Write::Forget(entry), Write::Path(path, 0)]);
                if let Some(led) = self.led.remove(&key) {
                    self.leave(application, node, &led.hops);
                    self.free_group(led.word, now);
                }
                self.paths.let_go(&key, now);
            }
            _ => {}
        }
    }

    /// A next hop anew: its locators, its weights, its neighbours.
    fn hop(
        &mut self,
        application: Application,
        node: NodeId,
        tables: &Tables,
        underlay: &dyn Underlay,
        now: Duration,
    ) {
        let kind = &self.kinds[&application];
        let encapsulation = kind.to.get(&node).copied().unwrap_or(kind.encapsulation);
        let theirs = tables.nodes.get(&node);
        let mut pairs: Vec<(u32, WireKey, Neighbour)> = Vec::new();
        for (from, weight) in &tables.locators {
            for (to, share) in theirs.into_iter().flatten() {
                let weight = u32::from(weight.get()) * u32::from(share.get());
                if from.is_ipv4() == to.is_ipv4()
                    && let Some(neighbour) = underlay.neighbour(*from, *to)
                {
                    pairs.push((weight, WireKey { from: *from, to: *to, encapsulation }, neighbour));
                }
            }
        }
        // Choice: of more pairs than there is room for, those that weigh most.
        pairs.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        pairs.truncate(size::CHOICES as usize);

        let mut hop = Hop {
            node: node.0,
            weights: 0,
            count: 0,
            reserved: 0,
            choices: [Choice { below: 0, wire: 0 }; size::CHOICES as usize],
        };
        let (mut wires, mut length) = (Vec::new(), 0);
        for (weight, key, neighbour) in pairs {
            let Some((wire, bytes)) = self.wire(key, neighbour, now) else { continue };
            length = length.max(bytes);
            hop.weights += weight;
            hop.choices[hop.count as usize] = Choice { below: hop.weights, wire };
            hop.count += 1;
            wires.push(key);
        }
        let before = self.compiled.get(&(application, node)).cloned().unwrap_or_default();
        let mut slot = before.slot;
        if before.hop != Some(hop) {
            slot = None;
            if hop.count > 0 {
                let taken = self.hops.take(now);
                let Some(free) = self.found(taken) else {
                    // It stays as it was.
                    wires.into_iter().for_each(|key| self.unwire(key, now));
                    return;
                };
                self.writes.push(Write::Hop(free, hop));
                slot = Some(free);
            }
            self.stale.extend(before.used_by.iter().map(|destination| (application, *destination)));
            self.retired.extend(before.slot);
        }
        before.wires.into_iter().for_each(|key| self.unwire(key, now));
        let used_by = before.used_by;
        self.compiled.insert((application, node), Compiled { slot, hop: Some(hop), length, wires, used_by });
        self.forget_unused(application, node);
    }

    /// Forgets a next hop that is nowhere and that nothing leads over.
    fn forget_unused(&mut self, application: Application, node: NodeId) {
        let key = (application, node);
        let is_nothing = |compiled: &Compiled| compiled.slot.is_none() && compiled.used_by.is_empty();
        if self.compiled.get(&key).is_some_and(is_nothing) {
            self.compiled.remove(&key);
        }
    }

    /// What a path leads to anew.
    fn lead(&mut self, application: Application, destination: NodeId, tables: &Tables, now: Duration) {
        let key = (application, destination);
        let Some(path) = self.paths.get(&key) else { return };
        let hops = tables.routes.get(&destination).cloned().unwrap_or_default();
        let includes_own = tables.own.is_some_and(|own| hops.contains(&own));
        let others: BTreeSet<NodeId> = hops.into_iter().filter(|hop| Some(*hop) != tables.own).collect();
        // Copies with short outer headers leave first: a frame that is no IP can only be made longer.
        let mut slots: Vec<(u32, u32)> = others
            .iter()
            .filter_map(|hop| {
                let compiled = self.compiled.get(&(application, *hop))?;
                Some((compiled.length, compiled.slot?))
            })
            .collect();
        if slots.len() > size::GROUP as usize {
            self.full = Some(Full { table: "next hops of a group", size: size::GROUP, is_busy: false });
            slots.truncate(size::GROUP as usize);
        }
        slots.sort_unstable();
        let slots: Vec<u32> = slots.into_iter().map(|(_, slot)| slot).collect();
        for hop in &others {
            self.compiled.entry((application, *hop)).or_default().used_by.insert(destination);
        }
        let before = self.led.get(&key).cloned().unwrap_or_default();
        let word = |kind: u32, index: u32| u64::from(kind) << 32 | u64::from(index);
        let mut group = None;
        let word = match (slots.as_slice(), includes_own) {
            ([], true) => word(path::OWN, 0),
            ([], false) => 0,
            ([slot], false) => word(path::HOP, *slot),
            _ => {
                let mut made = Group {
                    count: slots.len() as u32,
                    includes_own: includes_own.into(),
                    hops: [0; size::GROUP as usize],
                };
                made.hops[..slots.len()].copy_from_slice(&slots);
                group = Some(made);
                if before.group == group {
                    before.word
                } else {
                    let taken = self.groups.take(now);
                    match self.found(taken) {
                        Some(slot) => {
                            self.writes.push(Write::Group(slot, Box::new(made)));
                            word(path::GROUP, slot)
                        }
                        // It stays as it was, and so do the slots that it leads to.
                        None if self.full.is_some_and(|full| full.is_busy) => {
                            self.is_behind = true;
                            return;
                        }
                        None => {
                            group = None;
                            0
                        }
                    }
                }
            }
        };
        if before.word != word {
            self.writes.push(Write::Path(path, word));
        }
        let hops = before.hops.difference(&others).copied().collect();
        let is_other = before.word != word;
        self.led.insert(key, Led { word, group, hops: others });
        self.leave(application, destination, &hops);
        if is_other {
            self.free_group(before.word, now);
        }
    }

    /// A path leads over some hops no more.
    fn leave(&mut self, application: Application, destination: NodeId, hops: &BTreeSet<NodeId>) {
        for hop in hops {
            let Some(compiled) = self.compiled.get_mut(&(application, *hop)) else { continue };
            compiled.used_by.remove(&destination);
            self.forget_unused(application, *hop);
        }
    }

    /// No path has a word any more: the slot of the group that it named is free.
    fn free_group(&mut self, word: u64, now: Duration) {
        if (word >> 32) as u32 == path::GROUP {
            self.groups.give(word as u32, now);
        }
    }
}
