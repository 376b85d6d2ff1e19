//! From one table to the next while switches follow a failure, each in its own time.
//!
//! A host may hear of a failure before a switch has new routes. Relays that are no longer needed, since one way is left, are needed
//! until then: what has none goes where that switch still leads it, to where the failure is. Lists along whose paths nothing changed
//! lead on, whatever switches know, and stay until all of them do. That is so of [sure](crate::Method::Sure) ones; others lead on as
//! well as they did.

use crate::fabric::{Fabric, Link};
use crate::plan::{Plan, PlannedPath, changes, lists};
use crate::table::{Operation, RelayList, Table};
use std::sync::Arc;
use std::time::Duration;

/// What senders go by while switches follow a change.
#[derive(Debug, Clone, Default)]
pub(crate) struct Passage {
    /// For how long they do; nought where nobody waits for them.
    pub time: Duration,
    /// What senders go by now.
    pub in_force: Table,
    /// What they go by in the end.
    target: Table,
    due: Option<Duration>,
}

impl Passage {
    /// Whether anybody waits for switches.
    pub fn is_awaited(&self) -> bool {
        !self.time.is_zero()
    }

    /// The table is to be this one, after a change of the fabric that left these lists alone.
    pub fn lead_to(&mut self, target: Table, lasting: &Table, now: Duration) -> Vec<Operation> {
        let mut next = target.clone();
        for (prefix, lasting) in lasting.sets() {
            if target.is_alike(&self.in_force, prefix) {
                continue;
            }
            let known = self.in_force.lists(prefix).unwrap_or_default();
            let lists: Vec<RelayList> = known.iter().filter(|list| lasting.contains(list)).cloned().collect();
            if !lists.is_empty() {
                next.apply(Operation::Set { prefix: *prefix, lists });
            }
        }
        self.due = (next != target).then_some(now + self.time);
        self.target = target;
        self.go_by(next)
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub fn poll_timeout(&self) -> Option<Duration> {
        self.due
    }

    /// Time passed.
    pub fn handle_timeout(&mut self, now: Duration) -> Vec<Operation> {
        match self.due.take_if(|due| *due <= now) {
            Some(_) => self.go_by(self.target.clone()),
            None => Vec::new(),
        }
    }

    fn go_by(&mut self, next: Table) -> Vec<Operation> {
        let operations = self.in_force.operations(&next);
        self.in_force = next;
        operations
    }
}

/// Whether anything is nearer in the next state of a fabric. Shortest ways may be others then, between relays as well.
pub(crate) fn is_nearer(before: &Fabric, next: &Fabric) -> bool {
    if before.has_switches_of(next) {
        return !changes(before.links(), next.links()).1.is_empty();
    }
    next.links().iter().any(|link| {
        let [from, to] = [link.from, link.to].map(|end| before.index(next.switches()[end as usize].id));
        let known = from.zip(to).and_then(|(from, to)| cost(before, from, to));
        known.is_none_or(|known| link.cost < known)
    })
}

/// Of each prefix the lists of a plan along whose paths nothing is other in the fabric of a later one, where nothing has come nearer
/// since. None where that one begins elsewhere.
pub(crate) fn lasting(plan: &Plan, next: &Plan) -> Table {
    let (before, access) = (plan.fabric(), |of: &Plan| of.fabric().switches()[of.source()].id);
    if access(plan) != access(next) {
        return Table::default();
    }
    let next = next.fabric();
    let places: Vec<Option<usize>> = before.switches().iter().map(|switch| next.index(switch.id)).collect();
    let is_same = |switch: usize| {
        places[switch].is_some_and(|place| next.switches()[place].relay == before.switches()[switch].relay)
    };
    let others = others(before, next, &places);
    let lasts = |path: &PlannedPath| {
        let relays = path.relays.iter().flatten();
        let is_other = |step: &[usize]| others.binary_search(&(step[0] as u32, step[1] as u32)).is_ok();
        !path.switches.windows(2).any(is_other) && relays.copied().all(|at| is_same(at as usize))
    };
    let mut table = Table::of_lists(plan, |to| match plan.paths(to).iter().all(lasts) {
        true => Arc::clone(plan.lists(to)),
        false => Arc::new(lists(before, plan.paths(to).iter().filter(|path| lasts(path)))),
    });
    // What is behind another switch now, none of them leads to.
    let behind = |to: usize| places[to].map(|place| &next.switches()[place].prefixes);
    for (to, switch) in before.switches().iter().enumerate() {
        for prefix in &switch.prefixes {
            if !behind(to).is_some_and(|prefixes| prefixes.contains(prefix)) {
                table.apply(Operation::Remove { prefix: *prefix });
            }
        }
    }
    table
}

/// The links of a fabric that are gone in the next one or cost otherwise there, in order.
fn others(before: &Fabric, next: &Fabric, places: &[Option<usize>]) -> Vec<(u32, u32)> {
    let pair = |link: &Link| (link.from, link.to);
    if before.has_switches_of(next) {
        let (losses, gains) = changes(before.links(), next.links());
        let mut others: Vec<_> = losses.iter().chain(&gains).map(pair).collect();
        others.sort_unstable();
        return others;
    }
    let stays = |link: &&Link| {
        let ends = places[link.from as usize].zip(places[link.to as usize]);
        ends.and_then(|(from, to)| cost(next, from, to)) == Some(link.cost)
    };
    before.links().iter().filter(|link| !stays(link)).map(pair).collect()
}

/// What a link costs from one switch to another.
fn cost(fabric: &Fabric, from: usize, to: usize) -> Option<u32> {
    let place = fabric.links().binary_search_by_key(&(from as u32, to as u32), |link| (link.from, link.to));
    place.ok().map(|place| fabric.links()[place].cost)
}
