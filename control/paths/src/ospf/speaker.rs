//! One interface, and the neighbours on it: RFC 2328 sections 8 to 10 and 13, of a router that only listens.
//!
//! Choice: it originates nothing, and describes nothing to its neighbours. A neighbour needs nothing from us to be fully
//! adjacent: it asks for what it lacks, and of an empty description that is nothing. Without a router's advertisement of
//! its own, a host is no vertex of anybody's graph, so that no packet is ever routed through it; its neighbour's stub
//! network leads to it. Nor does it pass on what one neighbour told to another: a fabric does not hang together by its hosts.

use super::election::designated;
use super::neighbor::{Neighbor, State};
use super::{Lsdb, Offer};
use plait_model_wire::Malformed;
use plait_model_wire::ospf::{
    ALL_ROUTERS, Authentication, Body, Description, Hello, Lsa, LsaHeader, Packet, Request,
    description_flags as flag, options,
};
use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;
use std::time::Duration;
use thiserror::Error;

/// Of what fits in a packet of 1,500 bytes: requests of 12 and headers of 20 bytes.
const REQUESTS: usize = 100;
const HEADERS: usize = 70;
/// Neighbours beyond these are not looked at. Choice: no link has as many; whoever sends from many addresses gets no memory.
const NEIGHBORS: usize = 256;

/// What kind of link an interface is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkKind {
    /// One with a single neighbour.
    PointToPoint,
    /// One with many, of whom one is designated. This one never is.
    Broadcast,
}

/// An interface.
#[derive(Debug, Clone)]
pub struct Config {
    /// This node's router ID: one that no router has.
    pub router: Ipv4Addr,
    /// The area.
    pub area: Ipv4Addr,
    /// The interface's mask.
    pub mask: Ipv4Addr,
    /// What kind of link it is on.
    pub kind: LinkKind,
    /// Seconds between two Hellos. Neighbours must say the same.
    pub hello: u16,
    /// Seconds without any until a neighbour is dead. Neighbours must say the same.
    pub dead: u32,
    /// How long an answer may take before the question is sent again.
    pub retransmit: Duration,
    /// Whether the area is a stub.
    pub is_stub: bool,
    /// The longest packet that the interface takes.
    pub mtu: u16,
}

impl Config {
    /// With the values of RFC 2328 appendix C.3 for a local link: Hellos each 10 seconds, 40 until a neighbour is dead, 5 until
    /// something is said again; in area 0.0.0.0.
    pub fn new(router: Ipv4Addr, mask: Ipv4Addr, kind: LinkKind) -> Self {
        Self {
            router,
            area: Ipv4Addr::UNSPECIFIED,
            mask,
            kind,
            hello: 10,
            dead: 40,
            retransmit: Duration::from_secs(5),
            is_stub: false,
            mtu: 1500,
        }
    }

    fn options(&self) -> u8 {
        if self.is_stub { 0 } else { options::EXTERNAL }
    }
}

/// A packet to be sent out of the interface, with a TTL of 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transmit {
    /// To whom.
    pub destination: Ipv4Addr,
    /// What IP carries as protocol 89.
    pub payload: Vec<u8>,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A neighbour's state changed; none when it is gone.
    Neighbor(Ipv4Addr, Option<State>),
    /// A packet was not taken.
    Refused(Ipv4Addr, Refusal),
}

/// Why a packet is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Refusal {
    /// It cannot be read.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// It is authenticated, and this node has no key.
    #[error("it is authenticated: take authentication off this link, or learn the fabric from FRR's API")]
    Authentication,
    /// It is about another area.
    #[error("it is of area {0}: give this interface that area")]
    Area(Ipv4Addr),
    /// It comes from this node's own ID.
    #[error("it comes from this node's own router ID: give this node one that no router has")]
    OwnId,
    /// Its sender has other intervals.
    #[error("its intervals are {hello} and {dead} s: give this interface the same")]
    Intervals {
        /// Seconds between two Hellos.
        hello: u16,
        /// Seconds until a neighbour is dead.
        dead: u32,
    },
    /// Its sender's mask is another.
    #[error("its mask is {0}: give this interface the same")]
    Mask(Ipv4Addr),
    /// Its sender takes the area for a stub and this node does not, or the other way round.
    #[error("it says otherwise whether the area is a stub: say the same")]
    Stub,
    /// There are too many neighbours.
    #[error("there are {NEIGHBORS} neighbours already")]
    TooMany,
}

