//! One direction of a link at work.

use crate::draw::Stream;
use crate::{Conditions, Discipline, QueueLimit, Rate};
use plait_model_quantity::Probability;
use std::collections::VecDeque;
use std::sync::Arc;

mod codel;
mod counters;
mod delay_line;
mod fate;
mod journal;
mod packet;
mod red;
mod serialiser;

use codel::CodelState;
pub use counters::Counters;
use delay_line::DelayLine;
use fate::{Fates, HOUSEKEEPING};
use journal::Fate;
pub use journal::Journal;
use packet::Transit;
pub use packet::{Departure, PacketInfo};
use red::{RedState, Verdict};
use serialiser::{Serialiser, Slot};

/// One direction of a link. `P` is whatever stands for a packet: a buffer, an index, a number.
///
/// A packet meets, in this order: loss, duplication and corruption; delay and jitter, where packets keep their order
/// unless overtaking is asked; the queue with its discipline; the rate, one bit after the other.
///
/// Time is in nanoseconds on any clock that does not run backwards. The caller feeds packets with
/// [`arrive`](Self::arrive), sleeps until [`next_event`](Self::next_event), and takes what is due with
/// [`depart`](Self::depart). Every departure time follows by arithmetic from arrival times, so a caller that wakes up
/// late delivers late but never changes the rate.
///
/// ```
/// use plait_model_link::{ConditionsSpec, Direction, PacketInfo};
///
/// let spec = ConditionsSpec::from_settings(&[("delay", "20ms"), ("rate", "8Mbit")])?;
/// let mut direction = Direction::new(spec.build(&|_| Err("no traces".into()))?, 7, 0);
/// direction.arrive(0, PacketInfo::frame(1000), "hello");
/// let departure = direction.depart(u64::MAX).unwrap();
/// assert_eq!(departure.at, 21_000_000); // 20 ms under way, then 1 ms to send 1000 bytes
/// # Ok::<(), plait_model_link::ConditionsError>(())
/// ```
#[derive(Debug)]
pub struct Direction<P> {
    conditions: Arc<Conditions>,
    /// Whether a draw decides anything, by the conditions.
    is_random: bool,
    limit: Limit,
    fates: Fates,
    next_number: u64,
    next_housekeeping: u64,
    last_arrival: u64,
    down: bool,
    delay_line: DelayLine<P>,
    queue: VecDeque<Transit<P>>,
    queued_bytes: u64,
    queued_packets: u64,
    sending: Option<Sending<P>>,
    serialiser: Serialiser,
    idle_since: u64,
    red: RedState,
    codel: CodelState,
    counters: Counters,
    journal: Journal,
}

/// The packet on the wire.
#[derive(Debug)]
struct Sending<P> {
    transit: Transit<P>,
    slot: Slot,
}

/// The queue's limit in the unit that is compared.
#[derive(Debug, Clone, Copy)]
enum Limit {
    Bytes(u64),
    Packets(u64),
}

impl<P: Clone> Direction<P> {
    /// A direction whose packets count from nought and whose rate trace, if any, begins at `now`.
    ///
    /// Directions that share their conditions (in an `Arc`) hold them once.
    pub fn new(conditions: impl Into<Arc<Conditions>>, seed: u64, now: u64) -> Self {
        let conditions = conditions.into();
        Self {
            is_random: conditions.is_random(),
            limit: Limit::of(&conditions),
            fates: Fates::new(seed),
            next_number: 0,
            next_housekeeping: HOUSEKEEPING,
            last_arrival: 0,
            down: false,
            delay_line: DelayLine::new(),
            queue: VecDeque::new(),
            queued_bytes: 0,
            queued_packets: 0,
            sending: None,
            serialiser: Serialiser::new(conditions.rate.clone(), now),
            idle_since: now,
            red: RedState::default(),
            codel: CodelState::default(),
            counters: Counters::default(),
            journal: Journal::default(),
            conditions,
        }
    }

