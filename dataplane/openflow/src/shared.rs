//! What workers share: slots, who is in them, and where switches are.

use crate::brain::Brain;
use crate::left::Left;
use crate::link::{Link, Slot};
use crate::poller::Poller;
use crate::queue::Queue;
use crate::room::Room;
use crate::standing::Standing;
use crate::statistics::Counters;
use crate::stream::{End, Stream};
use crate::{Config, Partition};
use plait_control_openflow::{Design, Session, dynamic_partition, fewest};
use plait_model_wire::openflow::Message;
use std::collections::HashMap;
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// What workers share.
pub struct Shared {
    pub config: Config,
    pub brain: Brain,
    pub slots: Box<[Slot]>,
    /// Of each slot, whether something may wait in its socket. Choice: side by side, since every round asks of all: a cache
    /// line tells it of 64.
    ready: Box<[AtomicBool]>,
    pub poller: Poller,
    pub counters: Box<[Counters]>,
    /// Changes whenever somebody comes, goes, or changes workers.
    pub generation: AtomicU64,
    /// Requests that one worker has read and any may take, in the design that has that.
    pub queue: Mutex<Queue>,
    /// When a worker found nothing to do the last time, in nanoseconds.
    pub rested: AtomicU64,
    /// Those that sleep.
    pub sleepers: Mutex<Vec<(usize, Thread)>>,
    /// Whether the first worker is one of them, so that another polls in its place.
    pub first_sleeps: AtomicBool,
    /// Answers that somebody waits for, by slot and transaction.
    pub waiting: Mutex<HashMap<(u32, u32), Sender<Message>>>,
    /// Deletions that switches are owed, until they are kept for them.
    pub left: Left,
    /// What it is beside other controllers. Whoever is taken in is so while it is held, so that nobody is forgotten when it
    /// changes.
    standing: Mutex<Standing>,
    began: Instant,
    members: RwLock<Arc<Vec<u32>>>,
    routes: RwLock<HashMap<u64, u32>>,
    free: Mutex<Vec<u32>>,
    measured: Mutex<Measured>,
    /// Bytes that wait for switches to read them.
    unread: Room,
    /// Ports that are known of switches that are connected.
    ports: Room,
    /// Connections that were refused for want of room.
    pub refused: AtomicU64,
    /// Those that were since their datapath is another's, which is there, or for which it is kept.
    pub claims: AtomicU64,
}

/// Rates, for the dynamic partition.
struct Measured {
    at: Duration,
    requests: Vec<u64>,
}

impl Shared {
    pub fn new(config: Config, brain: Brain, poller: Poller) -> Self {
        let slots: Box<[Slot]> = (0..config.most_connections).map(|_| Slot::default()).collect();
        Self {
            counters: (0..config.workers).map(|_| Counters::default()).collect(),
            generation: AtomicU64::new(1),
            queue: Mutex::new(Queue::new(config.pools)),
            rested: AtomicU64::default(),
            sleepers: Mutex::default(),
            first_sleeps: AtomicBool::new(false),
            waiting: Mutex::default(),
            left: Left::default(),
            standing: Mutex::default(),
            began: Instant::now(),
            members: RwLock::default(),
            routes: RwLock::default(),
            free: Mutex::new((0..slots.len() as u32).rev().collect()),
            measured: Mutex::new(Measured { at: Duration::ZERO, requests: vec![0; slots.len()] }),
            unread: Room::new(config.most_unread, config.most_connections),
            ports: Room::new(config.most_ports, config.most_connections),
            refused: AtomicU64::new(0),
            claims: AtomicU64::new(0),
            config,
            brain,
            ready: slots.iter().map(|_| AtomicBool::new(false)).collect(),
            slots,
            poller,
        }
    }

