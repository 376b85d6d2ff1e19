//! A packet's walk as it leaves a host: what the program `steer` does, flow by flow.
//!
//! ```text
//! destination ─► prefix ─► set ─► flow's list ─► stack before the packet, if it fits ─► counted
//! ```
//!
//! Of packets it sees what decides: the flow, and how long they are. [`pushed`](super::pushed) writes the bytes. The program takes
//! the set from what it knows of the flow where prefixes have not changed since, which leads to the same one.
//!
//! A flow that is to move and has no gap waits for one, and when it has waited for long enough its packets are held until what
//! it sent before has arrived whichever way it went. One whose list is no more waits for no gap; one whose list is still there
//! stays, whatever else its prefix gets.

use super::flows::Flows;
use super::prefixes::Prefixes;
use super::tables::{
    Flow, FlowKey, FlowPlace, ListChoice, ListCount, ListSet, MovePlace, PathDrop, selector,
};
use super::{chosen, hash_of};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Bytes of an Ethernet header.
const ETHERNET: u32 = 14;

/// The tables that are written from outside. Devices that steer alike may share them.
#[derive(Debug, Clone, Default)]
pub struct SteerTables {
    /// Which set a destination's packets go by.
    pub prefixes: Prefixes,
    /// Sets of relay lists.
    pub sets: HashMap<u32, ListSet>,
    /// Bytes of each stack's headers; none is plain routing.
    pub stacks: HashMap<u32, u32>,
}

/// A device whose packets are steered: its tables, what the program remembers, and the walk by both.
#[derive(Debug, Clone)]
pub struct Steer {
    /// Nanoseconds that a flow must have been silent before it moves.
    pub spread: u64,
    /// Nanoseconds that a flow waits for a gap before its packets are held; none where nobody holds packets.
    pub patience: Option<u64>,
    /// Nanoseconds after which a flow that was silent is another one; none where it is forgotten for want of room alone.
    pub idle: Option<u64>,
    /// What is written from outside.
    pub tables: Arc<SteerTables>,
    /// How many flows took their turn, by set.
    pub turns: HashMap<u32, u32>,
    /// The flows heard of last.
    pub flows: Flows,
    /// Where flows are moved.
    pub moves: HashMap<FlowKey, MovePlace>,
    /// How much was sent by each stack.
    pub counts: HashMap<u32, ListCount>,
    /// What was dropped.
    pub drops: BTreeMap<PathDrop, u64>,
}

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Steered {
    /// The stack that goes before it; none where it goes as it is.
    pub stack: Option<u32>,
    /// When it goes, in nanoseconds: now, or when those before it cannot be overtaken any more.
    pub at: u64,
}

impl Steer {
    /// By these tables, with room for so many flows.
    pub fn new(spread: u64, flows: usize, tables: Arc<SteerTables>) -> Self {
        Self {
            spread,
            patience: None,
            idle: None,
            tables,
            turns: HashMap::new(),
            flows: Flows::new(flows),
            moves: HashMap::new(),
            counts: HashMap::new(),
            drops: BTreeMap::new(),
        }
    }

    /// The stack that goes before a flow's packet, and when it goes. The packet's bytes count from Ethernet's header on;
    /// `most` is the device's MTU, `now` nanoseconds.
    ///
    /// # Errors
    /// It is too long with the tallest stack of its set, and is counted as dropped.
    pub fn transmit(&mut self, key: &FlowKey, bytes: u32, most: u32, now: u64) -> Result<Steered, PathDrop> {
        let tables = Arc::clone(&self.tables);
        let is_over =
            self.idle.is_some_and(|idle| self.flows.get(key).is_some_and(|flow| flow.is_over(idle, now)));
        if is_over {
            self.moves.remove(key);
        }
        let plain = Steered { stack: None, at: now };
        let Some(slot) = tables.prefixes.longest(key.destination) else { return Ok(plain) };
        let Some(set) = tables.sets.get(&slot).filter(|set| set.count > 0) else { return Ok(plain) };
        let (list, at) = self.list_of(slot, set, key, is_over, now);
        let ListChoice { stack, name, .. } = set.choices[list as usize];
        let Some(&length) = tables.stacks.get(&stack) else { return Ok(plain) };
        let place = FlowPlace { set: slot, list, name };
        if set.tallest > 0 && bytes.saturating_sub(ETHERNET) + set.tallest > most {
            *self.drops.entry(PathDrop::TooBig).or_default() += 1;
            let is_known = !is_over && self.flows.get(key).is_some_and(|flow| flow.set == slot);
            if set.selector == selector::ROUND_ROBIN && !is_known {
                // What was refused took its turn.
                match self.flows.get_mut(key).filter(|_| !is_over) {
                    Some(known) => known.goes_by(place),
                    None => self.flows.insert(*key, Flow::heard(0, 0, now, place)),
                }
            }
            return Err(PathDrop::TooBig);
        }
        self.count(key, bytes, place, stack, is_over, at);
        Ok(Steered { stack: (length > 0).then_some(stack), at })
    }

