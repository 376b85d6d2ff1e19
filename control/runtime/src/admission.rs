//! Who may run beside whom, and who is next.
//!
//! # The rule
//!
//! Two claims conflict if one writes what the other reads or writes (thesis §3.2.4). Who waits is asked in the order of
//! priority, then of arrival, and starts if it conflicts with nobody who runs and with nobody who *reserved* before it.
//!
//! Choice (the thesis says "queues until the conflicting DAG ends", which lets two readers that take turns keep a writer
//! out for ever): who saw `patience` starts that conflict with it while it waited has reserved. Whoever has reserved goes
//! before all who have not, whatever their priority, in the order in which they did.
//!
//! So nobody waits for ever, as long as every run ends: while it waits, at most `patience` starts conflict with it
//! before it has reserved, and after that only those of others that reserved before it, each once. Reservations are in
//! one order, so that they never wait for each other in a ring. And who waits does so only for a conflict.

use std::cmp::Reverse;
use std::sync::Arc;

/// What a run reads and writes, by numbers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Claim {
    reads: Vec<u32>,
    writes: Vec<u32>,
}

impl Claim {
    /// A claim. What is written need not be among what is read.
    pub fn new(reads: impl IntoIterator<Item = u32>, writes: impl IntoIterator<Item = u32>) -> Self {
        let sorted = |numbers: &mut dyn Iterator<Item = u32>| {
            let mut numbers: Vec<u32> = numbers.collect();
            numbers.sort_unstable();
            numbers.dedup();
            numbers
        };
        Self { reads: sorted(&mut reads.into_iter()), writes: sorted(&mut writes.into_iter()) }
    }

    /// Whether one writes what the other reads or writes.
    pub fn conflicts(&self, other: &Self) -> bool {
        common(&self.writes, &other.writes)
            || common(&self.writes, &other.reads)
            || common(&self.reads, &other.writes)
    }
}

fn common(left: &[u32], right: &[u32]) -> bool {
    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
    while let (Some(one), Some(other)) = (left.peek(), right.peek()) {
        match one.cmp(other) {
            std::cmp::Ordering::Less => left.next(),
            std::cmp::Ordering::Greater => right.next(),
            std::cmp::Ordering::Equal => return true,
        };
    }
    false
}

/// The rule at work. `K` names a run; nobody submits one that waits or runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Admission<K> {
    patience: u32,
    running: Vec<(K, Arc<Claim>)>,
    /// Those that have reserved first, in that order, then the others as they arrived.
    waiting: Vec<Waiting<K>>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Waiting<K> {
    key: K,
    claim: Arc<Claim>,
    priority: i32,
    /// Starts that conflicted with it while it waited, as far as `patience`.
    overtaken: u32,
}

impl<K: Clone + PartialEq> Admission<K> {
    /// Nobody runs and nobody waits. With a patience of 0 all go in the order of their arrival.
    pub fn new(patience: u32) -> Self {
        Self { patience, running: Vec::new(), waiting: Vec::new() }
    }

    /// Someone wants to run. A higher priority goes first.
    pub fn submit(&mut self, key: K, claim: Arc<Claim>, priority: i32) {
        let waiting = Waiting { key, claim, priority, overtaken: 0 };
        self.waiting.push(waiting);
        self.reserve();
    }

    /// Takes out who is next, who then runs until its [`end`](Self::end). To be asked until there is nobody.
    pub fn admit(&mut self) -> Option<K> {
        let reserved = self.reserved();
        let mut order: Vec<usize> = (0..self.waiting.len()).collect();
        order[reserved..].sort_by_key(|place| Reverse(self.waiting[*place].priority));
        let place = order.iter().position(|place| {
            let claim = &self.waiting[*place].claim;
            !self.running.iter().any(|(_, running)| running.conflicts(claim))
                && !self.waiting[..reserved.min(*place)].iter().any(|before| before.claim.conflicts(claim))
        })?;
        let started = self.waiting.remove(order[place]);
        for waiting in &mut self.waiting {
            if waiting.overtaken < self.patience && waiting.claim.conflicts(&started.claim) {
                waiting.overtaken += 1;
            }
        }
        self.reserve();
        self.running.push((started.key.clone(), started.claim));
        Some(started.key)
    }

    /// Someone runs no more.
    pub fn end(&mut self, key: &K) {
        self.running.retain(|(running, _)| running != key);
    }

    /// Someone wants to run no more.
    pub fn withdraw(&mut self, key: &K) {
        self.waiting.retain(|waiting| waiting.key != *key);
    }

    /// Who runs.
    pub fn running(&self) -> impl Iterator<Item = (&K, &Claim)> {
        self.running.iter().map(|(key, claim)| (key, &**claim))
    }

    /// Who waits, who has reserved first.
    pub fn waiting(&self) -> impl Iterator<Item = (&K, &Claim)> {
        self.waiting.iter().map(|waiting| (&waiting.key, &*waiting.claim))
    }

    fn reserved(&self) -> usize {
        self.waiting.iter().take_while(|waiting| waiting.overtaken >= self.patience).count()
    }

    /// Those that have reserved just now go behind those that had, as they arrived.
    fn reserve(&mut self) {
        self.waiting.sort_by_key(|waiting| waiting.overtaken < self.patience);
    }
}