/// One interface, and the neighbours on it.
///
/// Methods are of four kinds: `handle_*` for what arrived and for time that passed, then `poll_transmit` and `poll_event` until
/// they give nothing, then `poll_timeout` for when to come back; [`lsdb`](Self::lsdb) and
/// [`is_complete`](Self::is_complete) at any time. Time is that since any fixed moment.
#[derive(Debug)]
pub struct Speaker {
    config: Config,
    neighbors: BTreeMap<Ipv4Addr, Neighbor>,
    lsdb: Lsdb,
    designated: Ipv4Addr,
    backup: Ipv4Addr,
    next_hello: Duration,
    transmits: VecDeque<Transmit>,
    events: VecDeque<Event>,
}

impl Speaker {
    /// Of an interface that is up from now on.
    pub fn new(config: Config, now: Duration) -> Self {
        Self {
            config,
            neighbors: BTreeMap::new(),
            lsdb: Lsdb::default(),
            designated: Ipv4Addr::UNSPECIFIED,
            backup: Ipv4Addr::UNSPECIFIED,
            next_hello: now,
            transmits: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// The advertisements received.
    pub fn lsdb(&self) -> &Lsdb {
        &self.lsdb
    }

    /// Whether all is there that some neighbour has. While it is not, what was known before is the better guess.
    pub fn is_complete(&self) -> bool {
        self.neighbors.values().any(|neighbor| neighbor.state == State::Full)
    }

    /// The neighbours' router IDs and states.
    pub fn neighbors(&self) -> impl Iterator<Item = (Ipv4Addr, State)> {
        self.neighbors.values().map(|neighbor| (neighbor.id, neighbor.state))
    }

    /// A packet came, from an address of the link: what IP carried.
    pub fn handle_packet(&mut self, source: Ipv4Addr, payload: &[u8], now: Duration) {
        if let Err(refusal) = self.take(source, payload, now) {
            self.events.push_back(Event::Refused(source, refusal));
        }
    }

    /// Time passed.
    pub fn handle_timeout(&mut self, now: Duration) {
        let dead = Duration::from_secs(self.config.dead.into());
        let gone = self.neighbors.values().filter(|neighbor| neighbor.heard + dead <= now);
        for id in gone.map(|neighbor| neighbor.id).collect::<Vec<_>>() {
            self.drop_neighbor(id);
        }
        self.elect(now);
        if self.next_hello <= now {
            self.next_hello = now + Duration::from_secs(self.config.hello.max(1).into());
            self.hello(ALL_ROUTERS);
        }
        for id in self.neighbors.keys().copied().collect::<Vec<_>>() {
            let neighbor = &self.neighbors[&id];
            let interval = self.config.retransmit;
            if neighbor.description_due(interval).is_some_and(|due| due <= now) {
                self.repeat_description(id, now);
            }
            if self.neighbors[&id].request_due(interval).is_some_and(|due| due <= now) {
                self.ask_again(id, now);
            }
        }
        self.lsdb.expire(now);
    }

    /// The next packet to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop_front()
    }

    /// The next thing that happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub fn poll_timeout(&self) -> Duration {
        let dead = Duration::from_secs(self.config.dead.into());
        let of = |neighbor: &Neighbor| {
            let interval = self.config.retransmit;
            let silence = Some(neighbor.heard + dead);
            [silence, neighbor.description_due(interval), neighbor.request_due(interval)]
                .into_iter()
                .flatten()
        };
        let neighbors = self.neighbors.values().flat_map(of);
        neighbors.chain(self.lsdb.next_expiry()).fold(self.next_hello, Duration::min)
    }

    /// Says goodbye: a Hello that hears nobody, by which neighbours give up the adjacency at once.
    pub fn leave(&mut self) {
        self.neighbors.clear();
        self.hello(ALL_ROUTERS);
    }

