//! A part of the network, and its events. One thread works on it at a time; all that it shares is read only.

mod held;
mod protocol;
mod walk;

use held::Held;
pub(crate) use walk::inner_hash;

use crate::capture::CaptureLog;
use crate::fabric::{DirectionNumber, Fabric};
use crate::flow::Sink;
use crate::host::Host;
use crate::packet::Packet;
use crate::queue::EventQueue;
use crate::reason::NodeCounters;
use crate::selector::Selector;
use crate::source::Source;
use plait_model_link::{Conditions, Direction, PacketInfo, Parcel};
use std::collections::HashMap;
use std::sync::Arc;

/// The state of some nodes, of the directions that lead to them, and of what runs on them.
pub(crate) struct Partition {
    pub index: u32,
    pub queue: EventQueue,
    pub directions: Vec<DirectionState>,
    pub nodes: Vec<NodeCounters>,
    pub sources: Vec<Source>,
    pub sinks: Vec<Sink>,
    pub hosts: Vec<HostState>,
    /// By the direction out of their interfaces.
    pub selectors: HashMap<DirectionNumber, Box<dyn Selector>>,
    /// Packets that selectors hold.
    pub held: Held,
    /// Packets that went onto directions of other partitions, by partition.
    pub outboxes: Vec<Vec<Crossing>>,
    pub log: CaptureLog,
    pub hops: u64,
}

/// One direction of a link, at the node it leads to.
#[derive(Debug)]
pub(crate) struct DirectionState {
    /// What is on it; nothing is kept of one that no packet ever came to.
    pub direction: Option<Box<Direction<Packet>>>,
    /// When it is looked at next; [`NEVER`] if nothing is on it. Events at other instants are of former plans.
    pub scheduled: u64,
    pub number: DirectionNumber,
    pub to: u32,
    /// What is asked of it until the first packet comes, and what its chances are drawn from.
    conditions: Arc<Conditions>,
    seed: u64,
    /// Whether a packet may pass those before it, so that each arrival can bring the next departure forward.
    pub may_overtake: bool,
    /// Whether it failed itself, whatever its ends do.
    pub failed: bool,
}

impl DirectionState {
    pub fn new(conditions: Arc<Conditions>, seed: u64, number: DirectionNumber, to: u32) -> Self {
        let may_overtake = conditions.may_overtake();
        Self { direction: None, scheduled: NEVER, number, to, conditions, seed, may_overtake, failed: false }
    }

    /// What is on it, from now on.
    #[inline]
    pub fn at_work(&mut self) -> &mut Direction<Packet> {
        let begin = || Box::new(Direction::new(Arc::clone(&self.conditions), self.seed, 0));
        self.direction.get_or_insert_with(begin)
    }

    /// The conditions in force.
    pub fn conditions(&self) -> &Conditions {
        self.direction.as_ref().map_or(&self.conditions, |direction| direction.conditions())
    }
}

/// A protocol on a node.
pub(crate) struct HostState {
    pub host: Box<dyn Host>,
    pub node: u32,
    pub port: u16,
    pub scheduled: u64,
}

/// A packet that goes onto a direction of another partition.
#[derive(Debug)]
pub(crate) struct Crossing {
    pub at: u64,
    pub direction: DirectionNumber,
    pub packet: Box<Parcel<Packet>>,
}

pub(crate) const NEVER: u64 = u64::MAX;

/// What an event's number means: its upper two bits, the rest is the place among its kind. Of what happens at one
/// instant, links come first, then sources, then protocols, then packets that were held.
pub(crate) mod event {
    pub const SOURCE: u32 = 1 << 30;
    pub const HOST: u32 = 2 << 30;
    pub const HELD: u32 = 3 << 30;
    pub const PLACE: u32 = (1 << 30) - 1;
}

impl Partition {
    pub fn new(index: u32, partitions: usize) -> Self {
        Self {
            index,
            queue: EventQueue::default(),
            directions: Vec::new(),
            nodes: Vec::new(),
            sources: Vec::new(),
            sinks: Vec::new(),
            hosts: Vec::new(),
            selectors: HashMap::new(),
            held: Held::default(),
            outboxes: (0..partitions).map(|_| Vec::new()).collect(),
            log: CaptureLog::default(),
            hops: 0,
        }
    }

