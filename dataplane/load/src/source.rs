//! What one switch sends next: first every station once, then requests as they are due, and what became of them.

use crate::outstanding::Outstanding;
use crate::pace::Pace;
use crate::request::Template;
use crate::switch::Named;

/// Bytes of requests that are made before they are written, and that a connection keeps of what the controller has not taken
/// (the kernel doubles them for its own needs). What is due beyond waits unmade, and its time runs. Choice: 64 KiB, with that some
/// thousand requests, in place of the kernel's own limit, which grows to 4 MiB: with that, what an overloaded controller is
/// late with waits in the switch, 40,000 requests a switch, and goes through memory instead of the processor's cache.
const ROOM: usize = 64 * 1024;
/// Nanoseconds for which there is room at least of what is due at a rate of its own. Choice: the longest that schedulers
/// commonly leave others a processor. With less the switch that asks most, 2 million times a second of skewed rates, has to be
/// served every third of a millisecond, or the load is late before a controller that is not.
const AHEAD: f64 = 4e6;
/// Stations that are told at once.
const TOLD_AT_ONCE: usize = 8;
/// Nanoseconds until a station is told again that brought no answer, or one by which its packet went nowhere. Choice: some
/// controllers drop what comes before they have done their own part of the handshake, or know where hosts may be.
const TELL_AGAIN: u64 = 200_000_000;

/// Nanoseconds from one look at a switch to the next where several requests become due meanwhile. Choice: half a millisecond,
/// as with an interface that coalesces; a system call for each request would cost more than the controller does, and with a
/// fifth of a millisecond what is due at 80 % of a controller's capacity takes all that both processors have. What it adds is
/// part of each latency, and slow switches are looked at when a request is due.
const COALESCE: u64 = 500_000;

/// Nanoseconds until a flood goes on without an answer: the controller may drop all that a connection took.
const FLOOD_AGAIN: u64 = 1_000_000;

/// How requests are offered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Offer {
    /// So many a second, whether answered or not.
    Open(f64),
    /// As answers come, with so many waiting at most; 1 is cbench's latency mode.
    Window(usize),
    /// As much as the connection takes: cbench's throughput mode.
    Flood,
}

/// What happened to the requests of one switch.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// Stations that brought no answer when they were told.
    pub untold: u64,
    /// Requests made.
    pub sent: u64,
    /// Answered before the end.
    pub answered: u64,
    /// Answered after it.
    pub late: u64,
    /// Given up: for lack of patience, or overtaken by too many.
    pub lost: u64,
    /// Messages that named a request which no longer waited.
    pub more: u64,
    /// Flows and packets that named none.
    pub unasked: u64,
    /// Sent, by second.
    pub sent_by_second: Vec<u32>,
    /// Answered, by second.
    pub answered_by_second: Vec<u32>,
}

/// The requests of one switch. Times are nanoseconds from the start of the run.
#[derive(Debug)]
pub struct Source {
    template: Template,
    offer: Offer,
    pace: Pace,
    room: usize,
    waiting: Outstanding,
    stations: u32,
    untold: Vec<u32>,
    is_known: bool,
    duration: u64,
    patience: u64,
    swept: u64,
    /// When requests that are due were made the last time.
    made: u64,
    /// What it came to.
    pub counts: Counts,
}

/// What an answer was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// To a request that was due then.
    Request(u64),
    /// To another, or to none.
    Other,
}

impl Source {
    /// Requests among `stations`, an even number, for a duration; of a closed loop, each is waited for with patience.
    pub fn new(
        template: Template,
        offer: Offer,
        pace: Pace,
        stations: u16,
        duration: u64,
        patience: u64,
    ) -> Self {
        let room = match offer {
            Offer::Open(rate) => ROOM.max((rate * AHEAD / 1e9) as usize * template.length()),
            Offer::Window(_) | Offer::Flood => ROOM,
        };
        Self {
            template,
            offer,
            pace,
            room,
            waiting: Outstanding::default(),
            stations: u32::from(stations),
            untold: (0..2 * u32::from(stations)).rev().collect(),
            is_known: false,
            duration,
            patience,
            swept: 0,
            made: 0,
            counts: Counts::default(),
        }
    }

    /// Tells of stations that were not told yet; nothing is left when [`is_told`](Self::is_told).
    ///
    /// Choice: each sends to the first two, of which one is behind another port than it is, and only when they are known. What
    /// is for all, or for nobody who is known, a routing controller hands to every switch: it would be told of a hundred
    /// thousand stations by millions of messages. Then each sends to the one that its requests will be for, until that
    /// is known: a controller may lose what it was told when it is told much.
    pub fn tell(&mut self, now: u64, out: &mut Vec<u8>) {
        let untold = &mut self.untold;
        if now >= self.swept + TELL_AGAIN / 4 {
            self.swept = now;
            self.waiting.expire(now.saturating_sub(TELL_AGAIN), |number| untold.push(number));
        }
        let at_once = if self.is_known { TOLD_AT_ONCE } else { 2 };
        while self.waiting.count() < at_once {
            let Some(number) = self.untold.pop() else { return };
            if number == self.waiting.next() {
                self.waiting.send(now);
            } else {
                self.waiting.again(number, now);
            }
            let source = (number % self.stations) as u16;
            let is_first = number < self.stations;
            let destination = if is_first { (source & 1) ^ 1 } else { source ^ 1 };
            self.template.stamp(number, source, destination, out);
        }
    }

