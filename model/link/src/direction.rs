//! One direction of a link at work.

use crate::draw::{Stream, draw_from};
use crate::prefetch::prefetch;
use crate::{Conditions, Discipline, Loss, QueueLimit, Rate};
use plait_model_quantity::Probability;
use std::sync::Arc;

mod codel;
mod counters;
mod delay_line;
mod fate;
mod foreseen;
mod journal;
mod packet;
mod red;
mod serialiser;
mod stepwise;

pub use counters::Counters;
use fate::{Fates, HOUSEKEEPING};
use foreseen::Foreseen;
use journal::Fate;
pub use journal::Journal;
pub use packet::{Departure, Handover, PacketInfo, Parcel};
use serialiser::Serialiser;
use stepwise::Stepwise;

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
///
/// Its fields stand in the order in which packets need them: a simulation has more directions than fit into a processor's near
/// memory.
#[derive(Debug)]
#[repr(C)]
pub struct Direction<P> {
    way: Way<P>,
    common: Common,
}

/// What is the same whichever way packets go: what a packet that leaves needs, what one that arrives needs, the rest.
#[derive(Debug)]
#[repr(C)]
struct Common {
    conditions: Arc<Conditions>,
    limit: Limit,
    traffic: Traffic,
    next_number: u64,
    last_arrival: u64,
    /// The conditions' delay in nanoseconds, without jitter.
    delay: u64,
    /// What is drawn of a packet, by the conditions.
    chance: Chance,
    down: bool,
    /// Whether a packet's departure is known when it arrives, by the conditions.
    is_foreseeable: bool,
    journal: Journal,
    /// Those of [`Traffic`] are nought here.
    counters: Counters,
    next_housekeeping: u64,
    fates: Fates,
}

/// What every packet counts for: of [`Counters`] those of the same names.
#[derive(Debug, Default)]
#[repr(C)]
struct Traffic {
    departed: u64,
    departed_bytes: u64,
    arrived: u64,
    arrived_bytes: u64,
}

/// What is drawn of a packet. Choice: loss alone stands apart, since it is what most links of large networks have, and the
/// questions whether anything else is asked for cost more than its draw.
#[derive(Debug, Clone, Copy)]
enum Chance {
    Nothing,
    /// Whether it is lost, independently of others.
    Loss {
        /// Where the draws start, beside what else each packet needs.
        start: u64,
        /// When the draw is below this.
        below: u64,
        /// What the journal notes of one that is not.
        kept: u64,
    },
    All,
}

