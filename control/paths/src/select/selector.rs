//! By which relay list each packet of a prefix goes.

use super::flow::{Flow, FlowKey};
use super::rearrange::{FlowShare, Rearrangement, rearranged};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Duration;

/// How flows are spread over lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Policy {
    /// By their hash.
    Hash,
    /// By their hash, each list its share: the weights in the lists' order. A list without a weight gets nothing, but where
    /// none has one.
    Weighted(Vec<u32>),
    /// A new flow goes by the next list.
    RoundRobin,
    /// By their hash, and from time to time a flow is moved.
    FlowBased(Rearrangement),
}

/// How a selector works.
#[derive(Debug, Clone)]
pub struct SelectorConfig {
    /// How flows are spread.
    pub policy: Policy,
    /// By how much a packet may be later by one list than by another: the largest difference of two paths' delays, with
    /// queues full on one and empty on the other.
    pub spread: Duration,
    /// A flow that sent nothing for so long is forgotten. At least the spread counts.
    pub idle: Duration,
    /// So many flows are known. Further ones go by their hash, for which nothing has to be known.
    pub most_flows: usize,
    /// Makes this host's hashes other than the next one's.
    pub salt: u64,
}

impl SelectorConfig {
    /// With a spread of 10 ms, flows forgotten after a minute, and 65,536 of them known.
    pub fn new(policy: Policy) -> Self {
        let (spread, idle) = (Duration::from_millis(10), Duration::from_secs(60));
        Self { policy, spread, idle, most_flows: 65_536, salt: 0 }
    }
}

/// By which list a packet goes, and when.
///
/// The moment is now but where a flow moves without a gap: then its next packet is held until those before have arrived,
/// which is for the spread behind the last of them, and what follows goes in the order in which it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placement {
    /// The list.
    pub list: usize,
    /// When to send it.
    pub at: Duration,
}

/// By which list each packet of a prefix goes.
#[derive(Debug)]
pub struct Selector {
    config: SelectorConfig,
    lists: usize,
    flows: HashMap<FlowKey, Flow>,
    /// The list of the next new flow.
    next: usize,
    rearranged: Duration,
    swept: Duration,
    /// Until then a flow that is not known may be one that went by its hash.
    overfull: Duration,
}

impl Selector {
    /// For a prefix with so many lists.
    ///
    /// # Panics
    /// When there are none.
    pub fn new(config: SelectorConfig, lists: usize, now: Duration) -> Self {
        assert!(lists > 0, "a prefix without lists needs no selector");
        let flows = HashMap::new();
        Self { config, lists, flows, next: 0, rearranged: now, swept: now, overfull: Duration::ZERO }
    }

    /// How many flows are known.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// A packet of so many bytes is to go. Time must not run backwards.
    pub fn place(&mut self, key: FlowKey, bytes: usize, now: Duration) -> Placement {
        let idle = self.idle();
        if self.flows.len() >= self.config.most_flows && !self.flows.contains_key(&key) {
            self.sweep(now);
            if self.flows.len() >= self.config.most_flows {
                self.overfull = now + idle;
                return Placement { list: self.by_hash(&key), at: now };
            }
        }
        let fresh = match self.config.policy {
            // It may have gone by its hash already.
            Policy::RoundRobin if now >= self.overfull => self.next % self.lists,
            _ => self.by_hash(&key),
        };
        let flow = match self.flows.entry(key) {
            // One that is back after so long begins anew.
            Entry::Occupied(known) if known.get().sent + idle > now => known.into_mut(),
            entry => {
                self.next = (self.next + 1) % self.lists;
                let new = Flow { list: fresh, sent: now, bytes: 0, moves: None };
                entry.insert_entry(new).into_mut()
            }
        };
        flow.bytes += bytes as u64;
        let mut at = now.max(flow.sent);
        if let Some((to, deadline)) = flow.moves {
            let clear = flow.sent + self.config.spread + Duration::from_nanos(1);
            if at >= clear || now >= deadline {
                at = at.max(clear);
                (flow.list, flow.moves) = (to, None);
            }
        }
        flow.sent = at;
        Placement { list: flow.list, at }
    }

    /// Time passed: forgets flows that are idle, and rearranges the others if it is their turn. What moves is given: the flow,
    /// and the list it will go by.
    pub fn handle_timeout(&mut self, now: Duration) -> Option<(FlowKey, usize)> {
        if now >= self.swept + self.idle() {
            self.sweep(now);
        }
        let Policy::FlowBased(Rearrangement { period, patience }) = self.config.policy else { return None };
        if now < self.rearranged + period {
            return None;
        }
        self.rearranged = now;
        let shares = self.flows.iter().map(|(&key, flow)| FlowShare {
            key,
            list: flow.list,
            moves: flow.moves.map(|(to, _)| to),
            bytes: flow.bytes,
        });
        let moves = rearranged(self.lists, shares);
        if let Some((key, to)) = moves
            && let Some(flow) = self.flows.get_mut(&key)
        {
            flow.moves = Some((to, now + patience));
        }
        self.flows.values_mut().for_each(|flow| flow.bytes = 0);
        moves
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub fn poll_timeout(&self) -> Duration {
        let sweep = self.swept + self.idle();
        match self.config.policy {
            Policy::FlowBased(Rearrangement { period, .. }) => sweep.min(self.rearranged + period),
            _ => sweep,
        }
    }

    /// The prefix has other lists now: of each one before the place of the same list among them, if it is there. Flows of
    /// lists that are still there stay; others move, in order. Of flows that are too many to be known no order is promised
    /// here, as their hashes may name other lists.
    ///
    /// # Panics
    /// When there are none, or a place is none of them.
    pub fn replace(&mut self, lists: usize, places: &[Option<usize>], now: Duration) {
        assert!(lists > 0, "a prefix without lists needs no selector");
        let place = |list: usize| {
            let place = places.get(list).copied().flatten();
            assert!(place.is_none_or(|place| place < lists), "list {place:?} of {lists}");
            place
        };
        self.lists = lists;
        let by_hash = |key: &FlowKey| scaled(key.hash(self.config.salt), &self.config.policy, lists);
        for (key, flow) in &mut self.flows {
            let wanted = flow.moves.and_then(|(to, deadline)| Some((place(to)?, deadline)));
            (flow.list, flow.moves) = match place(flow.list) {
                Some(list) => (list, wanted),
                // Nothing goes by its list any more: it waits for no gap. Which list it is said to be of until its next
                // packet says nothing.
                None => {
                    let to = wanted.map_or_else(|| by_hash(key), |(to, _)| to);
                    (to, Some((to, now)))
                }
            };
        }
    }

    fn idle(&self) -> Duration {
        self.config.idle.max(self.config.spread + Duration::from_nanos(1))
    }

    fn sweep(&mut self, now: Duration) {
        let idle = self.idle();
        self.swept = now;
        self.flows.retain(|_, flow| flow.sent + idle > now);
    }

    fn by_hash(&self, key: &FlowKey) -> usize {
        scaled(key.hash(self.config.salt), &self.config.policy, self.lists)
    }
}

/// A hash as the number of a list, each list its share.
fn scaled(hash: u64, policy: &Policy, lists: usize) -> usize {
    let share = |of: u64| ((u128::from(hash) * u128::from(of)) >> 64) as u64;
    if let Policy::Weighted(weights) = policy {
        let weights = || weights.iter().take(lists).map(|&weight| u64::from(weight));
        let mut place = share(weights().sum());
        for (list, weight) in weights().enumerate() {
            match place.checked_sub(weight) {
                Some(left) => place = left,
                None => return list,
            }
        }
    }
    share(lists as u64) as usize
}
