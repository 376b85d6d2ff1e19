//! What happens next.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Instants with what wakes then, earliest first and, of those at one instant, the lowest number first: the order is
/// a property of the events, never of who put them in when.
///
/// A calendar queue (Brown, "Calendar queues", CACM 1988): time is cut into days, each with its events in no order, and
/// a day is sorted when it begins. What lies beyond the calendar's year waits in a heap, as does what is put in for the
/// day that has begun, or before it. Days are made longer or shorter, and more or fewer, as events come: some events a
/// day, and a year in which most of those that come have a day.
///
/// Choice: and no heap alone, which cost a fat-tree's thousand events 400 instructions each and nearly two branches that were
/// foretold wrongly, a third of all that a hop took; days that are sorted at once cost less than half of that.
#[derive(Debug, Clone)]
pub(crate) struct EventQueue {
    /// The events of today that are left, the latest first. The next day begins when somebody asks for an event of it.
    today: Vec<Entry>,
    /// Events that came for today since it began, and for days before it.
    late: BinaryHeap<Reverse<u128>>,
    /// Events of the days behind today, a day's at the place of its number within the year. A power of two of them.
    days: Vec<Vec<Entry>>,
    /// A bit for each of them that has events.
    used: Vec<u64>,
    /// Events behind this year.
    far: BinaryHeap<Reverse<u128>>,
    /// Which day today is: its instants over the length of a day.
    day: u64,
    /// A day has two to the power of this many nanoseconds.
    length: u32,
    /// How many events wait for days behind today.
    behind: usize,
    seen: Seen,
}

/// What days were like since the calendar was last looked at.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    days: u64,
    events: u64,
    /// Those of the events that were far until their day, or nearly so.
    far: u64,
    /// Crowded days, and instants of theirs at which there are events.
    crowds: u64,
    instants: u64,
}

/// Days and events after which the calendar is looked at.
const LOOK: u64 = 1024;
const LOOK_EVENTS: u64 = 64 * LOOK;
/// Events of a day, on average, within which it is left as it is, and what it is changed to.
const FEW: u64 = 2;
const MANY: u64 = 6;
const RIGHT: u64 = 3;
/// Days are so long at most, as a power of two: an [`Entry`] has half of its bits for an instant.
const LONGEST: u32 = 32;
/// Events that any day may keep room for.
const ROOM: usize = 64;
/// Days of a year.
const LEAST_DAYS: usize = 64;
const MOST_DAYS: usize = 1 << 16;
/// Events that wait for each day of a year. Choice: so that with [`RIGHT`] events a day, a year is one and a half times as long
/// as events wait on average.
const WAIT: usize = 2;

fn key(at: u64, number: u32) -> u128 {
    u128::from(at) << 64 | u128::from(number)
}

fn at(key: u128) -> u64 {
    (key >> 64) as u64
}

/// An event within its day: the instant's nanoseconds since that began in the upper half, and the number.
type Entry = u64;

impl Default for EventQueue {
    fn default() -> Self {
        Self {
            today: Vec::new(),
            late: BinaryHeap::new(),
            days: vec![Vec::new(); LEAST_DAYS],
            used: vec![0; LEAST_DAYS / 64],
            far: BinaryHeap::new(),
            day: 0,
            length: 10,
            behind: 0,
            seen: Seen::default(),
        }
    }
}

impl EventQueue {
    /// The next event: when, and whose.
    pub fn first(&mut self) -> Option<(u64, u32)> {
        self.wake();
        let today = self.today.last().map(|entry| self.key(self.day, *entry));
        let late = self.late.peek().map(|Reverse(key)| *key);
        let key = today.map_or(late, |today| Some(late.map_or(today, |late| late.min(today))))?;
        Some((at(key), key as u32))
    }

    /// Takes the next event out, if it is before an instant.
    #[inline]
    pub fn take_before(&mut self, end: u64) -> Option<(u64, u32)> {
        self.wake();
        if !self.late.is_empty() {
            return self.take_late(end);
        }
        let entry = self.today.pop()?;
        let at = (self.day << self.length) + (entry >> 32);
        if at >= end {
            self.today.push(entry);
            return None;
        }
        Some((at, entry as u32))
    }

    /// The number of the event that comes after so many others of today, if none that is put in later comes before it.
    #[inline]
    pub fn ahead(&self, others: usize) -> Option<u32> {
        let place = self.today.len().checked_sub(others + 1)?;
        Some(self.today[place] as u32)
    }