    fn take(&mut self, source: Ipv4Addr, payload: &[u8], now: Duration) -> Result<(), Refusal> {
        let Packet { router, area, authentication, body } = Packet::parse(payload)?;
        if authentication != Authentication::None {
            return Err(Refusal::Authentication);
        }
        if area != self.config.area {
            return Err(Refusal::Area(area));
        }
        if router == self.config.router {
            return Err(Refusal::OwnId);
        }
        let known = self.neighbors.get(&router).filter(|known| known.address == source);
        match (body, known.map(|known| known.state)) {
            (Body::Hello(hello), _) => self.take_hello(router, source, &hello, now)?,
            (Body::Description(description), Some(_)) => self.take_description(router, description, now),
            (Body::Request(wanted), Some(state)) if state >= State::Exchange => {
                self.answer(router, &wanted, now)
            }
            (Body::Update(lsas), Some(state)) if state >= State::Exchange => {
                self.take_update(router, lsas, now)
            }
            // An acknowledgement of what was sent back: it is not kept for repetition. What strangers say counts nothing.
            _ => {}
        }
        Ok(())
    }

    fn take_hello(
        &mut self,
        id: Ipv4Addr,
        source: Ipv4Addr,
        hello: &Hello,
        now: Duration,
    ) -> Result<(), Refusal> {
        let config = &self.config;
        if (hello.interval, hello.dead_interval) != (config.hello, config.dead) {
            return Err(Refusal::Intervals { hello: hello.interval, dead: hello.dead_interval });
        }
        let is_broadcast = config.kind == LinkKind::Broadcast;
        if is_broadcast && hello.mask != config.mask {
            return Err(Refusal::Mask(hello.mask));
        }
        if (hello.options & options::EXTERNAL == 0) != config.is_stub {
            return Err(Refusal::Stub);
        }
        // On such a link another ID or address is another router, or the same after it was set up anew.
        let is_other =
            |of: &Neighbor| (of.id == id) != (of.address == source) || !is_broadcast && of.id != id;
        let others = self.neighbors.values().filter(|of| is_other(of)).map(|of| of.id);
        for other in others.collect::<Vec<_>>() {
            self.drop_neighbor(other);
        }
        let is_new = !self.neighbors.contains_key(&id);
        if is_new && self.neighbors.len() >= NEIGHBORS {
            return Err(Refusal::TooMany);
        }
        let neighbor = self.neighbors.entry(id).or_insert_with(|| Neighbor::new(id, source, now));
        neighbor.heard = now;
        (neighbor.priority, neighbor.designated, neighbor.backup) =
            (hello.priority, hello.designated, hello.backup);
        let hears_us = hello.neighbors.contains(&self.config.router);
        match (neighbor.hears_us(), hears_us) {
            (false, true) => self.set(id, State::TwoWay),
            (true, false) => {
                neighbor.forget();
                self.set(id, State::Init);
            }
            _ if is_new => self.events.push_back(Event::Neighbor(id, Some(State::Init))),
            _ => {}
        }
        if is_new {
            // It shall hear us before the next turn.
            self.hello(ALL_ROUTERS);
        }
        self.elect(now);
        Ok(())
    }

    /// Looks who is designated, and with whom databases are to be brought into line.
    fn elect(&mut self, now: Duration) {
        if self.config.kind == LinkKind::Broadcast {
            (self.designated, self.backup) = designated(self.neighbors.values());
        }
        for id in self.neighbors.keys().copied().collect::<Vec<_>>() {
            let neighbor = &self.neighbors[&id];
            let shall = match self.config.kind {
                LinkKind::PointToPoint => true,
                LinkKind::Broadcast => [self.designated, self.backup].contains(&neighbor.address),
            };
            match (neighbor.state, shall) {
                (State::TwoWay, true) => self.start(id, now),
                (state, false) if state >= State::ExStart => {
                    self.neighbors.entry(id).and_modify(Neighbor::forget);
                    self.set(id, State::TwoWay);
                }
                _ => {}
            }
        }
    }

    /// Begins to bring databases into line, or begins again.
    fn start(&mut self, id: Ipv4Addr, now: Duration) {
        if self.neighbors.values().all(|other| other.id == id || other.state < State::Exchange) {
            // Nobody vouches for what is known. A neighbour that was set up anew starts its numbers again, too, and would
            // be older than itself.
            self.lsdb.clear();
        }
        let description = Description {
            mtu: self.config.mtu,
            options: self.config.options(),
            flags: flag::INITIAL | flag::MORE | flag::MASTER,
            sequence: 0,
            headers: Vec::new(),
        };
        let Some(neighbor) = self.neighbors.get_mut(&id) else { return };
        neighbor.forget();
        neighbor.is_master = true;
        // The first number is one that was not lately: time; the next one is another even within a millisecond.
        neighbor.sequence = (now.as_millis() as u32).max(neighbor.sequence.wrapping_add(1));
        neighbor.sent = Some((Description { sequence: neighbor.sequence, ..description }, now));
        self.set(id, State::ExStart);
        self.repeat_description(id, now);
    }

