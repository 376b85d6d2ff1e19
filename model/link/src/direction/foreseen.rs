//! A link on which each packet's departure is known when it arrives: packets keep their order, and the queue drops at its
//! tail alone.

use super::packet::{Handover, Parcel};
use super::serialiser::Serialiser;
use super::stepwise::Stepwise;
use super::{Common, Limit};
use crate::prefetch::prefetch;
use crate::{Conditions, Rate};
use std::collections::VecDeque;

/// Packets with the instants at which they leave.
///
/// It does what [`Stepwise`] does, packet by packet, which a test holds, at a third of the cost: a packet is written once and
/// read once. What was foreseen holds until conditions change; then the rest goes on step by step.
///
/// Fields that each packet needs stand together: a simulation has more of these than fit into a processor's near memory.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Foreseen<P> {
    /// In the order of their arrival, which is that of their release and of their finish.
    entries: VecDeque<Box<Parcel<P>>>,
    /// What all entries take of the queue's limit, in its unit: at least what is in the queue at any time.
    held: u64,
    /// The release of the last packet.
    latest: u64,
    /// The wire as it will be once all of them have left.
    wire: Serialiser,
    /// Until when everything has happened.
    clock: u64,
    /// The wire when the last packet left: until when it was busy, rounded up, and the fraction before that.
    left: (u64, u64),
    /// There once the limit was near.
    crowd: Option<Box<Crowd<P>>>,
}

/// What is to be known where the queue may be full.
#[derive(Debug)]
struct Crowd<P> {
    /// How many of the entries will have left when the last packet to ask for room comes to the queue, and what they take
    /// of its limit.
    passed: usize,
    passed_held: u64,
    /// Packets that will find the queue full, each with how many entered before it since this began. They are counted when
    /// their time comes, and may be saved by a change before.
    doomed: VecDeque<(u64, Box<Parcel<P>>)>,
    /// How many entries have left since this began.
    departed: u64,
}

impl<P> Foreseen<P> {
    /// One with nothing on the wire or before it, on which nothing is released before `latest`.
    pub fn new(wire: Serialiser, latest: u64) -> Self {
        let left = (wire.end(), wire.state().1);
        Self { entries: VecDeque::new(), held: 0, latest, clock: 0, wire, left, crowd: None }
    }

    /// A packet sets out, behind all before it.
    #[inline]
    pub fn start(&mut self, conditions: &Conditions, limit: Limit, mut parcel: Box<Parcel<P>>) {
        parcel.release = parcel.release.max(self.latest);
        self.latest = parcel.release;
        let size = limit.counts(&parcel);
        let fits = self.held + size <= limit.most() || conditions.rate == Rate::Unlimited;
        if !fits && !self.will_have_room(limit, size, parcel.release) {
            return self.doom(parcel);
        }
        let slot = self.wire.send(&conditions.rate, parcel.release, u64::from(parcel.charge) * 8);
        (parcel.finish, parcel.fraction) = (slot.finish, self.wire.state().1);
        self.held += size;
        self.entries.push_back(parcel);
    }

    /// Whether so much will fit into the queue at an instant, which is none before one that was asked for.
    #[cold]
    fn will_have_room(&mut self, limit: Limit, size: u64, release: u64) -> bool {
        let crowd = self.crowd.get_or_insert_with(|| Box::new(Crowd::new()));
        // A packet that leaves makes room for one that comes at the same instant.
        while let Some(entry) = self.entries.get(crowd.passed).filter(|entry| entry.finish <= release) {
            crowd.passed_held += limit.counts(entry);
            crowd.passed += 1;
        }
        self.held - crowd.passed_held + size <= limit.most()
    }

    /// A packet will find the queue full.
    #[cold]
    fn doom(&mut self, parcel: Box<Parcel<P>>) {
        if let Some(crowd) = &mut self.crowd {
            crowd.doomed.push_back((crowd.departed + self.entries.len() as u64, parcel));
        }
    }

