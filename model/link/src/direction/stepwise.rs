//! A link on which what becomes of a packet is decided when its time comes: packets overtake, or the queue's discipline
//! looks at what stands in it.

use super::codel::{CodelState, Parameters};
use super::delay_line::DelayLine;
use super::packet::{Handover, Parcel};
use super::red::{RedState, Verdict};
use super::serialiser::{Serialiser, Slot};
use super::{Common, Limit};
use crate::draw::Stream;
use crate::{Conditions, Discipline, QueueLimit, Rate};
use std::collections::VecDeque;

/// Delay ─► queue ─► wire, one step after the other.
#[derive(Debug)]
pub(super) struct Stepwise<P> {
    delay_line: DelayLine<P>,
    queue: VecDeque<Box<Parcel<P>>>,
    queued_bytes: u64,
    queued_packets: u64,
    sending: Option<Sending<P>>,
    serialiser: Serialiser,
    idle_since: u64,
    red: RedState,
    codel: CodelState,
}

/// The packet on the wire.
#[derive(Debug)]
struct Sending<P> {
    parcel: Box<Parcel<P>>,
    slot: Slot,
}

impl<P> Stepwise<P> {
    /// One with nothing on it, whose wire is idle since an instant.
    pub fn new(serialiser: Serialiser, idle_since: u64) -> Self {
        Self {
            delay_line: DelayLine::new(),
            queue: VecDeque::new(),
            queued_bytes: 0,
            queued_packets: 0,
            sending: None,
            serialiser,
            idle_since,
            red: RedState::default(),
            codel: CodelState::default(),
        }
    }

    /// A packet sets out; one that is free may pass those before it.
    pub fn start(&mut self, parcel: Box<Parcel<P>>, free: bool) {
        if free {
            self.delay_line.push_free(parcel);
        } else {
            self.delay_line.push_in_order(parcel);
        }
    }

    /// What sets out in order is not released before an instant.
    pub fn follow(&mut self, latest: u64) {
        self.delay_line.follow(latest);
    }

    /// A packet that was in the queue.
    pub fn stand(&mut self, rate: &Rate, parcel: Box<Parcel<P>>) {
        self.queued_bytes += u64::from(parcel.charge);
        self.queued_packets += u64::from(parcel.segments);
        if self.sending.is_none() {
            let start = parcel.release;
            self.send(rate, parcel, start);
        } else {
            self.queue.push_back(parcel);
        }
    }

    /// When something happens next.
    pub fn next_event(&self) -> Option<u64> {
        let finish = self.sending.as_ref().map(|sending| sending.slot.finish);
        match (self.delay_line.next(), finish) {
            (Some(release), Some(finish)) => Some(release.min(finish)),
            (release, finish) => release.or(finish),
        }
    }

    /// The earliest instant at which a packet can leave.
    pub fn next_departure(&self, rate: &Rate) -> Option<u64> {
        match &self.sending {
            Some(sending) => Some(sending.slot.finish),
            None => {
                let first = self.delay_line.first()?;
                Some(self.serialiser.finish_of(rate, first.release, u64::from(first.charge) * 8))
            }
        }
    }

    /// The next packet whose last bit has left by `now`.
    pub fn depart(&mut self, common: &mut Common, now: u64) -> Option<Handover<P>> {
        loop {
            let release = self.delay_line.next().unwrap_or(u64::MAX);
            match &self.sending {
                // A packet that leaves makes room for one that comes at the same instant.
                Some(sending) if sending.slot.finish <= now && sending.slot.finish <= release => {
                    return self.finish_sending(common);
                }
                _ if release <= now => {
                    let parcel = self.delay_line.pop()?;
                    self.enqueue(common, parcel);
                }
                _ => return None,
            }
        }
    }

    /// Makes conditions to come its own, after all that was due by `now` has departed: a packet half sent goes on at the
    /// new rate, what stands in a queue that is now too short stays.
    pub fn set(&mut self, before: &Conditions, after: &Conditions, now: u64) {
        if after.queue.discipline != before.queue.discipline {
            self.red = RedState::default();
            self.codel = CodelState::default();
        }
        if after.rate != before.rate {
            let sending = self.sending.as_mut().filter(|sending| sending.slot.finish > now);
            self.serialiser.change(
                [&before.rate, &after.rate],
                now,
                sending.map(|sending| &mut sending.slot),
            );
        }
    }

    /// Bytes in the queue, the packet being sent included.
    pub fn backlog_bytes(&self) -> u64 {
        self.queued_bytes
    }

