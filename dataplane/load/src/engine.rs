//! What moves bytes: a thread for some of the switches each, and epoll.
//!
//! ```text
//!  connect ─ hello, features ─ every station told ──────┤all threads├─ requests ─ wait for the last answers ─ Measured
//! ```

use crate::latency::Latency;
use crate::link::Link;
use crate::load::{Load, LoadError};
use crate::member::{Member, read};
use crate::pace::Pace;
use crate::request::{Template, datapath};
use crate::result::{Host, Measured, SwitchMeasured};
use crate::source::{Answer, Offer, Source};
use crate::switch::Switch;
use plait_dataplane_processors::Ticks;
use rustix::event::{Timespec, epoll};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::{Barrier, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// Bytes read at once.
const READ: usize = 256 * 1024;
/// How often all switches are looked at while stations are told.
const SWEEP: u64 = 10_000_000;
/// The longest that epoll waits.
const LONGEST_WAIT: u64 = 10_000_000;
/// What a load whose requests are due at times of their own asks the scheduler for. Choice: before a controller on the same
/// processors, whoever's it is. A load that waits for one is late itself, and fills the connections of greedy switches later
/// than the controller could serve them, which looks like unfairness.
const NICENESS: i32 = -10;

/// Runs a load to its end.
///
/// # Errors
/// [`LoadError`]. A controller that dies later is no error, but in what is measured.
pub fn run(load: &Load) -> Result<Measured, LoadError> {
    if load.offers.is_empty() || load.versions.is_empty() || load.threads == 0 {
        return Err(LoadError::Asked("a load needs a switch, a version and a thread at least"));
    }
    if load.offers.len() >= usize::from(u16::MAX) {
        return Err(LoadError::Asked("a process has at most 65534 switches: start several"));
    }
    if load.stations < 2 || load.stations % 2 == 1 || load.ports < 2 || load.ports % 2 == 1 {
        return Err(LoadError::Asked("stations and ports are even numbers of 2 at least"));
    }
    if Duration::from_secs(load.settle) >= load.duration {
        return Err(LoadError::Asked("a load lasts for longer than what shares leave out of it"));
    }
    let threads = load.threads.min(load.offers.len());
    let shared = Shared {
        ready: Barrier::new(threads),
        begun: OnceLock::new(),
        refusal: Mutex::new(None),
        epoch: Instant::now(),
    };
    let mut measured = thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|index| {
                scope.spawn({
                    let shared = &shared;
                    move || worker(load, index, threads, shared)
                })
            })
            .collect();
        let mut all = Measured::default();
        for worker in running {
            match worker.join() {
                Ok(measured) => all.merge(measured),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    });
    if let Some(refusal) = shared.refusal.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(refusal);
    }
    if let Some((_, ticks, end)) = shared.begun.get() {
        let end = end.get().copied().unwrap_or_else(Ticks::now);
        let (steal, busy) = end.since(*ticks).unwrap_or_default();
        let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
        measured.hosts.push(Host { name, steal, busy });
    }
    measured.switches.sort_by_key(|switch| switch.datapath);
    Ok(measured)
}

struct Shared {
    ready: Barrier,
    begun: OnceLock<(Instant, Ticks, OnceLock<Ticks>)>,
    refusal: Mutex<Option<LoadError>>,
    epoch: Instant,
}

impl Shared {
    fn refuse(&self, why: LoadError) {
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
    }

