//! What one worker has read and any may process: the shared queue of the design that has one.

use plait_control_openflow::{PacketIns, Waiting};
use std::collections::VecDeque;
use std::time::Duration;

/// Room that is kept for what will be read, where rooms are used again.
const SPARE: usize = 64;

/// Requests, first in, first out, in the parts in which they were read: nothing is copied here.
#[derive(Debug)]
pub struct Queue {
    /// Each with when it can have come, where somebody asks.
    parts: VecDeque<(PacketIns, Option<Waiting>)>,
    requests: usize,
    spare: Vec<PacketIns>,
    most_spare: usize,
}

impl Queue {
    /// A queue that keeps the room of what was taken if it `pools`.
    pub fn new(pools: bool) -> Self {
        let most_spare = if pools { SPARE } else { 0 };
        Self { parts: VecDeque::new(), requests: 0, spare: Vec::new(), most_spare }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// How many requests wait.
    pub fn len(&self) -> usize {
        self.requests
    }

    /// When the oldest can have come, if that is known.
    pub fn oldest(&self) -> Option<Duration> {
        self.parts.front().and_then(|(_, waiting)| *waiting).map(|waiting| waiting.came)
    }

    /// Adds a part, which is empty afterwards.
    pub fn push(&mut self, part: &mut PacketIns, waiting: Option<Waiting>) {
        self.requests += part.len();
        let fresh = self.spare.pop().unwrap_or_default();
        self.parts.push_back((std::mem::replace(part, fresh), waiting));
    }

    /// The first parts, in which there are so many requests, or all there are: whoever takes them joins them without the
    /// queue, which others wait for. Gives since when they wait.
    pub fn take(&mut self, most: usize, parts: &mut Vec<PacketIns>) -> Option<Waiting> {
        let (mut taken, mut all) = (0, None);
        while taken < most
            && let Some((part, waiting)) = self.parts.pop_front()
        {
            taken += part.len();
            parts.push(part);
            all = [all, waiting].into_iter().flatten().reduce(Waiting::and);
        }
        self.requests -= taken;
        all
    }

    /// Keeps the room of parts that were taken and are empty now.
    pub fn put_back(&mut self, parts: &mut Vec<PacketIns>) {
        let room = self.most_spare - self.spare.len();
        self.spare.extend(parts.drain(..).take(room));
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
        let mut queue = Queue::new(true);
        for buffers in [0..3, 3..4, 4..9] {
            let mut part = part(buffers);
            queue.push(&mut part, None);
            assert!(part.is_empty());
        }
        queue.push(&mut part(9..12), None);
        assert_eq!(queue.len(), 12);
        let (mut first, mut rest) = (Vec::new(), Vec::new());
        queue.take(4, &mut first);
        assert_eq!(queue.len(), 8);
        queue.take(100, &mut rest);
        assert!(queue.is_empty());
        let left: Vec<_> = first.iter().chain(&rest).flat_map(PacketIns::iter).collect();
        assert_eq!((first.len(), left.len()), (2, 12));
        for (buffer, packet) in (0u32..).zip(left) {
            assert_eq!((packet.buffer, packet.frame), (Some(buffer), &buffer.to_be_bytes()[..]));
        }
        first.iter_mut().chain(&mut rest).for_each(PacketIns::clear);
        for _ in 0..SPARE {
            queue.put_back(&mut first);
            queue.put_back(&mut rest);
            first.push(PacketIns::default());
        }
        assert_eq!((queue.spare.len(), queue.len()), (SPARE, 0));
    }

    #[test]
    fn since_when_requests_wait_goes_with_them() {
        let mut queue = Queue::new(true);
        let waiting = |came, bytes| Waiting { came: Duration::from_millis(came), bytes };
        for (place, came) in (0..).zip([7, 5, 9]) {
            queue.push(&mut part(place..place + 1), Some(waiting(came, 100)));
        }
        assert_eq!(queue.oldest(), Some(Duration::from_millis(7)));
        let mut parts = Vec::new();
        assert_eq!(queue.take(2, &mut parts), Some(waiting(5, 200)));
        assert_eq!(queue.take(2, &mut parts), Some(waiting(9, 100)));
        assert_eq!((queue.take(2, &mut parts), queue.oldest()), (None, None));
        // Where nobody keeps a bound nobody asks.
        queue.push(&mut part(0..1), None);
        assert_eq!(queue.take(2, &mut parts), None);
    }
}
