//! What follows from what was learnt, by the policies that were said of prefixes.

use super::{Agent, AgentError};
use crate::Ways;
use crate::protocol::Policy;
use ipnet::IpNet;
use plait_control_paths::{Operation, RelayList};

impl Agent {
    /// Says by which policy flows go by what is learnt of a prefix and of those within it, or no more, and whether that is new.
    pub(super) fn choose(&mut self, prefix: IpNet, policy: Option<Policy>) -> Result<bool, AgentError> {
        if self.state.policies.said_of(prefix) == policy {
            return Ok(false);
        }
        self.must_steer()?;
        if policy == Some(Policy::Weighted) {
            return Err(AgentError::LearntWeights(prefix));
        }
        let mut policies = self.state.policies.clone();
        policies.say(prefix, policy);
        let is_meant = |net: &IpNet| prefix.contains(net) && !self.state.statics.contains_key(net);
        let meant: Vec<_> = self.state.learnt.keys().copied().filter(is_meant).collect();
        let were: Vec<_> = meant.into_iter().map(|net| (net, self.learnt(net))).collect();
        let former = std::mem::replace(&mut self.state.policies, policies);
        for (at, (net, was)) in were.iter().enumerate() {
            let Err(error) = self.steer(*net, was.clone(), self.learnt(*net)) else { continue };
            for (net, was) in &were[..at] {
                if let Err(error) = self.steer(*net, self.learnt(*net), was.clone()) {
                    tracing::error!(prefix = %net, %error, "flows go by another policy than is said");
                }
            }
            self.state.policies = former;
            return Err(error);
        }
        self.is_changed = true;
        Ok(true)
    }

    /// What was learnt of a prefix.
    pub(super) fn learnt(&self, prefix: IpNet) -> Ways {
        self.ways_by(prefix, self.state.learnt.get(&prefix).cloned().unwrap_or_default())
    }

    /// These lists of a prefix, which were learnt.
    fn ways_by(&self, prefix: IpNet, lists: Vec<RelayList>) -> Ways {
        let selector = self.policy_of_learnt(prefix).selector(Vec::new);
        Ways { lists, encapsulation: self.options.encapsulation, selector }
    }

    /// By which policy flows go by what is learnt of a prefix.
    pub(super) fn policy_of_learnt(&self, prefix: IpNet) -> Policy {
        self.state.policies.of(prefix).unwrap_or(self.options.policy)
    }

    /// Does what follows from what was learnt.
    pub(super) fn follow(&mut self, operations: Vec<Operation>) {
        if operations.is_empty() {
            return;
        }
        self.updates += 1;
        self.is_changed = true;
        for operation in operations {
            let (prefix, lists) = match operation {
                Operation::Set { prefix, lists } => (prefix, lists),
                Operation::Remove { prefix } => (prefix, Vec::new()),
            };
            // Choice: what finds no room goes by plain routing, rather than by lists of a fabric that is no more.
            if let Err(error) = self.follow_one(prefix, lists) {
                tracing::error!(%prefix, %error, "the prefix goes by plain routing");
                let _ = self.follow_one(prefix, Vec::new());
            }
        }
    }

    fn follow_one(&mut self, prefix: IpNet, lists: Vec<RelayList>) -> Result<(), AgentError> {
        if !self.state.statics.contains_key(&prefix) {
            self.steer(prefix, self.learnt(prefix), self.ways_by(prefix, lists.clone()))?;
        }
        match lists.is_empty() {
            true => self.state.learnt.remove(&prefix),
            false => self.state.learnt.insert(prefix, lists),
        };
        Ok(())
    }
}
