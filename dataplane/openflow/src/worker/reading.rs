//! What a worker does with a switch whose turn it is, and with what it told.

use super::resting::DEEP;
use super::{Worker, owe};
use crate::link::{Link, Went};
use crate::statistics::Counters;
use plait_control_openflow::{News, Probes, SwitchEvent, Switchboard, Token, Tried};
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
            Err(TryLockError::WouldBlock) => {
                let is_read = place.is_read.load(Ordering::Relaxed);
                Counters::add(&self.counters.skips_of_readers, u64::from(is_read));
                return Tried::Locked;
            }
        };
        if place.untold.load(Ordering::Acquire) {
            return Tried::Locked;
        }
        place.is_read.store(true, Ordering::Relaxed);
        let tried = self.read(slot, &mut held);
        place.is_read.store(false, Ordering::Relaxed);
        tried
    }

    /// The same of a switch that this worker holds, and nobody is still to tell of.
    fn read(&mut self, slot: u32, held: &mut Option<Link>) -> Tried {
        let place = &self.shared.slots[slot as usize];
        // Before the read: what arrives after it is told once more.
        self.shared.set_ready(slot, false);
        let Some(link) = held.as_mut() else { return Tried::Empty };
        if link.flush() == Went::Ended || (link.ending.is_some() && link.is_flushed()) {
            return self.leave(slot, held.take());
        }
        self.shared.weigh(link);
        self.shared.count_answers(link, self.counters);
        if link.has_ended_unheard() {
            // It may never say anything more.
            self.hear(slot, link);
        }
        if link.ending.is_some() || link.session.connection.waiting() > UNREAD {
            return Tried::Empty;
        }
        Counters::add(&self.counters.reads, 1);
        let most = self.bound.as_ref().map_or(self.buffer.len(), |bound| bound.turn().min(self.buffer.len()));
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
        if count == most || may_hold || place.ended.load(Ordering::Acquire) {
            self.shared.set_ready(slot, true);
        }
        let before = self.requests.len() + self.probes.len();
        let (requests, probes, counters) = (&mut self.requests, &mut self.probes, self.counters);
        link.session.handle_bytes(self.shared.now(), &self.buffer[..count], |read| match read {
            Ok(packet) if Probes::includes(&packet) => probes.push(&packet),
            Ok(packet) => requests.push(&packet),
            Err(_) => Counters::add(&counters.malformed, 1),
        });
        let taken = (requests.len() + probes.len() - before) as u64;
        Counters::add(&counters.requests, taken);
        place.requests.fetch_add(taken, Ordering::Relaxed);
        if let Some(bound) = &mut self.bound {
            // What comes next has come since then. What it has beyond its turn waits by its own fault from then on.
            let since = place.since.swap(began.as_nanos() as u64, Ordering::Relaxed);
            bound.took(count, (taken > 0).then_some(Duration::from_nanos(since)));
        }
        self.hear(slot, link);
        if !link.is_flushed() {
            Counters::add(&self.counters.writes, 1);
            link.flush();
            self.shared.weigh(link);
        }
        Tried::Read
    }

    /// Takes what a session has to tell.
    pub(super) fn hear(&mut self, slot: u32, link: &mut Link) {
        loop {
            while let Some(news) = link.session.poll_news() {
                if let News::Ended(reason) = &news {
                    tracing::debug!(%reason, address = link.session.address(), "a connection ends");
                    link.ending = Some(self.shared.now());
                    self.shared.set_ready(slot, true);
                    self.take_owed(link);
                }
                if let News::Event(SwitchEvent::Refused(why)) = &news {
                    Counters::add(&self.counters.rejected, 1);
                    tracing::debug!(%why, address = link.session.address(), "a switch refuses something");
                }
                self.shared.slots[slot as usize].untold.store(true, Ordering::Release);
                self.news.push((slot, link.session.datapath(), news));
            }
            // That it is ended is news.
            if !self.shared.count_ports(link) {
                return;
            }
        }
    }

    /// A connection has ended; its lock is held until nobody can find it. Its slot is free when that is passed on.
    pub(super) fn leave(&mut self, slot: u32, link: Option<Link>) -> Tried {
        if let Some(mut link) = link {
            self.shared.forget(&mut link);
            let datapath = link.session.datapath();
            self.take_owed(&mut link);
            let unanswered = link.session.unanswered();
            self.news.extend(unanswered.map(|number| (slot, datapath, News::Unanswered(number))));
            let ended = News::Ended(plait_control_openflow::connection::Reason::Gone);
            if link.ending.is_none() {
                self.news.push((slot, datapath, ended));
            }
            self.shared.leave(slot);
            self.left.push(slot);
        }
        Tried::Empty
    }

    /// Leaves what a switch may not have done whose connection ends, while nobody else can look at it.
    fn take_owed(&mut self, link: &mut Link) {
        let owed = link.session.take_owed();
        if let Some(datapath) = link.session.datapath().filter(|_| !owed.is_empty()) {
            self.shared.left.add(datapath, owed);
            self.owed.insert(datapath);
        }
    }

    /// Passes on what switches told, outside of all locks.
    pub(super) fn pass_news(&mut self) {
        let (shared, all) = (self.shared, std::mem::take(&mut self.news));
        if all.is_empty() && self.left.is_empty() {
            return;
        }
        let told: Vec<u32> = all.iter().map(|(slot, ..)| *slot).collect();
        let (mut passed, mut is_early) = (Vec::new(), false);
        for (slot, datapath, news) in all {
            let Some(datapath) = datapath else { continue };
            match &news {
                News::Connected(_) => {
                    is_early |= self.meet(slot, datapath, news);
                    continue;
                }
                News::Ended(_) => {
                    let is_last = |switchboard: &mut Switchboard, _| {
                        shared.lost(datapath, slot).then(|| {
                            switchboard.went(datapath, shared.now());
                            news
                        })
                    };
                    shared.brain.news_if(shared.now(), datapath, &mut self.outcome, is_last);
                    continue;
                }
                News::Passed(number) | News::Unanswered(number) => {
                    let is_answered = matches!(news, News::Passed(_));
                    passed.push((Token { switch: datapath, number: *number }, is_answered));
                    continue;
                }
                // Of a connection that has no say for its datapath, or none any more.
                _ if !shared.is_found(datapath, slot) => continue,
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
        // What a switch sent before it was known is answered before anybody reads what it sends next.
        if is_early {
            self.process(false);
        }
        for slot in told {
            shared.slots[slot as usize].untold.store(false, Ordering::Release);
        }
        self.left.drain(..).for_each(|slot| shared.free(slot));
        if !passed.is_empty() {
            shared.brain.passed(shared.now(), passed, &mut self.outcome);
        }
        owe(shared, std::mem::take(&mut self.owed), &mut self.outcome);
        self.finish();
    }
}

fn transaction(message: &plait_model_wire::openflow::Message) -> u32 {
    use plait_model_wire::openflow::Message;
    match message {
        Message::V10(message) => message.xid,
        Message::V13(message) => message.xid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::brain::Answer;
    use crate::outbox::Outbox;
    use crate::scripted::Scripted;
    use crate::shared::Shared;
    use plait_control_openflow::{Command, Commands};
    use plait_control_runtime::Cause;
    use std::sync::Arc;

    /// Reads until the switch is known, which is still to be told.
    fn meet(worker: &mut Worker<'_>, slot: u32) {
        let is_known = |(_, _, news): &(u32, Option<u64>, News)| matches!(news, News::Connected(_));
        for _ in 0..2 {
            assert_eq!(worker.visit(slot), Tried::Read);
        }
        assert!(worker.news.iter().any(is_known), "{:?}", worker.news);
    }

    #[test]
    fn nobody_reads_a_switch_of_which_another_is_still_to_tell() {
        let shared = Shared::of_two_workers(1);
        let (mut one, mut two) = (Worker::new(&shared, 0), Worker::new(&shared, 1));
        assert!(shared.admit_end(Box::new(Scripted::that_ends(7)), "memory".to_owned()));
        meet(&mut one, 0);
        assert_eq!((two.visit(0), two.requests.len()), (Tried::Locked, 0));
        assert!(shared.is_ready(0) && shared.routes().is_empty());
        one.pass_news();
        assert_eq!(shared.routes().get(&7), Some(&0));
        assert_eq!((two.visit(0), two.requests.len()), (Tried::Read, 1));
    }

    #[test]
    fn a_switch_that_another_reads_is_told_from_one_that_it_writes_to() {
        let shared = Shared::of_two_workers(1);
        let mut worker = Worker::new(&shared, 0);
        assert!(shared.admit_end(Box::new(Scripted::new(7)), "memory".to_owned()));
        let held = shared.slots[0].hold();
        for (is_read, count) in [(true, 1), (false, 1)] {
            shared.slots[0].is_read.store(is_read, Ordering::Relaxed);
            assert_eq!(worker.visit(0), Tried::Locked);
            assert_eq!(worker.counters.read().skips_of_readers, count);
        }
        drop(held);
        assert_eq!(worker.visit(0), Tried::Read);
        assert!(!shared.slots[0].is_read.load(Ordering::Relaxed));
    }

    #[test]
    fn a_slot_is_nobodys_until_it_is_told_that_its_switch_is_gone() {
        let shared = Shared::of_two_workers(1);
        let mut worker = Worker::new(&shared, 0);
        assert!(shared.admit_end(Box::new(Scripted::that_ends(7)), "memory".to_owned()));
        meet(&mut worker, 0);
        worker.pass_news();
        // Its packet, and its end.
        assert_eq!((worker.visit(0), worker.visit(0)), (Tried::Read, Tried::Empty));
        assert_eq!((shared.members().len(), shared.routes().len()), (0, 1));
        assert!(!shared.admit_end(Box::new(Scripted::that_ends(8)), "memory".to_owned()));
        worker.pass_news();
        assert!(shared.routes().is_empty());
        assert!(shared.admit_end(Box::new(Scripted::that_ends(8)), "memory".to_owned()));
    }

    #[test]
    fn what_is_meant_for_one_switch_is_told_to_no_other_in_its_slot() {
        let shared = Shared::of_two_workers(1);
        let mut worker = Worker::new(&shared, 0);
        let end = Scripted::new(7);
        let told = Arc::clone(&end.told);
        assert!(shared.admit_end(Box::new(end), "memory".to_owned()));
        meet(&mut worker, 0);
        worker.pass_news();
        shared.found(9, 0);
        told.lock().unwrap().clear();
        for (datapath, undone) in [(9, 1), (7, 1)] {
            let mut commands = Commands::default();
            commands.extend([(datapath, Command::Barrier)]);
            let seen = shared.brain.lock().runtime.state().revision();
            let answer = Answer::new(Arc::new(commands), Cause { seen, origin: None });
            Outbox::new(1).send(&shared, &[answer], worker.counters);
            assert_eq!(worker.counters.read().undone, undone);
            assert_eq!(told.lock().unwrap().is_empty(), datapath == 9);
        }
    }
}
