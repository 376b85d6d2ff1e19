//! From LIB and RIB to the tables of the data plane, a change at a time.
//!
//! Every write leaves the tables such that each packet meets either what was before or what comes after: what a pointer
//! leads to is written before the pointer, and a slot is written again only when nobody can still be reading it.

mod encapsulation;
mod hops;
mod kind;
mod paths;
mod peers;
mod rerouted;
mod slots;
mod wires;
mod write;

pub use encapsulation::{Encapsulation, NoEncapsulation};
pub use kind::Kind;
pub use rerouted::Rerouted;
pub use slots::Full;
pub(crate) use slots::{QUIET, Slots};
pub use write::Write;

use hops::Compiled;
use paths::Led;
use plait_dataplane_reference::tables::{Adjacency, size};
use plait_model_overlay::{Application, Event, NodeId, Overlay, Tables};
use slots::Indices;
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

/// A way out of this host: a neighbour, and what a route to whoever is behind it says of the packets' size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Exit {
    /// By whom packets leave.
    pub neighbour: Neighbour,
    /// The MTU that the route was given, which may be less than the device's, in bytes.
    pub mtu: Option<u32>,
}

/// What the underlay says of a locator.
pub trait Underlay {
    /// The way out by which packets from an own locator reach another's, if there is a route.
    fn exit(&self, from: IpAddr, to: IpAddr) -> Option<Exit>;
}

/// A wire by what makes it: each node has its own, by which is counted what goes to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct WireKey {
    application: Application,
    node: NodeId,
    from: IpAddr,
    to: IpAddr,
    encapsulation: Encapsulation,
}

/// An own locator, and a node's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// The own one.
    pub from: IpAddr,
    /// The node's.
    pub to: IpAddr,
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
    /// Outer headers: one for each of a node's pairs of locators.
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
    /// Next hops to which more pairs of locators lead than flows are spread over, and how many more.
    left_out: BTreeMap<(Application, NodeId), u32>,
    /// The sum of these.
    pairs_left_out: usize,
    groups: Slots,
    wires: Indices<WireKey>,
    /// By which way out each wire leaves.
    leaves_by: HashMap<WireKey, Exit>,
    /// How many wires have the same length and leave by the same way out.
    forms: BTreeMap<(Exit, Encapsulation), (usize, u32)>,
    adjacencies: Indices<Exit>,
    adjacency_slots: Slots,
    /// What is known of ways out, and the slot it stands in.
    exits: HashMap<Exit, (Adjacency, Option<u32>)>,
    /// What arrives from pairs of locators, and in which encapsulation each application takes it for.
    peers: BTreeMap<PairKey, BTreeMap<Application, Encapsulation>>,
    locators: BTreeMap<(Application, IpAddr), BTreeSet<NodeId>>,
    /// Own locators with what arrives there, and by which applications it is taken.
    endpoints: BTreeMap<(IpAddr, u32), BTreeSet<Application>>,
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

/// Bytes of an Ethernet header.
const ETHERNET: u32 = 14;
/// Pairs of locators, an own one and a node's, that flows to a node are spread over.
pub const MOST_PAIRS: u32 = size::CHOICES;

/// Another's locator, an own one, and how packets arrive there.
type PairKey = (IpAddr, IpAddr, u32);

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
            left_out: BTreeMap::new(),
            pairs_left_out: 0,
            groups: Slots::new("groups", room.groups),
            wires: Indices::new("wires", room.wires),
            leaves_by: HashMap::new(),
            forms: BTreeMap::new(),
            adjacencies: Indices::new("adjacencies", room.neighbours),
            adjacency_slots: Slots::new("adjacency slots", room.neighbour_slots),
            exits: HashMap::new(),
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

    /// The pairs of locators, an own one and the node's, that flows to a node are spread over, each with the wire that leads by it.
    pub fn spread_over(
        &self,
        application: Application,
        node: NodeId,
    ) -> impl Iterator<Item = (Pair, u32)> + '_ {
        let compiled = self.compiled.get(&(application, node));
        let keys = compiled.into_iter().flat_map(|compiled| &compiled.wires);
        keys.filter_map(|key| Some((Pair { from: key.from, to: key.to }, self.wires.get(key)?)))
    }

    /// The nodes to which more pairs of locators lead than flows are spread over, and how many pairs of each get no packets: those
    /// that weigh least.
    pub fn left_out(&self) -> &BTreeMap<(Application, NodeId), u32> {
        &self.left_out
    }

    /// How many these are of all nodes.
    pub fn pairs_left_out(&self) -> usize {
        self.pairs_left_out
    }

    /// The ways out by which packets leave, of whose neighbours the hardware addresses are wanted.
    pub fn wanted(&self) -> impl Iterator<Item = Exit> + '_ {
        self.adjacencies.keys().copied()
    }

    /// The largest payload that fits all next hops of an application; nothing before any neighbour is known.
    pub fn room(&self, application: Application) -> Option<u32> {
        let kind = self.kinds.get(&application)?;
        let rooms = self.forms.iter().filter(|((_, form), _)| kind.uses(*form)).filter_map(
            |((exit, _), (_, length))| {
                let (adjacency, _) = self.exits.get(exit)?;
                // Of the MTU nothing is used by the outer frame's own header.
                (adjacency.mtu + ETHERNET).checked_sub(*length)
            },
        );
        rooms.min()
    }

    /// Follows events of the overlay, whose tables are as given now. Returns the writes to do, in order.
    ///
    /// # Errors
    /// A table is full: what did not find room is as it was before (a group for which there is none, and will be none soon, leads
    /// nowhere), the rest was compiled; the writes come with it.
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

    /// Takes what is known of a way out: where its packets go, and how long they may be, or that its neighbour is gone.
    pub fn exit(
        &mut self,
        exit: Exit,
        adjacency: Option<Adjacency>,
        now: Duration,
    ) -> (Vec<Write>, Result<(), Full>) {
        let before = self.exits.get(&exit).copied();
        // The route's MTU holds where it is the smaller one.
        let adjacency =
            adjacency.map(|known| Adjacency { mtu: exit.mtu.unwrap_or(u32::MAX).min(known.mtu), ..known });
        if before.map(|(known, _)| known) != adjacency {
            let slot = before.and_then(|(_, slot)| slot);
            match adjacency {
                Some(adjacency) => self.exits.insert(exit, (adjacency, None)),
                None => self.exits.remove(&exit),
            };
            if !self.point(exit, now) {
                // There is no slot at the moment: what was known before is asked again later.
                match before {
                    Some(before) => self.exits.insert(exit, before),
                    None => self.exits.remove(&exit),
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
        // One that has room again soon hides none that has not.
        let hides_none = self.full.is_none_or(|told| told.is_busy);
        taken.inspect_err(|full| self.full = if hides_none { Some(*full) } else { self.full }).ok()
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
                .filter(|(_, applications)| applications.contains_key(&application))
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
        if !tables.nodes.contains_key(&node)
            && let Some(path) = self.paths.get(&(application, node))
        {
            self.writes.push(Write::UncountHop(path));
        }
    }
}
