//! Whether a message is new: that its sender says it now, and said it once.
//!
//! A seal shows that somebody with the key said something, some time. So a node that hears from a life of another that
//! it does not know asks it to answer with a number drawn for the purpose; only what it says in that life counts from
//! then on, each sequence number once. No clock is involved, so none that jumps can lock a node out.

use std::fmt;
use std::time::Duration;

/// Random numbers that nobody can guess, given from outside.
pub(crate) struct Draws(Box<dyn FnMut() -> u64 + Send>);

impl Draws {
    pub fn new(draw: impl FnMut() -> u64 + Send + 'static) -> Self {
        Self(Box::new(draw))
    }

    pub fn next(&mut self) -> u64 {
        (self.0)()
    }

    /// For who takes them one by one.
    pub fn by_ref(&mut self) -> &mut dyn FnMut() -> u64 {
        &mut self.0
    }
}

impl fmt::Debug for Draws {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Draws")
    }
}

/// Choice: one challenge a second and node, so that recordings played to a node make it send little.
const PATIENCE: Duration = Duration::from_secs(1);

/// What is known of another node's voice.
#[derive(Debug, Clone, Default)]
pub(crate) struct Session {
    /// The life whose words count.
    incarnation: Option<u64>,
    window: Window,
    /// The number that was asked for, by whom it would be answered, and when.
    asked: Option<(u64, Duration)>,
}

/// The sequence numbers of a life that were there already: the highest, and of the 64 below it each.
#[derive(Debug, Clone, Copy, Default)]
struct Window {
    highest: u64,
    seen: u64,
}

/// What to do with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    /// It counts.
    New,
    /// It was there before, or is too old to tell.
    Old,
    /// It is of a life that has to show itself first.
    Stranger,
}

impl Session {
    /// The life whose words count.
    pub fn incarnation(&self) -> Option<u64> {
        self.incarnation
    }

    /// Looks at a message's numbers.
    pub fn hear(&mut self, incarnation: u64, sequence: u64) -> Word {
        match self.incarnation {
            Some(known) if known == incarnation => {
                if self.window.is_new(sequence) {
                    Word::New
                } else {
                    Word::Old
                }
            }
            _ => Word::Stranger,
        }
    }

    /// The number to ask for, unless one was asked for just now.
    pub fn challenge(&mut self, now: Duration, draw: &mut dyn FnMut() -> u64) -> Option<u64> {
        if self.asked.is_some_and(|(_, at)| now < at + PATIENCE) {
            return None;
        }
        let number = draw();
        self.asked = Some((number, now));
        Some(number)
    }

    /// Takes an answer. A right one makes its life the one that counts; whether it is another than before.
    pub fn answer(&mut self, number: u64, incarnation: u64, sequence: u64) -> bool {
        if self.asked.is_none_or(|(asked, _)| asked != number) {
            return false;
        }
        self.asked = None;
        let is_another = self.incarnation != Some(incarnation);
        if is_another {
            self.incarnation = Some(incarnation);
            // What it said before could be a recording for ever: nobody noted which of it was heard.
            self.window = Window { highest: sequence, seen: u64::MAX };
        }
        is_another
    }
}

impl Window {
    fn is_new(&mut self, sequence: u64) -> bool {
        if sequence > self.highest {
            let shift = sequence - self.highest;
            let before = if shift < 64 { self.seen << shift } else { 0 };
            let highest = if shift <= 64 { 1 << (shift - 1) } else { 0 };
            self.seen = before | highest;
            // The former highest was nought at first, which no message has.
            self.highest = sequence;
            return true;
        }
        let back = self.highest - sequence;
        if back == 0 || back > 64 || self.seen >> (back - 1) & 1 == 1 {
            return false;
        }
        self.seen |= 1 << (back - 1);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn known() -> Session {
        let mut session = Session::default();
        assert_eq!(session.challenge(Duration::ZERO, &mut || 77), Some(77));
        assert!(session.answer(77, 5, 1));
        session
    }

    #[test]
    fn a_stranger_is_asked_and_believed_when_it_answers() {
        let mut session = Session::default();
        assert_eq!(session.hear(5, 1), Word::Stranger);
        assert_eq!(session.challenge(Duration::ZERO, &mut || 77), Some(77));
        assert_eq!(session.challenge(Duration::from_millis(999), &mut || 78), None, "asked just now");
        assert!(!session.answer(76, 5, 2), "a recording of another answer");
        assert_eq!(session.hear(5, 3), Word::Stranger);
        assert!(session.answer(77, 5, 4));
        assert_eq!(session.hear(5, 5), Word::New);
        assert!(!session.answer(77, 6, 1), "an answer counts once");
    }

    #[test]
    fn a_new_life_takes_over_and_the_old_one_is_silent() {
        let mut session = known();
        assert_eq!(session.hear(6, 1), Word::Stranger);
        assert_eq!(session.hear(5, 2), Word::New, "a stranger changes nothing");
        session.challenge(Duration::from_secs(2), &mut || 78);
        assert!(session.answer(78, 6, 2));
        assert_eq!((session.hear(6, 3), session.hear(5, 3)), (Word::New, Word::Stranger));
        assert_eq!(session.hear(6, 1), Word::Old, "it was said before anybody could know by whom");
    }

    #[test]
    fn each_word_counts_once_whatever_their_order() {
        let mut session = known();
        let order = [1, 2, 5, 3, 5, 4, 2, 70, 7, 6, 5, 200, 135, 136, 200, 199, 137, 201];
        // All that was said before the answer was heard without being believed.
        let mut seen = HashSet::from([1]);
        let mut highest = 1;
        for sequence in order {
            let is_new = session.hear(5, sequence) == Word::New;
            let within = sequence + 64 >= highest;
            assert_eq!(is_new, within && seen.insert(sequence), "{sequence}");
            highest = highest.max(sequence);
        }
    }
}