    fn is_refused(&self) -> bool {
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

fn worker(load: &Load, index: usize, threads: usize, shared: &Shared) -> Measured {
    let worker = Worker::connect(load, index, threads).and_then(|mut worker| {
        worker.warm_up(load, shared.epoch)?;
        Ok(worker)
    });
    let worker = worker.map_err(|why| shared.refuse(why)).ok();
    shared.ready.wait();
    let Some(mut worker) = worker.filter(|_| !shared.is_refused()) else { return Measured::default() };
    let (start, _, end) = shared.begun.get_or_init(|| {
        let ahead = load.start.and_then(|start| start.duration_since(SystemTime::now()).ok());
        let start = Instant::now() + ahead.unwrap_or(Duration::from_millis(1));
        (start, Ticks::now(), OnceLock::new())
    });
    worker.offer(load, *start, end);
    worker.measured(load)
}

struct Worker {
    members: Vec<Member>,
    epoll: rustix::fd::OwnedFd,
    buffer: Vec<u8>,
    events: Vec<epoll::Event>,
    latency: Latency,
    probe_latency: Latency,
    lag: Latency,
}

impl Worker {
    fn connect(load: &Load, index: usize, threads: usize) -> Result<Self, LoadError> {
        let until = Instant::now() + load.warm_up;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(io::Error::from)?;
        let mut members = Vec::new();
        let probe = load.probe.map(Offer::Open);
        let duration = load.duration.as_nanos() as u64;
        for (number, offer) in load.offers.iter().chain(&probe).enumerate().skip(index).step_by(threads) {
            let is_probe = number == load.offers.len();
            let version = load.versions[number % load.versions.len()];
            let place = number as u16;
            let template = Template::new(version, load.process, place, load.ports, load.buffered)
                .map_err(|_| LoadError::Asked("a packet-in is too long"))?;
            let (rate, schedule) = match offer {
                Offer::Open(rate) if is_probe => (*rate, &[][..]),
                Offer::Open(rate) => (*rate, &load.schedule[..]),
                Offer::Window(_) | Offer::Flood => (0.0, &[][..]),
            };
            // Choice: phases by the golden ratio, so that switches of one rate are due one after the other.
            let phase = (number as f64 * 0.618_033_988_749_895).fract();
            let pace = Pace::new(rate, phase, schedule);
            let patience = load.patience.as_nanos() as u64;
            let source = Source::new(template, *offer, pace, load.stations, duration, patience);
            let datapath = datapath(load.process, place);
            let limit = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            let controller = load.controller;
            let link = Link::connect(controller, load.security.as_ref(), limit, source.room())
                .map_err(|error| LoadError::Connect { switch: number, controller, error })?;
            let data = epoll::EventData::new_u64(members.len() as u64);
            epoll::add(&epoll, &link, data, epoll::EventFlags::IN).map_err(io::Error::from)?;
            members.push(Member {
                switch: Switch::new(version, datapath, load.ports),
                source,
                link: Some(link),
                is_probe,
                place: members.len() as u64,
                tried: 0,
                written: 0,
                is_blocked: false,
                blocked_at: None,
                wanted: None,
                is_queued: true,
                disconnected: None,
            });
        }
        // Refused only where there is no such setting: timers are then 50 us late.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        if load.offers.iter().any(|offer| matches!(offer, Offer::Open(_))) {
            // Of this thread alone, which ends with the load. Refused without privilege: what it is late with is measured.
            let _ = rustix::process::nice(NICENESS);
        }
        Ok(Self {
            members,
            epoll,
            buffer: vec![0; READ],
            events: Vec::with_capacity(256),
            latency: Latency::default(),
            probe_latency: Latency::default(),
            lag: Latency::default(),
        })
    }

    /// Until every switch has told every station, or time is up: it is no error if only some have.
    fn warm_up(&mut self, load: &Load, epoch: Instant) -> Result<(), LoadError> {
        let now = |epoch: Instant| epoch.elapsed().as_nanos() as u64;
        let mut swept = 0;
        loop {
            let time = now(epoch);
            // All of them now and then, whoever was heard at once.
            let is_sweep = time >= swept + SWEEP || swept == 0;
            if !is_sweep {
                for place in 0..self.events.len() {
                    let place = self.events[place].data.u64() as usize;
                    self.members[place].tell(time, &self.epoll);
                }
            } else {
                swept = time.max(1);
                for member in &mut self.members {
                    member.again(load, time, &self.epoll);
                    member.tell(time, &self.epoll);
                }
            }
            let is_done = |member: &Member| member.source.is_told();
            let told = |member: &Member| member.switch.is_ready() && member.source.is_told();
            if is_sweep && self.members.iter().all(is_done) || time > load.warm_up.as_nanos() as u64 {
                let first = &self.members[0];
                if self.members.iter().any(told) {
                    break;
                }
                let why = first.disconnected.clone().map_or_else(
                    || {
                        if first.switch.is_ready() { "waits for answers" } else { "waits for its handshake" }
                            .to_owned()
                    },
                    |why| format!("was disconnected: {why}"),
                );
                return Err(LoadError::NotReady { controller: load.controller, limit: load.warm_up, why });
            }
            self.wait(LONGEST_WAIT)?;
            for place in 0..self.events.len() {
                let member = self.events[place].data.u64() as usize;
                let member = &mut self.members[member];
                let source = &mut member.source;
                read(
                    &mut member.link,
                    &mut member.switch,
                    &mut member.disconnected,
                    &mut self.buffer,
                    |named| source.hear_told(named),
                );
            }
        }
        Ok(())
    }

    fn offer(&mut self, load: &Load, start: Instant, end: &OnceLock<Ticks>) {
        thread::sleep(start.saturating_duration_since(Instant::now()));
        let duration = load.duration.as_nanos() as u64;
        let linger = duration + load.linger.as_nanos() as u64;
        let time = || start.elapsed().as_nanos() as u64;
        let mut due = BinaryHeap::new();
        for (place, member) in self.members.iter_mut().enumerate() {
            member.source.begin();
            due.push(Reverse((0, place)));
        }
        loop {
            let mut now = time();
            if now >= duration {
                end.get_or_init(Ticks::now);
                self.members.iter_mut().for_each(|member| member.note_wanted(duration));
                let waits = |member: &Member| {
                    let waits = member.source.waiting() > 0 || member.source.next_due().is_some();
                    member.link.is_some() && waits
                };
                if now >= linger || !self.members.iter().any(waits) {
                    return;
                }
            }
            // Once each at most, so that answers are read however much is due.
            for _ in 0..due.len() {
                let Some(Reverse((_, place))) = due.peek().copied().filter(|Reverse((at, _))| *at <= now)
                else {
                    break;
                };
                due.pop();
                self.members[place].is_queued = false;
                self.push(place, now, &mut due);
                now = time();
            }
            let until = due.peek().map_or(LONGEST_WAIT, |Reverse((at, _))| at.saturating_sub(now));
            if self.wait(until.min(LONGEST_WAIT)).is_err() {
                return;
            }
            for event in 0..self.events.len() {
                let place = self.events[event].data.u64() as usize;
                let was_blocked = self.members[place].is_blocked;
                self.hear(place, time());
                match (self.members[place].source.is_open(), was_blocked) {
                    // What is due is in the heap already.
                    (true, false) => {}
                    // A turn like everybody's: with one at once, switches whose connections are full would have two.
                    (true, true) => self.queue(place, time(), &mut due),
                    (false, true) => self.push(place, time(), &mut due),
                    (false, false) => self.make(place, time()),
                }
            }
        }
    }

    /// Makes what is due, and says when more will be.
    fn push(&mut self, place: usize, now: u64, due: &mut BinaryHeap<Reverse<(u64, usize)>>) {
        self.make(place, now);
        self.queue(place, now, due);
    }

    /// Says when more is due, unless the connection takes nothing.
    fn queue(&mut self, place: usize, now: u64, due: &mut BinaryHeap<Reverse<(u64, usize)>>) {
        let member = &mut self.members[place];
        if member.link.is_some()
            && !member.is_blocked
            && !member.is_queued
            && let Some(next) = member.source.next_due()
        {
            member.is_queued = true;
            // Behind all that waited meanwhile, however late this one is: a load is to have no favourites.
            due.push(Reverse((next.max(now), place)));
        }
    }

    fn make(&mut self, place: usize, now: u64) {
        let member = &mut self.members[place];
        if member.link.is_none() {
            return;
        }
        member.source.sweep(now);
        let lag = &mut self.lag;
        let is_probe = member.is_probe;
        if !member.is_blocked {
            member.source.emit(now, member.switch.output(), |late| {
                if !is_probe {
                    lag.record(late);
                }
            });
        }
        member.write_at(now, &self.epoll);
    }

    fn hear(&mut self, place: usize, now: u64) {
        let member = &mut self.members[place];
        let latency = if member.is_probe { &mut self.probe_latency } else { &mut self.latency };
        let (source, mut answers) = (&mut member.source, 0);
        read(&mut member.link, &mut member.switch, &mut member.disconnected, &mut self.buffer, |named| {
            if let Answer::Request(due) = source.answer(named) {
                latency.record(now.saturating_sub(due));
                answers += 1;
            }
        });
        if answers > 0 {
            source.count(now, answers);
        }
        member.write_at(now, &self.epoll);
    }

    fn wait(&mut self, nanoseconds: u64) -> io::Result<()> {
        self.events.clear();
        let timeout = Timespec { tv_sec: 0, tv_nsec: nanoseconds.min(999_999_999) as _ };
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut self.events), Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(why) => Err(why.into()),
        }
    }

    fn measured(self, load: &Load) -> Measured {
        let duration = load.duration.as_nanos() as u64;
        let switches = self.members.into_iter().map(|member| {
            let (rate, offered) = member.source.offered(duration);
            let seconds = duration.div_ceil(1_000_000_000);
            let counts = &member.source.counts;
            let offered_by_second = match rate {
                None => counts.sent_by_second.clone(),
                Some(_) => (0..seconds)
                    .map(|second| {
                        let until = |second: u64| member.source.offered(second * 1_000_000_000).1;
                        (until(second + 1) - until(second)) as u32
                    })
                    .collect(),
            };
            SwitchMeasured {
                datapath: member.switch.datapath(),
                version: member.switch.version().number(),
                is_probe: member.is_probe,
                rate,
                offered,
                wanted: member.wanted.unwrap_or(offered),
                sent: counts.sent,
                answered: counts.answered,
                late: counts.late,
                unanswered: offered.saturating_sub(counts.answered + counts.late),
                more: counts.more,
                unasked: counts.unasked,
                untold: counts.untold,
                errors: member.switch.errors(),
                refused: member.switch.refused(),
                offered_by_second,
                sent_by_second: counts.sent_by_second.clone(),
                answered_by_second: counts.answered_by_second.clone(),
                disconnected: member.disconnected,
            }
        });
        Measured {
            duration,
            settle: load.settle,
            switches: switches.collect(),
            latency: self.latency,
            lag: self.lag,
            probe_latency: self.probe_latency,
            hosts: Vec::new(),
        }
    }
}
