//! What a batch makes switches do: commands are grouped by switch, and each switch is told all of its own at once
//! (thesis section 4.2.3.1).

use crate::brain::{Answer, Outcome};
use crate::config::Config;
use crate::link::{Link, Went};
use crate::shared::Shared;
use crate::statistics::Counters;
use crate::worker::owe;
use plait_control_openflow::{Command, Commands, Debt, NotTold, Order, Token};
use plait_model_wire::openflow::chop;
use std::collections::BTreeSet;
use std::sync::TryLockError;

const NONE: u32 = u32::MAX;
/// In the place of a command: it is that of a barrier.
const BARRIER: u32 = 1 << 31;
/// The part of what may wait to be written that is written before more is told. Choice: an eighth, so that a switch which
/// reads is never given up for a batch that says much to it alone.
const PART: usize = 8;

/// A worker's outbox. Its room is used again, where rooms are.
pub struct Outbox {
    /// The first and the last command of each slot, by its place in `next`.
    heads: Vec<(u32, u32)>,
    /// The command, and the place of the one after it for the same slot.
    chain: Vec<(u32, u32, u32)>,
    /// Slots that there is something for.
    touched: Vec<u32>,
    later: Vec<u32>,
    /// What could not be sent.
    unsent: Unsent,
}

/// What could not be sent, since its switch is not there.
#[derive(Default)]
pub struct Unsent {
    /// Barriers: nobody will answer them.
    barriers: Vec<Token>,
    /// Switches for which deletions are left.
    owed: BTreeSet<u64>,
}

impl Unsent {
    /// Tells whoever waits for it. False if there is nothing.
    pub fn pass(self, shared: &Shared, to: &mut Outcome) -> bool {
        let Self { barriers, owed } = self;
        let is_some = !(barriers.is_empty() && owed.is_empty());
        if !barriers.is_empty() {
            let barriers = barriers.into_iter().map(|token| (token, false)).collect();
            shared.brain.passed(shared.now(), barriers, to);
        }
        owe(shared, owed, to);
        is_some
    }

    /// A command could not be.
    fn count(&mut self, shared: &Shared, switch: u64, command: Option<&Command>, counters: &Counters) {
        match command.filter(|command| command.is_deletion()) {
            Some(command) => {
                let mut debt = Debt::default();
                debt.add(command.clone());
                shared.left.add(switch, debt);
                self.owed.insert(switch);
                Counters::add(&counters.owed, 1);
            }
            None => Counters::add(&counters.undone, 1),
        }
    }
}

impl Outbox {
    pub fn new(slots: usize) -> Self {
        let heads = vec![(NONE, NONE); slots];
        Self { heads, chain: Vec::new(), touched: Vec::new(), later: Vec::new(), unsent: Unsent::default() }
    }

