//! What all connections may hold of something together.

use std::sync::atomic::{AtomicUsize, Ordering};

/// What all connections hold of something, and how much they may. Where they hold more, one that adds to it is to end if it holds more
/// than a connection's share; so there is never twice as much.
#[derive(Debug)]
pub(crate) struct Room {
    held: AtomicUsize,
    most: usize,
    share: usize,
}

impl Room {
    /// For so many connections.
    pub fn new(most: usize, connections: usize) -> Self {
        Self { held: AtomicUsize::new(0), most, share: most / connections.max(1) }
    }

    /// Counts what a connection holds now, by what it held before. Whether it is to end.
    pub fn weigh(&self, held: &mut usize, now: usize) -> bool {
        let before = std::mem::replace(held, now);
        if now <= before {
            if now < before {
                self.held.fetch_sub(before - now, Ordering::Relaxed);
            }
            return false;
        }
        let all = self.held.fetch_add(now - before, Ordering::Relaxed) + (now - before);
        all > self.most && now > self.share
    }

    /// A connection holds nothing any more.
    pub fn leave(&self, held: &mut usize) {
        self.held.fetch_sub(std::mem::take(held), Ordering::Relaxed);
    }

    /// What all of them hold.
    pub fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }
}