    /// Has the next packet to leave come from memory, and of the one behind when it leaves.
    #[inline]
    pub fn prefetch_front(&self) {
        if let Some(first) = self.entries.front() {
            prefetch(&first.payload);
            prefetch(&first.number);
        }
        if let Some(second) = self.entries.get(1) {
            prefetch(&second.finish);
        }
    }

    /// When something happens next.
    pub fn next_event(&self) -> Option<u64> {
        let finish = self.next_departure();
        let doomed = self.crowd.as_ref().and_then(|crowd| crowd.doomed.front());
        let release = doomed.map(|(_, parcel)| parcel.release);
        finish.map_or(release, |finish| Some(release.map_or(finish, |release| finish.min(release))))
    }

    /// When the next packet leaves.
    #[inline]
    pub fn next_departure(&self) -> Option<u64> {
        self.entries.front().map(|parcel| parcel.finish)
    }

    /// The next packet whose last bit has left by `now`.
    #[inline]
    pub fn depart(&mut self, common: &mut Common, now: u64) -> Option<Handover<P>> {
        self.clock = self.clock.max(now);
        if let Some(crowd) = &mut self.crowd {
            crowd.drop_until(common, now);
        }
        self.entries.front().filter(|entry| entry.finish <= now)?;
        let entry = self.entries.pop_front()?;
        let size = common.limit.counts(&entry);
        self.held -= size;
        if let Some(crowd) = &mut self.crowd {
            crowd.depart(size);
        }
        self.left = (entry.finish, entry.fraction);
        common.count_departure(entry.segments, u64::from(entry.charge));
        Some(entry.depart(&common.fates))
    }

    /// Bytes in the queue, the packet being sent included.
    pub fn backlog_bytes(&self) -> u64 {
        let there = self.entries.iter().take_while(|entry| entry.release <= self.clock);
        there.map(|entry| u64::from(entry.charge)).sum()
    }

    /// The same packets with nothing foreseen.
    pub fn into_stepwise(mut self, rate: &Rate) -> Stepwise<P> {
        let (finish, fraction) = self.left;
        self.wire.restore((finish.saturating_sub(u64::from(fraction > 0)), fraction));
        let mut steps = Stepwise::new(self.wire, finish);
        let Crowd { doomed, departed, .. } = self.crowd.map_or_else(Crowd::new, |crowd| *crowd);
        let mut doomed = doomed.into_iter().peekable();
        for (number, entry) in (departed..).zip(self.entries) {
            while let Some((_, parcel)) = doomed.next_if(|(before, _)| *before <= number) {
                steps.start(parcel, false);
            }
            if entry.release <= self.clock {
                steps.stand(rate, entry);
            } else {
                steps.start(entry, false);
            }
        }
        doomed.for_each(|(_, parcel)| steps.start(parcel, false));
        steps.follow(self.latest);
        steps
    }
}

impl<P> Crowd<P> {
    fn new() -> Self {
        Self { passed: 0, passed_held: 0, doomed: VecDeque::new(), departed: 0 }
    }

    /// An entry leaves.
    fn depart(&mut self, size: u64) {
        self.departed += 1;
        if self.passed > 0 {
            self.passed -= 1;
            self.passed_held -= size;
        }
    }

