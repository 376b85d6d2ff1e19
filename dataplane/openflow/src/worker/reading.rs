//! What a worker does with a switch whose turn it is, and with what it told.

use super::Worker;
use super::resting::DEEP;
use crate::link::{Link, Went};
use crate::statistics::Counters;
use plait_control_openflow::{News, PacketIn, Probes, Role, Tried};
use std::sync::atomic::Ordering;
use std::sync::{PoisonError, TryLockError};
use std::time::Duration;

/// Bytes that a switch has not read, beyond which its requests are not read either. Choice: a quarter of what may wait
/// before it is given up, so that a switch that is merely slow is slowed down. It is read again when it has room.
const UNREAD: usize = 1 << 18;

impl Worker<'_> {
    /// Tries a switch: what waits to be written is, and a little is read.
    pub(super) fn visit(&mut self, slot: u32) -> Tried {
        let place = &self.shared.slots[slot as usize];
        let mut held = match place.link.try_lock() {
            Ok(held) => held,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Tried::Locked,
        };
        // Before the read: what arrives after it is told once more.
        self.shared.set_ready(slot, false);
        let Some(link) = held.as_mut() else { return Tried::Empty };
        if link.flush() == Went::Ended || (link.ending.is_some() && link.is_flushed()) {
            return self.leave(slot, held.take());
        }
        if link.ending.is_some() || link.session.connection.waiting() > UNREAD {
            return Tried::Empty;
        }
        Counters::add(&self.counters.reads, 1);
        let most = self.bound.as_ref().map_or(self.buffer.len(), |bound| bound.read().min(self.buffer.len()));
        let began = if self.bound.is_some() { self.shared.now() } else { Duration::ZERO };
        let count = match link.read(&mut self.buffer[..most]) {
            Went::Bytes(count) => {
                // Who may read no more than little reads much when he reads all that he may.
                self.is_deep |= count >= DEEP.min(most);
                count
            }
            // A handshake's answer, for one.
            Went::Later if link.stream.push().is_err() => return self.leave(slot, held.take()),
            Went::Later => {
                if !link.stream.is_watched() {
                    self.shared.set_ready(slot, true);
                }
                return Tried::Empty;
            }
            Went::Ended => return self.leave(slot, held.take()),
        };
        let may_hold = link.stream.may_hold_input() || !link.stream.is_watched();
        let is_emptied = count < most && !may_hold;
        if !is_emptied || place.ended.load(Ordering::Acquire) {
            self.shared.set_ready(slot, true);
        }
        if let Some(bound) = &mut self.bound {
            bound.took(count, Duration::from_nanos(place.since.load(Ordering::Relaxed)));
            if is_emptied {
                // What comes next has come since then.
                place.since.store(began.as_nanos() as u64, Ordering::Relaxed);
            }
        }
        // A master's packets are not a slave's, whatever the switch thinks of roles.
        let datapath = link.session.datapath().filter(|_| link.session.role() != Role::Slave);
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
    pub(super) fn hear(&mut self, slot: u32, link: &mut Link) {
        while let Some(news) = link.session.poll_news() {
            if let News::Ended(reason) = &news {
                tracing::debug!(%reason, address = link.session.address(), "a connection ends");
                link.ending = Some(self.shared.now());
                self.shared.set_ready(slot, true);
            }
            self.news.push((slot, link.session.datapath(), news));
        }
    }

    /// A connection has ended; its lock is held until nobody can find it.
    pub(super) fn leave(&mut self, slot: u32, link: Option<Link>) -> Tried {
        if let Some(link) = link {
            let ended = News::Ended(plait_control_openflow::connection::Reason::Gone);
            if link.ending.is_none() {
                self.news.push((slot, link.session.datapath(), ended));
            }
            self.shared.leave(slot);
            drop(link);
            self.shared.poller.made_room();
        }
        Tried::Empty
    }

    /// Passes on what switches told, outside of all locks.
    pub(super) fn pass_news(&mut self) {
        if self.news.is_empty() {
            return;
        }
        let shared = self.shared;
        for (slot, datapath, news) in std::mem::take(&mut self.news) {
            let Some(datapath) = datapath else { continue };
            match &news {
                News::Connected(info) => {
                    tracing::info!(datapath = %format_args!("{datapath:016x}"), address = info.address, "a switch");
                    let (mut before, now) = (None, shared.now());
                    shared.brain.news_if(now, datapath, news, &mut self.outcome, || {
                        before = shared.found(datapath, slot);
                        true
                    });
                    if let Some(before) = before.filter(|before| *before != slot) {
                        self.replace(before);
                    }
                    continue;
                }
                News::Ended(_) => {
                    let is_last = || shared.lost(datapath, slot);
                    shared.brain.news_if(shared.now(), datapath, news, &mut self.outcome, is_last);
                    continue;
                }
                News::Answer(message) => {
                    let waiting = &shared.waiting;
                    let key = (slot, transaction(message));
                    let waiter = waiting.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
                    if waiter.is_some_and(|waiter| waiter.send(message.clone()).is_ok()) {
                        continue;
                    }
                }
                News::Role(said) => {
                    let datapath_said = format_args!("{datapath:016x}");
                    match said {
                        Ok(role) => tracing::info!(datapath = %datapath_said, %role, "a role"),
                        Err(why) => tracing::warn!(datapath = %datapath_said, %why, "a role was not granted"),
                    }
                    if let Some(waits) = &shared.standing().waits {
                        // Whoever has waited long enough is gone.
                        let _ = waits.send((datapath, said.clone()));
                    }
                    continue;
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
        self.shared.set_ready(slot, true);
    }
}

fn transaction(message: &plait_model_wire::openflow::Message) -> u32 {
    use plait_model_wire::openflow::Message;
    match message {
        Message::V10(message) => message.xid,
        Message::V13(message) => message.xid,
    }
}
