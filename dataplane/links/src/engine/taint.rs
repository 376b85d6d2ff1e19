//! Seconds in which the engine did not do what the model said.

use super::TaintedSecond;
use plait_model_quantity::TimeSpan;
use std::collections::BTreeMap;

/// A packet that leaves later than this is late: the border of accuracy class C.
pub(crate) const TOO_LATE: u64 = 1_000_000;
/// One packet as late as this taints its second, however many others there are.
const FAR_TOO_LATE: u64 = 10_000_000;
/// Late packets among a hundred that a second bears.
///
/// Choice: the accuracy classes promise what ninety-nine packets in a hundred meet, so a second is judged by the same
/// measure. A hypervisor takes a processor away for a millisecond or two several times a minute on most machines that
/// are rented; were each such moment a taint, every run would be tainted and the word would say nothing.
const BORNE: u64 = 1;

const SECOND: u64 = 1_000_000_000;
/// A day: an engine that is bad all the time does not need a list of it.
const MOST_SECONDS: usize = 86_400;

/// Remembers bad seconds and the links concerned.
#[derive(Debug)]
pub(crate) struct Taints {
    start: u64,
    seconds: BTreeMap<u64, Bad>,
}

#[derive(Debug, Clone, Default)]
struct Bad {
    links: Vec<u64>,
    packets: u64,
    late: u64,
    latest: u64,
    dropped: u64,
}

/// What left a link in the second that runs.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    end: u64,
    packets: u64,
    late: u64,
    latest: u64,
}

impl Tally {
    fn bad(&self) -> bool {
        self.late * 100 > self.packets * BORNE || self.latest > FAR_TOO_LATE
    }
}

impl Bad {
    fn at(&mut self, link: u64) -> &mut Self {
        if !self.links.contains(&link) {
            self.links.push(link);
        }
        self
    }

    fn add(&mut self, link: u64, tally: &Tally) {
        let bad = self.at(link);
        bad.packets += tally.packets;
        bad.late += tally.late;
        bad.latest = bad.latest.max(tally.latest);
    }
}

impl Taints {
    pub fn new(start: u64) -> Self {
        Self { start, seconds: BTreeMap::new() }
    }

    /// A packet of `link` left at `now`, `late` nanoseconds late.
    pub fn left(&mut self, tally: &mut Tally, now: u64, link: u64, late: u64) {
        if now >= tally.end {
            self.close(tally, link);
            let end = self.start + (self.second(now) + 1) * SECOND;
            *tally = Tally { end, ..Tally::default() };
        }
        tally.packets += 1;
        tally.late += u64::from(late > TOO_LATE);
        tally.latest = tally.latest.max(late);
    }

    /// A link's second is over, or the link.
    pub fn close(&mut self, tally: &Tally, link: u64) {
        if tally.bad() {
            let second = self.second(tally.end - 1);
            if let Some(bad) = self.note(second) {
                bad.add(link, tally);
            }
        }
    }

    /// Packets of `link` were dropped outside the model.
    pub fn dropped(&mut self, now: u64, link: u64, packets: u64) {
        if packets > 0
            && let Some(bad) = self.note(self.second(now))
        {
            bad.at(link).dropped += packets;
        }
    }

    fn second(&self, now: u64) -> u64 {
        now.saturating_sub(self.start) / SECOND
    }

    fn note(&mut self, second: u64) -> Option<&mut Bad> {
        let room = self.seconds.len() < MOST_SECONDS || self.seconds.contains_key(&second);
        room.then(|| self.seconds.entry(second).or_default())
    }

    /// The bad seconds, with links by name; `running` are the links' tallies of the second that runs.
    pub fn list<'a>(
        &self,
        running: impl Iterator<Item = (u64, &'a Tally)>,
        name: impl Fn(u64) -> String,
    ) -> Vec<TaintedSecond> {
        let mut seconds = self.seconds.clone();
        for (link, tally) in running.filter(|(_, tally)| tally.bad()) {
            seconds.entry(self.second(tally.end - 1)).or_default().add(link, tally);
        }
        seconds
            .into_iter()
            .map(|(second, bad)| TaintedSecond {
                second,
                links: bad.links.iter().map(|link| name(*link)).collect(),
                packets: bad.packets,
                late: bad.late,
                latest: TimeSpan::from_nanos(bad.latest),
                dropped: bad.dropped,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(taints: &Taints, tally: &Tally) -> Vec<(u64, u64, u64)> {
        let seconds = taints.list([(1, tally)].into_iter(), |link| link.to_string());
        seconds.iter().map(|bad| (bad.second, bad.late, bad.packets)).collect()
    }

    #[test]
    fn a_second_bears_one_late_packet_in_a_hundred() {
        let (mut taints, mut tally) = (Taints::new(0), Tally::default());
        taints.left(&mut tally, 5, 1, TOO_LATE + 1);
        assert_eq!(listed(&taints, &tally), [(0, 1, 1)], "alone it is all there was");
        (0..99).for_each(|_| taints.left(&mut tally, 6, 1, 0));
        assert_eq!(listed(&taints, &tally), []);
        taints.left(&mut tally, 7, 1, TOO_LATE + 1);
        assert_eq!(listed(&taints, &tally), [(0, 2, 101)]);
        taints.left(&mut tally, 3 * SECOND, 1, 0);
        assert_eq!(listed(&taints, &tally), [(0, 2, 101)], "kept when the second is over");
    }

    #[test]
    fn ten_milliseconds_are_not_borne() {
        let (mut taints, mut tally) = (Taints::new(0), Tally::default());
        (0..10_000).for_each(|_| taints.left(&mut tally, SECOND, 1, 0));
        taints.left(&mut tally, SECOND + 1, 1, FAR_TOO_LATE + 1);
        assert_eq!(listed(&taints, &tally), [(1, 1, 10_001)]);
    }

    #[test]
    fn what_was_dropped_is_never_borne() {
        let (mut taints, tally) = (Taints::new(0), Tally::default());
        taints.dropped(2 * SECOND, 1, 1);
        assert_eq!(listed(&taints, &tally), [(2, 0, 0)]);
    }
}
