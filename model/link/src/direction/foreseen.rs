//! A link on which each packet's departure is known when it arrives: packets keep their order, and the queue drops at its
//! tail alone.

use super::packet::{Departure, Transit};
use super::serialiser::Serialiser;
use super::stepwise::Stepwise;
use super::{Common, Limit};
use crate::Rate;
use std::collections::VecDeque;

/// Packets with the instants at which they leave.
///
/// It does what [`Stepwise`] does, packet by packet, which a test holds, at a third of the cost: a packet is written once and
/// read once. What was foreseen holds until conditions change; then the rest goes on step by step.
#[derive(Debug)]
pub(super) struct Foreseen<P> {
    /// In the order of their arrival, which is that of their release and of their finish.
    entries: VecDeque<Transit<P>>,
    /// Packets that will find the queue full, each with how many were accepted before it. They are counted when their time
    /// comes, and may be saved by a change before.
    doomed: VecDeque<(u64, Transit<P>)>,
    /// How many packets were ever accepted.
    accepted: u64,
    /// The release of the last packet.
    latest: u64,
    /// The wire as it will be once all of them have left.
    wire: Serialiser,
    /// The wire when the last packet left: until when it was busy, and the fraction.
    left: (u64, u64),
    /// Bytes and packets of all entries: at least what is in the queue at any time.
    bytes: u64,
    packets: u64,
    /// How many of the entries will have left when the last packet to ask for room comes to the queue, and their bytes and
    /// packets.
    passed: usize,
    passed_bytes: u64,
    passed_packets: u64,
    /// Until when everything has happened.
    clock: u64,
}

impl<P> Foreseen<P> {
    pub fn new(rate: Rate, now: u64) -> Self {
        Self::following(Serialiser::new(rate, now), 0)
    }

    /// One whose wire was in use before, with nothing on it or before it.
    pub fn following(wire: Serialiser, latest: u64) -> Self {
        Self {
            entries: VecDeque::new(),
            doomed: VecDeque::new(),
            accepted: 0,
            latest,
            left: wire.state(),
            wire,
            bytes: 0,
            packets: 0,
            passed: 0,
            passed_bytes: 0,
            passed_packets: 0,
            clock: 0,
        }
    }

    /// A packet sets out, behind all before it.
    #[inline]
    pub fn start(&mut self, limit: Limit, mut transit: Transit<P>) {
        transit.release = transit.release.max(self.latest);
        self.latest = transit.release;
        if self.wire.is_limited() && !self.has_room(limit, &transit) {
            return self.doomed.push_back((self.accepted, transit));
        }
        let slot = self.wire.send(transit.release, u64::from(transit.charge) * 8);
        (transit.finish, transit.fraction) = (slot.finish, self.wire.state().1);
        self.accepted += 1;
        self.bytes += u64::from(transit.charge);
        self.packets += u64::from(transit.segments);
        self.entries.push_back(transit);
    }

    /// Whether a packet fits into the queue when it comes to it.
    #[inline]
    fn has_room(&mut self, limit: Limit, transit: &Transit<P>) -> bool {
        let (charge, segments) = (u64::from(transit.charge), u64::from(transit.segments));
        if limit.holds(self.bytes + charge, self.packets + segments) {
            return true;
        }
        // A packet that leaves makes room for one that comes at the same instant.
        while let Some(entry) = self.entries.get(self.passed).filter(|entry| entry.finish <= transit.release)
        {
            self.passed_bytes += u64::from(entry.charge);
            self.passed_packets += u64::from(entry.segments);
            self.passed += 1;
        }
        limit.holds(self.bytes - self.passed_bytes + charge, self.packets - self.passed_packets + segments)
    }

    /// When something happens next.
    #[inline]
    pub fn next_event(&self) -> Option<u64> {
        let finish = self.next_departure();
        match self.doomed.front() {
            Some((_, transit)) => Some(finish.map_or(transit.release, |finish| finish.min(transit.release))),
            None => finish,
        }
    }

    /// When the next packet leaves.
    #[inline]
    pub fn next_departure(&self) -> Option<u64> {
        self.entries.front().map(|entry| entry.finish)
    }

    /// The next packet whose last bit has left by `now`.
    #[inline]
    pub fn depart(&mut self, common: &mut Common, now: u64) -> Option<Departure<P>> {
        self.clock = self.clock.max(now);
        if !self.doomed.is_empty() {
            self.drop_until(common, now);
        }
        self.entries.front().filter(|entry| entry.finish <= now)?;
        let entry = self.entries.pop_front()?;
        let (charge, segments) = (u64::from(entry.charge), u64::from(entry.segments));
        self.bytes -= charge;
        self.packets -= segments;
        if self.passed > 0 {
            self.passed -= 1;
            self.passed_bytes -= charge;
            self.passed_packets -= segments;
        }
        self.left = entry.wire();
        common.count_departure(entry.segments, charge);
        Some(entry.depart(&common.fates))
    }

    /// Counts those that found the queue full.
    fn drop_until(&mut self, common: &mut Common, now: u64) {
        while let Some((_, transit)) = self.doomed.front().filter(|(_, transit)| transit.release <= now) {
            common.counters.queue_dropped += u64::from(transit.segments);
            self.doomed.pop_front();
        }
    }

    /// Bytes in the queue, the packet being sent included.
    pub fn backlog_bytes(&self) -> u64 {
        let there = self.entries.iter().take_while(|entry| entry.release <= self.clock);
        there.map(|entry| u64::from(entry.charge)).sum()
    }

    /// The same packets with nothing foreseen.
    pub fn into_stepwise(mut self) -> Stepwise<P> {
        self.wire.restore(self.left);
        let mut steps = Stepwise::new(self.wire, self.left.0 + u64::from(self.left.1 > 0));
        let mut doomed = self.doomed.into_iter().peekable();
        let first = self.accepted - self.entries.len() as u64;
        for (number, entry) in (first..).zip(self.entries) {
            while let Some((_, transit)) = doomed.next_if(|(accepted, _)| *accepted <= number) {
                steps.start(transit, false);
            }
            if entry.release <= self.clock {
                steps.stand(entry);
            } else {
                steps.start(entry, false);
            }
        }
        doomed.for_each(|(_, transit)| steps.start(transit, false));
        steps.follow(self.latest);
        steps
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
            self.way.take_steps();
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