    /// Two workers' own, with room for so many switches.
    #[cfg(test)]
    pub fn of_two_workers(most_connections: usize) -> Self {
        let config = Config { workers: 2, most_connections, ..Config::default() };
        let runtime = plait_control_runtime::Runtime::new(Default::default());
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        Self::new(config, Brain::new(runtime, None).unwrap(), Poller::new(listener).unwrap())
    }

    /// Time since the beginning.
    pub fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Slots that are taken, in the order in which they were.
    pub fn members(&self) -> Arc<Vec<u32>> {
        self.members.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What it is beside other controllers.
    pub fn standing(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The slot of each switch that is known.
    pub fn routes(&self) -> RwLockReadGuard<'_, HashMap<u64, u32>> {
        self.routes.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether something may wait in a slot's socket.
    #[inline]
    pub fn is_ready(&self, slot: u32) -> bool {
        self.ready[slot as usize].load(Ordering::Acquire)
    }

    /// Says whether something may. It is taken back before a read, and set by whoever polls, so that what arrives after a
    /// read is never forgotten.
    #[inline]
    pub fn set_ready(&self, slot: u32, is_ready: bool) {
        self.ready[slot as usize].store(is_ready, Ordering::Release);
    }

    /// Takes a connection in. False if there is no room.
    pub fn admit(&self, stream: TcpStream, address: String) -> bool {
        let descriptor = stream.as_raw_fd() as usize;
        self.seat(address, descriptor, |slot| {
            self.poller.add(&stream, slot).ok()?;
            let Some(security) = &self.config.security else { return Some(Stream::Plain(stream)) };
            security.accept(stream).map_err(|why| tracing::warn!(%why, "a switch was refused")).ok()
        })
    }

    /// Takes a connection in that is no socket. False if there is no room.
    pub fn admit_end(&self, end: Box<dyn End>, address: String) -> bool {
        self.seat(address, self.members().len(), |_| Some(Stream::Memory(end)))
    }

    fn seat(&self, address: String, descriptor: usize, open: impl FnOnce(u32) -> Option<Stream>) -> bool {
        let Some(slot) = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop() else {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return false;
        };
        let standing = self.standing();
        let config = self.config.connection.clone();
        let session = Session::new(config, address, self.now(), standing.candidacy);
        let place = &self.slots[slot as usize];
        place.requests.store(0, Ordering::Relaxed);
        place.ended.store(false, Ordering::Release);
        place.favour.store(0, Ordering::Relaxed);
        place.since.store(self.now().as_nanos() as u64, Ordering::Relaxed);
        let Some(stream) = open(slot) else {
            self.free.lock().unwrap_or_else(PoisonError::into_inner).push(slot);
            return false;
        };
        let mut link = Link::new(stream, session);
        link.flush();
        *place.hold() = Some(link);
        self.set_ready(slot, true);
        self.change(|members| members.push(slot));
        drop(standing);
        let worker = match self.config.partition {
            Partition::Descriptor => descriptor % self.config.workers,
            Partition::Even => {
                let members = self.members();
                let others = members.iter().filter(|member| **member != slot);
                let assigned =
                    others.map(|member| self.slots[*member as usize].worker.load(Ordering::Relaxed));
                fewest(assigned, self.config.workers)
            }
        };
        place.worker.store(worker, Ordering::Relaxed);
        self.generation.fetch_add(1, Ordering::Release);
        true
    }

    /// Counts what waits for a switch to read it, and ends it where that is too much.
    pub fn weigh(&self, link: &mut Link) {
        if self.unread.weigh(&mut link.unread, link.session.connection.waiting()) {
            link.session.connection.give_up();
            self.unread.leave(&mut link.unread);
        }
    }

    /// Counts the ports that are known of a switch, and ends it where these are too many. Whether it was ended.
    pub fn count_ports(&self, link: &mut Link) -> bool {
        let is_crowded = link.ending.is_none() && self.ports.weigh(&mut link.ports, link.session.ports());
        if is_crowded {
            link.session.refuse_ports();
            self.ports.leave(&mut link.ports);
        }
        is_crowded
    }

    /// Counts answers that were written, by when what they answer can have come.
    pub fn count_answers(&self, link: &mut Link, counters: &Counters) {
        let Some(bound) = self.config.latency_bound else { return };
        // What is encrypted and not sent is not written.
        if link.stream.holds_output() {
            return;
        }
        while let Some(came) = link.answered() {
            let waited = self.now().saturating_sub(came);
            Counters::add(&counters.answers, 1);
            Counters::add(&counters.waited, waited.as_nanos() as u64);
            Counters::add(&counters.late, u64::from(waited > bound));
        }
    }

    /// Nothing is kept any more of one that was taken out.
    pub fn forget(&self, link: &mut Link) {
        self.unread.leave(&mut link.unread);
        self.ports.leave(&mut link.ports);
    }

    /// Bytes that wait for switches to read them, as they were counted last.
    pub fn unread(&self) -> usize {
        self.unread.held()
    }

    /// Nobody is in a slot any more: its link was taken out.
    pub fn leave(&self, slot: u32) {
        self.change(|members| members.retain(|member| *member != slot));
        self.generation.fetch_add(1, Ordering::Release);
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).retain(|(of, _), _| *of != slot);
    }

    /// Gives a slot to whoever comes next, once all have been told that its switch is gone: who comes is not to be told what
    /// was meant for that one.
    pub fn free(&self, slot: u32) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(slot);
        self.poller.made_room();
    }

