//! A worker: rounds over switches, requests into batches, batches through applications, commands out.
//!
//! ```text
//! one round:  for each switch in turn, unless it is idle or another worker holds it:
//!                 read a little, cut it into messages, add requests to the batch
//!                 as many as the threshold says ─► process the batch
//!             those that were held, once more, unless that is switched off
//!             poll, if nobody else does
//!             nothing waited anywhere ─► process what there is; nothing at all to do ─► sleep
//! ```
//!
//! [`reading`] is what it does with a switch, [`meeting`] with one that says who it is; [`resting`] when it works at all.
//!
//! Source: sections 4.2.2.4 and 4.2.3 of the thesis.

mod meeting;
mod reading;
mod resting;

pub use meeting::owe;

use crate::brain::Outcome;
use crate::outbox::Outbox;
use crate::queue::Queue;
use crate::shared::Shared;
use crate::spin::Spin;
use crate::statistics::Counters;
use crate::{Idleness, config::Config};
use plait_control_openflow::{Batch, Design, LatencyBound, News, PacketIns, Probes, Rounds};
use plait_control_runtime::{Content, Origin, View, ViewId};
use rustix::event::epoll::Event;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

/// How long nobody looks for silent switches, at most.
const HOUSEKEEPING: Duration = Duration::from_millis(200);
/// How long a worker rests that has given way. Choice: short, since the others may have more to do than they can do meanwhile.
const REST: Duration = Duration::from_millis(5);
/// How long a connection that ends may take to read what it was told last.
const GRACE: Duration = Duration::from_secs(1);
/// Batches whose room may be in use at once; more are let go.
const POOL: usize = 64;

pub struct Worker<'a> {
    shared: &'a Shared,
    counters: &'a Counters,
    number: usize,
    members: Arc<Vec<u32>>,
    generation: u64,
    rounds: Rounds,
    batch: Batch,
    requests: PacketIns,
    probes: PacketIns,
    /// What was taken out of the shared queue, while it is joined.
    parts: Vec<PacketIns>,
    /// Batches whose room may be free again.
    pool: Vec<Arc<PacketIns>>,
    outbox: Outbox,
    outcome: Outcome,
    buffer: Vec<u8>,
    news: Vec<(u32, Option<u64>, News)>,
    /// Switches whose connections end, and for which deletions are left that they may not have done.
    owed: BTreeSet<u64>,
    /// Slots that nobody is in any more, of which that is still to be told.
    left: Vec<u32>,
    looked: Duration,
    /// When it had nothing to do the last time.
    idle: Duration,
    /// Since when it measures, and the processor time that it had used by then.
    window: (Duration, Duration),
    /// How long the last batch took.
    took: Duration,
    bound: Option<LatencyBound>,
    /// Whether much was read of a switch at once in this round.
    is_deep: bool,
    round: u64,
    events: Vec<Event>,
    spin: Spin,
    /// Whether it was woken by another worker, which works besides it.
    helps: bool,
    views: (ViewId, ViewId),
}

impl<'a> Worker<'a> {
    pub fn new(shared: &'a Shared, number: usize) -> Self {
        let Config { batching, most_batch, read, .. } = shared.config;
        Self {
            shared,
            counters: &shared.counters[number],
            number,
            members: Arc::default(),
            generation: 0,
            rounds: Rounds::new(Design::RoundRobin, &[], &[], 0, 1),
            batch: Batch::new(batching, most_batch),
            requests: PacketIns::default(),
            probes: PacketIns::default(),
            parts: Vec::new(),
            pool: Vec::new(),
            outbox: Outbox::new(shared.slots.len()),
            outcome: Outcome::default(),
            buffer: vec![0; read.max(64)],
            news: Vec::new(),
            owed: BTreeSet::new(),
            left: Vec::new(),
            looked: Duration::ZERO,
            idle: Duration::ZERO,
            window: Default::default(),
            took: Duration::ZERO,
            bound: shared.config.latency_bound.map(LatencyBound::new),
            is_deep: false,
            round: 0,
            events: Vec::with_capacity(1024),
            spin: Spin::default(),
            helps: false,
            views: (PacketIns::id(), Probes::id()),
        }
    }

    /// Works until it is told to stop.
    pub fn run(mut self) {
        while !self.shared.brain.is_over() {
            self.enter();
            let found = self.round();
            self.count_rounds();
            self.look_out();
            self.keep_house();
            self.offer_processor();
            if self.is_short() {
                Counters::add(&self.counters.yields, 1);
                self.process(false);
                // It may be the only one that does anything.
                self.wake_others();
                std::thread::sleep(REST);
                self.wakes();
                continue;
            }
            if found {
                continue;
            }
            let light = !self.requests.is_empty();
            self.process(false);
            if light {
                self.batch.light_load();
                continue;
            }
            self.finish();
            if !self.anything_waits() {
                self.sleep();
                self.wakes();
            }
        }
    }

