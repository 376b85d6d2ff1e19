//! A speaker of EVPN: one session, what it learns, and when it tells what; in what words, says `telling`.

mod telling;

use super::rib::{Mobility, Path, Rib, vni_of};
use super::session::{Heard, Identity, Session, State, Step};
use super::{group_of, node_of};
use crate::{Routes, operations};
use plait_model_overlay::{Application, DEFAULT_WEIGHT, NodeId, Operation};
use plait_model_wire::bgp::Update;
use plait_model_wire::ethernet::Mac;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

/// A station that moves so often in so long is at two places, and is announced by this node no more until it has been
/// quiet for that time (RFC 7432 section 15.1, with its own figures).
const MOVES: (usize, Duration) = (5, Duration::from_secs(180));

/// What a speaker is told at its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Whose tables.
    pub application: Application,
    /// Where the others send its packets: its VTEP.
    pub vtep: IpAddr,
    /// This node's AS.
    pub as_number: u32,
    /// The neighbour's.
    pub remote_as: u32,
    /// How long the neighbour may be silent, in whole seconds from 3 on.
    pub hold: Duration,
}

/// A station of this node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Station {
    /// Its address.
    pub mac: Mac,
    /// Whether it never moves.
    pub is_sticky: bool,
}

/// What to do with the connection to the neighbour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Connect.
    Connect,
    /// Send these bytes, all of them and in order.
    Send(Vec<u8>),
    /// Close, once all was sent.
    Close,
}

/// A change to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Of LIB or RIB.
    Operation(Operation),
    /// Where a station of a VNI is; nowhere of one that is known no more.
    Station {
        /// Whose.
        vni: u32,
        /// Which.
        mac: Mac,
        /// Where.
        node: Option<NodeId>,
    },
}

/// How a speaker fares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Where its session stands.
    pub state: State,
    /// Routes of the neighbour's.
    pub received: usize,
    /// Own routes.
    pub announced: usize,
    /// Why there is no session.
    pub last: Option<String>,
}

/// A speaker.
#[derive(Debug)]
pub struct Speaker {
    config: Config,
    id: Ipv4Addr,
    session: Session,
    rib: Rib,
    /// Own VNIs with their stations.
    local: BTreeMap<u32, BTreeSet<Station>>,
    /// The numbers of their distinguishers.
    numbers: BTreeMap<u32, u16>,
    announced: BTreeMap<(u32, Mac), Mobility>,
    /// Own stations that are somewhere else now, or that others say never move.
    yielded: BTreeSet<(u32, Mac)>,
    moves: BTreeMap<(u32, Mac), VecDeque<Duration>>,
    heard: Duration,
    /// When what is stale is no more.
    sweep: Option<Duration>,
    /// Whether the neighbour was lost. Choice: its End-of-RIB is not believed then: a reflector that starts again says it
    /// before its other clients are back. They have the hold time for it.
    was_lost: bool,
    /// Until when tables of a former life stay as they are.
    settles: Option<Duration>,
    /// Whether VTEPs may be others than before.
    stale: bool,
    nodes: BTreeMap<NodeId, IpAddr>,
    routes: Routes,
    stations: BTreeMap<(u32, Mac), NodeId>,
    changes: VecDeque<Change>,
}

impl Speaker {
    /// A speaker that begins to connect.
    pub fn new(config: Config, now: Duration) -> Self {
        Self::start(config, now, false)
    }

    /// A speaker that begins with the tables that a former life of this node left. They stay as they are until the
    /// neighbour has told all there is, or had its hold time for it.
    pub fn adopt(
        config: Config,
        now: Duration,
        nodes: BTreeMap<NodeId, IpAddr>,
        routes: Routes,
        stations: BTreeMap<(u32, Mac), NodeId>,
    ) -> Self {
        let settles = Some(now + config.hold);
        let adopted = Self { nodes, routes, stations, settles, ..Self::start(config, now, true) };
        Self { stale: true, ..adopted }
    }