    /// A packet enters the link at `now`. A time before that of the packet before counts as the same time.
    pub fn arrive(&mut self, now: u64, info: PacketInfo, payload: P) {
        let now = now.max(self.last_arrival);
        self.last_arrival = now;
        let number = self.count_arrival(info);
        let segments = u64::from(info.segments);
        if self.down {
            self.counters.failed += segments;
            return;
        }
        if self.is_random && self.fates.is_lost(&self.conditions.loss, number) {
            self.counters.lost += segments;
            self.journal.note(number, Fate { lost: true, ..Fate::default() });
            return;
        }
        let mut transit = Transit::new(payload, now, number, info);
        if !self.is_random {
            transit.release = now.saturating_add(self.conditions.delay.as_nanos());
            return self.start(transit, false);
        }
        let copy = self.fates.is_duplicated(&self.conditions, number).then(|| transit.payload.clone());
        if self.conditions.corrupt != Probability::ZERO {
            transit.set_corrupt(self.damage(Stream::Corrupt, number, segments));
        }
        let reordered = self.fates.is_reordered(&self.conditions, number);
        let free = reordered || self.conditions.jitter.as_ref().is_some_and(|jitter| jitter.overtake);
        if reordered {
            self.counters.reordered += segments;
        } else {
            transit.release = now.saturating_add(self.fates.delay(&self.conditions, number));
        }
        let delay = transit.release - now;
        let (doubled, corrupt) = (copy.is_some(), transit.corrupt());
        self.journal.note(number, Fate { lost: false, doubled, hurried: reordered, corrupt, delay });
        let copy = copy.map(|payload| {
            self.counters.duplicated += segments;
            let corrupt = self.damage(Stream::CorruptCopy, number, segments);
            let mut copy = transit.copy(payload);
            copy.set_corrupt(corrupt);
            copy
        });
        // The copy follows the packet at once and shares its delay.
        self.start(transit, free);
        if let Some(copy) = copy {
            self.start(copy, free);
        }
    }

    /// Counts a packet that passes untouched and unqueued, if it may: the caller then delivers it at once instead of
    /// calling [`arrive`](Self::arrive).
    pub fn passes(&mut self, info: PacketInfo) -> bool {
        if self.down || !self.conditions.is_unimpaired() || self.counters.under_way() > 0 {
            return false;
        }
        self.count_arrival(info);
        self.count_departure(info.segments, info.charge());
        true
    }

    /// When [`depart`](Self::depart) is next worth a call.
    pub fn next_event(&self) -> Option<u64> {
        let finish = self.sending.as_ref().map(|sending| sending.slot.finish);
        match (self.delay_line.next(), finish) {
            (Some(release), Some(finish)) => Some(release.min(finish)),
            (release, finish) => release.or(finish),
        }
    }

    /// The earliest instant at which a packet can depart, if nothing more arrives before it: [`depart`](Self::depart)
    /// called then, rather than at every [`next_event`](Self::next_event), gives the same departures with half the
    /// calls. It may come without a departure, where the queue's discipline drops.
    pub fn next_departure(&self) -> Option<u64> {
        match &self.sending {
            Some(sending) => Some(sending.slot.finish),
            None => {
                let first = self.delay_line.first()?;
                Some(self.serialiser.finish_of(first.release, u64::from(first.charge) * 8))
            }
        }
    }

    /// The next packet whose last bit has left by `now`. Call until `None`.
    pub fn depart(&mut self, now: u64) -> Option<Departure<P>> {
        loop {
            let release = self.delay_line.next().unwrap_or(u64::MAX);
            match &self.sending {
                // A packet that leaves makes room for one that comes at the same instant.
                Some(sending) if sending.slot.finish <= now && sending.slot.finish <= release => {
                    return self.finish_sending();
                }
                _ if release <= now => {
                    let transit = self.delay_line.pop()?;
                    self.enqueue(transit);
                }
                _ => return None,
            }
        }
    }