    /// Takes note of who came and who went.
    fn enter(&mut self) {
        let generation = self.shared.generation.load(Ordering::Acquire);
        if generation == self.generation {
            return;
        }
        self.generation = generation;
        self.members = self.shared.members();
        let weight = |slot: &u32| 1 + self.shared.slots[*slot as usize].favour.load(Ordering::Relaxed);
        let weights: Vec<u32> = self.members.iter().map(weight).collect();
        let worker = |slot: &u32| self.shared.slots[*slot as usize].worker.load(Ordering::Relaxed);
        let assigned: Vec<usize> = self.members.iter().map(worker).collect();
        let Config { design, workers, revisits, .. } = self.shared.config;
        let rounds = Rounds::new(design, &weights, &assigned, self.number, workers);
        self.rounds = rounds.revisiting(revisits);
    }

    /// A round. True if something was there, or others hold what is.
    fn round(&mut self) -> bool {
        let shared = self.shared;
        let (members, blind) = (self.members.clone(), shared.config.idleness == Idleness::Unknown);
        let idle = |place: usize| !blind && !shared.is_ready(members[place]);
        let mut queued = false;
        self.is_deep = false;
        if let Some(bound) = &mut self.bound {
            bound.begin(shared.now(), shared.config.read);
        }
        let (reads_of_a_poll, mut reads) = (self.reads_of_a_poll(), 0);
        while let Some(place) = self.rounds.next(idle) {
            if reads_of_a_poll.is_some_and(|each| reads > 0 && reads % each == 0) {
                self.ask();
            }
            reads += 1;
            let began = shared.now();
            let tried = self.visit(members[place]);
            Counters::add(&self.counters.reading, shared.now().saturating_sub(began).as_nanos() as u64);
            self.rounds.went(tried);
            self.pass_news();
            if shared.config.design == Design::SharedQueue {
                queued |= self.enqueue();
                // Switches are slowed down, and memory is bounded: who reads helps to process.
                while self.is_crowded() {
                    self.dequeue();
                }
            }
            let full = self.requests.len() >= self.batch.threshold();
            let due = self.bound.as_ref().is_some_and(|bound| bound.is_due(shared.now()));
            if full
                || (due && !self.requests.is_empty())
                || (shared.config.batch_per_read && !self.requests.is_empty())
            {
                self.process(full || shared.config.batch_per_read);
            }
        }
        if let Some(bound) = &mut self.bound {
            bound.end(shared.now());
        }
        if shared.config.design == Design::SharedQueue {
            queued |= self.dequeue();
        }
        self.rounds.end() || queued
    }

    /// Has applications process what was read. `full` says that there is as much as the threshold asks for.
    fn process(&mut self, full: bool) {
        let (requests, began) = (self.requests.len(), self.shared.now());
        let before = full.then(processor_time);
        let origin = self.bound.as_mut().and_then(|bound| bound.hand_over(began));
        if !self.probes.is_empty() {
            Counters::add(&self.counters.probes, self.probes.len() as u64);
            let content = Content::new(Probes(std::mem::take(&mut self.probes)));
            self.hand_over((self.views.1.clone(), content), origin);
        }
        if requests > 0 {
            let fresh = self.room();
            let batch = Arc::new(std::mem::replace(&mut self.requests, fresh));
            if self.shared.config.pools && self.pool.len() < POOL {
                self.pool.push(batch.clone());
            }
            self.hand_over((self.views.0.clone(), Content::shared(batch)), origin);
        }
        self.finish();
        if requests > 0 {
            self.took = self.shared.now().saturating_sub(began);
            Counters::add(&self.counters.batches, 1);
            Counters::add(&self.counters.processing, self.took.as_nanos() as u64);
            if let Some(before) = before {
                Counters::add(&self.counters.full_batches, 1);
                self.batch.processed(requests, processor_time().saturating_sub(before));
            }
            self.counters.threshold.store(self.batch.threshold() as u64, Ordering::Relaxed);
            self.shared.repartition();
        }
    }

    fn hand_over(&mut self, batch: (ViewId, Content), origin: Option<Origin>) {
        let brain = &self.shared.brain;
        // As many batches wait as may: nothing more is read until some are worked off, and so switches are slowed down.
        while brain.batch(self.shared.now(), batch.clone(), origin, &mut self.outcome).is_err() {
            self.finish();
            std::thread::yield_now();
            if self.shared.brain.is_over() {
                return;
            }
        }
    }