    fn start(config: Config, now: Duration, is_restarting: bool) -> Self {
        let id = match config.vtep {
            IpAddr::V4(four) => four,
            // Choice: a speaker without IPv4 still needs 32 bits.
            six => Ipv4Addr::from(node_of(six).0),
        };
        let Config { as_number, remote_as, hold, .. } = config;
        let session = Session::new(Identity { as_number, remote_as, id, hold, is_restarting }, now);
        Self {
            config,
            id,
            session,
            rib: Rib::default(),
            local: BTreeMap::new(),
            numbers: BTreeMap::new(),
            announced: BTreeMap::new(),
            yielded: BTreeSet::new(),
            moves: BTreeMap::new(),
            heard: now,
            sweep: None,
            was_lost: false,
            settles: None,
            stale: false,
            nodes: BTreeMap::new(),
            routes: Routes::new(),
            stations: BTreeMap::new(),
            changes: VecDeque::new(),
        }
    }

    // What there is to see.

    /// How it fares.
    pub fn report(&self) -> Report {
        Report {
            state: self.session.state(),
            received: self.rib.len(),
            announced: self.announced.len() + self.local.len(),
            last: self.session.last.clone(),
        }
    }

    // What happened.

    /// The connection is there.
    pub fn handle_connected(&mut self, now: Duration) {
        self.session.connected(now);
    }

    /// The connection failed, or ended.
    pub fn handle_closed(&mut self, now: Duration, why: &str) {
        let hold = self.session.hold();
        let heard = self.session.closed(now, why);
        self.take(now, hold, heard);
        self.decide(now);
    }

    /// Bytes came.
    pub fn handle_bytes(&mut self, now: Duration, bytes: &[u8]) {
        self.heard = now;
        for heard in self.session.bytes(now, bytes) {
            self.take(now, self.session.hold(), Some(heard));
        }
        self.decide(now);
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Duration) {
        let hold = self.session.hold();
        let heard = self.session.timeout(now);
        self.take(now, hold, heard);
        if self.sweep.is_some_and(|sweep| now >= sweep) {
            self.told_all();
        }
        if self.settles.is_some_and(|settles| now >= settles) {
            self.settles = None;
        }
        self.decide(now);
    }

    /// These are this node's VNIs and their stations now.
    pub fn handle_local(&mut self, now: Duration, local: BTreeMap<u32, BTreeSet<Station>>) {
        if local == self.local {
            return;
        }
        let gone: Vec<u32> = self.local.keys().filter(|vni| !local.contains_key(vni)).copied().collect();
        for vni in gone {
            self.withdraw(vni);
        }
        let before = std::mem::replace(&mut self.local, local);
        self.number();
        for vni in before.keys().chain(self.local.keys()).copied().collect::<BTreeSet<_>>() {
            let (old, new) = (before.get(&vni), self.local.get(&vni));
            let all = old.into_iter().chain(new).flatten().map(|station| (vni, station.mac));
            self.rib.changed.extend(all);
            if old.is_some() == new.is_some() {
                continue;
            }
            // What others said of a VNI that nobody had here counts from now on, or no more.
            self.rib.changed.extend(self.rib.stations(vni).map(|mac| (vni, mac)).collect::<Vec<_>>());
            if new.is_some() {
                self.tell(self.flood_update(vni));
            }
        }
        self.stale = true;
        self.decide(now);
    }

    /// Tells the neighbour that this speaker is no more, and takes away what it told.
    pub fn handle_end(&mut self, now: Duration) {
        self.session.cease(now, "it was taken away");
        self.rib.clear();
        (self.settles, self.stale) = (None, true);
        self.local.clear();
        self.decide(now);
    }

    // What to do next.

    /// A change to make. Those that are there together belong together.
    pub fn poll_change(&mut self) -> Option<Change> {
        self.changes.pop_front()
    }

    /// What to do with the connection.
    pub fn poll_action(&mut self) -> Option<Action> {
        Some(match self.session.step()? {
            Step::Connect => Action::Connect,
            Step::Send(bytes) => Action::Send(bytes),
            Step::Close => Action::Close,
        })
    }

