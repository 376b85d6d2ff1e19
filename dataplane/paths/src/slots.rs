//! Places of an array table that nobody reads.

use std::collections::VecDeque;

/// Free places. Choice: that which was given back last is taken last, so that packets which still read a place are long
/// gone before it is written; a program reads one for microseconds.
#[derive(Debug)]
pub struct Slots(VecDeque<u32>);

impl Slots {
    /// All of a table's.
    pub fn new(count: u32) -> Self {
        Self((0..count).collect())
    }

    /// So many places; none where there are fewer.
    pub fn take(&mut self, count: usize) -> Option<Vec<u32>> {
        (self.0.len() >= count).then(|| self.0.drain(..count).collect())
    }

    /// Gives places back.
    pub fn give(&mut self, slots: impl IntoIterator<Item = u32>) {
        self.0.extend(slots);
    }
}