/// What becomes of a packet that is not lost: known when it arrives, where conditions allow that, or decided later.
#[derive(Debug)]
enum Way<P> {
    Foreseen(Foreseen<P>),
    Stepwise(Box<Stepwise<P>>),
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
        let way = match conditions.is_foreseeable() {
            true => Way::Foreseen(Foreseen::new(Serialiser::new(now), 0)),
            false => Way::Stepwise(Box::new(Stepwise::new(Serialiser::new(now), now))),
        };
        let fates = Fates::new(seed);
        let common = Common {
            chance: Chance::of(&conditions, &fates),
            delay: conditions.delay.as_nanos(),
            is_foreseeable: conditions.is_foreseeable(),
            limit: Limit::of(&conditions),
            fates,
            next_number: 0,
            next_housekeeping: HOUSEKEEPING,
            last_arrival: 0,
            down: false,
            traffic: Traffic::default(),
            counters: Counters::default(),
            journal: Journal::default(),
            conditions,
        };
        Self { way, common }
    }

    /// A packet enters the link at `now`. A time before that of the packet before counts as the same time.
    pub fn arrive(&mut self, now: u64, info: PacketInfo, payload: P) {
        self.carry(now, info, Parcel::new(payload));
    }

    /// The same for a packet that may have been on another link before.
    #[inline]
    pub fn carry(&mut self, now: u64, info: PacketInfo, mut parcel: Box<Parcel<P>>) {
        let Self { way, common } = self;
        let now = now.max(common.last_arrival);
        common.last_arrival = now;
        let number = common.count_arrival(info);
        let segments = u64::from(info.segments);
        if common.down {
            common.counters.failed += segments;
            return;
        }
        let lost = match common.chance {
            Chance::Nothing => false,
            Chance::Loss { start, below, .. } => draw_from(start, number) < below,
            Chance::All => common.fates.is_lost(&common.conditions.loss, number),
        };
        if lost {
            common.counters.lost += segments;
            common.journal.note(number, Fate { lost: true, ..Fate::default() });
            return;
        }
        if common.is_foreseeable {
            way.foresee();
        }
        parcel.enter(now, number, info);
        match common.chance {
            Chance::Nothing => {}
            Chance::Loss { kept, .. } => common.journal.note_digest(number, kept),
            Chance::All => return Self::set_out(way, common, now, number, parcel),
        }
        parcel.release = now.saturating_add(common.delay);
        way.start(common, parcel, false);
    }

    /// A packet that is not lost sets out as chance has it.
    fn set_out(way: &mut Way<P>, common: &mut Common, now: u64, number: u64, mut parcel: Box<Parcel<P>>) {
        let segments = u64::from(parcel.segments);
        let copy = common.fates.is_duplicated(&common.conditions, number).then(|| parcel.payload.clone());
        let is_damaged = common.damages(Stream::Corrupt, number, segments);
        parcel.set_damaged(is_damaged);
        let reordered = common.fates.is_reordered(&common.conditions, number);
        let free = reordered || common.conditions.jitter.as_ref().is_some_and(|jitter| jitter.overtake);
        if reordered {
            common.counters.reordered += segments;
        } else {
            parcel.release = now.saturating_add(common.fates.delay(&common.conditions, number));
        }
        let delay = parcel.release - now;
        let corrupt = is_damaged.then(|| common.fates.bit(number));
        let fate = Fate { lost: false, doubled: copy.is_some(), hurried: reordered, corrupt, delay };
        common.journal.note(number, fate);
        let copy = copy.map(|payload| {
            common.counters.duplicated += segments;
            let mut copy = parcel.copy(payload);
            copy.set_damaged(common.damages(Stream::CorruptCopy, number, segments));
            copy
        });
        // The copy follows the packet at once and shares its delay.
        way.start(common, parcel, free);
        if let Some(copy) = copy {
            way.start(common, copy, free);
        }
    }

    /// Counts a packet that passes untouched and unqueued, if it may: the caller then delivers it at once instead of
    /// calling [`arrive`](Self::arrive).
    pub fn passes(&mut self, info: PacketInfo) -> bool {
        let common = &mut self.common;
        if common.down || !common.conditions.is_unimpaired() || common.counters().under_way() > 0 {
            return false;
        }
        common.count_arrival(info);
        common.count_departure(info.segments, info.charge());
        true
    }

    /// When [`depart`](Self::depart) is next worth a call.
    pub fn next_event(&self) -> Option<u64> {
        match &self.way {
            Way::Foreseen(way) => way.next_event(),
            Way::Stepwise(way) => way.next_event(),
        }
    }

    /// The earliest instant at which a packet can depart, if nothing more arrives before it: [`depart`](Self::depart)
    /// called then, rather than at every [`next_event`](Self::next_event), gives the same departures with half the
    /// calls. It may come without a departure, where the queue's discipline drops.
    #[inline]
    pub fn next_departure(&self) -> Option<u64> {
        match &self.way {
            Way::Foreseen(way) => way.next_departure(),
            Way::Stepwise(way) => way.next_departure(&self.common.conditions.rate),
        }
    }

    /// The next packet whose last bit has left by `now`. Call until `None`.
    #[inline]
    pub fn depart(&mut self, now: u64) -> Option<Departure<P>> {
        let Departure { payload, at, arrived, corrupt, mark } = self.hand_over(now)?;
        Some(Departure { payload: payload.payload, at, arrived, corrupt, mark })
    }

    /// The same for one that goes on to another link.
    #[inline]
    pub fn hand_over(&mut self, now: u64) -> Option<Handover<P>> {
        match &mut self.way {
            Way::Foreseen(way) => way.depart(&mut self.common, now),
            Way::Stepwise(way) => way.depart(&mut self.common, now),
        }
    }

    /// The next packet whose last bit has left by `now`, to go on to another link, and when the one behind it departs:
    /// [`hand_over`](Self::hand_over) and [`next_departure`](Self::next_departure).
    #[inline]
    pub fn take(&mut self, now: u64) -> (Option<Handover<P>>, Option<u64>) {
        match &mut self.way {
            Way::Foreseen(way) => (way.depart(&mut self.common, now), way.next_departure()),
            Way::Stepwise(way) => {
                let departure = way.depart(&mut self.common, now);
                (departure, way.next_departure(&self.common.conditions.rate))
            }
        }
    }

    /// Changes the conditions at `now`, after all that was due by then has departed. Packets under way keep their
    /// delay and their place; a packet half sent goes on at the new rate; what stands in a queue that is now too
    /// short stays.
    pub fn set(&mut self, conditions: impl Into<Arc<Conditions>>, now: u64) {
        let conditions = conditions.into();
        self.way.take_steps(&self.common.conditions).set(&self.common.conditions, &conditions, now);
        self.common.limit = Limit::of(&conditions);
        self.common.chance = Chance::of(&conditions, &self.common.fates);
        self.common.delay = conditions.delay.as_nanos();
        self.common.is_foreseeable = conditions.is_foreseeable();
        self.common.conditions = conditions;
        self.common.journal.end();
    }

    /// Takes the link down: what is under way and what still arrives is dropped. The rest of the state stays.
    pub fn fail(&mut self) {
        self.common.down = true;
        self.common.counters.failed += self.way.take_steps(&self.common.conditions).clear();
    }

    /// Takes the link up again.
    pub fn recover(&mut self) {
        self.common.down = false;
    }

    /// Whether the link is down.
    pub fn is_down(&self) -> bool {
        self.common.down
    }

    /// Starts afresh at `now`: packets count from nought, nothing is under way, counters and rate trace begin again.
    /// The link stays down if it is down.
    pub fn reset(&mut self, seed: u64, now: u64) {
        let down = self.common.down;
        *self = Self::new(Arc::clone(&self.common.conditions), seed, now);
        self.common.down = down;
    }

    /// Has what [`take`](Self::take) reads of this come from memory, without waiting for it.
    #[inline]
    pub fn prefetch(&self) {
        prefetch(&self.way);
        prefetch(&self.common);
        prefetch(&self.common.traffic);
    }

    /// The same of the packet that it takes, and of the one behind, once this itself has come.
    #[inline]
    pub fn prefetch_front(&self) {
        if let Way::Foreseen(way) = &self.way {
            way.prefetch_front();
        }
    }

    /// The conditions in force.
    pub fn conditions(&self) -> &Conditions {
        &self.common.conditions
    }

    /// Whether packets may be marked, so that [`PacketInfo::ecn_capable`] is worth finding out.
    pub fn marks(&self) -> bool {
        let conditions = &self.common.conditions;
        conditions.rate != Rate::Unlimited
            && match conditions.queue.discipline {
                Discipline::DropTail => false,
                Discipline::Red(red) => red.ecn,
                Discipline::Codel { ecn, .. } => ecn,
            }
    }

    /// What became of the packets so far.
    pub fn counters(&self) -> Counters {
        self.common.counters()
    }

    /// What was decided about the first packets, where chance decides.
    pub fn journal(&self) -> &Journal {
        &self.common.journal
    }

    /// Bytes in the queue, the packet being sent included.
    pub fn backlog_bytes(&self) -> u64 {
        match &self.way {
            Way::Foreseen(way) => way.backlog_bytes(),
            Way::Stepwise(way) => way.backlog_bytes(),
        }
    }
}

