//! One interface, and the neighbours on it: RFC 2328 sections 8 to 10 and 13, of a router that only listens.
//!
//! Choice: it originates nothing, and describes nothing to its neighbours. A neighbour needs nothing from us to be fully
//! adjacent: it asks for what it lacks, and of an empty description that is nothing. Without a router's advertisement of
//! its own, a host is no vertex of anybody's graph, so that no packet is ever routed through it; its neighbour's stub
//! network leads to it. Nor does it pass on what one neighbour told to another: a fabric does not hang together by its hosts.

mod exchange;

use super::election::designated;
use super::neighbor::{Neighbor, State};
use super::{Config, Event, LinkKind, Lsdb, Refusal, Transmit};
use plait_model_wire::ospf::{ALL_ROUTERS, Authentication, Body, Hello, Lsa, Packet, options};
use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;
use std::time::Duration;

/// Neighbours beyond these are not looked at. Choice: no link has as many; whoever sends from many addresses gets no memory.
const NEIGHBORS: usize = 256;

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
    /// Bytes in `transmits`.
    queued: usize,
    events: VecDeque<Event>,
}

/// While so many bytes wait to be sent, no more advertisements are: who asks for them asks again. Choice: as many as a description
/// of some hundred switches asks for at once, and no more memory however much a neighbour asks for.
const QUEUED: usize = 1 << 20;

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
            queued: 0,
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

    /// A packet came by the interface, with these addresses of IP: what that carried.
    pub fn handle_packet(&mut self, source: Ipv4Addr, destination: Ipv4Addr, payload: &[u8], now: Duration) {
        let taken = match self.is_of_link(source, destination) {
            true => self.take(source, payload, now),
            false => Err(Refusal::OffLink),
        };
        if let Err(refusal) = taken {
            self.events.push_back(Event::Refused(source, refusal));
        }
    }

    /// Whether a neighbour on this link sent it: RFC 2328 section 8.2. Routers pass on no packet to a group of the link, and so what is
    /// for one was sent here. By section 8.1 all is where there are two ends, and what some say once more to one address is from who
    /// is known by then; where there are more, a neighbour has an address of their network.
    fn is_of_link(&self, source: Ipv4Addr, destination: Ipv4Addr) -> bool {
        let Config { kind, address, mask, .. } = self.config;
        match kind {
            LinkKind::PointToPoint => destination == ALL_ROUTERS || self.is_neighbor(source),
            LinkKind::Broadcast => source & mask == address & mask,
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
        let transmit = self.transmits.pop_front()?;
        self.queued -= transmit.payload.len();
        Some(transmit)
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

    fn is_neighbor(&self, address: Ipv4Addr) -> bool {
        self.neighbors.values().any(|neighbor| neighbor.address == address)
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

    /// Sends an advertisement, if there is room.
    fn update(&mut self, to: Ipv4Addr, lsa: Lsa) {
        if self.queued < QUEUED {
            self.send(to, Body::Update(vec![lsa]));
        }
    }

    fn transmit(&mut self, destination: Ipv4Addr, body: Body) {
        let Config { router, area, .. } = self.config;
        let packet = Packet { router, area, authentication: Authentication::None, body };
        let payload = packet.emit();
        self.queued += payload.len();
        self.transmits.push_back(Transmit { destination, payload });
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
