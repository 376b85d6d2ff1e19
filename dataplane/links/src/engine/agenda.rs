//! Which direction of which link has something due, and when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A heap of due times. An entry whose time is no longer the one noted for its direction is stale and skipped: cheaper
/// than looking for it in the heap.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    heap: BinaryHeap<Reverse<(u64, usize)>>,
    due: Vec<u64>,
}

/// Nothing is due.
const NEVER: u64 = u64::MAX;

impl Agenda {
    /// Notes when `index` is next due.
    pub fn note(&mut self, index: usize, due: Option<u64>) {
        let due = due.unwrap_or(NEVER);
        if index >= self.due.len() {
            self.due.resize(index + 1, NEVER);
        }
        if self.due[index] != due {
            self.due[index] = due;
            if due != NEVER {
                self.heap.push(Reverse((due, index)));
            }
        }
    }

    /// When anything is next due.
    pub fn next(&mut self) -> Option<u64> {
        while let Some(Reverse((due, index))) = self.heap.peek() {
            if self.due[*index] == *due {
                return Some(*due);
            }
            self.heap.pop();
        }
        None
    }

    /// The direction that is next due.
    pub fn first(&self) -> Option<usize> {
        self.heap.peek().map(|Reverse((_, index))| *index)
    }

    /// Takes a direction that is due by `now`. It must be noted again.
    pub fn take(&mut self, now: u64) -> Option<usize> {
        self.next().filter(|due| *due <= now)?;
        let Reverse((_, index)) = self.heap.pop()?;
        self.due[index] = NEVER;
        Some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_comes_first_and_what_was_moved_is_forgotten() {
        let mut agenda = Agenda::default();
        agenda.note(3, Some(30));
        agenda.note(1, Some(10));
        agenda.note(2, Some(20));
        agenda.note(1, Some(40));
        agenda.note(2, None);
        assert_eq!((agenda.next(), agenda.take(29)), (Some(30), None));
        assert_eq!((agenda.take(100), agenda.take(100), agenda.take(100)), (Some(3), Some(1), None));
    }
}