    /// Changes the conditions at `now`, after all that was due by then has departed. Packets under way keep their
    /// delay and their place; a packet half sent goes on at the new rate; what stands in a queue that is now too
    /// short stays.
    pub fn set(&mut self, conditions: impl Into<Arc<Conditions>>, now: u64) {
        let conditions = conditions.into();
        if conditions.queue.discipline != self.conditions.queue.discipline {
            self.red = RedState::default();
            self.codel = CodelState::default();
        }
        if conditions.rate != self.conditions.rate {
            let sending = self.sending.as_mut().filter(|sending| sending.slot.finish > now);
            self.serialiser.change(conditions.rate.clone(), now, sending.map(|sending| &mut sending.slot));
        }
        self.limit = Limit::of(&conditions);
        self.is_random = conditions.is_random();
        self.conditions = conditions;
        self.journal.end();
    }

    /// Takes the link down: what is under way and what still arrives is dropped. The rest of the state stays.
    pub fn fail(&mut self) {
        self.down = true;
        let dropped = self.clear();
        self.counters.failed += dropped;
    }

    /// Takes the link up again.
    pub fn recover(&mut self) {
        self.down = false;
    }

    /// Whether the link is down.
    pub fn is_down(&self) -> bool {
        self.down
    }

    /// Starts afresh at `now`: packets count from nought, nothing is under way, counters and rate trace begin again.
    /// The link stays down if it is down.
    pub fn reset(&mut self, seed: u64, now: u64) {
        let down = self.down;
        *self = Self::new(Arc::clone(&self.conditions), seed, now);
        self.down = down;
    }

    /// The conditions in force.
    pub fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    /// Whether packets may be marked, so that [`PacketInfo::ecn_capable`] is worth finding out.
    pub fn marks(&self) -> bool {
        self.conditions.rate != Rate::Unlimited
            && match self.conditions.queue.discipline {
                Discipline::DropTail => false,
                Discipline::Red(red) => red.ecn,
                Discipline::Codel { ecn, .. } => ecn,
            }
    }

    /// What became of the packets so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// What was decided about the first packets, where chance decides.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Bytes in the queue, the packet being sent included.
    pub fn backlog_bytes(&self) -> u64 {
        self.queued_bytes
    }

    fn count_arrival(&mut self, info: PacketInfo) -> u64 {
        let segments = u64::from(info.segments);
        self.counters.arrived += segments;
        self.counters.arrived_bytes += info.charge();
        let next = if info.housekeeping { &mut self.next_housekeeping } else { &mut self.next_number };
        let number = *next;
        *next += segments;
        number
    }

    fn count_departure(&mut self, segments: u16, charge: u64) {
        self.counters.departed += u64::from(segments);
        self.counters.departed_bytes += charge;
    }

    fn damage(&mut self, stream: Stream, number: u64, segments: u64) -> Option<u64> {
        let corrupt = self.fates.corruption(&self.conditions, stream, number);
        if corrupt.is_some() {
            self.counters.corrupted += segments;
        }
        corrupt
    }

    fn start(&mut self, transit: Transit<P>, free: bool) {
        if free {
            self.delay_line.push_free(transit);
        } else {
            self.delay_line.push_in_order(transit);
        }
    }

    /// A packet reaches the queue at its release time.
    fn enqueue(&mut self, mut transit: Transit<P>) {
        let segments = u64::from(transit.segments);
        let charge = u64::from(transit.charge);
        let limited = self.conditions.rate != Rate::Unlimited;
        let full = match self.limit {
            Limit::Bytes(limit) => self.queued_bytes + charge > limit,
            Limit::Packets(limit) => self.queued_packets + segments > limit,
        };
        if limited && full {
            self.counters.queue_dropped += segments;
            return;
        }
        if let (true, Discipline::Red(_)) = (limited, self.conditions.queue.discipline) {
            match self.red_verdict(&transit) {
                Verdict::Pass => {}
                Verdict::Mark => {
                    transit.mark();
                    self.counters.marked += segments;
                }
                Verdict::Drop => {
                    self.counters.aqm_dropped += segments;
                    return;
                }
            }
        }
        self.queued_bytes += charge;
        self.queued_packets += segments;
        if self.sending.is_none() {
            let start = transit.release;
            self.send(transit, start);
        } else {
            self.queue.push_back(transit);
        }
    }

