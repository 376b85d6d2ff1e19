//! Seconds in which the engine did not do what the model said.

use super::TaintedSecond;
use plait_model_quantity::TimeSpan;
use std::collections::BTreeMap;

/// Remembers bad seconds and the links concerned.
#[derive(Debug)]
pub(crate) struct Taints {
    start: u64,
    seconds: BTreeMap<u64, Bad>,
}

#[derive(Debug, Default)]
struct Bad {
    links: Vec<u64>,
    latest: u64,
    dropped: u64,
}

/// Lateness above this taints: the border of accuracy class C.
pub(crate) const TOO_LATE: u64 = 1_000_000;

/// A day: an engine that is bad all the time does not need a list of it.
const MOST_SECONDS: usize = 86_400;

impl Taints {
    pub fn new(start: u64) -> Self {
        Self { start, seconds: BTreeMap::new() }
    }

    /// A packet of `link` left at `now`, `late` nanoseconds late.
    pub fn late(&mut self, now: u64, link: u64, late: u64) {
        if late > TOO_LATE
            && let Some(bad) = self.bad(now, link)
        {
            bad.latest = bad.latest.max(late);
        }
    }

    /// Packets of `link` were dropped outside the model.
    pub fn dropped(&mut self, now: u64, link: u64, packets: u64) {
        if packets > 0
            && let Some(bad) = self.bad(now, link)
        {
            bad.dropped += packets;
        }
    }

    fn bad(&mut self, now: u64, link: u64) -> Option<&mut Bad> {
        let second = now.saturating_sub(self.start) / 1_000_000_000;
        if self.seconds.len() >= MOST_SECONDS && !self.seconds.contains_key(&second) {
            return None;
        }
        let bad = self.seconds.entry(second).or_default();
        if !bad.links.contains(&link) {
            bad.links.push(link);
        }
        Some(bad)
    }

    /// The bad seconds, with links by name.
    pub fn list(&self, name: impl Fn(u64) -> String) -> Vec<TaintedSecond> {
        self.seconds
            .iter()
            .map(|(second, bad)| TaintedSecond {
                second: *second,
                links: bad.links.iter().map(|link| name(*link)).collect(),
                latest: TimeSpan::from_nanos(bad.latest),
                dropped: bad.dropped,
            })
            .collect()
    }
}
