//! The ways of all pairs, looked at after each instant that may change them.

use super::Played;
use super::fault::{Cause, Fault, Outage};
use super::wires::{State, Wires};
use plait_model_overlay::{Application, NodeId};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Pairs that had a way once, and those that have none.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// Choice: a pair that has not found each other yet is no fault. It counts from its first way on.
    met: BTreeSet<(usize, usize)>,
    open: BTreeMap<(usize, usize), (Cause, Duration)>,
    over: Vec<(Application, Cause, Outage)>,
    applications: Vec<Application>,
}

impl Watch {
    /// Looks at all pairs as they are from an instant on.
    pub fn look(&mut self, at: Duration, played: &[Played], wires: &Wires) {
        self.applications = played.iter().map(|member| member.about.application).collect();
        let by_node: BTreeMap<(Application, NodeId), usize> = played
            .iter()
            .enumerate()
            .map(|(place, member)| ((member.about.application, member.about.node), place))
            .collect();
        for source in 0..played.len() {
            for destination in 0..played.len() {
                let is_pair = source != destination
                    && played[source].about.application == played[destination].about.application;
                if !is_pair {
                    continue;
                }
                let pair = (source, destination);
                // Who took its leave is missed by nobody.
                let is_judged = played[source].is_there && played[destination].is_there;
                let cause = if is_judged { ends(pair, played, &by_node, wires) } else { None };
                if is_judged && cause.is_none() {
                    self.met.insert(pair);
                }
                let cause = cause.filter(|_| self.met.contains(&pair));
                if self.open.get(&pair).map(|(known, _)| known) == cause.as_ref() {
                    continue;
                }
                self.close(pair, Some(at));
                if let Some(cause) = cause {
                    self.open.insert(pair, (cause, at));
                }
            }
        }
    }

    fn close(&mut self, pair: (usize, usize), until: Option<Duration>) {
        if let Some((cause, from)) = self.open.remove(&pair) {
            let (source, destination) = pair;
            let outage = Outage { source, destination, from, until };
            self.over.push((self.applications[source], cause, outage));
        }
    }

    /// What was wrong: outages of one cause that touch each other are one fault.
    pub fn end(mut self) -> Vec<Fault> {
        for pair in self.open.keys().copied().collect::<Vec<_>>() {
            self.close(pair, None);
        }
        self.over.sort_by_key(|(_, _, outage)| (outage.from, outage.source, outage.destination));
        let mut faults: Vec<Fault> = Vec::new();
        for (application, cause, outage) in self.over {
            let touches = |fault: &&mut Fault| {
                fault.cause == cause
                    && fault.application == application
                    && fault.until.is_none_or(|until| outage.from <= until)
            };
            match faults.iter_mut().rev().find(touches) {
                Some(fault) => {
                    fault.until = fault.until.and_then(|until| Some(until.max(outage.until?)));
                    fault.outages.push(outage);
                }
                None => faults.push(Fault {
                    application,
                    cause,
                    from: outage.from,
                    until: outage.until,
                    outages: vec![outage],
                }),
            }
        }
        faults
    }
}

/// What ends a pair's way; nothing, if it leads there, or where nobody recorded.
fn ends(
    (source, destination): (usize, usize),
    played: &[Played],
    by_node: &BTreeMap<(Application, NodeId), usize>,
    wires: &Wires,
) -> Option<Cause> {
    let (application, wanted) = (played[source].about.application, played[destination].about.node);
    let mut way = vec![source];
    loop {
        let at = *way.last().expect("it begins somewhere");
        let no_route = Cause::NoRoute { at, to: destination };
        let Some(tables) = played[at].tables() else { return Some(no_route) };
        // Choice: of several next hops, each of which gets a copy, the first is followed; control planes give one.
        let Some(hop) = tables.routes.get(&wanted).and_then(|hops| hops.first()) else {
            return Some(no_route);
        };
        if !tables.nodes.contains_key(hop) {
            return Some(no_route);
        }
        let next = *by_node.get(&(application, *hop))?;
        match wires.state(at, next) {
            State::Silent => return Some(Cause::Silent { at: next }),
            State::Lost => return Some(Cause::Lost { from: at, to: next }),
            State::Good => {}
        }
        let own = played[at].about.node;
        let there = played[next].tables();
        if there.is_none_or(|there| !there.nodes.contains_key(&own)) {
            return Some(Cause::UnknownLocator { at: next, from: at });
        }
        if next == destination {
            let sender = played[source].about.node;
            let knows = there
                .is_some_and(|there| there.nodes.contains_key(&sender) || there.routes.contains_key(&sender));
            return (!knows).then_some(Cause::UnknownSource { at: next, from: source });
        }
        if let Some(begin) = way.iter().position(|member| *member == next) {
            // The same circle, wherever somebody came into it.
            let mut round = way.split_off(begin);
            let least = (0..round.len()).min_by_key(|place| round[*place]).unwrap_or(0);
            round.rotate_left(least);
            return Some(Cause::Loop(round));
        }
        way.push(next);
    }
}
