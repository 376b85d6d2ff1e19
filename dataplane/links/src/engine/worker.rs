//! The thread that moves packets.

use super::agenda::Agenda;
use super::lead::Lead;
use super::link::{Link, Packet};
use super::taint::Taints;
use super::wait::Wait;
use super::{Calibration, LinkReport, LinkStats, TaintedSecond, answer};
use crate::clock::Clock;
use crate::frame;
use crate::lateness::Lateness;
use crate::port::PortKind;
use crate::sys::{Batch, Epoll, Waker, monotonic};
use plait_model_link::Conditions;
use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

/// What a worker is told to do, with where to send the answer.
#[derive(Debug)]
pub(crate) enum Command {
    Add(Box<Link>, Sender<io::Result<()>>),
    /// Gives the link back, so that another thread closes its ports: the kernel takes its time for that.
    Remove(u64, Sender<Option<Box<Link>>>),
    Set(u64, usize, Box<Conditions>, Sender<bool>),
    Down(u64, [bool; 2], Sender<bool>),
    Reset(u64, Sender<bool>),
    Stats(u64, Sender<Option<LinkStats>>),
    Report(Sender<WorkerReport>),
    Calibrated(Calibration),
    Stop,
}

/// What one worker has to say for the engine's report.
#[derive(Debug)]
pub(crate) struct WorkerReport {
    pub lateness: Lateness,
    pub links: Vec<LinkReport>,
    pub tainted: Vec<TaintedSecond>,
    pub missed: u64,
    pub refused: u64,
    pub clock_jumps: u64,
}

/// The number of the link that measures the engine itself. It stays out of reports.
pub(crate) const CALIBRATION_LINK: u64 = u64::MAX;

/// How often drops outside the model are looked for, and on how many links at a time.
const CHECK_EVERY: u64 = 20_000_000;
const CHECK_LINKS: usize = 8;

/// The token of the waker; all others are a slot and an end.
const WAKER: u64 = u64::MAX;

pub(crate) struct Worker {
    commands: Receiver<Command>,
    waker: Arc<Waker>,
    epoll: Epoll,
    wait: Wait,
    batch: Batch,
    clock: Clock,
    slots: Vec<Option<Box<Link>>>,
    by_id: HashMap<u64, usize>,
    agenda: Agenda,
    outbox: Vec<Packet>,
    passing: Vec<usize>,
    lead: Lead,
    lateness: Lateness,
    taints: Taints,
    next_check: u64,
    check_cursor: usize,
}

impl Worker {
    pub fn new(commands: Receiver<Command>, waker: Arc<Waker>) -> io::Result<Self> {
        let epoll = Epoll::new()?;
        epoll.add(waker.as_fd(), WAKER)?;
        let now = monotonic();
        Ok(Self {
            commands,
            waker,
            epoll,
            wait: Wait::new(now),
            batch: Batch::new(),
            clock: Clock::new(),
            slots: Vec::new(),
            by_id: HashMap::new(),
            agenda: Agenda::default(),
            outbox: Vec::new(),
            passing: Vec::new(),
            lead: Lead::default(),
            lateness: Lateness::new(),
            taints: Taints::new(now),
            next_check: now,
            check_cursor: 0,
        })
    }

    /// Moves packets until told to stop.
    pub fn run(mut self) {
        loop {
            self.deliver();
            let due = self.agenda.next();
            let (agenda, slots) = (&self.agenda, &self.slots);
            let ready = self.wait.wait(&mut self.epoll, due, || {
                if let Some((slot, way)) = agenda.first().map(|index| (index / 2, index % 2))
                    && let Some(link) = &slots[slot]
                {
                    link.ends[1 - way].rehearse();
                }
            });
            for index in 0..ready {
                let token = self.epoll.token(index);
                if token == WAKER {
                    self.waker.clear();
                    if !self.obey() {
                        return;
                    }
                    // Tokens of this round may belong to links that are gone by now.
                    break;
                }
                self.deliver();
                self.receive((token / 2) as usize, (token % 2) as usize);
            }
            self.look_for_drops();
        }
    }