    /// Drops all that is under way and says how many packets on the wire that were.
    pub fn clear(&mut self) -> u64 {
        let in_queue = std::mem::take(&mut self.queued_packets);
        self.queued_bytes = 0;
        self.queue.clear();
        self.sending = None;
        in_queue + self.delay_line.clear()
    }

    /// Its wire and the release of the last packet, if nothing is under way.
    pub fn idle(&self) -> Option<(&Serialiser, u64)> {
        let is_idle = self.sending.is_none() && self.delay_line.next().is_none();
        is_idle.then(|| (&self.serialiser, self.delay_line.latest()))
    }

    /// A packet reaches the queue at its release time.
    fn enqueue(&mut self, common: &mut Common, mut parcel: Box<Parcel<P>>) {
        let segments = u64::from(parcel.segments);
        let charge = u64::from(parcel.charge);
        let limited = common.conditions.rate != Rate::Unlimited;
        let full = match common.limit {
            Limit::Bytes(limit) => self.queued_bytes + charge > limit,
            Limit::Packets(limit) => self.queued_packets + segments > limit,
        };
        if limited && full {
            common.counters.queue_dropped += segments;
            return;
        }
        if let (true, Discipline::Red(_)) = (limited, common.conditions.queue.discipline) {
            match self.red_verdict(common, &parcel) {
                Verdict::Pass => {}
                Verdict::Mark => {
                    parcel.mark();
                    common.counters.marked += segments;
                }
                Verdict::Drop => {
                    common.counters.aqm_dropped += segments;
                    return;
                }
            }
        }
        self.stand(&common.conditions.rate, parcel);
    }

    fn red_verdict(&mut self, common: &Common, parcel: &Parcel<P>) -> Verdict {
        let conditions = &common.conditions;
        let Discipline::Red(red) = conditions.queue.discipline else { return Verdict::Pass };
        let in_bytes = |limit| match limit {
            QueueLimit::Bytes(bytes) => bytes.bytes() as f64,
            QueueLimit::Time(time) => conditions.bytes_in(time).bytes() as f64,
            QueueLimit::Packets(packets) => packets as f64,
        };
        let depth = match red.min {
            QueueLimit::Packets(_) => self.queued_packets as f64,
            _ => self.queued_bytes as f64,
        };
        // Floyd and Jacobson let the average decay by the small packets that could have been sent; we take packets
        // of this one's size.
        let idle = plait_model_quantity::TimeSpan::from_nanos(parcel.release.saturating_sub(self.idle_since));
        let idle_packets = match self.sending {
            Some(_) => 0.0,
            None => conditions.bytes_in(idle).bytes() as f64 / f64::from(parcel.charge.max(1)),
        };
        let draw = (common.fates.draw(Stream::Red, parcel.number) >> 11) as f64 / 9_007_199_254_740_992.0;
        match self.red.judge(&red, (in_bytes(red.min), in_bytes(red.max)), depth, idle_packets, draw) {
            Verdict::Mark if !(red.ecn && parcel.is_ecn_capable()) => Verdict::Drop,
            verdict => verdict,
        }
    }

    fn send(&mut self, rate: &Rate, parcel: Box<Parcel<P>>, start: u64) {
        let slot = self.serialiser.send(rate, start, u64::from(parcel.charge) * 8);
        self.sending = Some(Sending { parcel, slot });
    }

    fn finish_sending(&mut self, common: &mut Common) -> Option<Handover<P>> {
        let Sending { mut parcel, slot: Slot { finish, .. } } = self.sending.take()?;
        self.leave_queue(&parcel);
        common.count_departure(parcel.segments, u64::from(parcel.charge));
        match self.next_to_send(common, finish) {
            Some(next) => self.send(&common.conditions.rate, next, finish),
            None => self.idle_since = finish,
        }
        parcel.finish = finish;
        Some(parcel.depart(&common.fates))
    }

    fn leave_queue(&mut self, parcel: &Parcel<P>) {
        self.queued_bytes -= u64::from(parcel.charge);
        self.queued_packets -= u64::from(parcel.segments);
    }

    /// The packet that goes onto the wire at `now`, after CoDel has had its say.
    fn next_to_send(&mut self, common: &mut Common, now: u64) -> Option<Box<Parcel<P>>> {
        let Discipline::Codel { target, interval, ecn } = common.conditions.queue.discipline else {
            return self.queue.pop_front();
        };
        let frame = common.conditions.queue.frame.bytes();
        let parameters = Parameters { target: target.as_nanos(), interval: interval.as_nanos(), frame };
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
                common.counters.marked += u64::from(next.segments);
                self.codel.marked(parameters.interval);
                return Some(next);
            }
            common.counters.aqm_dropped += u64::from(next.segments);
            self.leave_queue(&next);
            again = true;
        }
    }
}