    /// Runs what there is to run, and tells switches what comes of it.
    fn finish(&mut self) {
        let shared = self.shared;
        if shared.brain.due().is_some_and(|due| due <= shared.now()) {
            shared.brain.time(shared.now(), &mut self.outcome);
        }
        let (outbox, bound, counters) = (&mut self.outbox, &mut self.bound, self.counters);
        loop {
            shared.brain.work(
                || shared.now(),
                &mut self.outcome,
                |answers| {
                    let began = shared.now();
                    outbox.send(shared, answers, counters);
                    let now = shared.now();
                    Counters::add(&counters.writing, now.saturating_sub(began).as_nanos() as u64);
                    if let Some(bound) = bound {
                        let own = answers.iter().filter(|answer| !answer.is_held);
                        let origins = own.filter_map(|answer| answer.cause.origin.as_ref());
                        origins.for_each(|origin| bound.answered(now, origin));
                    }
                },
            );
            if !outbox.take_unsent().pass(shared, &mut self.outcome) {
                return;
            }
        }
    }

    /// Room for a batch: that of one which nobody has any more, if there is one.
    fn room(&mut self) -> PacketIns {
        for place in 0..self.pool.len() {
            // Last in, first out: what was used last is still in the cache.
            let place = self.pool.len() - 1 - place;
            if Arc::strong_count(&self.pool[place]) == 1
                && let Ok(mut free) = Arc::try_unwrap(self.pool.swap_remove(place))
            {
                free.clear();
                return free;
            }
        }
        PacketIns::default()
    }

    /// The design in which one worker reads, and all process: what was read goes to all.
    fn enqueue(&mut self) -> bool {
        if self.requests.is_empty() {
            return false;
        }
        let mut requests = std::mem::take(&mut self.requests);
        let waiting = self.bound.as_mut().and_then(LatencyBound::take);
        self.queue().push(&mut requests, waiting);
        self.requests = requests;
        self.shared.wake(None);
        true
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Choice: four batches for each worker, as large as the reader's are now, so that none is short of one where batches are alike,
    /// and what was read is still in a cache when it is processed.
    fn most_queued(&self) -> usize {
        self.batch.threshold().saturating_mul(4 * self.shared.config.workers)
    }

    /// Whether so much is queued, or since so long, that who reads is to help.
    fn is_crowded(&self) -> bool {
        let queue = self.queue();
        let bound = self.bound.as_ref().zip(queue.oldest());
        queue.len() >= self.most_queued()
            || bound.is_some_and(|(bound, came)| bound.is_behind(self.shared.now(), came))
    }

    fn dequeue(&mut self) -> bool {
        let most = self.batch.threshold();
        let mut parts = std::mem::take(&mut self.parts);
        let waiting = self.queue().take(most.saturating_sub(self.requests.len()), &mut parts);
        if let Some((bound, waiting)) = self.bound.as_mut().zip(waiting) {
            bound.joined(waiting);
        }
        if !parts.is_empty() {
            parts.iter_mut().for_each(|part| self.requests.append(part));
            self.queue().put_back(&mut parts);
        }
        self.parts = parts;
        let some = !self.requests.is_empty();
        let full = self.requests.len() >= most;
        self.process(full);
        some
    }

    /// Looks after switches that say nothing, and lets go of those that take no more: one worker's to do, now and then.
    fn keep_house(&mut self) {
        let now = self.shared.now();
        if self.number != 0 || now < self.looked + HOUSEKEEPING {
            return;
        }
        self.looked = now;
        for slot in self.members.clone().iter() {
            let place = &self.shared.slots[*slot as usize];
            let Ok(mut held) = place.link.try_lock() else { continue };
            let Some(link) = held.as_mut() else { continue };
            if place.untold.load(Ordering::Acquire) {
                continue;
            }
            if link.session.connection.poll_timeout().is_some_and(|due| due <= now) {
                link.session.connection.handle_timeout(now);
                self.hear(*slot, link);
                link.flush();
            }
            if link.has_ended_unheard() {
                self.hear(*slot, link);
            }
            if link.ending.is_some_and(|since| now > since + GRACE) {
                self.leave(*slot, held.take());
            }
        }
        self.pass_news();
    }

    fn count_rounds(&mut self) {
        let met = self.rounds.take_counters();
        Counters::add(&self.counters.rounds, met.rounds);
        Counters::add(&self.counters.skips, met.skips);
        Counters::add(&self.counters.revisits, met.revisits);
        Counters::add(&self.counters.missed, met.missed);
    }
}

/// What this thread has used of it.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
