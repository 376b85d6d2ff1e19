//! What a batch makes switches do: commands are grouped by switch, and each switch is told all of its own at once
//! (thesis section 4.2.3.1).

use crate::link::{Link, Went};
use crate::shared::Shared;
use crate::statistics::Counters;
use plait_control_openflow::{Commands, NotTold, Order};
use plait_model_wire::openflow::chop;
use std::sync::{Arc, PoisonError, TryLockError};

const NONE: u32 = u32::MAX;

/// A worker's outbox. Its room is used again.
pub struct Outbox {
    /// The first and the last command of each slot, by its place in `next`.
    heads: Vec<(u32, u32)>,
    /// The command, and the place of the one after it for the same slot.
    chain: Vec<(u32, u32, u32)>,
    /// Slots that there is something for.
    touched: Vec<u32>,
    later: Vec<u32>,
}

impl Outbox {
    pub fn new(slots: usize) -> Self {
        Self { heads: vec![(NONE, NONE); slots], chain: Vec::new(), touched: Vec::new(), later: Vec::new() }
    }

    /// Tells switches what they are to do. A switch that another worker holds is passed by until all others are told,
    /// and waited for in the end. True if some socket takes no more.
    pub fn send(&mut self, shared: &Shared, all: &[Arc<Commands>], counters: &Counters) {
        for (which, commands) in all.iter().enumerate() {
            self.sort(shared, which as u32, commands, counters);
        }
        let mut wait = false;
        while !self.touched.is_empty() {
            for slot in std::mem::take(&mut self.touched) {
                if !self.tell(shared, all, slot, wait, counters) {
                    self.later.push(slot);
                }
            }
            Counters::add(&counters.output_skips, self.later.len() as u64);
            std::mem::swap(&mut self.touched, &mut self.later);
            wait = true;
        }
        self.chain.clear();
    }

    fn sort(&mut self, shared: &Shared, which: u32, commands: &Commands, counters: &Counters) {
        let routes = shared.routes();
        let mut last = None;
        for (place, (switch, _)) in commands.iter().enumerate() {
            // Commands for one switch often come in a row.
            let slot = match last {
                Some((known, slot)) if known == switch => slot,
                _ => routes.get(&switch).copied(),
            };
            last = Some((switch, slot));
            let Some(slot) = slot else {
                Counters::add(&counters.undone, 1);
                continue;
            };
            let at = self.chain.len() as u32;
            self.chain.push((which, place as u32, NONE));
            let (first, end) = &mut self.heads[slot as usize];
            if *first == NONE {
                *first = at;
                self.touched.push(slot);
            } else {
                self.chain[*end as usize].2 = at;
            }
            *end = at;
        }
    }

    fn tell(
        &mut self,
        shared: &Shared,
        all: &[Arc<Commands>],
        slot: u32,
        wait: bool,
        counters: &Counters,
    ) -> bool {
        let place = &shared.slots[slot as usize];
        let mut held = match place.link.try_lock() {
            Ok(held) => held,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) if wait => {
                Counters::add(&counters.lock_waits, 1);
                place.link.lock().unwrap_or_else(PoisonError::into_inner)
            }
            Err(TryLockError::WouldBlock) => return false,
        };
        let (mut at, _) = std::mem::replace(&mut self.heads[slot as usize], (NONE, NONE));
        let mut told = 0;
        while at != NONE {
            let (which, place, next) = self.chain[at as usize];
            if let Some((_, order)) = all[which as usize].get(place as usize) {
                let obeyed =
                    held.as_mut().map(|link| obey(link, order, shared.config.output_batching, counters));
                match obeyed {
                    Some(Ok(count)) => told += count,
                    Some(Err(why)) => {
                        tracing::debug!(%why, ?order, "a switch was not told something");
                        Counters::add(&counters.undone, 1);
                    }
                    None => Counters::add(&counters.undone, 1),
                }
            }
            at = next;
        }
        Counters::add(&counters.messages, told);
        if let Some(link) = held.as_mut()
            && !link.is_flushed()
            && flush(link, counters) == Went::Ended
        {
            // Whoever reads it next finds that out, and says so.
            place.ready.store(true, std::sync::atomic::Ordering::Release);
        }
        true
    }
}

/// Has a switch obey, and says how many messages that was. Without output batching each is sent by itself.
fn obey(link: &mut Link, order: Order<'_>, batching: bool, counters: &Counters) -> Result<u64, NotTold> {
    let mut told = 0;
    match order {
        Order::Written(version, messages) if batching => {
            return link.session.tell_written(version, messages).map(u64::from);
        }
        Order::Written(version, mut rest) => {
            while let Ok(Some((_, after))) = chop(rest) {
                let message = &rest[..rest.len() - after.len()];
                told += u64::from(link.session.tell_written(version, message)?);
                flush(link, counters);
                rest = after;
            }
        }
        Order::Said(command) => {
            link.session.tell(command)?;
            told = 1;
            if !batching {
                flush(link, counters);
            }
        }
    }
    Ok(told)
}

fn flush(link: &mut Link, counters: &Counters) -> Went {
    Counters::add(&counters.writes, 1);
    link.flush()
}