impl Common {
    fn counters(&self) -> Counters {
        let Traffic { departed, departed_bytes, arrived, arrived_bytes } = self.traffic;
        Counters { departed, departed_bytes, arrived, arrived_bytes, ..self.counters }
    }

    #[inline]
    fn count_arrival(&mut self, info: PacketInfo) -> u64 {
        let segments = u64::from(info.segments);
        self.traffic.arrived += segments;
        self.traffic.arrived_bytes += info.charge();
        let next = if info.housekeeping { &mut self.next_housekeeping } else { &mut self.next_number };
        let number = *next;
        *next += segments;
        number
    }

    #[inline]
    fn count_departure(&mut self, segments: u16, charge: u64) {
        self.traffic.departed += u64::from(segments);
        self.traffic.departed_bytes += charge;
    }

    #[inline]
    fn damages(&mut self, stream: Stream, number: u64, segments: u64) -> bool {
        let is_damaged = self.conditions.corrupt != Probability::ZERO
            && self.fates.is_damaged(&self.conditions, stream, number);
        self.counters.corrupted += if is_damaged { segments } else { 0 };
        is_damaged
    }
}

impl<P> Way<P> {
    /// A packet sets out; one that is free may pass those before it.
    #[inline]
    fn start(&mut self, common: &Common, parcel: Box<Parcel<P>>, free: bool) {
        match self {
            Self::Foreseen(way) => way.start(&common.conditions, common.limit, parcel),
            Self::Stepwise(way) => way.start(parcel, free),
        }
    }