    /// A switch is known, in this slot.
    pub fn found(&self, datapath: u64, slot: u32) {
        if let Some(weight) = self.config.weights.get(&datapath) {
            self.slots[slot as usize].favour.store(weight.saturating_sub(1), Ordering::Relaxed);
            self.generation.fetch_add(1, Ordering::Release);
        }
        self.routes.write().unwrap_or_else(PoisonError::into_inner).insert(datapath, slot);
    }

    /// Whether a switch is known in this slot.
    pub fn is_found(&self, datapath: u64, slot: u32) -> bool {
        self.routes().get(&datapath) == Some(&slot)
    }

    /// Forgets where a switch is, if it is in this slot.
    pub fn lost(&self, datapath: u64, slot: u32) -> bool {
        let mut routes = self.routes.write().unwrap_or_else(PoisonError::into_inner);
        let own = routes.get(&datapath) == Some(&slot);
        if own {
            routes.remove(&datapath);
        }
        own
    }

    /// Measures rates and shares switches anew, if it is time.
    pub fn repartition(&self) {
        let now = self.now();
        let Ok(mut measured) = self.measured.try_lock() else { return };
        let elapsed = now.saturating_sub(measured.at);
        if self.config.design != Design::DynamicPartition || elapsed < self.config.repartition {
            return;
        }
        measured.at = now;
        let members = self.members();
        let mut rate = |slot: &u32| {
            let (slot, requests) =
                (*slot as usize, self.slots[*slot as usize].requests.load(Ordering::Relaxed));
            let before = std::mem::replace(&mut measured.requests[slot], requests);
            requests.saturating_sub(before) as f64 / elapsed.as_secs_f64()
        };
        let rates: Vec<f64> = members.iter().map(&mut rate).collect();
        for (slot, worker) in members.iter().zip(dynamic_partition(&rates, self.config.workers)) {
            self.slots[*slot as usize].worker.store(worker, Ordering::Relaxed);
        }
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// Wakes one that sleeps: this one if it is given, any otherwise.
    pub fn wake(&self, whom: Option<usize>) {
        let mut sleepers = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
        let found = match whom {
            Some(worker) => sleepers.iter().position(|(sleeper, _)| *sleeper == worker),
            None => sleepers.len().checked_sub(1),
        };
        if let Some(found) = found {
            sleepers.swap_remove(found).1.unpark();
        }
    }

    fn change(&self, change: impl FnOnce(&mut Vec<u32>)) {
        let mut members = self.members.write().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut members));
    }
}