    fn take_description(&mut self, id: Ipv4Addr, description: Description, now: Duration) {
        let own = self.config.router;
        let Some(neighbor) = self.neighbors.get_mut(&id) else { return };
        let Description { options, flags, sequence, .. } = description;
        let this = (options, flags, sequence);
        match neighbor.state {
            // The Hello that hears us is still under way.
            State::Init | State::TwoWay => {}
            State::ExStart => {
                let begins = flags & (flag::INITIAL | flag::MORE | flag::MASTER);
                if begins == flag::INITIAL | flag::MORE | flag::MASTER
                    && description.headers.is_empty()
                    && id > own
                {
                    neighbor.is_master = false;
                    neighbor.sequence = sequence;
                } else if begins & (flag::INITIAL | flag::MASTER) == 0
                    && sequence == neighbor.sequence
                    && id < own
                {
                    neighbor.is_master = true;
                } else {
                    return;
                }
                neighbor.last = Some(this);
                self.set(id, State::Exchange);
                self.compare(id, description, now);
            }
            state => {
                if neighbor.last == Some(this) {
                    // A slave says again what it said to it.
                    if !neighbor.is_master {
                        self.repeat_description(id, now);
                    }
                    return;
                }
                let due = neighbor.sequence.wrapping_add(u32::from(!neighbor.is_master));
                let in_order = state == State::Exchange
                    && (flags & flag::MASTER == 0) == neighbor.is_master
                    && flags & flag::INITIAL == 0
                    && neighbor.last.is_none_or(|(before, ..)| before == options)
                    && sequence == due;
                if !in_order {
                    return self.start(id, now);
                }
                neighbor.last = Some(this);
                neighbor.sequence = sequence;
                self.compare(id, description, now);
            }
        }
    }

    /// Notes what of a description is wanted, and goes on with the exchange.
    fn compare(&mut self, id: Ipv4Addr, description: Description, now: Duration) {
        let is_possible = |header: &LsaHeader| match header.key.kind {
            // Such there are none of in a stub area.
            5 | 11 => !self.config.is_stub,
            1..=4 | 7 | 9 | 10 => true,
            _ => false,
        };
        if !description.headers.iter().all(is_possible) {
            return self.start(id, now);
        }
        let Some(neighbor) = self.neighbors.get_mut(&id) else { return };
        for header in description.headers {
            if self.lsdb.compare(&header, now) == Ordering::Greater {
                neighbor.wanted.insert(header.key, header);
            }
        }
        let has_more = description.flags & flag::MORE != 0;
        // We have nothing to tell: as a slave the answer is the last thing we say, as a master another question if it has more.
        let is_last = !has_more
            && (!neighbor.is_master
                || neighbor.sent.as_ref().is_some_and(|(sent, _)| sent.flags & flag::MORE == 0));
        if neighbor.is_master && !is_last {
            neighbor.sequence = neighbor.sequence.wrapping_add(1);
        }
        if !(neighbor.is_master && is_last) {
            let flags = if neighbor.is_master { flag::MASTER } else { 0 };
            let sent = Description {
                mtu: self.config.mtu,
                options: self.config.options(),
                flags,
                sequence: neighbor.sequence,
                headers: Vec::new(),
            };
            neighbor.sent = Some((sent, now));
            self.repeat_description(id, now);
        }
        if is_last {
            self.set(id, State::Loading);
        }
        self.ask_on(id, now);
    }

    fn repeat_description(&mut self, id: Ipv4Addr, now: Duration) {
        let Some(neighbor) = self.neighbors.get_mut(&id) else { return };
        let Some((description, at)) = &mut neighbor.sent else { return };
        *at = now;
        let body = Body::Description(description.clone());
        self.send(id, body);
    }

