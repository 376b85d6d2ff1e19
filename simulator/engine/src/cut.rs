//! Cutting a network into parts that threads work on, and how far ahead of the others each may go.
//!
//! A packet that goes onto a link at some instant meets the link's queue no earlier than the link's delay later. While parts are cut only at links, each can therefore work on a window of that length without hearing
//! from the others (conservative synchronisation: Chandy and Misra 1979, in the windows of Nicol 1993).

use plait_model_link::{Conditions, Distribution};
use plait_model_quantity::TimeSpan;
use std::collections::VecDeque;
use std::sync::Arc;

/// The part of each node: `count` of them or fewer, numbered from 0, of nearly as many links each.
///
/// Choice: nodes are taken breadth first from the lowest number on, and a new part begins when one is full. That keeps
/// hosts with their switches and pods together, and costs nothing; a better cut saves messages, not waiting.
pub(crate) fn parts(
    nodes: usize,
    links: &[[u32; 2]],
    conditions: &[[Arc<Conditions>; 2]],
    count: usize,
) -> Vec<u32> {
    if count <= 1 || nodes <= 1 {
        return vec![0; nodes];
    }
    // What no window would fit between stays together.
    let mut parents: Vec<u32> = (0..nodes as u32).collect();
    for ([a, b], conditions) in links.iter().zip(conditions) {
        if conditions.iter().any(|conditions| lookahead(conditions) < LEAST) {
            let [a, b] = [*a, *b].map(|node| root(&mut parents, node));
            parents[a.max(b) as usize] = a.min(b);
        }
    }
    let mut neighbours = vec![Vec::new(); nodes];
    let mut weights = vec![1usize; nodes];
    for [a, b] in links {
        let [a, b] = [*a, *b].map(|node| root(&mut parents, node));
        neighbours[a as usize].push(b);
        neighbours[b as usize].push(a);
        weights[a as usize] += 1;
        weights[b as usize] += 1;
    }
    let share = (nodes + 2 * links.len()).div_ceil(count);
    let mut of_root: Vec<Option<u32>> = vec![None; nodes];
    let (mut part, mut filled) = (0, 0);
    let mut queue = VecDeque::new();
    for start in 0..nodes as u32 {
        queue.push_back(root(&mut parents, start));
        while let Some(at) = queue.pop_front() {
            if of_root[at as usize].is_some() {
                continue;
            }
            if filled >= share {
                (part, filled) = (part + 1, 0);
            }
            of_root[at as usize] = Some(part);
            filled += weights[at as usize];
            queue.extend(neighbours[at as usize].iter().filter(|next| of_root[**next as usize].is_none()));
        }
    }
    (0..nodes as u32).map(|node| of_root[root(&mut parents, node) as usize].unwrap_or(0)).collect()
}

fn root(parents: &mut [u32], mut node: u32) -> u32 {
    while parents[node as usize] != node {
        parents[node as usize] = parents[parents[node as usize] as usize];
        node = parents[node as usize];
    }
    node
}

/// The shortest window worth cutting for, in nanoseconds: threads take about that long to meet.
const LEAST: u64 = 1_000;

/// How long a packet is delayed at least before it meets the link's queue, in nanoseconds.
///
/// The time that its bits take would be too much: it may find the queue full sooner than any packet can leave.
pub(crate) fn lookahead(conditions: &Conditions) -> u64 {
    let delay = conditions.delay.as_nanos();
    match conditions.jitter.as_ref().map(|jitter| &jitter.distribution) {
        _ if conditions.reorder.value() > 0.0 => 0,
        None => delay,
        Some(Distribution::Uniform(spread)) => delay.saturating_sub(spread.as_nanos()),
        Some(Distribution::Samples(samples)) => {
            delay.saturating_add(samples.iter().min().copied().unwrap_or(TimeSpan::ZERO).as_nanos())
        }
        // Their tails, or the cut at nought, can take all of it away.
        Some(Distribution::Normal(_) | Distribution::Pareto(_)) => 0,
    }
}
