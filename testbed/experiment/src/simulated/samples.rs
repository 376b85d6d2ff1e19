//! Samples of links in virtual time.

use super::{State, lock};
use crate::world::{Batch, Deliver, Direction, LinkRow, Logger, LoggerSummary, WorldError};
use plait_simulator_world::{Side, World as Simulated};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Takes the links' counters at even instants.
pub(super) struct Sampler {
    every: Duration,
    next: Duration,
    deliver: Deliver,
    kept: u64,
}

/// The shortest time between samples. Choice: a microsecond, so that nought asks for no endless loop.
const LEAST: Duration = Duration::from_micros(1);

impl Sampler {
    pub fn new(every: Duration, now: Duration, deliver: Deliver) -> Self {
        Self { every: every.max(LEAST), next: now, deliver, kept: 0 }
    }

    /// Lets time pass until an instant, and takes the samples that are due before or at it.
    pub fn pass(&mut self, world: &mut Simulated, instant: Duration) {
        while self.next <= instant {
            world.run_until(self.next);
            let rows: Vec<LinkRow> = world.link_rows().into_iter().map(row).collect();
            self.kept += rows.len() as u64;
            (self.deliver)(Batch::Links(rows));
            self.next += self.every;
        }
    }
}

fn row(row: plait_simulator_world::LinkRow) -> LinkRow {
    LinkRow {
        at: row.at,
        link: row.link,
        direction: match row.side {
            Side::Forward => Direction::Forward,
            Side::Reverse => Direction::Reverse,
            Side::Both => Direction::Both,
        },
        packets: row.packets,
        bytes: row.bytes,
        lost: row.lost,
        queue_dropped: row.queue_dropped,
        marked: row.marked,
        queue_packets: row.queue_packets,
        queue_bytes: row.queue_bytes,
    }
}

/// The handle by which a run stops sampling.
pub(super) struct Samplers(pub Arc<Mutex<State>>);

impl Logger for Samplers {
    fn stop(self: Box<Self>) -> Result<LoggerSummary, WorldError> {
        let sampler = lock(&self.0).sampler.take();
        Ok(LoggerSummary { kept: sampler.map_or(0, |sampler| sampler.kept), missed: 0 })
    }
}

impl Drop for Samplers {
    fn drop(&mut self) {
        lock(&self.0).sampler = None;
    }
}