    /// When to come back at the latest; never of one that ended.
    pub fn poll_timeout(&self) -> Option<Duration> {
        [self.session.due(), self.sweep, self.settles].into_iter().flatten().min()
    }

    // The neighbour's routes.

    fn take(&mut self, now: Duration, hold: Duration, heard: Option<Heard>) {
        match heard {
            None => {}
            Some(Heard::Established) => {
                // Of a neighbour that never says that it told all.
                self.sweep = Some(now + hold);
                self.tell_all();
            }
            Some(Heard::Refresh) => self.tell_all(),
            Some(Heard::Update(update)) => self.update(*update),
            // Choice: what it said holds as long as if it were silent, so that a neighbour that is back by then takes no
            // packet along.
            Some(Heard::Lost) => {
                self.rib.age();
                self.was_lost = true;
                self.sweep = Some(self.heard + hold);
                if self.heard + hold <= now {
                    self.told_all();
                }
            }
            Some(Heard::Ended) => {
                self.rib.age();
                self.told_all();
            }
        }
    }

    fn told_all(&mut self) {
        self.rib.sweep();
        (self.sweep, self.was_lost) = (None, false);
        (self.settles, self.stale) = (None, true);
    }

    fn update(&mut self, update: Update) {
        self.stale = true;
        for route in &update.withdrawn {
            self.rib.remove(&route.key());
        }
        if update.is_end && !self.was_lost {
            self.told_all();
        }
        let Some(vtep) = update.next_hop else { return };
        let attributes = &update.attributes;
        let is_internal = self.config.as_number == self.config.remote_as;
        // RFC 4271 section 9.1.2 and RFC 4456 section 8: what comes back is no news. RFC 7606 section 3 d: what must be
        // there and is not, is as if it were withdrawn.
        let is_own = attributes.as_path.numbers.contains(&self.config.as_number)
            || attributes.originator == Some(self.id)
            || vtep == self.config.vtep;
        let is_whole = !is_internal || attributes.local_preference.is_some();
        let is_possible = !vtep.is_unspecified() && !vtep.is_multicast();
        for route in &update.reached {
            match vni_of(route, attributes).filter(|_| is_whole && is_possible && !is_own) {
                Some(vni) => {
                    let mobility = Mobility::of(attributes);
                    self.rib.insert(route, Path { vtep, vni, mobility, is_stale: false });
                }
                None => self.rib.remove(&route.key()),
            }
        }
    }

    /// Leads the tables, and what is announced, to what is known.
    fn decide(&mut self, now: Duration) {
        let changed = std::mem::take(&mut self.rib.changed);
        for (vni, mac) in &changed {
            self.own_station(now, *vni, *mac);
        }
        if self.settles.is_some() {
            // They are looked at when it is over.
            self.rib.changed = changed;
            return;
        }
        let changed = match std::mem::take(&mut self.stale) {
            // Some that were adopted nobody may have said anything of.
            true => changed.into_iter().chain(self.orphans()).collect(),
            false => changed,
        };
        let (nodes, routes) = self.wanted();
        let application = self.config.application;
        for (node, locator) in nodes.iter().filter(|(node, _)| !self.nodes.contains_key(node)) {
            let (node, locator, weight) = (*node, *locator, DEFAULT_WEIGHT);
            self.changes.push_back(Change::Operation(Operation::NodeAdd {
                application,
                node,
                locator,
                weight,
            }));
        }
        let lead = operations(application, &self.routes, &routes);
        let (add, remove): (Vec<_>, Vec<_>) =
            lead.into_iter().partition(|operation| matches!(operation, Operation::RouteAdd { .. }));
        self.changes.extend(add.into_iter().map(Change::Operation));
        for (vni, mac) in changed {
            self.place(vni, mac);
        }
        self.changes.extend(remove.into_iter().map(Change::Operation));
        for (node, locator) in self.nodes.iter().filter(|(node, _)| !nodes.contains_key(node)) {
            let (node, locator) = (*node, *locator);
            self.changes.push_back(Change::Operation(Operation::NodeDel { application, node, locator }));
        }
        (self.nodes, self.routes) = (nodes, routes);
    }

