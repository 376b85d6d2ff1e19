//! Algorithm 1 (§5.4.1), of Al-Fares et al. moved to end hosts, with its gaps closed.

use plait_model_topology::random::SplitMix64;
use std::time::Duration;

/// Periodic rearrangement: the largest flow that makes the fullest list and the emptiest one more alike moves from the one
/// to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rearrangement {
    /// Between two. Choice: the thesis names none; a second by default, several round trips of a fabric and few of what a
    /// user notices.
    pub period: Duration,
    /// How long a flow that is to move waits for a gap between two of its packets, before its packets are held.
    pub patience: Duration,
    /// How the algorithm is read.
    pub reading: Reading,
}

impl Default for Rearrangement {
    fn default() -> Self {
        Self {
            period: Duration::from_secs(1),
            patience: Duration::from_millis(100),
            reading: Reading::default(),
        }
    }
}

/// How Algorithm 1 is read where its print leaves that open, or cannot be meant. Plait reads it as the default is; the other
/// readings are there to be compared with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reading {
    /// Which flows may move.
    pub candidates: Candidates,
    /// Since when what flows sent counts.
    pub window: Window,
}

/// Which flows of a prefix may move.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Candidates {
    /// Those of its fullest list.
    #[default]
    OfFullest,
    /// All, as printed: moving one of another list makes the fullest no emptier, and one that is on the emptiest already
    /// stays where it is.
    All,
}

/// Since when what flows sent counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Window {
    /// Since the last rearrangement: a flow that was large once does not count for ever.
    #[default]
    Period,
    /// Since ever, as printed, where nothing begins counters anew.
    Ever,
}

/// A flow of a prefix, as Algorithm 1 looks at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowShare<K> {
    /// What tells it from others.
    pub key: K,
    /// By which list it goes.
    pub list: usize,
    /// By which it will go, where it waits for that.
    pub moves: Option<usize>,
    /// Whether somebody asked for that list, so that it stays there.
    pub by_hand: bool,
    /// What it sent in the window that counts.
    pub bytes: u64,
    /// Its hash. It differs from host to host, and parts what is equally full.
    pub hash: u32,
}

/// Which of the candidates is to move, and to which of so many lists. Counters are of the reading's window.
///
/// Choices, where Algorithm 1 as printed says nothing, beside those of a [`Reading`]:
/// - "smaller than the difference" is strict, so that every move makes the two more alike, and a lone flow stays;
/// - a flow that still waits to move is counted where it goes, and is no candidate;
/// - nor is one that somebody had moved where it is; its traffic counts, and a list that has no other flows is not the fullest,
///   so that the others become alike;
/// - flows that sent nothing are no candidates, and of equal ones the lower key is;
/// - equally full lists come in an order that is each host's own, by the hashes of its flows. With more lists than flows many are
///   empty, and in the order of their numbers all hosts of a fabric would turn to the same one in the same second.
///
/// # Panics
/// When a flow goes by a list that is none of them.
pub fn rearranged<K: Ord + Copy>(
    lists: usize,
    candidates: Candidates,
    flows: impl Iterator<Item = FlowShare<K>> + Clone,
) -> Option<(K, usize)> {
    let mut traffic = vec![0u64; lists];
    // Whether a list has flows that stay, and others.
    let mut kinds = vec![(false, false); lists];
    for flow in flows.clone() {
        traffic[flow.moves.unwrap_or(flow.list)] += flow.bytes;
        let (stay, others) = &mut kinds[flow.list];
        *(if flow.by_hand { stay } else { others }) = true;
    }
    let salt = flows.clone().fold(0, |salt, flow| salt ^ flow.hash);
    let order = |list: usize| SplitMix64::new(u64::from(salt) << 32 | list as u64).draw();
    let indexed = || traffic.iter().copied().enumerate();
    let may_give = indexed().filter(|&(list, _)| kinds[list] != (true, false));
    let (fullest, most) = may_give.max_by_key(|&(list, bytes)| (bytes, std::cmp::Reverse(order(list))))?;
    let (emptiest, least) = indexed().min_by_key(|&(list, bytes)| (bytes, order(list)))?;
    let may_move = |flow: &FlowShare<K>| candidates == Candidates::All || flow.list == fullest;
    flows
        .filter(|flow| may_move(flow) && flow.moves.is_none() && !flow.by_hand)
        .filter(|flow| flow.bytes > 0 && flow.bytes < most - least)
        .max_by_key(|flow| (flow.bytes, std::cmp::Reverse(flow.key)))
        .filter(|flow| flow.list != emptiest)
        .map(|flow| (flow.key, emptiest))
}