    /// Has a flow go by another list of a set, from its next gap on.
    pub fn move_flow(&mut self, key: FlowKey, place: MovePlace) {
        self.moves.insert(key, place);
    }

    /// The list that a flow is to go by from its next gap on, where it is another than it goes by.
    pub fn move_of(&self, key: &FlowKey, flow: &Flow) -> Option<u32> {
        let place = self.moves.get(key).filter(|place| place.set == flow.set)?;
        Some(place.list).filter(|list| *list != flow.list)
    }

    /// The list of a flow, and when its packet goes. One that is known stays by its list as long as the prefix has it.
    fn list_of(&mut self, slot: u32, set: &ListSet, key: &FlowKey, is_over: bool, now: u64) -> (u32, u64) {
        let Self { spread, patience, turns, flows, moves, .. } = self;
        let is_valid = |place: &&MovePlace| place.set == slot && place.list < set.count;
        let moved = moves.get(key).filter(|_| set.selector == selector::FLOW_BASED).filter(is_valid);
        let moved = moved.map(|place| place.list);
        let mut another = || moved.unwrap_or_else(|| fresh(slot, set, key, turns));
        let Some(known) = flows.get_mut(key).filter(|_| !is_over) else { return (another(), now) };
        let until = known.holds.saturating_add(*spread);
        match known.list_in(set) {
            // By the list that they were held for, though it may be to move again.
            Some(list) if known.holds > 0 && now < until => (list, until),
            Some(list) => match moved.filter(|to| *to != list) {
                Some(to) => moved_to(known, [list, to], *spread, *patience, now),
                None => {
                    (known.waits, known.holds) = (0, 0);
                    (list, now)
                }
            },
            None => {
                // Its list is no more, and it cannot wait for a gap.
                let last = known.heard.max(1);
                let must_wait = patience.is_some() && now.saturating_sub(last) <= *spread;
                known.waits = 0;
                known.holds = if must_wait { now.max(last) } else { 0 };
                (another(), if must_wait { known.holds.saturating_add(*spread) } else { now })
            }
        }
    }

    fn count(&mut self, key: &FlowKey, bytes: u32, place: FlowPlace, stack: u32, is_over: bool, now: u64) {
        let bytes = u64::from(bytes);
        let count = self.counts.entry(stack).or_insert(ListCount { packets: 0, bytes: 0 });
        count.packets += 1;
        count.bytes += bytes;
        match self.flows.get_mut(key).filter(|_| !is_over) {
            Some(known) => {
                known.packets += 1;
                known.bytes += bytes;
                known.heard = now;
                known.goes_by(place);
            }
            None => self.flows.insert(*key, Flow::heard(1, bytes, now, place)),
        }
    }
}

/// The list of a flow that goes by none.
fn fresh(slot: u32, set: &ListSet, key: &FlowKey, turns: &mut HashMap<u32, u32>) -> u32 {
    if set.selector == selector::ROUND_ROBIN {
        let turns = turns.entry(slot).or_insert(set.turns);
        let turn = *turns;
        *turns = turns.wrapping_add(1);
        return turn % set.count;
    }
    chosen(set, hash_of(key)) as u32
}

/// The list of a flow that is to go by another one, and when its packet goes. What it sent before must not be overtaken: it
/// moves when it was silent for as long as paths differ, or when its packets were held for so long.
fn moved_to(
    known: &mut Flow,
    [from, to]: [u32; 2],
    spread: u64,
    patience: Option<u64>,
    now: u64,
) -> (u32, u64) {
    known.holds = 0;
    if now.saturating_sub(known.heard) > spread {
        known.waits = 0;
        return (to, now);
    }
    if known.waits == 0 {
        known.waits = now;
    }
    match patience.filter(|patience| now - known.waits > *patience) {
        Some(_) => {
            (known.waits, known.holds) = (0, now);
            (to, now.saturating_add(spread))
        }
        None => (from, now),
    }
}