    /// Stations in the tables that the neighbour did not say.
    fn orphans(&self) -> Vec<(u32, Mac)> {
        let is_said = |vni: u32, mac: Mac| self.rib.station(vni, mac).is_some();
        self.stations.keys().filter(|(vni, mac)| !is_said(*vni, *mac)).copied().collect()
    }

    /// LIB and RIB as they shall be.
    fn wanted(&self) -> (BTreeMap<NodeId, IpAddr>, Routes) {
        let vteps = self.rib.vteps(|vni| self.local.contains_key(&vni));
        let nodes: BTreeMap<NodeId, IpAddr> = vteps.into_iter().map(|vtep| (node_of(vtep), vtep)).collect();
        let mut routes: Routes = nodes.keys().map(|node| (*node, BTreeSet::from([*node]))).collect();
        for vni in self.local.keys() {
            let others: BTreeSet<NodeId> = self.rib.flood(*vni).into_iter().map(node_of).collect();
            if !others.is_empty() {
                routes.insert(group_of(*vni), others);
            }
        }
        (nodes, routes)
    }

    /// Writes where a station is.
    fn place(&mut self, vni: u32, mac: Mac) {
        let is_here = self.announced.contains_key(&(vni, mac)) || !self.local.contains_key(&vni);
        let path = self.rib.station(vni, mac).filter(|_| !is_here);
        let node = path.map(|path| node_of(path.vtep));
        let before = match node {
            Some(node) => self.stations.insert((vni, mac), node),
            None => self.stations.remove(&(vni, mac)),
        };
        if before != node {
            self.changes.push_back(Change::Station { vni, mac, node });
        }
    }

    // Own routes.

    /// Decides whether an own station is announced: RFC 7432 section 15.
    fn own_station(&mut self, now: Duration, vni: u32, mac: Mac) {
        let key = (vni, mac);
        let found = self.local.get(&vni).and_then(|all| all.iter().find(|station| station.mac == mac));
        let Some(Station { is_sticky, .. }) = found.copied() else {
            self.yielded.remove(&key);
            if self.announced.remove(&key).is_some() {
                let withdrawn = vec![self.station_route(vni, mac)];
                self.tell(Update { withdrawn, ..Update::default() });
            }
            return;
        };
        let remote = self.rib.station(vni, mac).map(|path| (path.mobility, path.vtep));
        let own = self.announced.get(&key).copied();
        let wanted = match (remote, own) {
            (None, Some(own)) => Some(Mobility { is_sticky, ..own }),
            (None, None) => Some(Mobility { is_sticky, sequence: 0 }),
            (Some((theirs, vtep)), Some(own)) => {
                // Equal numbers: the lower VTEP has it.
                let stays = own > theirs || own == theirs && self.config.vtep < vtep;
                stays.then_some(own)
            }
            (Some(_), None) if self.yielded.contains(&key) => None,
            (Some((theirs, _)), None) => {
                let is_free = !theirs.is_sticky && self.may_move(now, key);
                is_free.then(|| Mobility { is_sticky, sequence: theirs.sequence.saturating_add(1) })
            }
        };
        match wanted {
            Some(mobility) => {
                self.yielded.remove(&key);
                if self.announced.insert(key, mobility) != Some(mobility) {
                    let update = self.station_update(vni, mobility, &[mac]);
                    self.tell(update);
                }
            }
            None => {
                self.yielded.insert(key);
                if self.announced.remove(&key).is_some() {
                    let withdrawn = vec![self.station_route(vni, mac)];
                    self.tell(Update { withdrawn, ..Update::default() });
                }
            }
        }
    }

    /// Notes that a station came here from another node; whether it does not do so all the time.
    fn may_move(&mut self, now: Duration, key: (u32, Mac)) -> bool {
        let (most, within) = MOVES;
        self.moves.retain(|_, times| times.back().is_some_and(|last| *last + within > now));
        let times = self.moves.entry(key).or_default();
        times.retain(|time| *time + within > now);
        times.push_back(now);
        if times.len() > most {
            times.pop_front();
            return false;
        }
        true
    }
}