    /// Counts those that found the queue full.
    fn drop_until(&mut self, common: &mut Common, now: u64) {
        while let Some((_, parcel)) = self.doomed.front().filter(|(_, parcel)| parcel.release <= now) {
            common.counters.queue_dropped += u64::from(parcel.segments);
            self.doomed.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Conditions, ConditionsSpec, Direction, PacketInfo};
    use proptest::prelude::*;

    impl<P: Clone> Direction<P> {
        /// The same with nothing foreseen until its conditions are changed.
        fn step_by_step(mut self) -> Self {
            self.common.is_foreseeable = false;
            self.way.take_steps(&self.common.conditions);
            self
        }
    }

    fn built(settings: &[(&str, &str)]) -> Conditions {
        let spec = ConditionsSpec::from_settings(settings).expect("settings are right");
        spec.build(&|_| Err("no traces".to_owned())).expect("conditions are possible")
    }

    /// Conditions in which packets keep their order, and now and then some in which they do not.
    fn conditions() -> impl Strategy<Value = Conditions> {
        let pick = |of: &'static [&'static str]| prop::sample::select(of);
        let way = (pick(&["0s", "1us", "20us", "3ms"]), pick(&["", "500us", "10us"]));
        let wire = (
            pick(&["", "1Mbit", "7Mbit", "999999937bit", "40Gbit"]),
            pick(&["2p", "5p", "4KB", "30KB", "1ms"]),
        );
        let chance =
            (pick(&["0%", "20%"]), pick(&["0%", "30%"]), pick(&["0%", "30%"]), pick(&["", "reorder"]));
        (way, wire, chance).prop_map(|((delay, jitter), (rate, queue), (loss, duplicate, corrupt, other))| {
            let mut settings =
                vec![("delay", delay), ("loss", loss), ("duplicate", duplicate), ("corrupt", corrupt)];
            if !jitter.is_empty() {
                settings.push(("jitter", jitter));
            }
            if !rate.is_empty() {
                settings.extend([("rate", rate), ("queue", queue)]);
            }
            if other == "reorder" && delay != "0s" {
                settings.push(("reorder", "20%"));
            }
            built(&settings)
        })
    }

    #[derive(Debug, Clone)]
    enum Step {
        Arrive(u32, u16),
        Wait(u64),
        Set(Box<Conditions>),
        Fail,
        Recover,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            12 => (60u32..3000, 1u16..4).prop_map(|(length, segments)| Step::Arrive(length, segments)),
            8 => prop_oneof![0u64..2000, 0u64..3_000_000].prop_map(Step::Wait),
            1 => conditions().prop_map(|conditions| Step::Set(Box::new(conditions))),
            1 => Just(Step::Fail),
            2 => Just(Step::Recover),
        ];
        prop::collection::vec(step, 1..120)
    }

    proptest! {
        /// What is foreseen is what happens step by step: the same departures, counters and queue at every instant.
        #[test]
        fn what_is_foreseen_is_what_happens_step_by_step(conditions in conditions(), steps in steps(), seed: u64) {
            let mut foreseen = Direction::new(conditions.clone(), seed, 0);
            let mut stepwise = Direction::new(conditions, seed, 0).step_by_step();
            let mut now = 0;
            for (number, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Arrive(length, segments) => {
                        let info = PacketInfo { segments, segment_header: 54, ..PacketInfo::frame(length) };
                        foreseen.arrive(now, info, number);
                        stepwise.arrive(now, info, number);
                    }
                    Step::Wait(time) => now += time,
                    Step::Set(conditions) => {
                        foreseen.set(*conditions.clone(), now);
                        stepwise.set(*conditions, now);
                        stepwise = stepwise.step_by_step();
                    }
                    Step::Fail => {
                        foreseen.fail();
                        stepwise.fail();
                    }
                    Step::Recover => {
                        foreseen.recover();
                        stepwise.recover();
                    }
                }
                loop {
                    let (left, expected) = (foreseen.depart(now), stepwise.depart(now));
                    prop_assert_eq!(&left, &expected, "step {}", number);
                    if left.is_none() {
                        break;
                    }
                }
                prop_assert_eq!(foreseen.counters(), stepwise.counters(), "step {}", number);
                prop_assert_eq!(foreseen.backlog_bytes(), stepwise.backlog_bytes(), "step {}", number);
                prop_assert!(foreseen.next_event().is_none_or(|next| next > now));
            }
            let rest = |direction: &mut Direction<usize>| -> Vec<_> {
                std::iter::from_fn(|| direction.depart(u64::MAX)).collect()
            };
            prop_assert_eq!(rest(&mut foreseen), rest(&mut stepwise));
            prop_assert_eq!(foreseen.counters(), stepwise.counters());
        }
    }
}
