//! What has failed, and what follows for the links.
//!
//! Links and nodes fail and recover apart from each other: a link that failed stays down when a node at its end
//! recovers.

use super::Supervisor;
use super::names::{halves, resolve, unknown};
use crate::plan::{LinkState, State, Step};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{MutexGuard, PoisonError};

/// Links and nodes that failed.
#[derive(Debug, Clone, Default)]
pub struct Failures {
    links: BTreeMap<String, [bool; 2]>,
    nodes: BTreeSet<String>,
}

impl Failures {
    /// Which ways a link is down.
    pub fn down(&self, name: &str, link: &LinkState) -> [bool; 2] {
        match link.ends.iter().any(|(node, _)| self.nodes.contains(node)) {
            true => [true; 2],
            false => self.links.get(name).copied().unwrap_or_default(),
        }
    }

    fn set_link(&mut self, name: &str, direction: Option<usize>, failed: bool) {
        let known = self.links.entry(name.to_owned()).or_default();
        (0..2)
            .filter(|way| direction.is_none_or(|wanted| wanted == *way))
            .for_each(|way| known[way] = failed);
    }

    fn set_node(&mut self, name: &str, failed: bool) {
        if failed {
            self.nodes.insert(name.to_owned());
        } else {
            self.nodes.remove(name);
        }
    }
}

impl Supervisor {
    pub(super) fn failures(&self) -> MutexGuard<'_, Failures> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cuts a link, or heals it. A link outside the engine is cut by taking its devices down.
    pub(super) fn fail_link(&self, name: &str, direction: Option<usize>, failed: bool) -> io::Result<Value> {
        let change = |state: &State, failures: &mut Failures| {
            let halves = halves(state, name);
            if halves.is_empty() {
                let (name, flipped) = resolve(state, name)?;
                failures.set_link(&name, direction.map(|way| way ^ usize::from(flipped)), failed);
            }
            halves.iter().for_each(|half| failures.set_link(half, direction, failed));
            Ok(())
        };
        self.fail(change)?;
        tracing::info!(link = name, failed, "link cut or healed");
        Ok(json!({ "link": name, "failed": failed }))
    }

    /// Cuts all links of a node, or heals those that did not fail themselves.
    pub(super) fn fail_node(&self, name: &str, failed: bool) -> io::Result<Value> {
        self.fail(|state, failures| {
            if !state.nodes.contains_key(name) {
                return Err(unknown("node", name, state.nodes.keys()));
            }
            failures.set_node(name, failed);
            Ok(())
        })?;
        tracing::info!(node = name, failed, "node cut off or joined again");
        Ok(json!({ "node": name, "failed": failed }))
    }

    /// Changes what has failed and does to the links what follows from it, all of it or nothing.
    fn fail(&self, change: impl FnOnce(&State, &mut Failures) -> io::Result<()>) -> io::Result<()> {
        let mut builder = self.builder();
        let mut known = self.failures();
        let mut wanted = known.clone();
        change(&builder.state, &mut wanted)?;
        let differs = |(name, link): (&String, &LinkState)| {
            let (before, after) = (known.down(name, link), wanted.down(name, link));
            (before != after).then(|| (name.clone(), before, after))
        };
        let changes: Vec<_> = builder.state.links.iter().filter_map(differs).collect();
        for (done, (name, _, after)) in changes.iter().enumerate() {
            if let Err(error) = builder.cut(name, *after) {
                changes[..done].iter().for_each(|(name, before, _)| drop(builder.cut(name, *before)));
                return Err(error);
            }
        }
        *known = wanted;
        self.reroute();
        Ok(())
    }

    /// After a plan: what was made anew is whole, but a link to a node that failed is down.
    pub(super) fn fail_anew(&self, steps: &[Step]) -> io::Result<()> {
        let mut builder = self.builder();
        let mut failures = self.failures();
        for step in steps {
            match step {
                Step::RemoveLink { name } => drop(failures.links.remove(name)),
                Step::RemoveNode { name } => failures.set_node(name, false),
                _ => {}
            }
        }
        for step in steps {
            if let Step::AddLink { name, link } = step
                && failures.down(name, link) != [false; 2]
            {
                builder.cut(name, failures.down(name, link))?;
            }
        }
        Ok(())
    }
}