    fn red_verdict(&mut self, transit: &Transit<P>) -> Verdict {
        let Discipline::Red(red) = self.conditions.queue.discipline else { return Verdict::Pass };
        let in_bytes = |limit| match limit {
            QueueLimit::Bytes(bytes) => bytes.bytes() as f64,
            QueueLimit::Time(time) => self.conditions.bytes_in(time).bytes() as f64,
            QueueLimit::Packets(packets) => packets as f64,
        };
        let depth = match red.min {
            QueueLimit::Packets(_) => self.queued_packets as f64,
            _ => self.queued_bytes as f64,
        };
        // Floyd and Jacobson let the average decay by the small packets that could have been sent; we take packets
        // of this one's size.
        let idle =
            plait_model_quantity::TimeSpan::from_nanos(transit.release.saturating_sub(self.idle_since));
        let idle_packets = match self.sending {
            Some(_) => 0.0,
            None => self.conditions.bytes_in(idle).bytes() as f64 / f64::from(transit.charge.max(1)),
        };
        let draw = (self.fates.draw(Stream::Red, transit.number) >> 11) as f64 / 9_007_199_254_740_992.0;
        match self.red.judge(&red, (in_bytes(red.min), in_bytes(red.max)), depth, idle_packets, draw) {
            Verdict::Mark if !(red.ecn && transit.is_ecn_capable()) => Verdict::Drop,
            verdict => verdict,
        }
    }

    fn send(&mut self, transit: Transit<P>, start: u64) {
        let slot = self.serialiser.send(start, u64::from(transit.charge) * 8);
        self.sending = Some(Sending { transit, slot });
    }

    fn finish_sending(&mut self) -> Option<Departure<P>> {
        let Sending { transit, slot: Slot { finish, .. } } = self.sending.take()?;
        self.leave_queue(&transit);
        self.count_departure(transit.segments, u64::from(transit.charge));
        match self.next_to_send(finish) {
            Some(next) => self.send(next, finish),
            None => self.idle_since = finish,
        }
        let (arrived, corrupt, mark) = (transit.arrived, transit.corrupt(), transit.is_marked());
        Some(Departure { payload: transit.payload, at: finish, arrived, corrupt, mark })
    }

    fn leave_queue(&mut self, transit: &Transit<P>) {
        self.queued_bytes -= u64::from(transit.charge);
        self.queued_packets -= u64::from(transit.segments);
    }

    /// The packet that goes onto the wire at `now`, after CoDel has had its say.
    fn next_to_send(&mut self, now: u64) -> Option<Transit<P>> {
        let Discipline::Codel { target, interval, ecn } = self.conditions.queue.discipline else {
            return self.queue.pop_front();
        };
        let frame = self.conditions.queue.frame.bytes();
        let parameters =
            codel::Parameters { target: target.as_nanos(), interval: interval.as_nanos(), frame };
        let mut again = false;
        loop {
            let Some(mut next) = self.queue.pop_front() else {
                self.codel.emptied();
                return None;
            };
            let sojourn = now.saturating_sub(next.release);
            let behind = self.queued_bytes - u64::from(next.charge);
            if !self.codel.drops(parameters, now, sojourn, behind, again) {
                return Some(next);
            }
            if ecn && next.is_ecn_capable() {
                next.mark();
                self.counters.marked += u64::from(next.segments);
                self.codel.marked(parameters.interval);
                return Some(next);
            }
            self.counters.aqm_dropped += u64::from(next.segments);
            self.leave_queue(&next);
            again = true;
        }
    }

    /// Drops all that is under way and says how many packets on the wire that were.
    fn clear(&mut self) -> u64 {
        let in_queue = std::mem::take(&mut self.queued_packets);
        self.queued_bytes = 0;
        self.queue.clear();
        self.sending = None;
        in_queue + self.delay_line.clear()
    }
}

impl Limit {
    fn of(conditions: &Conditions) -> Self {
        match (conditions.queue_bytes(), conditions.queue.limit) {
            (None, QueueLimit::Packets(packets)) => Self::Packets(packets.max(2)),
            (bytes, _) => Self::Bytes(bytes.map_or(u64::MAX, |(bytes, _)| bytes.bytes())),
        }
    }
}