    /// A message of the controller while stations are told. A packet that went nowhere has not made its sender known, or
    /// not for sure.
    pub fn hear_told(&mut self, named: Named) {
        let told = match named {
            Named::Request(number) => self.waiting.take(number),
            // The first two send to each other both times.
            Named::Stations(source, destination) => {
                let (first, again) = (u32::from(source), self.stations + u32::from(source));
                let again = (source ^ 1 == destination).then(|| self.waiting.take(again)).flatten();
                again.or_else(|| self.waiting.take(first))
            }
            Named::Dropped(_) | Named::Nothing => None,
        };
        self.is_known |= told.is_some();
    }

    /// Whether every station was told and answered.
    pub fn is_told(&self) -> bool {
        self.untold.is_empty() && self.waiting.count() == 0
    }

    /// What is not told by now stays so: requests begin.
    pub fn begin(&mut self) {
        let mut untold = self.untold.len() as u64;
        self.waiting.expire(u64::MAX, |_| untold += 1);
        self.counts = Counts { untold, ..Counts::default() };
        self.waiting = Outstanding::default();
        self.swept = 0;
    }

    /// Requests that are due, as far as there is room. How long after they were due they are made is told to `lag`.
    pub fn emit(&mut self, now: u64, out: &mut Vec<u8>, mut lag: impl FnMut(u64)) {
        match self.offer {
            // What was due before the end is sent after it too, where it could not be sooner.
            Offer::Open(_) => {
                self.made = now;
                while out.len() < self.room
                    && let Some(due) = self.pace.due().filter(|due| *due <= now && *due < self.duration)
                {
                    self.pace.advance();
                    lag(now - due);
                    self.send(now, due, out);
                }
            }
            _ if now >= self.duration => {}
            Offer::Window(window) => {
                while self.waiting.count() < window && out.len() < self.room {
                    self.send(now, now, out);
                }
            }
            Offer::Flood => {
                while out.len() < self.room {
                    self.send(now, now, out);
                }
            }
        }
    }

    #[inline]
    fn send(&mut self, now: u64, due: u64, out: &mut Vec<u8>) {
        let number = self.waiting.next();
        self.counts.lost += self.waiting.send(due);
        let source = (number % self.stations) as u16;
        self.template.stamp(number, source, source ^ 1, out);
        self.counts.sent += 1;
        add(&mut self.counts.sent_by_second, now, 1);
    }

    /// When the next request is due; of a closed loop, when it is to be looked at though no answer came.
    pub fn next_due(&self) -> Option<u64> {
        let next = match self.offer {
            // What was due and found no room is late already.
            Offer::Open(rate) => {
                let due = self.pace.due().filter(|due| *due < self.duration);
                // What is due before the end goes out with what it waits for, though that be after it.
                let is_fast = rate * COALESCE as f64 > 8e9;
                let waits = |due: &u64| is_fast && *due > self.made;
                return due.map(|due| if waits(&due) { due.max(self.made + COALESCE) } else { due });
            }
            Offer::Window(_) => Some(self.swept + self.patience / 4),
            Offer::Flood => Some(self.swept + FLOOD_AGAIN),
        };
        next.filter(|next| *next < self.duration)
    }

    /// Lets go of what was waited for in vain, of a closed loop only: of an open one, what is late is late.
    pub fn sweep(&mut self, now: u64) {
        if self.offer == Offer::Flood {
            self.swept = now;
        } else if matches!(self.offer, Offer::Window(_)) && now >= self.swept + self.patience / 4 {
            self.swept = now;
            let lost = &mut self.counts.lost;
            self.waiting.expire(now.saturating_sub(self.patience), |_| *lost += 1);
        }
    }

    /// A message of the controller.
    #[inline]
    pub fn answer(&mut self, named: Named) -> Answer {
        let number = match named {
            // Choice: to be told to forget a packet is an answer.
            Named::Request(number) | Named::Dropped(number) => Some(number),
            Named::Stations(source, destination) if source ^ 1 == destination => {
                self.waiting.oldest_of(self.stations, source.into())
            }
            Named::Stations(..) | Named::Nothing => {
                self.counts.unasked += 1;
                return Answer::Other;
            }
        };
        match number.and_then(|number| self.waiting.take(number)) {
            Some(due) => Answer::Request(due),
            None => {
                self.counts.more += 1;
                Answer::Other
            }
        }
    }