    /// All that happens before `end`.
    pub fn run(&mut self, fabric: &Fabric, end: u64) {
        while let Some((now, number)) = self.queue.take_before(end) {
            self.read_ahead(fabric);
            self.step(fabric, now, number);
        }
    }

    /// Reads the packet that an event to come is about, so that it has come from memory by then: a network has more packets
    /// under way than fit into a processor's near memory. Choice: three events ahead, and the packet alone; to read its next
    /// hop's direction as well costs more than it saves.
    #[inline]
    fn read_ahead(&self, fabric: &Fabric) {
        if let Some(number) = self.queue.ahead(3)
            && number & !event::PLACE == 0
            && let state = &self.directions[fabric.directions[number as usize].local as usize]
            && let Some(packet) = state.direction.as_ref().and_then(|direction| direction.front())
        {
            std::hint::black_box(packet.destination);
        }
    }

    /// An event that was taken from the queue.
    #[inline]
    pub fn step(&mut self, fabric: &Fabric, now: u64, number: u32) {
        match number & !event::PLACE {
            event::SOURCE => self.source_event(fabric, now, number),
            event::HOST => self.host_event(fabric, now, number),
            event::HELD => self.held_event(fabric, now),
            _ => self.direction_event(fabric, now, number),
        }
    }

    /// A packet may have come to the end of a link.
    #[inline]
    fn direction_event(&mut self, fabric: &Fabric, now: u64, number: DirectionNumber) {
        let place = fabric.directions[number as usize].local as usize;
        let state = &mut self.directions[place];
        if state.scheduled != now {
            return;
        }
        let Some(direction) = &mut state.direction else { return };
        let departure = direction.hand_over(now);
        state.scheduled = match direction.next_departure() {
            Some(next) => {
                let next = next.max(now);
                self.queue.push(next, number);
                next
            }
            None => NEVER,
        };
        let Some(departure) = departure else { return };
        let to = state.to;
        self.hops += 1;
        let mut packet = departure.payload;
        if departure.mark {
            packet.flags |= crate::packet::flag::MARKED;
        }
        if let Some(bit) = departure.corrupt
            && !self.survives_damage(fabric, to, &mut packet, bit)
        {
            return;
        }
        self.arrive(fabric, now, to, number, packet);
    }

    #[inline]
    fn source_event(&mut self, fabric: &Fabric, now: u64, number: u32) {
        let flow = (number & event::PLACE) as usize;
        let source = &mut self.sources[fabric.flows[flow].source.local as usize];
        let node = source.node;
        let (packet, next) = source.send(now);
        if let Some(next) = next {
            self.queue.push(next.max(now), number);
        }
        self.transmit(fabric, now, node, Parcel::new(packet));
    }

    /// A packet goes onto a link.
    #[inline]
    pub fn depart(
        &mut self,
        fabric: &Fabric,
        now: u64,
        direction: DirectionNumber,
        packet: Box<Parcel<Packet>>,
    ) {
        let place = fabric.directions[direction as usize];
        if place.partition != self.index {
            self.outboxes[place.partition as usize].push(Crossing { at: now, direction, packet });
            return;
        }
        self.enter(place.local as usize, now, packet);
    }

    /// A packet comes onto a link whose state is here.
    #[inline]
    pub fn enter(&mut self, place: usize, now: u64, packet: Box<Parcel<Packet>>) {
        let state = &mut self.directions[place];
        let info = PacketInfo {
            ecn_capable: packet.flags & crate::packet::flag::ECN_CAPABLE != 0,
            ..PacketInfo::frame(packet.frame)
        };
        let direction = state.at_work();
        direction.carry(now, info, packet);
        if (state.scheduled == NEVER || state.may_overtake)
            && let Some(next) = state.at_work().next_departure()
            && next.max(now) < state.scheduled
        {
            state.scheduled = next.max(now);
            self.queue.push(state.scheduled, state.number);
        }
    }

    /// Plans a direction anew, after its conditions or its fate were changed from outside at `now`.
    pub fn plan(&mut self, place: usize, now: u64) {
        let state = &mut self.directions[place];
        let Some(direction) = &state.direction else { return };
        state.may_overtake = direction.conditions().may_overtake();
        let next = direction.next_departure().map_or(NEVER, |next| next.max(now));
        if next != state.scheduled {
            state.scheduled = next;
            if next != NEVER {
                self.queue.push(next, state.number);
            }
        }
    }
}