    /// The same where some came for today.
    #[cold]
    fn take_late(&mut self, end: u64) -> Option<(u64, u32)> {
        let first = self.first().filter(|(at, _)| *at < end)?;
        if self.late.peek() == Some(&Reverse(key(first.0, first.1))) {
            self.late.pop();
        } else {
            self.today.pop();
        }
        Some(first)
    }

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, at: u64, number: u32) {
        let (day, mask) = (at >> self.length, self.days.len() - 1);
        // One day or more behind today, and within a year.
        if day > self.day && day - self.day <= mask as u64 {
            let (place, entry) = (day as usize & mask, self.entry(at, number));
            self.days[place].push(entry);
            self.used[place / 64] |= 1 << (place % 64);
            self.behind += 1;
            return;
        }
        self.push_elsewhere(at, number);
    }

    #[cold]
    fn push_elsewhere(&mut self, at: u64, number: u32) {
        let day = at >> self.length;
        if day > self.day {
            self.behind += 1;
            return self.far.push(Reverse(key(at, number)));
        }
        self.seen.events += 1;
        self.late.push(Reverse(key(at, number)));
        // The next event was far, and others come before it.
        if day < self.day && self.late.len() > 64 + (self.behind + self.today.len()) / 8 {
            self.rebuild(self.length, self.days.len());
        }
    }

    #[inline]
    fn entry(&self, at: u64, number: u32) -> Entry {
        (at & ((1 << self.length) - 1)) << 32 | u64::from(number)
    }

    #[inline]
    fn key(&self, day: u64, entry: Entry) -> u128 {
        key((day << self.length) + (entry >> 32), entry as u32)
    }

    /// Puts an event that is of no day before today into its place.
    fn place(&mut self, key: u128) {
        let (at, number) = (at(key), key as u32);
        if at >> self.length == self.day {
            self.today.push(self.entry(at, number));
        } else {
            self.push(at, number);
        }
    }

    /// Begins the next day that has events, once today has none left.
    #[inline]
    fn wake(&mut self) {
        if self.today.is_empty() && self.late.is_empty() && self.behind > 0 {
            self.turn();
        }
    }

    fn turn(&mut self) {
        if self.seen.days >= LOOK || self.seen.events >= LOOK_EVENTS {
            self.look();
            if !self.today.is_empty() {
                return;
            }
        }
        match self.next_used() {
            Some(ahead) => {
                self.day += ahead;
                let place = self.day as usize & (self.days.len() - 1);
                self.used[place / 64] &= !(1 << (place % 64));
                let before = std::mem::replace(&mut self.today, std::mem::take(&mut self.days[place]));
                self.behind -= self.today.len();
                // Room goes to another day; what a crowd took is not kept for every day that it passes.
                if before.capacity() <= ROOM.max(8 * self.today.len()) {
                    self.days[place] = before;
                }
            }
            // All is far.
            None => self.day = self.far.peek().map_or(0, |Reverse(key)| at(*key)) >> self.length,
        }
        while let Some(&Reverse(key)) = self.far.peek()
            && (at(key) >> self.length) - self.day < self.days.len() as u64
        {
            self.far.pop();
            self.behind -= 1;
            self.seen.far += 1;
            self.place(key);
        }
        self.today.sort_unstable_by(|a, b| b.cmp(a));
        self.note();
    }

    /// How many days on the next one is that has events.
    fn next_used(&self) -> Option<u64> {
        let mask = self.days.len() - 1;
        let from = (self.day as usize + 1) & mask;
        let words = self.used.len();
        // The first word once more in the end, for its days before today.
        (0..=words).find_map(|turn| {
            let word = (from / 64 + turn) % words;
            let bits = if turn == 0 { self.used[word] & (!0 << (from % 64)) } else { self.used[word] };
            let place = word * 64 + bits.trailing_zeros() as usize;
            (bits != 0).then(|| ((place.wrapping_sub(from) & mask) + 1) as u64)
        })
    }

    /// Takes note of what today is like.
    fn note(&mut self) {
        let count = self.today.len() as u64;
        self.seen.days += 1;
        self.seen.events += count;
        if count > MANY {
            self.seen.crowds += 1;
            self.seen.instants += self.today.chunk_by(|a, b| a >> 32 == b >> 32).count() as u64;
        }
    }

    /// Makes days longer or shorter, and more or fewer, if they are not right.
    #[cold]
    fn look(&mut self) {
        let Seen { days, events, far, crowds, instants } = std::mem::take(&mut self.seen);
        let average = events / days.max(1);
        let mut length = self.length;
        // Shorter days part no events of one instant.
        if average > MANY && instants > crowds * RIGHT {
            length = length.saturating_sub((instants / (crowds * RIGHT)).ilog2().max(1));
        } else if average < FEW && length < LONGEST {
            length = (length + (RIGHT / average.max(1)).ilog2().max(1)).min(LONGEST);
        }
        let right = (self.behind / WAIT).next_power_of_two().clamp(LEAST_DAYS, MOST_DAYS);
        let known = self.days.len();
        // Where events are far apart though some at once, a year needs more days than there are events.
        let days = match average >= FEW && far * 2 > events {
            true => right.max((known * 4).min(MOST_DAYS)),
            false if right > known * 2 || right * 64 < known => right,
            false => known,
        };
        if length != self.length || days != known {
            self.rebuild(length, days);
        }
    }

    /// Makes another calendar.
    fn rebuild(&mut self, length: u32, days: usize) {
        let mut all: Vec<u128> = self.late.drain().chain(self.far.drain()).map(|Reverse(key)| key).collect();
        let today = std::mem::take(&mut self.today);
        all.extend(today.into_iter().map(|entry| self.key(self.day, entry)));
        let mask = self.days.len() as u64 - 1;
        for (place, entries) in std::mem::take(&mut self.days).into_iter().enumerate() {
            let ahead = (place as u64).wrapping_sub(self.day) & mask;
            all.extend(entries.into_iter().map(|entry| self.key(self.day + ahead, entry)));
        }
        self.days = vec![Vec::new(); days];
        self.used = vec![0; days / 64];
        self.length = length;
        self.day = all.iter().copied().map(at).min().unwrap_or(0) >> length;
        self.behind = 0;
        all.into_iter().for_each(|key| self.place(key));
        self.today.sort_unstable_by(|a, b| b.cmp(a));
    }

    /// How many events wait.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.today.len() + self.late.len() + self.behind
    }
}