    /// So many answers came at once.
    pub fn count(&mut self, now: u64, answers: u64) {
        if now < self.duration {
            self.counts.answered += answers;
        } else {
            self.counts.late += answers;
        }
        add(&mut self.counts.answered_by_second, now, answers as u32);
    }

    /// Bytes that its connection is to keep.
    pub fn room(&self) -> usize {
        self.room
    }

    /// Requests that wait.
    pub fn waiting(&self) -> usize {
        self.waiting.count()
    }

    /// Whether requests are due at times of their own, whether answered or not.
    pub fn is_open(&self) -> bool {
        matches!(self.offer, Offer::Open(_))
    }

    /// What it offers a second, if that is known; and how many requests were due before a time.
    pub fn offered(&self, before: u64) -> (Option<f64>, u64) {
        match self.offer {
            Offer::Open(rate) => (Some(rate), self.pace.due_before(before.min(self.duration))),
            Offer::Window(_) | Offer::Flood => (None, self.counts.sent),
        }
    }
}

fn add(seconds: &mut Vec<u32>, now: u64, count: u32) {
    let second = (now / 1_000_000_000) as usize;
    if seconds.len() <= second {
        seconds.resize(second + 1, 0);
    }
    seconds[second] = seconds[second].saturating_add(count);
}

#[cfg(test)]
mod tests {
    use super::*;
    use plait_control_openflow::Version;

    fn source(offer: Offer, rate: f64) -> Source {
        let template = Template::new(Version::V10, 0, 0, 4, true).unwrap();
        let mut source = Source::new(template, offer, Pace::new(rate, 0.0, &[]), 4, 1_000_000_000, 100);
        source.begin();
        source
    }

    #[test]
    fn a_request_is_due_when_it_was_due_however_late_it_is_made() {
        let mut source = source(Offer::Open(1000.0), 1000.0);
        let (mut out, mut lags) = (Vec::new(), Vec::new());
        source.emit(2_500_000, &mut out, |lag| lags.push(lag));
        assert_eq!(lags, [2_500_000, 1_500_000, 500_000]);
        assert_eq!(source.answer(Named::Request(1)), Answer::Request(1_000_000));
        assert_eq!(source.answer(Named::Request(1)), Answer::Other);
        assert_eq!((source.counts.more, source.waiting()), (1, 2));
        assert_eq!(source.offered(1_000_000_000), (Some(1000.0), 1000));
    }

    #[test]
    fn what_is_due_soon_waits_for_more_and_what_found_no_room_does_not() {
        let mut source = source(Offer::Open(1e6), 1e6);
        let mut out = Vec::new();
        source.emit(100_000, &mut out, drop);
        assert_eq!(source.counts.sent, 101);
        assert_eq!(source.next_due(), Some(100_000 + COALESCE));
        source.emit(20_000_000, &mut out, drop);
        assert!(source.counts.sent < 20_001 && out.len() >= source.room());
        assert_eq!(source.next_due(), Some(source.counts.sent * 1000));
    }

    #[test]
    fn there_is_room_for_what_is_due_while_others_have_the_processor() {
        let length = source(Offer::Flood, 0.0).template.length();
        for (rate, room) in [(1e3, ROOM), (2e6, 8000 * length)] {
            let mut source = source(Offer::Open(rate), rate);
            assert_eq!(source.room(), room);
            let mut out = Vec::new();
            source.emit(AHEAD as u64 - 1, &mut out, drop);
            assert_eq!(source.counts.sent, (rate * AHEAD / 1e9) as u64, "all at once");
        }
    }

    #[test]
    fn what_is_due_before_the_end_is_sent_and_nothing_else() {
        let mut source = source(Offer::Open(1e6), 1e6);
        let (mut out, mut now) = (Vec::new(), 0);
        while let Some(due) = source.next_due() {
            now = due.max(now);
            out.clear();
            source.emit(now, &mut out, drop);
        }
        assert_eq!(source.offered(u64::MAX), (Some(1e6), 1_000_000));
        assert_eq!(source.counts.sent, 1_000_000);
    }

    #[test]
    fn a_window_is_never_overrun_and_opens_again_when_patience_ends() {
        let mut source = source(Offer::Window(3), 0.0);
        let mut out = Vec::new();
        source.emit(0, &mut out, drop);
        source.emit(10, &mut out, drop);
        assert_eq!((source.waiting(), source.counts.sent), (3, 3));
        source.sweep(200);
        source.emit(200, &mut out, drop);
        assert_eq!((source.waiting(), source.counts.sent, source.counts.lost), (3, 6, 3));
    }

    #[test]
    fn a_flow_that_names_two_stations_answers_the_oldest_request_between_them() {
        let mut source = source(Offer::Window(8), 0.0);
        source.emit(5, &mut Vec::new(), drop);
        assert_eq!(source.answer(Named::Stations(1, 0)), Answer::Request(5));
        assert_eq!(source.waiting.take(1), None);
        assert_eq!(source.answer(Named::Stations(1, 2)), Answer::Other);
    }
}
