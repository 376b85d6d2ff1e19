//! When each request of a switch is due: a rate, times what a schedule says.

/// From when on (nanoseconds from the start) rates are multiplied by which factor. Before the first step it is 1.
pub type Schedule = Vec<(u64, f64)>;

/// Due times, evenly spaced while the factor stays.
#[derive(Debug, Clone)]
pub struct Pace {
    /// From when on (seconds), how many were due until then, and the rate from then on.
    pieces: Vec<(f64, f64, f64)>,
    phase: f64,
    count: u64,
    piece: usize,
    /// When the next is due, and nanoseconds from one to the next in this piece.
    next: Option<u64>,
    interval: f64,
}

impl Pace {
    /// At `rate` a second; the first is due when `phase` of an interval, 0 to 1, has gone by.
    pub fn new(rate: f64, phase: f64, schedule: &[(u64, f64)]) -> Self {
        let mut pieces = vec![(0.0, 0.0, rate)];
        for (at, factor) in schedule {
            let at = *at as f64 / 1e9;
            let (from, before, running) = pieces[pieces.len() - 1];
            if at > from {
                pieces.push((at, before + running * (at - from), rate * factor));
            } else if let Some(last) = pieces.last_mut() {
                last.2 = rate * factor;
            }
        }
        let mut pace = Self { pieces, phase, count: 0, piece: 0, next: None, interval: 0.0 };
        pace.enter(0);
        pace
    }

    /// When the next is due, in nanoseconds from the start; never if the rate stays nought.
    #[inline]
    pub fn due(&self) -> Option<u64> {
        self.next
    }

    /// The next is sent.
    #[inline]
    pub fn advance(&mut self) {
        self.count += 1;
        let amount = self.count as f64 + self.phase;
        match self.pieces.get(self.piece + 1) {
            Some((_, before, _)) if *before <= amount => self.enter(self.piece + 1),
            _ => self.time(amount),
        }
    }

    /// Goes on to the piece that the next is in, from this one or one behind it.
    fn enter(&mut self, first: usize) {
        let amount = self.count as f64 + self.phase;
        self.piece = first;
        while self.pieces.get(self.piece + 1).is_some_and(|(_, before, _)| *before <= amount) {
            self.piece += 1;
        }
        let (_, _, rate) = self.pieces[self.piece];
        self.interval = if rate > 0.0 { 1e9 / rate } else { f64::INFINITY };
        self.time(amount);
    }

    fn time(&mut self, amount: f64) {
        let (from, before, rate) = self.pieces[self.piece];
        self.next = (rate > 0.0).then_some((from * 1e9 + (amount - before) * self.interval) as u64);
    }

    /// How many are due before a time.
    pub fn due_before(&self, time: u64) -> u64 {
        let time = time as f64 / 1e9;
        let piece = self.pieces.iter().rev().find(|(from, ..)| *from <= time);
        let (from, before, rate) = *piece.unwrap_or(&self.pieces[0]);
        (before + rate * (time - from) - self.phase).ceil().max(0.0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_changes_the_rate_where_it_says() {
        let schedule = [(1_000_000_000, 0.5), (2_000_000_000, 0.0), (3_000_000_000, 2.0)];
        let mut pace = Pace::new(1000.0, 0.5, &schedule);
        let mut seconds = [0; 4];
        while let Some(due) = pace.due().filter(|due| *due < 4_000_000_000) {
            seconds[(due / 1_000_000_000) as usize] += 1;
            pace.advance();
        }
        assert_eq!(seconds, [1000, 500, 0, 2000]);
        assert_eq!(pace.due_before(2_500_000_000), 1500);
        assert_eq!(pace.due_before(4_000_000_000), 3500);
    }

    #[test]
    fn a_rate_that_stays_nought_is_never_due() {
        assert_eq!(Pace::new(0.0, 0.5, &[]).due(), None);
        assert_eq!(Pace::new(10.0, 0.5, &[(0, 0.0)]).due(), None);
    }
}