    /// Fetches what has come to one end of a link.
    fn receive(&mut self, slot: usize, end: usize) {
        let Some(link) = self.slots[slot].as_mut() else { return };
        let count = match link.ends[end].receive(&mut self.batch) {
            Ok(count) => count,
            Err(error) => {
                tracing::warn!(link = link.name, end, %error, "the device of a link is gone");
                self.epoll.remove(link.ends[end].fd.as_fd());
                return;
            }
        };
        let now = monotonic();
        let direction = &mut link.directions[end];
        let look_for_ecn = direction.marks();
        let mut bytes = 0;
        for index in 0..count {
            let packet = self.batch.packet(index);
            bytes += packet.len() as u64;
            let (stamp, tag) = self.batch.details(index);
            let Some(info) = frame::describe(packet, look_for_ecn) else {
                link.ends[end].malformed += 1;
                continue;
            };
            match tag {
                Some(tag) => {
                    let tagged = frame::with_tag(packet, tag);
                    if let Some(info) = frame::describe(&tagged, look_for_ecn) {
                        direction.arrive(self.clock.arrival(stamp, now), info, tagged);
                    }
                }
                None if direction.passes(info) => self.passing.push(index),
                None => direction.arrive(self.clock.arrival(stamp, now), info, packet.into()),
            }
        }
        if !self.passing.is_empty() {
            link.ends[1 - end].send(self.passing.iter().map(|index| self.batch.packet(*index)));
            self.passing.clear();
        }
        self.wait.count(count, bytes);
        self.note(slot, end);
    }

    /// Sends all that is due.
    fn deliver(&mut self) {
        /// Packets sent before the clock is read again.
        const AT_ONCE: usize = 64;
        let mut now = monotonic();
        while let Some(index) = self.agenda.take(now) {
            let (slot, way) = (index / 2, index % 2);
            let Some(link) = self.slots[slot].as_mut() else { continue };
            let horizon = now + self.lead.of(link.source_kind(way), link.sends[way]);
            while self.outbox.len() < AT_ONCE {
                let Some(mut departure) = link.directions[way].depart(horizon) else { break };
                if departure.mark {
                    frame::mark(&mut departure.payload);
                }
                if let Some(choice) = departure.corrupt {
                    frame::flip(&mut departure.payload, choice);
                }
                // A packet that never waited is as late as it was fetched late, which no calibration can help.
                let late = horizon - departure.at;
                link.lateness[way].add(late);
                if link.id != CALIBRATION_LINK {
                    self.lateness.add(late);
                    self.taints.left(&mut link.tally, now, link.id, late);
                }
                self.outbox.push(departure.payload);
            }
            let alone = self.outbox.len() == 1 && link.ends[1 - way].kind == PortKind::Packet;
            if !self.outbox.is_empty() {
                link.ends[1 - way].send(self.outbox.iter().map(|packet| &packet[..]));
                self.outbox.clear();
            }
            let begun = std::mem::replace(&mut now, monotonic());
            if alone {
                link.sends[way].note(now - begun);
            }
            self.note(slot, way);
        }
    }

    /// Notes when a direction is next due.
    fn note(&mut self, slot: usize, way: usize) {
        let due = self.slots[slot].as_ref().and_then(|link| {
            let lead = self.lead.of(link.source_kind(way), link.sends[way]);
            link.directions[way].next_event().map(|next| next.saturating_sub(lead))
        });
        self.agenda.note(slot * 2 + way, due);
    }

    fn look_for_drops(&mut self) {
        let now = monotonic();
        if now < self.next_check || self.slots.is_empty() {
            return;
        }
        self.next_check = now + CHECK_EVERY;
        for _ in 0..CHECK_LINKS.min(self.slots.len()) {
            self.check_cursor = (self.check_cursor + 1) % self.slots.len();
            if let Some(link) = self.slots[self.check_cursor].as_mut() {
                let drops = link.new_drops();
                self.taints.dropped(now, link.id, drops);
            }
        }
    }