    /// Asks for what is wanted next, if nothing is asked for. With nothing wanted any more, we have all.
    fn ask_on(&mut self, id: Ipv4Addr, now: Duration) {
        let Some(neighbor) = self.neighbors.get_mut(&id) else { return };
        let Neighbor { wanted, asked, .. } = neighbor;
        asked.retain(|key| wanted.contains_key(key));
        if !asked.is_empty() {
            return;
        }
        if wanted.is_empty() {
            if neighbor.state == State::Loading {
                self.set(id, State::Full);
            }
            return;
        }
        neighbor.asked = neighbor.wanted.keys().take(REQUESTS).copied().collect();
        self.ask_again(id, now);
    }

    fn ask_again(&mut self, id: Ipv4Addr, now: Duration) {
        let Some(neighbor) = self.neighbors.get_mut(&id).filter(|of| !of.asked.is_empty()) else { return };
        neighbor.asked_at = now;
        let body = Body::Request(neighbor.asked.iter().map(|key| Request(*key)).collect());
        self.send(id, body);
    }

    /// Section 13.
    ///
    /// Choice: an instance is taken however soon it follows the last (step 5a has routers wait a second, to spare the others that
    /// they pass it on to; nothing is passed on here).
    fn take_update(&mut self, id: Ipv4Addr, lsas: Vec<Lsa>, now: Duration) {
        let (mut heard, mut back) = (Vec::new(), Vec::new());
        for lsa in lsas {
            let header = lsa.header;
            if header.key.kind == 5 && self.config.is_stub {
                continue;
            }
            let offer = self.lsdb.offer(lsa, now);
            let Some(neighbor) = self.neighbors.get_mut(&id) else { return };
            let fits = |wanted: &LsaHeader| header.newer(wanted) != Ordering::Less;
            match offer {
                Offer::Refused => continue,
                Offer::Taken | Offer::Known => {
                    if neighbor.wanted.get(&header.key).is_some_and(fits) {
                        neighbor.wanted.remove(&header.key);
                    }
                    heard.push(header);
                }
                Offer::Older(newer) => {
                    if neighbor.wanted.contains_key(&header.key) && neighbor.state < State::Full {
                        // Asked for something newer than is known, it gave something older.
                        return self.start(id, now);
                    }
                    back.push(*newer);
                }
            }
        }
        for headers in heard.chunks(HEADERS) {
            self.send(id, Body::Acknowledgment(headers.to_vec()));
        }
        for lsa in back {
            self.send(id, Body::Update(vec![lsa]));
        }
        self.ask_on(id, now);
    }

    /// It asks for what was never described to it: what is known is given, as it may have been sent back to it.
    fn answer(&mut self, id: Ipv4Addr, wanted: &[Request], now: Duration) {
        match wanted.iter().map(|Request(key)| self.lsdb.get(key, now)).collect::<Option<Vec<_>>>() {
            // Nothing that we have is so long that several of them fit in a packet for sure.
            Some(lsas) => lsas.into_iter().for_each(|lsa| self.send(id, Body::Update(vec![lsa]))),
            None => self.start(id, now),
        }
    }

    fn hello(&mut self, destination: Ipv4Addr) {
        let Config { mask, hello, dead, .. } = self.config;
        let hello = Hello {
            mask,
            interval: hello,
            options: self.config.options(),
            // Never designated.
            priority: 0,
            dead_interval: dead,
            designated: self.designated,
            backup: self.backup,
            neighbors: self.neighbors.keys().copied().collect(),
        };
        self.transmit(destination, Body::Hello(hello));
    }

    fn send(&mut self, to: Ipv4Addr, body: Body) {
        let destination = match self.config.kind {
            LinkKind::PointToPoint => ALL_ROUTERS,
            LinkKind::Broadcast => self.neighbors[&to].address,
        };
        self.transmit(destination, body);
    }

    fn transmit(&mut self, destination: Ipv4Addr, body: Body) {
        let Config { router, area, .. } = self.config;
        let packet = Packet { router, area, authentication: Authentication::None, body };
        self.transmits.push_back(Transmit { destination, payload: packet.emit() });
    }

    fn set(&mut self, id: Ipv4Addr, state: State) {
        if let Some(neighbor) = self.neighbors.get_mut(&id).filter(|of| of.state != state) {
            neighbor.state = state;
            self.events.push_back(Event::Neighbor(id, Some(state)));
        }
    }

    fn drop_neighbor(&mut self, id: Ipv4Addr) {
        if self.neighbors.remove(&id).is_some() {
            self.events.push_back(Event::Neighbor(id, None));
        }
    }
}
