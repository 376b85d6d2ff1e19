//! A queue of which copies cost nothing.

use std::collections::VecDeque;
use std::sync::Arc;

/// Things in the order in which they came, in parts that copies share until one of them changes a part.
///
/// Choice: parts, and no persistent tree: a thing takes its own bytes and none of a node, an allocator keeps parts of one size,
/// and a run that changes a line copies the list of its parts and the last one.
#[derive(Debug, Clone)]
pub(crate) struct Line<T> {
    /// None is empty, and all but the last are full.
    parts: Arc<VecDeque<Arc<Vec<T>>>>,
    /// How many of the first part have left.
    left: usize,
}

/// Things of a part.
pub(crate) const PART: usize = 128;

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self { parts: Arc::default(), left: 0 }
    }
}

impl<T: Clone> Line<T> {
    /// How many there are.
    pub fn len(&self) -> usize {
        let last = self.parts.back().map_or(0, |part| part.len());
        (self.parts.len().saturating_sub(1) * PART + last) - self.left
    }

    /// One comes.
    pub fn push(&mut self, thing: T) {
        let parts = Arc::make_mut(&mut self.parts);
        match parts.back_mut().filter(|part| part.len() < PART) {
            Some(part) => Arc::make_mut(part).push(thing),
            None => {
                let mut part = Vec::with_capacity(PART);
                part.push(thing);
                parts.push_back(Arc::new(part));
            }
        }
    }

    /// The one that came first leaves.
    pub fn pop(&mut self) -> Option<T> {
        let first = self.parts.front()?;
        let thing = first.get(self.left)?.clone();
        self.left += 1;
        if self.left == first.len() {
            Arc::make_mut(&mut self.parts).pop_front();
            self.left = 0;
        }
        Some(thing)
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.parts.iter().flat_map(|part| part.iter()).skip(self.left)
    }
}

impl<T: Clone> Extend<T> for Line<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, things: I) {
        things.into_iter().for_each(|thing| self.push(thing));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_a_queue_and_copies_stay_what_they_were(
            steps in proptest::collection::vec((0..4u8, 0..300usize), 0..40),
        ) {
            let (mut line, mut model, mut next) = (Line::default(), VecDeque::new(), 0);
            let mut copies = Vec::new();
            for (step, times) in steps {
                if step == 0 {
                    copies.push((line.clone(), model.clone()));
                }
                for _ in 0..times {
                    if step == 3 {
                        prop_assert_eq!(line.pop(), model.pop_front());
                    } else {
                        line.push(next);
                        model.push_back(next);
                        next += 1;
                    }
                }
                prop_assert_eq!(line.len(), model.len());
            }
            copies.push((line, model));
            for (line, model) in copies {
                prop_assert_eq!(line.len(), model.len());
                prop_assert!(line.iter().eq(model.iter()));
            }
        }
    }
}
