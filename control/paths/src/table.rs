//! What senders look up: of each prefix the relay lists that lead there.

use crate::plan::Plan;
use ipnet::IpNet;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

/// The addresses of a path's relays, the first one first. An empty list is plain routing.
pub type RelayList = Vec<IpAddr>;

/// A change of one prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// From now on these lists, all at once; never a part of them, nor of those before.
    Set {
        /// Where packets go.
        prefix: IpNet,
        /// By which ways, the best first.
        lists: Vec<RelayList>,
    },
    /// From now on plain routing.
    Remove {
        /// Where packets go.
        prefix: IpNet,
    },
}

/// Of each prefix its relay lists. What is not there, goes by plain routing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// Shared with plans and with other tables: most are the same from one to the next.
    sets: BTreeMap<IpNet, Arc<Vec<RelayList>>>,
}

impl Table {
    /// The table of a plan: for all that lies behind switches other than its source. Choice: for the switches' own relay
    /// addresses there is none; what is for a switch itself may go any way. Nor is there a set that would only say what
    /// plain routing does.
    pub fn of(plan: &Plan) -> Self {
        Self::of_lists(plan, |to| Arc::clone(plan.lists(to)))
    }

    /// The table of these lists towards each of a plan's switches.
    pub(crate) fn of_lists(plan: &Plan, lists: impl Fn(usize) -> Arc<Vec<RelayList>>) -> Self {
        let switches = plan.fabric().switches();
        let mut sets = BTreeMap::new();
        for (to, switch) in switches.iter().enumerate().filter(|(to, _)| *to != plan.source()) {
            let lists = lists(to);
            if lists.iter().all(RelayList::is_empty) {
                continue;
            }
            for prefix in &switch.prefixes {
                if switch.relay.map(IpNet::from) != Some(*prefix) {
                    sets.insert(*prefix, Arc::clone(&lists));
                }
            }
        }
        Self { sets }
    }

    /// The lists of a prefix.
    pub fn lists(&self, prefix: &IpNet) -> Option<&[RelayList]> {
        self.sets.get(prefix).map(|lists| lists.as_slice())
    }

    /// Whether a prefix has the same lists here and there.
    pub(crate) fn is_alike(&self, other: &Self, prefix: &IpNet) -> bool {
        self.sets.get(prefix) == other.sets.get(prefix)
    }

    /// All prefixes and their lists.
    pub fn sets(&self) -> impl Iterator<Item = (&IpNet, &[RelayList])> {
        self.sets.iter().map(|(prefix, lists)| (prefix, lists.as_slice()))
    }

    /// The operations that make this table into another one, as few as can be.
    pub fn operations(&self, next: &Self) -> Vec<Operation> {
        let gone = self.sets.keys().filter(|prefix| !next.sets.contains_key(prefix));
        let gone = gone.map(|&prefix| Operation::Remove { prefix });
        let other = next.sets.iter().filter(|(prefix, lists)| self.sets.get(prefix) != Some(lists));
        gone.chain(other.map(|(&prefix, lists)| Operation::Set { prefix, lists: Vec::clone(lists) }))
            .collect()
    }

    /// Does an operation.
    pub fn apply(&mut self, operation: Operation) {
        match operation {
            Operation::Set { prefix, lists } => drop(self.sets.insert(prefix, Arc::new(lists))),
            Operation::Remove { prefix } => drop(self.sets.remove(&prefix)),
        }
    }
}