    /// Does what it is told; false means stop.
    fn obey(&mut self) -> bool {
        while let Ok(command) = self.commands.try_recv() {
            match command {
                Command::Add(link, reply) => answer(reply, self.add(link)),
                Command::Remove(id, reply) => answer(reply, self.remove(id)),
                Command::Set(id, way, conditions, reply) => {
                    self.deliver();
                    let now = monotonic();
                    let done = self.with(id, |link| link.directions[way].set(*conditions, now));
                    answer(reply, done);
                }
                Command::Down(id, down, reply) => answer(reply, self.with(id, |link| link.set_down(down))),
                Command::Reset(id, reply) => {
                    let now = monotonic();
                    answer(reply, self.with(id, |link| link.reset(now)));
                }
                Command::Stats(id, reply) => {
                    let stats =
                        self.by_id.get(&id).and_then(|slot| self.slots[*slot].as_mut()).map(|l| l.stats());
                    answer(reply, stats);
                }
                Command::Report(reply) => answer(reply, self.report()),
                Command::Calibrated(constants) => {
                    self.lead.calibrate(constants);
                    for slot in 0..self.slots.len() {
                        self.note(slot, 0);
                        self.note(slot, 1);
                    }
                }
                Command::Stop => return false,
            }
        }
        true
    }

    fn add(&mut self, link: Box<Link>) -> io::Result<()> {
        let slot = self.slots.iter().position(Option::is_none).unwrap_or(self.slots.len());
        for (end, port) in link.ends.iter().enumerate() {
            self.epoll.add(port.fd.as_fd(), (slot * 2 + end) as u64)?;
        }
        self.by_id.insert(link.id, slot);
        if slot == self.slots.len() {
            self.slots.push(Some(link));
        } else {
            self.slots[slot] = Some(link);
        }
        Ok(())
    }

    fn remove(&mut self, id: u64) -> Option<Box<Link>> {
        let slot = self.by_id.remove(&id)?;
        let link = self.slots[slot].take()?;
        self.taints.close(&link.tally, link.id);
        link.ends.iter().for_each(|end| self.epoll.remove(end.fd.as_fd()));
        self.agenda.note(slot * 2, None);
        self.agenda.note(slot * 2 + 1, None);
        Some(link)
    }

    /// Does something to a link, if there is one, and notes when it is next due.
    fn with(&mut self, id: u64, act: impl FnOnce(&mut Link)) -> bool {
        let Some(slot) = self.by_id.get(&id).copied() else { return false };
        if let Some(link) = self.slots[slot].as_mut() {
            act(link);
        }
        self.note(slot, 0);
        self.note(slot, 1);
        true
    }

    fn report(&mut self) -> WorkerReport {
        let now = monotonic();
        let (mut missed, mut refused) = (0, 0);
        let mut links = Vec::new();
        for link in self.slots.iter_mut().flatten().filter(|link| link.id != CALIBRATION_LINK) {
            let drops = link.new_drops();
            self.taints.dropped(now, link.id, drops);
            missed += link.ends.iter().map(|end| end.missed).sum::<u64>();
            refused += link.ends.iter().map(|end| end.refused).sum::<u64>();
            links.push(link.report());
        }
        let name = |id: u64| {
            let link = self.by_id.get(&id).and_then(|slot| self.slots[*slot].as_ref());
            link.map_or_else(|| format!("link {id}, removed"), |link| link.name.clone())
        };
        let running = self.slots.iter().flatten().map(|link| (link.id, &link.tally));
        let tainted = self.taints.list(running, name);
        let clock_jumps = self.clock.jumps;
        WorkerReport { lateness: self.lateness.clone(), links, tainted, missed, refused, clock_jumps }
    }
}
