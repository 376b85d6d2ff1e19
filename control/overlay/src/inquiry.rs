//! Questions that go along a way of an overlay, a node at a time, and what is said back the same way.
//!
//! A question names its way, so that nobody on it keeps anything: each hands it to the next, the last one answers, and the
//! answer goes back by the same nodes. No way has a node twice, so that none has a loop and each handing-on brings the
//! end nearer. What is asked and said is the driver's business.

use plait_model_overlay::NodeId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::time::Duration;

/// Nodes of the longest way. Choice: an overlay hop more than a packet has at first.
pub(crate) const LONGEST: usize = 61;
/// Choice: questions and answers of one node a second, and at once. A trace over eight hops needs 64 of the first.
const RATE: u32 = 64;

/// Inquiries that wait for the driver. Choice: more than it leaves, if it looks at all.
pub(crate) const MOST_WAITING: usize = 1024;

/// A question or an answer on its way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inquiry {
    /// The asker's business; it comes back with the answer.
    pub token: u64,
    /// Who asks, who hands it on, and who is asked: two nodes at least, none of them twice.
    pub way: Vec<NodeId>,
    /// What is asked, or said: at most [`Inquiry::MOST`] bytes.
    pub body: Vec<u8>,
}

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// A question, on its way to the last.
    Question,
    /// An answer, on its way to the first.
    Answer,
}

impl Inquiry {
    /// Bytes that may be asked or said.
    pub const MOST: usize = crate::message::LARGEST - 40 - 10 - 4 * LONGEST;

    /// Whether it can be: its way and the length of what it says.
    pub fn is_possible(&self) -> bool {
        let distinct: BTreeSet<NodeId> = self.way.iter().copied().collect();
        (2..=LONGEST).contains(&self.way.len())
            && distinct.len() == self.way.len()
            && !distinct.contains(&NodeId(0))
            && self.body.len() <= Self::MOST
    }

    /// Whom `own` hands it to, if a question's way begins there, or an answer's ends there.
    pub(crate) fn first_step(&self, direction: Direction, own: NodeId) -> Option<NodeId> {
        match direction {
            Direction::Question => self.way.get(1).filter(|_| self.way.first() == Some(&own)),
            Direction::Answer => self.way.iter().rev().nth(1).filter(|_| self.way.last() == Some(&own)),
        }
        .copied()
    }

    /// What `own` does with what `sender` handed it: nothing, if it is not on the way, or not next to the sender.
    pub(crate) fn step(&self, direction: Direction, own: NodeId, sender: NodeId) -> Option<Step> {
        let place = self.way.iter().position(|node| *node == own)?;
        let (before, after) = match direction {
            Direction::Question => (place.checked_sub(1)?, place + 1),
            Direction::Answer => (place + 1, place.wrapping_sub(1)),
        };
        if self.way.get(before) != Some(&sender) {
            return None;
        }
        Some(self.way.get(after).map_or(Step::Arrived, |next| Step::HandOn(*next)))
    }
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// It is for this node.
    Arrived,
    /// It is for another, by this one.
    HandOn(NodeId),
}

/// What one node may have this one do, in questions and answers: a bucket of tokens (GCRA).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Allowance {
    spent_until: Duration,
}

impl Allowance {
    /// Takes one, if there is one.
    pub fn take(&mut self, now: Duration) -> bool {
        let burst = Duration::from_secs(1);
        let spent = self.spent_until.max(now.saturating_sub(burst)) + burst / RATE;
        if spent > now {
            return false;
        }
        self.spent_until = spent;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inquiry(way: &[u32]) -> Inquiry {
        Inquiry { token: 7, way: way.iter().copied().map(NodeId).collect(), body: Vec::new() }
    }

    #[test]
    fn a_way_leads_there_and_back_and_nobody_else_is_on_it() {
        use Direction::{Answer, Question};
        let asked = inquiry(&[1, 2, 3]);
        let step = |direction, own, sender| asked.step(direction, NodeId(own), NodeId(sender));
        assert_eq!(step(Question, 2, 1), Some(Step::HandOn(NodeId(3))));
        assert_eq!(step(Question, 3, 2), Some(Step::Arrived));
        assert_eq!(step(Answer, 2, 3), Some(Step::HandOn(NodeId(1))));
        assert_eq!(step(Answer, 1, 2), Some(Step::Arrived));
        // From somebody who is not next to it, for somebody who is not on it, and back where it began.
        for (direction, own, sender) in [
            (Question, 3, 1),
            (Question, 2, 3),
            (Question, 4, 3),
            (Question, 1, 2),
            (Answer, 3, 2),
            (Answer, 1, 3),
        ] {
            assert_eq!(step(direction, own, sender), None, "{direction:?} {own} {sender}");
        }
    }

    #[test]
    fn no_way_has_a_loop_or_no_end() {
        assert!(inquiry(&[1, 2]).is_possible());
        for way in [&[1][..], &[], &[1, 2, 1], &[1, 2, 2], &[1, 0], &(1..63).collect::<Vec<_>>()] {
            assert!(!inquiry(way).is_possible(), "{way:?}");
        }
        let body = vec![0; Inquiry::MOST + 1];
        assert!(!Inquiry { body, ..inquiry(&[1, 2]) }.is_possible());
    }

    #[test]
    fn a_node_asks_so_much_a_second_and_no_more() {
        let mut allowance = Allowance::default();
        let start = Duration::from_secs(100);
        let taken = |allowance: &mut Allowance, now| (0..1000).filter(|_| allowance.take(now)).count() as u32;
        assert_eq!(taken(&mut allowance, start), RATE);
        assert_eq!(taken(&mut allowance, start + Duration::from_millis(250)), RATE / 4);
        assert_eq!(taken(&mut allowance, start + Duration::from_secs(60)), RATE);
    }
}
