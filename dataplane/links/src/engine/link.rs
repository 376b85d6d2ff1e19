//! A link inside the engine: two ends, two directions.

use super::lead::Sends;
use super::taint::Tally;
use super::{DirectionStats, LinkReport, LinkStats, PortStats};
use crate::lateness::Lateness;
use crate::port::{OpenPort, PortKind};
use crate::sys::monotonic;
use plait_model_link::{Conditions, Direction, direction_seed};

/// A packet that has to wait: its offload header and its frame.
pub(crate) type Packet = Box<[u8]>;

/// A link at work. Direction 0 goes from end 0 to end 1.
#[derive(Debug)]
pub(crate) struct Link {
    pub id: u64,
    pub name: String,
    seed: u64,
    pub ends: [OpenPort; 2],
    pub directions: [Direction<Packet>; 2],
    pub lateness: [Lateness; 2],
    /// How long the kernel takes for a packet on its way out.
    pub sends: [Sends; 2],
    /// What left in the second that runs.
    pub tally: Tally,
    /// Drops outside the model that were already reported.
    pub reported_drops: u64,
}

impl Link {
    pub fn new(
        id: u64,
        name: String,
        seed: u64,
        ends: [OpenPort; 2],
        conditions: [Conditions; 2],
        now: u64,
    ) -> Self {
        let [forward, reverse] = conditions;
        Self {
            directions: [
                Direction::new(forward, direction_seed(seed, &name, 0), now),
                Direction::new(reverse, direction_seed(seed, &name, 1), now),
            ],
            id,
            name,
            seed,
            ends,
            lateness: [Lateness::new(), Lateness::new()],
            sends: [Sends::default(); 2],
            tally: Tally::default(),
            reported_drops: 0,
        }
    }

    pub fn reset(&mut self, now: u64) {
        for (index, direction) in self.directions.iter_mut().enumerate() {
            direction.reset(direction_seed(self.seed, &self.name, index), now);
        }
        self.lateness = [Lateness::new(), Lateness::new()];
    }

    /// Takes directions down or up; one that is down already keeps its counts.
    pub fn set_down(&mut self, down: [bool; 2]) {
        for (direction, down) in self.directions.iter_mut().zip(down) {
            match (direction.is_down(), down) {
                (false, true) => direction.fail(),
                (true, false) => direction.recover(),
                _ => {}
            }
        }
    }

    /// Which constant applies to packets of a direction: that of the kind of port they come from.
    pub fn source_kind(&self, direction: usize) -> PortKind {
        self.ends[direction].kind
    }

    /// Packets dropped outside the model since the last call.
    pub fn new_drops(&mut self) -> u64 {
        self.ends.iter_mut().for_each(OpenPort::count_missed);
        let drops: u64 = self.ends.iter().map(|end| end.missed + end.refused + end.malformed).sum();
        drops - std::mem::replace(&mut self.reported_drops, drops)
    }

    pub fn stats(&mut self) -> LinkStats {
        self.ends.iter_mut().for_each(OpenPort::count_missed);
        let direction = |index: usize| {
            let direction: &Direction<Packet> = &self.directions[index];
            DirectionStats {
                counters: direction.counters(),
                backlog_bytes: direction.backlog_bytes(),
                conditions: direction.conditions().to_string(),
                lateness: self.lateness[index].summary(),
            }
        };
        let end = |index: usize| {
            let OpenPort { received, sent, missed, refused, malformed, .. } = self.ends[index];
            PortStats { received, sent, missed, refused, malformed }
        };
        LinkStats {
            id: self.id,
            name: self.name.clone(),
            at: monotonic(),
            down: [0, 1].map(|way: usize| self.directions[way].is_down()),
            directions: [direction(0), direction(1)],
            ends: [end(0), end(1)],
        }
    }

    pub fn report(&self) -> LinkReport {
        let mut lateness = self.lateness[0].clone();
        lateness.merge(&self.lateness[1]);
        let raised = |index: usize| {
            let conditions = self.directions[index].conditions();
            conditions.rate != plait_model_link::Rate::Unlimited
                && conditions.queue_bytes().is_some_and(|(_, raised)| raised)
        };
        LinkReport {
            id: self.id,
            name: self.name.clone(),
            lateness: lateness.summary(),
            queue_raised: [raised(0), raised(1)],
            fates: [0, 1].map(|way: usize| self.directions[way].journal().clone()),
        }
    }
}
