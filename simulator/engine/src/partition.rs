//! A part of the network, and its events. One thread works on it at a time; all that it shares is read only.

mod held;
mod protocol;
mod spare;
mod state;
mod walk;

use held::Held;
use spare::Spare;
pub(crate) use state::DirectionState;
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
use plait_model_link::{PacketInfo, Parcel};
use std::collections::HashMap;

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
    spare: Spare,
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

/// What an event's number means: its upper two bits; the rest is the place among its kind, of directions within the partition. Of
/// what happens at one instant, links come first, then sources, then protocols, then packets that were held.
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
            spare: Spare::default(),
        }
    }

    /// All that happens before `end`.
    pub fn run(&mut self, fabric: &Fabric, end: u64) {
        while let Some((now, number)) = self.queue.take_before(end) {
            self.read_ahead();
            self.step(fabric, now, number);
        }
    }

    /// Has the link of an event to come read, and of one that is nearer its packets, so that they have come from memory by then: a
    /// network has more under way than fits into a processor's near memory. Choice: four and two events ahead, and neither the
    /// packet's next hop nor that one's link, which costs as much as it saves.
    #[inline]
    fn read_ahead(&self) {
        if let Some(state) = self.ahead(4) {
            state.direction.prefetch();
        }
        if let Some(state) = self.ahead(2) {
            state.direction.prefetch_front();
        }
    }

    /// The link that the event after so many others is of.
    #[inline]
    fn ahead(&self, others: usize) -> Option<&state::Busy> {
        self.directions.get(self.queue.ahead(others)? as usize)?.busy()
    }

    /// The place of an event among all partitions' of its instant: that of a direction is the direction's.
    pub fn rank(&self, number: u32) -> u32 {
        self.directions.get(number as usize).map_or(number, DirectionState::number)
    }

    /// An event that was taken from the queue.
    #[inline]
    pub fn step(&mut self, fabric: &Fabric, now: u64, number: u32) {
        match number & !event::PLACE {
            event::SOURCE => self.source_event(fabric, now, number),
            event::HOST => self.host_event(fabric, now, number),
            event::HELD => self.held_event(fabric, now),
            _ => self.direction_event(fabric, now, number as usize),
        }
    }

    /// A packet may have come to the end of a link.
    #[inline]
    fn direction_event(&mut self, fabric: &Fabric, now: u64, place: usize) {
        let Some(state) = self.directions[place].busy_mut().filter(|state| state.scheduled == now) else {
            return;
        };
        let (departure, next) = state.direction.take(now);
        state.scheduled = match next {
            Some(next) => {
                let next = next.max(now);
                self.queue.push(next, place as u32);
                next
            }
            None => NEVER,
        };
        let Some(departure) = departure else { return };
        let (to, number) = (state.to, state.number);
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
        let parcel = self.spare.house(packet);
        self.transmit(fabric, now, node, parcel);
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
        let state = self.directions[place].at_work();
        let info = PacketInfo {
            ecn_capable: packet.flags & crate::packet::flag::ECN_CAPABLE != 0,
            ..PacketInfo::frame(packet.frame)
        };
        state.direction.carry(now, info, packet);
        if (state.scheduled == NEVER || state.may_overtake)
            && let Some(next) = state.direction.next_departure()
            && next.max(now) < state.scheduled
        {
            state.scheduled = next.max(now);
            self.queue.push(state.scheduled, place as u32);
        }
    }

    /// Plans a direction anew, after its conditions or its fate were changed from outside at `now`.
    pub fn plan(&mut self, place: usize, now: u64) {
        let Some(state) = self.directions[place].busy_mut() else { return };
        state.may_overtake = state.direction.conditions().may_overtake();
        let next = state.direction.next_departure().map_or(NEVER, |next| next.max(now));
        if next != state.scheduled {
            state.scheduled = next;
            if next != NEVER {
                self.queue.push(next, place as u32);
            }
        }
    }
}