    /// Foresees what becomes of packets from now on, unless something is under way of which that was not done.
    #[inline]
    fn foresee(&mut self) {
        if let Self::Stepwise(way) = self
            && let Some((wire, latest)) = way.idle()
        {
            *self = Self::Foreseen(Foreseen::new(wire.clone(), latest));
        }
    }

    /// Goes on step by step with what is under way.
    fn take_steps(&mut self, conditions: &Conditions) -> &mut Stepwise<P> {
        if let Self::Foreseen(way) = self {
            let way = std::mem::replace(way, Foreseen::new(Serialiser::new(0), 0));
            *self = Self::Stepwise(Box::new(way.into_stepwise(&conditions.rate)));
        }
        match self {
            Self::Stepwise(way) => way,
            Self::Foreseen(_) => unreachable!("it was replaced"),
        }
    }
}

impl Chance {
    fn of(conditions: &Conditions, fates: &Fates) -> Self {
        let others = [conditions.duplicate, conditions.corrupt, conditions.reorder];
        match &conditions.loss {
            Loss::None if !conditions.is_random() => Self::Nothing,
            Loss::Independent(share)
                if conditions.jitter.is_none() && others.iter().all(|other| *other == Probability::ZERO) =>
            {
                let kept = Fate { delay: conditions.delay.as_nanos(), ..Fate::default() }.digest();
                let start = fates.start(Stream::Loss);
                share.bound().map_or(Self::All, |below| Self::Loss { start, below, kept })
            }
            _ => Self::All,
        }
    }
}

impl Limit {
    fn of(conditions: &Conditions) -> Self {
        match (conditions.queue_bytes(), conditions.queue.limit) {
            (None, QueueLimit::Packets(packets)) => Self::Packets(packets.max(2)),
            (bytes, _) => Self::Bytes(bytes.map_or(u64::MAX, |(bytes, _)| bytes.bytes())),
        }
    }

    /// How much of it may stand in the queue.
    #[inline]
    fn most(self) -> u64 {
        let (Self::Bytes(most) | Self::Packets(most)) = self;
        most
    }

    /// How much of it a packet takes.
    #[inline]
    fn counts<P>(self, parcel: &Parcel<P>) -> u64 {
        match self {
            Self::Bytes(_) => u64::from(parcel.charge),
            Self::Packets(_) => u64::from(parcel.segments),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Chance, Direction};
    use crate::{Conditions, ConditionsSpec, PacketInfo};
    use std::sync::Arc;

    fn conditions(loss: &str) -> Arc<Conditions> {
        let settings = [("loss", loss), ("delay", "1ms"), ("rate", "10Mbit"), ("queue", "20p")];
        let spec = ConditionsSpec::from_settings(&settings).expect("settings are right");
        Arc::new(spec.build(&|_| Err("no traces".to_owned())).expect("conditions are possible"))
    }

    /// Loss that is drawn alone takes the packets, and notes the fates, that all draws do.
    #[test]
    fn loss_that_is_drawn_alone_is_loss_among_all_draws() {
        for loss in ["0%", "0.01%", "20%", "100%"] {
            let all = |mut direction: Direction<u32>| {
                direction.common.chance = match direction.common.chance {
                    Chance::Nothing => Chance::Nothing,
                    Chance::Loss { .. } | Chance::All => Chance::All,
                };
                direction
            };
            let mut alone = Direction::new(conditions(loss), 3, 0);
            let mut among = all(Direction::new(conditions(loss), 3, 0));
            for number in 0..3000u32 {
                if number == 2000 {
                    alone.set(conditions("3%"), u64::from(number) * 500_000);
                    among.set(conditions("3%"), u64::from(number) * 500_000);
                    among = all(among);
                }
                let now = u64::from(number) * 500_000;
                let housekeeping = number % 7 == 0;
                let segments = if number > 1000 && number % 5 == 0 { 3 } else { 1 };
                let info = PacketInfo { housekeeping, segments, ..PacketInfo::frame(600) };
                alone.arrive(now, info, number);
                among.arrive(now, info, number);
                while let Some(left) = alone.depart(now) {
                    assert_eq!(Some(left), among.depart(now), "{loss}");
                }
                assert_eq!(None, among.depart(now), "{loss}");
                assert_eq!(alone.counters(), among.counters(), "{loss}");
                assert_eq!(alone.journal(), among.journal(), "{loss}");
            }
            assert!(loss == "0%" || alone.counters().lost > 0 || loss == "0.01%");
        }
    }
}
