//! Another node, as this one knows it.

use super::SMOOTHING;
use crate::inquiry::Allowance;
use crate::message::{Introduced, Report};
use crate::session::Session;
use plait_model_overlay::NodeId;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// Another node.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub session: Session,
    /// What it may still ask of this node.
    pub allowance: Allowance,
    /// Itself as it or others told.
    pub introduced: Option<Introduced>,
    /// The address that it speaks from.
    pub from: Option<IpAddr>,
    /// The probe that is under way: its token, and when it was sent.
    probe: Option<(u64, Duration)>,
    /// Probes in a row without an echo.
    unanswered: u32,
    /// The way there, as it was measured.
    way: Option<Way>,
    /// Its latest report.
    report: Option<Heard>,
    /// When anything of it was heard last, from itself or others.
    heard: Duration,
}

#[derive(Debug, Clone, Copy)]
struct Way {
    /// Smoothed one-way delay: half the round trip.
    delay: Duration,
    /// What others were told of it.
    told: Option<Duration>,
    /// When the last echo came.
    at: Duration,
    /// Whether it was measured to a former life, which may have been somewhere else.
    is_former: bool,
}

#[derive(Debug)]
struct Heard {
    incarnation: u64,
    number: u32,
    parts: Vec<Option<Vec<(NodeId, Duration)>>>,
    at: Duration,
}

/// A part of a report that was not there before.
pub(super) struct News {
    /// All delays, if it was the last part.
    pub delays: Option<BTreeMap<NodeId, Duration>>,
}

impl Known {
    /// Somebody told of it what was not known. It is not forgotten before it had time to be heard.
    pub fn meet(&mut self, now: Duration, introduced: Introduced) {
        self.heard = now;
        self.introduced = Some(introduced);
    }

    /// A life of it showed itself.
    pub fn begin(&mut self, now: Duration, from: IpAddr) {
        self.heard = now;
        self.from = Some(from);
        self.probe = None;
        self.unanswered = 0;
        if let Some(way) = &mut self.way {
            way.is_former = true;
        }
    }

    /// Where to send to: one of its locators, another with each probe that is lost, or where it speaks from.
    pub fn address(&self) -> Option<IpAddr> {
        let locators = self.introduced.as_ref().map(|introduced| &introduced.locators);
        let turn = self.unanswered as usize;
        let told = locators.and_then(|locators| locators.keys().nth(turn % locators.len().max(1)).copied());
        told.or(self.from)
    }

    /// A probe is sent; where to.
    pub fn probed(&mut self, now: Duration, token: u64) -> Option<IpAddr> {
        if self.probe.replace((token, now)).is_some() {
            self.unanswered = self.unanswered.saturating_add(1);
        }
        self.address()
    }

    /// An echo came; whether the way is there again.
    pub fn echo(&mut self, now: Duration, token: u64) -> bool {
        let Some((_, sent)) = self.probe.take_if(|(asked, _)| *asked == token) else { return false };
        self.unanswered = 0;
        self.heard = now;
        let sample = now.saturating_sub(sent) / 2;
        let before = self.way;
        let smoothed = before.filter(|way| !way.is_former);
        let delay = smoothed.map_or(sample, |way| (way.delay * (SMOOTHING - 1) + sample) / SMOOTHING);
        self.way = Some(Way { delay, told: before.and_then(|way| way.told), at: now, is_former: false });
        before.is_none()
    }

    /// Whether an echo came lately.
    pub fn is_near(&self, now: Duration, interval: Duration) -> bool {
        self.way.is_some_and(|way| now < way.at + interval * super::MISSED)
    }

    /// Forgets a way from which no echo came for so long; whether there was one.
    pub fn lose(&mut self, now: Duration, silence: Duration) -> bool {
        self.way.take_if(|way| now >= way.at + silence).is_some()
    }

    /// Whether neither it nor anybody told its report for so long, nor did it echo; once.
    pub fn is_silent(&mut self, now: Duration, silence: Duration) -> bool {
        let is_silent = self.way.is_none();
        self.report.take_if(|report| is_silent && now >= report.at + silence).is_some()
    }

    /// Whether nothing of it was heard for so long.
    pub fn is_forgotten(&self, now: Duration, silence: Duration) -> bool {
        self.way.is_none() && self.report.is_none() && now >= self.heard + silence
    }

    /// It takes part no more.
    pub fn silence(&mut self) {
        self.way = None;
        self.report = None;
        self.introduced = None;
    }

    /// The delay as others are told: what they were told before, unless it differs by much. In whole microseconds, as messages have
    /// it, so that this node decides by the same as they do.
    pub fn told(&mut self, (part, least): (u32, Duration)) -> Option<Duration> {
        let way = self.way.as_mut()?;
        let differs = |told: Duration| way.delay.abs_diff(told) > (told / part).max(least);
        if way.told.is_none_or(differs) {
            way.told = Some(Duration::from_micros(way.delay.as_micros() as u64));
        }
        way.told
    }

    /// Takes a part of its report; nothing if it was there before, or is of an older one.
    pub fn reports(&mut self, now: Duration, report: &Report) -> Option<News> {
        self.heard = now;
        let Report { incarnation, number, part: (part, parts), ref delays, .. } = *report;
        let known = self.report.as_ref().filter(|known| known.incarnation == incarnation);
        if known.is_some_and(|known| number < known.number) {
            return None;
        }
        if known.is_none_or(|known| known.number != number || known.parts.len() != usize::from(parts)) {
            let parts = vec![None; usize::from(parts)];
            self.report = Some(Heard { incarnation, number, parts, at: now });
        }
        let heard = self.report.as_mut().expect("made just now");
        let slot = &mut heard.parts[usize::from(part)];
        if slot.is_some() {
            return None;
        }
        *slot = Some(delays.clone());
        let whole: Option<Vec<_>> = heard.parts.iter().cloned().collect();
        Some(News { delays: whole.map(|parts| parts.into_iter().flatten().collect()) })
    }
}
