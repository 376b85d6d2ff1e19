//! A worker: rounds over switches, requests into batches, batches through applications, commands out.
//!
//! ```text
//! one round:  for each switch in turn, unless it is idle or another worker holds it:
//!                 read a little, cut it into messages, add requests to the batch
//!                 as many as the threshold says ─► process the batch
//!             those that were held, once more
//!             poll, if nobody else does
//!             nothing waited anywhere ─► process what there is; nothing at all to do ─► sleep
//! ```
//!
//! Source: sections 4.2.2.4 and 4.2.3 of the thesis.

use crate::brain::Outcome;
use crate::link::{Link, Went};
use crate::outbox::Outbox;
use crate::queue::Queue;
use crate::shared::Shared;
use crate::spin::Spin;
use crate::statistics::Counters;
use crate::{Idleness, config::Config};
use plait_control_openflow::{Batch, Design, News, PacketIn, PacketIns, Probes, Rounds, Tried};
use plait_control_runtime::{Content, View, ViewId};
use rustix::event::epoll::Event;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

/// How long nobody looks for silent switches, at most.
const HOUSEKEEPING: Duration = Duration::from_millis(200);
/// How long a worker sleeps that another one is to wake. Choice: it looks by itself as often as this.
const NAP: Duration = Duration::from_millis(100);
/// How long a worker rests that has given way. Choice: short, since the others may have more to do than they can do meanwhile.
const REST: Duration = Duration::from_millis(5);
/// How long a worker is busy before it wakes another one. Choice: about as long as a batch; with less, every burst would wake
/// all, who would then take processors from those that make the load and from each other.
const BUSY: Duration = Duration::from_millis(1);
/// Over how long a worker measures how much of a processor it has. Choice: some time slices of the kernel's.
const WINDOW: Duration = Duration::from_millis(10);
/// A worker that has less than this part of a processor gives way even when there is more to do than can be done. Choice: a
/// fifth. Who shares a processor with one that makes the load has half of it, and uses what the other leaves; with
/// several, each loses more by waiting for the locks of those that do not run.
const SHORT: u32 = 5;
/// Bytes that a switch has not read, beyond which its requests are not read either. Choice: a quarter of what may wait
/// before it is given up, so that a switch that is merely slow is slowed down. It is read again when it has room.
const UNREAD: usize = 1 << 18;
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
    /// Batches whose room may be free again.
    pool: Vec<Arc<PacketIns>>,
    outbox: Outbox,
    outcome: Outcome,
    buffer: Vec<u8>,
    news: Vec<(u32, Option<u64>, News)>,
    looked: Duration,
    /// When it had nothing to do the last time.
    idle: Duration,
    /// Since when it measures, and the processor time that it had used by then.
    window: (Duration, Duration),
    /// How long the last batch took.
    took: Duration,
    round: u64,
    events: Vec<Event>,
    spin: Spin,
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
            pool: Vec::new(),
            outbox: Outbox::new(shared.slots.len()),
            outcome: Outcome::default(),
            buffer: vec![0; read.max(64)],
            news: Vec::new(),
            looked: Duration::ZERO,
            idle: Duration::ZERO,
            window: Default::default(),
            took: Duration::ZERO,
            round: 0,
            events: Vec::with_capacity(1024),
            spin: Spin::default(),
            views: (PacketIns::id(), Probes::id()),
        }
    }

    /// Works until it is told to stop.
    pub fn run(mut self) {
        while !self.shared.stop.load(Ordering::Acquire) {
            self.enter();
            let found = self.round();
            self.count_rounds();
            self.look_out();
            self.keep_house();
            if self.is_short() {
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
        let Config { design, workers, .. } = self.shared.config;
        self.rounds = Rounds::new(design, &weights, &assigned, self.number, workers);
    }

    /// A round. True if something was there, or others hold what is.
    fn round(&mut self) -> bool {
        let shared = self.shared;
        let (members, blind) = (self.members.clone(), shared.config.idleness == Idleness::Unknown);
        let idle =
            |place: usize| !blind && !shared.slots[members[place] as usize].ready.load(Ordering::Acquire);
        let mut queued = false;
        while let Some(place) = self.rounds.next(idle) {
            let began = shared.now();
            let tried = self.visit(members[place]);
            Counters::add(&self.counters.reading, shared.now().saturating_sub(began).as_nanos() as u64);
            self.rounds.went(tried);
            self.pass_news();
            if shared.config.design == Design::SharedQueue {
                queued |= self.enqueue();
                // Switches are slowed down, and memory is bounded: who reads helps to process.
                while self.queue().is_full() {
                    self.dequeue();
                }
            }
            let full = self.requests.len() >= self.batch.threshold();
            if full || (shared.config.batch_per_read && !self.requests.is_empty()) {
                self.process(true);
            }
        }
        if shared.config.design == Design::SharedQueue {
            queued |= self.dequeue();
        }
        self.rounds.end() || queued
    }

    /// Tries a switch: what waits to be written is, and a little is read.
    fn visit(&mut self, slot: u32) -> Tried {
        let place = &self.shared.slots[slot as usize];
        let mut held = match place.link.try_lock() {
            Ok(held) => held,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Tried::Locked,
        };
        // Before the read: what arrives after it is told once more.
        place.ready.store(false, Ordering::Release);
        let Some(link) = held.as_mut() else { return Tried::Empty };
        if link.flush() == Went::Ended || (link.ending.is_some() && link.is_flushed()) {
            return self.leave(slot, held.take());
        }
        if link.ending.is_some() || link.session.connection.waiting() > UNREAD {
            return Tried::Empty;
        }
        Counters::add(&self.counters.reads, 1);
        let count = match link.read(&mut self.buffer) {
            Went::Bytes(count) => count,
            // A handshake's answer, for one.
            Went::Later if link.stream.push().is_err() => return self.leave(slot, held.take()),
            Went::Later => {
                if !link.stream.is_watched() {
                    place.ready.store(true, Ordering::Release);
                }
                return Tried::Empty;
            }
            Went::Ended => return self.leave(slot, held.take()),
        };
        let may_hold = link.stream.may_hold_input() || !link.stream.is_watched();
        if count == self.buffer.len() || may_hold || place.ended.load(Ordering::Acquire) {
            place.ready.store(true, Ordering::Release);
        }
        let datapath = link.session.datapath();
        let before = self.requests.len() + self.probes.len();
        let (requests, probes, counters) = (&mut self.requests, &mut self.probes, self.counters);
        link.session.connection.handle_bytes(self.shared.now(), &self.buffer[..count], |hot| {
            let Some(datapath) = datapath else { return };
            match PacketIn::of(datapath, &hot) {
                Ok(packet) if Probes::includes(&packet) => probes.push(&packet),
                Ok(packet) => requests.push(&packet),
                Err(_) => Counters::add(&counters.malformed, 1),
            }
        });
        let taken = (requests.len() + probes.len() - before) as u64;
        Counters::add(&counters.requests, taken);
        place.requests.fetch_add(taken, Ordering::Relaxed);
        self.hear(slot, link);
        if !link.is_flushed() {
            Counters::add(&self.counters.writes, 1);
            link.flush();
        }
        Tried::Read
    }

    /// Takes what a session has to tell.
    fn hear(&mut self, slot: u32, link: &mut Link) {
        while let Some(news) = link.session.poll_news() {
            if let News::Ended(reason) = &news {
                tracing::debug!(%reason, address = link.session.address(), "a connection ends");
                link.ending = Some(self.shared.now());
                self.shared.slots[slot as usize].ready.store(true, Ordering::Release);
            }
            self.news.push((slot, link.session.datapath(), news));
        }
    }

    /// A connection has ended; its lock is held until nobody can find it.
    fn leave(&mut self, slot: u32, link: Option<Link>) -> Tried {
        if let Some(link) = link {
            let ended = News::Ended(plait_control_openflow::connection::Reason::Gone);
            if link.ending.is_none() {
                self.news.push((slot, link.session.datapath(), ended));
            }
            self.shared.leave(slot);
        }
        Tried::Empty
    }

    /// Passes on what switches told, outside of all locks.
    fn pass_news(&mut self) {
        if self.news.is_empty() {
            return;
        }
        let shared = self.shared;
        for (slot, datapath, news) in std::mem::take(&mut self.news) {
            let Some(datapath) = datapath else { continue };
            match &news {
                News::Connected(info) => {
                    tracing::info!(datapath = %format_args!("{datapath:016x}"), address = info.address, "a switch");
                    if let Some(before) = shared.found(datapath, slot).filter(|before| *before != slot) {
                        self.replace(before);
                    }
                }
                News::Ended(_) if !shared.lost(datapath, slot) => continue,
                News::Answer(message) => {
                    let waiting = &shared.waiting;
                    let key = (slot, transaction(message));
                    let waiter = waiting.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
                    if waiter.is_some_and(|waiter| waiter.send(message.clone()).is_ok()) {
                        continue;
                    }
                }
                _ => {}
            }
            shared.brain.news(shared.now(), datapath, news, &mut self.outcome);
        }
        self.finish();
    }

    /// Ends a connection that a newer one of the same switch has replaced.
    fn replace(&self, slot: u32) {
        let place = &self.shared.slots[slot as usize];
        let mut held = place.link.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(link) = held.as_mut() {
            link.session.connection.close();
            link.ending = Some(self.shared.now());
        }
        place.ready.store(true, Ordering::Release);
    }

    /// Has applications process what was read. `full` says that there is as much as the threshold asks for.
    fn process(&mut self, full: bool) {
        let (requests, began) = (self.requests.len(), self.shared.now());
        if !self.probes.is_empty() {
            Counters::add(&self.counters.probes, self.probes.len() as u64);
            let content = Content::new(Probes(std::mem::take(&mut self.probes)));
            self.hand_over(self.views.1.clone(), content);
        }
        if requests > 0 {
            let fresh = self.room();
            let batch = Arc::new(std::mem::replace(&mut self.requests, fresh));
            if self.shared.config.pools && self.pool.len() < POOL {
                self.pool.push(batch.clone());
            }
            self.hand_over(self.views.0.clone(), Content::shared(batch));
        }
        self.finish();
        if requests > 0 {
            self.took = self.shared.now().saturating_sub(began);
            Counters::add(&self.counters.batches, 1);
            Counters::add(&self.counters.processing, self.took.as_nanos() as u64);
            if full {
                Counters::add(&self.counters.full_batches, 1);
                self.batch.processed(requests, self.took);
            }
            self.counters.threshold.store(self.batch.threshold() as u64, Ordering::Relaxed);
            self.shared.repartition();
        }
    }

    fn hand_over(&mut self, view: ViewId, content: Content) {
        let brain = &self.shared.brain;
        // As many batches wait as may: nothing more is read until some are worked off, and so switches are slowed down.
        while brain.batch(self.shared.now(), view.clone(), content.clone(), &mut self.outcome).is_err() {
            self.finish();
            std::thread::yield_now();
            if self.shared.stop.load(Ordering::Acquire) {
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
        let (outbox, counters) = (&mut self.outbox, self.counters);
        shared.brain.work(
            || shared.now(),
            &mut self.outcome,
            |commands| {
                let began = shared.now();
                outbox.send(shared, commands, counters);
                Counters::add(&counters.writing, shared.now().saturating_sub(began).as_nanos() as u64);
            },
        );
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
        self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner).push(&mut self.requests);
        self.shared.wake(None);
        true
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn dequeue(&mut self) -> bool {
        let most = self.batch.threshold();
        self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner).take(most, &mut self.requests);
        let some = !self.requests.is_empty();
        let full = self.requests.len() >= most;
        self.process(full);
        some
    }

    /// Asks where something waits, if that is this worker's to do.
    fn look_out(&mut self) {
        self.round += 1;
        let polls = match self.shared.config.idleness {
            Idleness::AllPoll => true,
            Idleness::OnePoller(rounds) => {
                self.number == 0 && self.round.is_multiple_of(u64::from(rounds.max(1)))
            }
            // New connections are found by polling alone.
            Idleness::Unknown => self.number == 0,
        };
        if !polls {
            return;
        }
        let found = self.shared.poller.poll(self.shared, Duration::ZERO, &mut self.events);
        Counters::add(&self.counters.polls, 1);
        // More than one has work, and this one has too much.
        if self.shared.config.scale && found.is_some_and(|found| found > 1) && self.is_busy() {
            self.wake_others();
        }
    }

    /// Whether each worker has switches of its own.
    fn is_partitioned(&self) -> bool {
        matches!(self.shared.config.design, Design::StaticPartition | Design::DynamicPartition)
    }

    /// Whether it is time for another worker.
    fn is_busy(&self) -> bool {
        self.is_partitioned() || self.took > BUSY || self.shared.now() > self.idle + BUSY
    }

    fn wakes(&mut self) {
        self.idle = self.shared.now();
        self.window = (self.idle, used());
    }

    /// Whether others want the processor that it works on, and all would be done without it: whoever makes the load is then in
    /// time. The first worker never gives way.
    fn is_short(&mut self) -> bool {
        let now = self.shared.now();
        let wanted = now.saturating_sub(self.window.0);
        if wanted < WINDOW {
            return false;
        }
        let (_, before) = std::mem::replace(&mut self.window, (now, used()));
        let had = self.window.1.saturating_sub(before);
        let rested = Duration::from_nanos(self.shared.rested.load(Ordering::Relaxed));
        let enough = if now.saturating_sub(rested) < WINDOW { wanted * 4 / 5 } else { wanted / SHORT };
        self.number != 0 && self.shared.config.scale && !self.is_partitioned() && had < enough
    }

    fn wake_others(&self) {
        let shared = self.shared;
        match shared.config.design {
            Design::StaticPartition | Design::DynamicPartition => {
                for slot in self.members.iter() {
                    let place = &shared.slots[*slot as usize];
                    let worker = place.worker.load(Ordering::Relaxed);
                    if worker != self.number && place.ready.load(Ordering::Acquire) {
                        shared.wake(Some(worker));
                    }
                }
            }
            Design::RoundRobin | Design::SharedQueue => shared.wake(None),
        }
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
            if link.session.connection.poll_timeout().is_some_and(|due| due <= now) {
                link.session.connection.handle_timeout(now);
                self.hear(*slot, link);
                link.flush();
            }
            if link.ending.is_some_and(|since| now > since + GRACE) {
                self.leave(*slot, held.take());
            }
        }
        self.pass_news();
    }

    fn anything_waits(&self) -> bool {
        let ready = |slot: &u32| self.shared.slots[*slot as usize].ready.load(Ordering::Acquire);
        match self.shared.config.design {
            Design::RoundRobin => self.members.iter().any(ready),
            Design::SharedQueue if self.number == 0 => self.members.iter().any(ready),
            Design::SharedQueue => !self.queue().is_empty(),
            Design::StaticPartition | Design::DynamicPartition => self.members.iter().any(|slot| {
                let own = self.shared.slots[*slot as usize].worker.load(Ordering::Relaxed) == self.number;
                own && ready(slot)
            }),
        }
    }

    /// Waits for work: one worker in the poll, the others until they are woken.
    fn sleep(&mut self) {
        Counters::add(&self.counters.sleeps, 1);
        let now = self.shared.now();
        self.shared.rested.store(now.as_nanos() as u64, Ordering::Relaxed);
        let due = self.shared.brain.due().map_or(HOUSEKEEPING, |due| due.saturating_sub(now));
        let wait = due.min(HOUSEKEEPING);
        if self.shared.config.idleness == Idleness::Unknown {
            // Without a map there is nothing to wait for: that is what it costs.
            return std::thread::yield_now();
        }
        let shared = self.shared;
        // Who does not read has no use for what a poll tells: it would keep it from the one that does.
        let reads = shared.config.design != Design::SharedQueue || self.number == 0;
        let poll = |wait| shared.poller.poll(shared, wait, &mut self.events);
        let asked = reads.then(|| self.spin.wait(wait, || shared.now(), poll)).flatten();
        match asked {
            Some(found) => {
                Counters::add(&self.counters.polls, 1);
                let partitioned = self.is_partitioned();
                // Who slept is not late, but may soon be if what it does takes long.
                if (found > 1 && self.took > BUSY) || (found > 0 && partitioned) {
                    self.wake_others();
                }
            }
            None if !self.shared.config.scale => std::thread::yield_now(),
            None => {
                let sleeper = (self.number, std::thread::current());
                self.shared.sleepers.lock().unwrap_or_else(PoisonError::into_inner).push(sleeper);
                // Whoever saw that there is work before this worker was among the sleepers has woken nobody.
                if !self.anything_waits() {
                    std::thread::park_timeout(NAP);
                }
                let mut sleepers = self.shared.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
                sleepers.retain(|(sleeper, _)| *sleeper != self.number);
            }
        }
    }

    fn count_rounds(&mut self) {
        let met = self.rounds.take_counters();
        Counters::add(&self.counters.rounds, met.rounds);
        Counters::add(&self.counters.skips, met.skips);
        Counters::add(&self.counters.revisits, met.revisits);
    }
}

/// Processor time that this thread has used.
fn used() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn transaction(message: &plait_model_wire::openflow::Message) -> u32 {
    use plait_model_wire::openflow::Message;
    match message {
        Message::V10(message) => message.xid,
        Message::V13(message) => message.xid,
    }
}