    /// Tells switches what they are to do. A switch that another worker holds is passed by until all others are told,
    /// and waited for in the end. True if some socket takes no more.
    pub fn send(&mut self, shared: &Shared, all: &[Answer], counters: &Counters) {
        for (which, answer) in all.iter().enumerate() {
            self.sort(shared, which as u32, &answer.commands, counters);
            self.sort_barriers(shared, which as u32, &answer.barriers);
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
        if !shared.config.pools {
            (self.chain, self.touched, self.later) = Default::default();
        }
    }

    fn sort(&mut self, shared: &Shared, which: u32, commands: &Commands, counters: &Counters) {
        let routes = shared.routes();
        let mut last = None;
        for (place, (switch, order)) in commands.iter().enumerate() {
            // Commands for one switch often come in a row.
            let slot = match last {
                Some((known, slot)) if known == switch => slot,
                _ => routes.get(&switch).copied(),
            };
            last = Some((switch, slot));
            let Some(slot) = slot else {
                self.unsent.count(shared, switch, said(order), counters);
                continue;
            };
            self.append(slot, which, place as u32);
        }
    }

    /// Barriers, each behind what its switch is told.
    fn sort_barriers(&mut self, shared: &Shared, which: u32, barriers: &[Token]) {
        if barriers.is_empty() {
            return;
        }
        let routes = shared.routes();
        for (place, token) in barriers.iter().enumerate() {
            match routes.get(&token.switch) {
                Some(slot) => self.append(*slot, which, place as u32 | BARRIER),
                None => self.unsent.barriers.push(*token),
            }
        }
    }

    #[inline]
    fn append(&mut self, slot: u32, which: u32, place: u32) {
        let at = self.chain.len() as u32;
        self.chain.push((which, place, NONE));
        let (first, end) = &mut self.heads[slot as usize];
        if *first == NONE {
            *first = at;
            self.touched.push(slot);
        } else {
            self.chain[*end as usize].2 = at;
        }
        *end = at;
    }

    /// Takes out what could not be sent.
    pub fn take_unsent(&mut self) -> Unsent {
        std::mem::take(&mut self.unsent)
    }

    fn tell(&mut self, shared: &Shared, all: &[Answer], slot: u32, wait: bool, counters: &Counters) -> bool {
        let place = &shared.slots[slot as usize];
        let mut held = match place.link.try_lock() {
            Ok(held) => held,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) if wait => {
                Counters::add(&counters.lock_waits, 1);
                place.hold()
            }
            Err(TryLockError::WouldBlock) => return false,
        };
        let (mut at, _) = std::mem::replace(&mut self.heads[slot as usize], (NONE, NONE));
        let (mut told, mut came) = (0, None);
        while at != NONE {
            let (which, place, next) = self.chain[at as usize];
            let Answer { commands, barriers, cause, .. } = &all[which as usize];
            // Nobody says where batches come from but who keeps a bound.
            came = cause.origin.map(|origin| origin.came).into_iter().chain(came).min();
            if place & BARRIER != 0 {
                let token = barriers[(place & !BARRIER) as usize];
                let link = held.as_mut().filter(|link| link.is_of(token.switch) && link.met <= cause.seen);
                match link.map(|link| link.session.pass(token.number)) {
                    Some(Ok(())) => told += 1,
                    Some(Err(_)) | None => self.unsent.barriers.push(token),
                }
            } else if let Some((switch, order)) = commands.get(place as usize) {
                let link = held.as_mut().filter(|link| link.is_of(switch) && link.met <= cause.seen);
                let obeyed = link.map(|link| obey(link, order, &shared.config, counters));
                match obeyed {
                    Some(Ok(count)) => told += count,
                    Some(Err(why)) => {
                        tracing::debug!(%why, ?order, "a switch was not told something");
                        Counters::add(&counters.undone, 1);
                    }
                    None => self.unsent.count(shared, switch, said(order), counters),
                }
            }
            at = next;
        }
        if let Some(link) = held.as_mut() {
            link.session.settle();
        }
        Counters::add(&counters.messages, told);
        if let Some(link) = held.as_mut() {
            if let Some(came) = came.filter(|_| told > 0) {
                link.owe(came);
            }
            let is_gone = !link.is_flushed() && flush(link, counters) == Went::Ended;
            shared.weigh(link);
            shared.count_answers(link, counters);
            if is_gone || link.has_ended_unheard() {
                // Whoever visits it next finds that out, and says so.
                shared.set_ready(slot, true);
            }
        }
        true
    }
}

/// A command in words: what is written deletes nothing.
fn said(order: Order<'_>) -> Option<&Command> {
    match order {
        Order::Said(command) => Some(command),
        Order::Written(..) => None,
    }
}

/// Has a switch obey, and says how many messages that was. Without output batching each is sent by itself, and with it what
/// is no more than a part of what may wait.
fn obey(link: &mut Link, order: Order<'_>, config: &Config, counters: &Counters) -> Result<u64, NotTold> {
    let most = if config.output_batching { config.connection.most_output / PART } else { 0 };
    let mut told = 0;
    match order {
        Order::Written(version, mut rest) => {
            while !rest.is_empty() {
                let (messages, after) = rest.split_at(whole(rest, most));
                told += u64::from(link.session.tell_written(version, messages)?);
                flush_beyond(link, most, counters);
                rest = after;
            }
        }
        Order::Said(command) => {
            link.session.tell(command)?;
            told = 1;
            flush_beyond(link, most, counters);
        }
    }
    Ok(told)
}

/// The length of as many whole messages as have so many bytes at most, but of one at least.
fn whole(messages: &[u8], most: usize) -> usize {
    if messages.len() <= most {
        return messages.len();
    }
    let mut rest = messages;
    let mut length = 0;
    while let Ok(Some((_, after))) = chop(rest) {
        let next = messages.len() - after.len();
        if length > 0 && next > most {
            break;
        }
        (length, rest) = (next, after);
    }
    // What is no message is told as it is, and refused there.
    if length == 0 { messages.len() } else { length }
}

fn flush_beyond(link: &mut Link, most: usize, counters: &Counters) {
    if link.session.connection.waiting() > most {
        flush(link, counters);
    }
}

fn flush(link: &mut Link, counters: &Counters) -> Went {
    Counters::add(&counters.writes, 1);
    link.flush()
}
