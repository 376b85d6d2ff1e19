//! What one worker has read and any may process: the shared queue of the design that has one.

use plait_control_openflow::PacketIns;
use std::collections::VecDeque;

/// Room that is kept for what will be read, where rooms are used again.
const SPARE: usize = 64;

/// Requests, first in, first out, in the parts in which they were read: nothing is copied but to join small parts.
#[derive(Debug)]
pub struct Queue {
    parts: VecDeque<PacketIns>,
    requests: usize,
    most: usize,
    spare: Vec<PacketIns>,
    most_spare: usize,
}

impl Queue {
    /// A queue that is full with `most` requests, and keeps the room of what was taken if it `pools`.
    pub fn new(most: usize, pools: bool) -> Self {
        let most_spare = if pools { SPARE } else { 0 };
        Self { parts: VecDeque::new(), requests: 0, most, spare: Vec::new(), most_spare }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Whether nothing more is to be read before some are processed.
    pub fn is_full(&self) -> bool {
        self.requests >= self.most
    }

    /// Adds a part, which is empty afterwards.
    pub fn push(&mut self, part: &mut PacketIns) {
        self.requests += part.len();
        let fresh = self.spare.pop().unwrap_or_default();
        self.parts.push_back(std::mem::replace(part, fresh));
    }

    /// Adds the first parts to `to`, until that has so many requests or nothing is left.
    pub fn take(&mut self, most: usize, to: &mut PacketIns) {
        while to.len() < most
            && let Some(mut part) = self.parts.pop_front()
        {
            self.requests -= part.len();
            to.append(&mut part);
            if self.spare.len() < self.most_spare {
                self.spare.push(part);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plait_control_openflow::{PacketIn, Port, Version};

    fn part(buffers: std::ops::Range<u32>) -> PacketIns {
        let mut part = PacketIns::default();
        for buffer in buffers {
            part.push(&PacketIn {
                switch: 1,
                version: Version::V10,
                in_port: Port(1),
                buffer: Some(buffer),
                reason: 0,
                table: 0,
                cookie: 0,
                total_length: 4,
                frame: &buffer.to_be_bytes(),
            });
        }
        part
    }

    #[test]
    fn requests_leave_in_the_order_in_which_they_came_however_they_are_cut() {
        let mut queue = Queue::new(10, true);
        for buffers in [0..3, 3..4, 4..9] {
            let mut part = part(buffers);
            queue.push(&mut part);
            assert!(part.is_empty());
        }
        assert!(!queue.is_full());
        queue.push(&mut part(9..12));
        assert!(queue.is_full());
        let (mut first, mut rest) = (PacketIns::default(), PacketIns::default());
        queue.take(4, &mut first);
        assert!(!queue.is_full());
        queue.take(100, &mut rest);
        assert!(queue.is_empty());
        let left: Vec<_> = first.iter().chain(rest.iter()).collect();
        assert_eq!((first.len(), left.len()), (4, 12));
        for (buffer, packet) in (0u32..).zip(left) {
            assert_eq!((packet.buffer, packet.frame), (Some(buffer), &buffer.to_be_bytes()[..]));
        }
    }
}
