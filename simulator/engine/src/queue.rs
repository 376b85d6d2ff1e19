//! What happens next.

/// Instants with what wakes then, earliest first and, of those at one instant, the lowest number first: the order is
/// a property of the events, never of who put them in when.
///
/// A heap of four children a node, which is half as deep as a binary one and compares within a cache line. Choice: of
/// a network at work nearly every event is followed by another of the same link, so the most important operation is
/// [`replace_first`](Self::replace_first), one walk down instead of two; a calendar queue saved nothing over that with
/// the thousand events of a fat-tree, and would have to be tuned to each network.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventQueue {
    /// Instant in the upper half, number in the lower, so that one comparison orders both.
    heap: Vec<u128>,
}

const CHILDREN: usize = 4;

fn key(at: u64, number: u32) -> u128 {
    u128::from(at) << 64 | u128::from(number)
}

impl EventQueue {
    /// The next event: when, and whose.
    #[inline]
    pub fn first(&self) -> Option<(u64, u32)> {
        self.heap.first().map(|key| ((key >> 64) as u64, *key as u32))
    }

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, at: u64, number: u32) {
        let key = key(at, number);
        let mut hole = self.heap.len();
        self.heap.push(key);
        while hole > 0 {
            let parent = (hole - 1) / CHILDREN;
            if self.heap[parent] <= key {
                break;
            }
            self.heap[hole] = self.heap[parent];
            hole = parent;
        }
        self.heap[hole] = key;
    }

    /// Takes the first event away.
    #[inline]
    pub fn pop(&mut self) {
        if let Some(last) = self.heap.pop()
            && !self.heap.is_empty()
        {
            self.sink(last);
        }
    }

    /// Puts another event into the first one's place.
    #[inline]
    pub fn replace_first(&mut self, at: u64, number: u32) {
        if !self.heap.is_empty() {
            self.sink(key(at, number));
        }
    }

    /// How many events wait.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.heap.len()
    }

    /// Puts a key where the root was, and the root's heirs in order.
    #[inline]
    fn sink(&mut self, key: u128) {
        let heap = &mut self.heap[..];
        let mut hole = 0;
        loop {
            let child = hole * CHILDREN + 1;
            let (least, least_key) = match heap.get(child..child + CHILDREN) {
                Some(&[a, b, c, d]) => {
                    let (left, left_key) = if b < a { (1, b) } else { (0, a) };
                    let (right, right_key) = if d < c { (3, d) } else { (2, c) };
                    let (which, key) =
                        if right_key < left_key { (right, right_key) } else { (left, left_key) };
                    (child + which, key)
                }
                _ => {
                    let rest = heap.get(child..).unwrap_or_default();
                    match rest.iter().enumerate().min_by_key(|(_, key)| **key) {
                        Some((which, key)) => (child + which, *key),
                        None => break,
                    }
                }
            };
            if key <= least_key {
                break;
            }
            heap[hole] = least_key;
            hole = least;
        }
        heap[hole] = key;
    }
}

#[cfg(test)]
mod tests {
    use super::EventQueue;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn events_come_in_order_of_instant_and_number(
            steps in prop::collection::vec((0u8..4, 0u64..50, 0u32..50), 1..200),
        ) {
            let mut queue = EventQueue::default();
            let mut model: BTreeSet<(u64, u32)> = BTreeSet::new();
            for (what, at, number) in steps {
                match what {
                    0 => {
                        queue.pop();
                        model.pop_first();
                    }
                    1 if !model.is_empty() && !model.contains(&(at, number)) => {
                        queue.replace_first(at, number);
                        model.pop_first();
                        model.insert((at, number));
                    }
                    _ if model.insert((at, number)) => queue.push(at, number),
                    _ => {}
                }
                prop_assert_eq!(queue.first(), model.first().copied());
                prop_assert_eq!(queue.len(), model.len());
            }
        }
    }
}
