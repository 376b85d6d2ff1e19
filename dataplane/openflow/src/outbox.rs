//! What a batch makes switches do: commands are grouped by switch, and each switch is told all of its own at once
//! (thesis section 4.2.3.1).

use crate::link::Went;
use crate::shared::Shared;
use crate::statistics::Counters;
use plait_control_openflow::{Command, Commands};
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
        for (place, (switch, _)) in commands.list.iter().enumerate() {
            // Commands for one switch often come in a row.
            let slot = match last {
                Some((known, slot)) if known == *switch => slot,
                _ => routes.get(switch).copied(),
            };
            last = Some((*switch, slot));
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
            let command: &Command = &all[which as usize].list[place as usize].1;
            match held.as_mut().map(|link| link.session.tell(command)) {
                Some(Ok(())) => told += 1,
                Some(Err(why)) => {
                    tracing::debug!(%why, ?command, "a switch was not told something");
                    Counters::add(&counters.undone, 1);
                }
                None => Counters::add(&counters.undone, 1),
            }
            if !shared.config.output_batching
                && let Some(link) = held.as_mut()
            {
                Counters::add(&counters.writes, 1);
                link.flush();
            }
            at = next;
        }
        Counters::add(&counters.messages, told);
        if let Some(link) = held.as_mut()
            && !link.is_flushed()
        {
            Counters::add(&counters.writes, 1);
            if link.flush() == Went::Ended {
                // Whoever reads it next finds that out, and says so.
                place.ready.store(true, std::sync::atomic::Ordering::Release);
            }
        }
        true
    }
}
