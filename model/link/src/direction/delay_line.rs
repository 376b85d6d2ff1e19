//! Packets on their way: delay and jitter are over when their time has come.

use super::packet::Parcel;
use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

/// Packets under delay. Those that keep their order wait in a plain queue, the others in a heap by time.
#[derive(Debug)]
pub(crate) struct DelayLine<P> {
    ordered: VecDeque<Box<Parcel<P>>>,
    free: BinaryHeap<Earliest<P>>,
    latest: u64,
    entries: u64,
}

#[derive(Debug)]
struct Earliest<P> {
    entry: u64,
    parcel: Box<Parcel<P>>,
}

impl<P> DelayLine<P> {
    pub fn new() -> Self {
        Self { ordered: VecDeque::new(), free: BinaryHeap::new(), latest: 0, entries: 0 }
    }

    /// Adds a packet that stays behind every packet added before it: its release moves back if need be.
    pub fn push_in_order(&mut self, mut parcel: Box<Parcel<P>>) {
        parcel.release = parcel.release.max(self.latest);
        self.latest = parcel.release;
        self.ordered.push_back(parcel);
    }

    /// Adds a packet that may overtake.
    pub fn push_free(&mut self, parcel: Box<Parcel<P>>) {
        self.latest = self.latest.max(parcel.release);
        self.entries += 1;
        self.free.push(Earliest { entry: self.entries, parcel });
    }

    /// Lets no packet that keeps its order go before an instant.
    pub fn follow(&mut self, latest: u64) {
        self.latest = self.latest.max(latest);
    }

    /// The release of the last packet.
    pub fn latest(&self) -> u64 {
        self.latest
    }

    /// When the next packet is released.
    pub fn next(&self) -> Option<u64> {
        match (self.ordered.front(), self.free.peek()) {
            (None, None) => None,
            (Some(ordered), None) => Some(ordered.release),
            (None, Some(free)) => Some(free.parcel.release),
            (Some(ordered), Some(free)) => Some(ordered.release.min(free.parcel.release)),
        }
    }

    /// The packet whose time comes next.
    pub fn first(&self) -> Option<&Parcel<P>> {
        match (self.ordered.front(), self.free.peek()) {
            (Some(ordered), Some(free)) if free.parcel.release < ordered.release => Some(&free.parcel),
            (None, free) => free.map(|free| &*free.parcel),
            (ordered, _) => ordered.map(Box::as_ref),
        }
    }

    /// Takes the packet whose time comes next.
    pub fn pop(&mut self) -> Option<Box<Parcel<P>>> {
        match (self.ordered.front(), self.free.peek()) {
            (Some(ordered), Some(free)) if free.parcel.release < ordered.release => {
                self.free.pop().map(|free| free.parcel)
            }
            (None, _) => self.free.pop().map(|free| free.parcel),
            _ => self.ordered.pop_front(),
        }
    }

    /// Drops everything and says how many packets on the wire that were.
    pub fn clear(&mut self) -> u64 {
        self.latest = 0;
        let ordered = self.ordered.drain(..).map(|parcel| u64::from(parcel.segments)).sum::<u64>();
        let free = self.free.drain().map(|free| u64::from(free.parcel.segments)).sum::<u64>();
        ordered + free
    }
}

// A heap gives its greatest first: the earliest release, and among equals the first that came.
impl<P> Ord for Earliest<P> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.parcel.release, other.entry).cmp(&(self.parcel.release, self.entry))
    }
}

impl<P> PartialOrd for Earliest<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> PartialEq for Earliest<P> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<P> Eq for Earliest<P> {}