#[cfg(test)]
mod tests {
    use super::EventQueue;
    use plait_model_topology::random::SplitMix64;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn events_come_in_order_of_instant_and_number(
            steps in prop::collection::vec((0u8..4, instants(), 0u32..50), 1..400),
        ) {
            let mut queue = EventQueue::default();
            let mut model: BTreeSet<(u64, u32)> = BTreeSet::new();
            for (what, at, number) in steps {
                match what {
                    0 => {
                        prop_assert_eq!(queue.take_before(u64::MAX), model.pop_first());
                    }
                    1 => {
                        let first = model.first().copied().filter(|first| first.0 < at);
                        prop_assert_eq!(queue.take_before(at), first);
                        first.is_some().then(|| model.pop_first());
                    }
                    _ if model.insert((at, number)) => queue.push(at, number),
                    _ => {}
                }
                if what == 2 {
                    prop_assert_eq!(queue.first(), model.first().copied());
                }
                prop_assert_eq!(queue.len(), model.len());
            }
        }
    }

    fn instants() -> impl Strategy<Value = u64> {
        prop_oneof![0u64..50, 0u64..100_000, 0u64..10_000_000_000, Just(u64::MAX - 1)]
    }

    /// Holds the calendar against a set while events come closer together and farther apart, and many at once.
    #[test]
    fn a_calendar_of_any_days_keeps_the_order() {
        let mut queue = EventQueue::default();
        let mut model: BTreeSet<(u64, u32)> = BTreeSet::new();
        let mut random = SplitMix64::new(5);
        let (mut now, mut lengths, mut years) = (0, BTreeSet::new(), BTreeSet::new());
        // Nanoseconds from an event to what follows it at most, and the grid that instants are on.
        for (span, grid, events) in [
            (1000, 1, 500),
            (10, 1, 3000),
            (100_000_000, 1, 200),
            (1_000_000, 50_000, 5000),
            (1 << 40, 1, 50),
        ] {
            while model.len() < events {
                let event = (now + random.draw() % span / grid * grid, random.draw() as u32);
                if model.insert(event) {
                    queue.push(event.0, event.1);
                }
            }
            for turn in 0..200_000 {
                // A crowd that comes before what is next, as when flows are added between two runs.
                if turn % 50_000 == 999 {
                    assert_eq!(queue.take_before(now), None);
                    let (next, _) = queue.first().unwrap();
                    for number in 0..2000 {
                        let event = (now + random.draw() % (next - now + 1), 1 << 31 | number);
                        if model.insert(event) {
                            queue.push(event.0, event.1);
                        }
                    }
                }
                let (at, number) = model.pop_first().unwrap();
                assert_eq!(queue.take_before(u64::MAX), Some((at, number)));
                now = at;
                if model.len() < events {
                    let event = (now + random.draw() % span / grid * grid, number);
                    if model.insert(event) {
                        queue.push(event.0, event.1);
                    }
                }
                lengths.insert(queue.length);
                years.insert(queue.days.len());
            }
        }
        assert!(lengths.len() > 3 && years.len() > 2, "days were changed: {lengths:?} {years:?}");
    }
}
