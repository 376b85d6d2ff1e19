//! What senders look up: of each prefix the relay lists that lead there.

use crate::plan::{Plan, PlannedPath};
use ipnet::IpNet;
use std::collections::BTreeMap;
use std::net::IpAddr;

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
    sets: BTreeMap<IpNet, Vec<RelayList>>,
}

impl Table {
    /// The table of a plan: for all that lies behind switches other than its source. Choice: for the switches' own relay
    /// addresses there is none; what is for a switch itself may go any way. Nor is there a set that would only say what
    /// plain routing does.
    pub fn of(plan: &Plan) -> Self {
        Self::of_those(plan, |_| true)
    }

    /// The table of some of a plan's paths.
    pub(crate) fn of_those(plan: &Plan, such: impl Fn(&PlannedPath) -> bool) -> Self {
        let switches = plan.fabric().switches();
        let mut sets = BTreeMap::new();
        for (to, switch) in switches.iter().enumerate().filter(|(to, _)| *to != plan.source()) {
            let address = |&relay: &u32| switches[relay as usize].relay;
            let list = |relays: &crate::Relays| relays.iter().map(address).collect::<Option<RelayList>>();
            let paths = plan.paths(to).iter().filter(|path| such(path));
            let lists: Vec<_> = paths.filter_map(|path| list(path.relays.as_ref()?)).collect();
            if lists.iter().all(RelayList::is_empty) {
                continue;
            }
            for prefix in &switch.prefixes {
                if switch.relay.map(IpNet::from) != Some(*prefix) {
                    sets.insert(*prefix, lists.clone());
                }
            }
        }
        Self { sets }
    }

    /// The lists of a prefix.
    pub fn lists(&self, prefix: &IpNet) -> Option<&[RelayList]> {
        self.sets.get(prefix).map(Vec::as_slice)
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
        gone.chain(other.map(|(&prefix, lists)| Operation::Set { prefix, lists: lists.clone() })).collect()
    }

    /// Does an operation.
    pub fn apply(&mut self, operation: Operation) {
        match operation {
            Operation::Set { prefix, lists } => drop(self.sets.insert(prefix, lists)),
            Operation::Remove { prefix } => drop(self.sets.remove(&prefix)),
        }
    }
}
