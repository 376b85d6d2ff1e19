//! The agent: one on each node, which keeps what the node does about paths. It is iplbd where it learns.
//!
//! [`Agent::start`] takes over what a former life left: its programs carry what was said and learnt before they are put in
//! the place of those that run, so that no packet is stopped by the death of an agent, nor by its successor.
//! [`Agent::serve`] then answers requests, learns and rearranges, until it is killed; [`remove`] leaves the host as it was
//! found.

mod devices;
mod error;
mod learning;
mod learnt;
mod places;
mod rearrange;
mod report;
mod serve;
mod start;
mod state;

pub use error::AgentError;
pub use learning::LearningOptions;
pub use places::{LAYOUT, Places};
pub use start::{AgentOptions, remove};
pub use state::{State, VERSION as STATE_VERSION};

use crate::protocol::{FlowName, Policy, Reply, Request, Static};
use crate::{Border, Holder, Paths, Relay, Ways};
use devices::Placed;
use ipnet::IpNet;
use learning::Learning;
use plait_control_paths::select::{Rearrangement, Rearranger};
use plait_dataplane_agent::now;
use plait_dataplane_netlink::Watch;
use plait_dataplane_reference::paths::tables::FlowKey;
use rearrange::rearrange;
use std::collections::BTreeMap;
use std::fs::File;
use std::time::Duration;

/// A running agent.
pub struct Agent {
    options: AgentOptions,
    state: State,
    senders: BTreeMap<String, Sender>,
    relay: Option<Relay>,
    border: Option<Border>,
    /// What is on which device.
    placed: Placed,
    /// Prefixes that some device could not take, and why: they go by plain routing there.
    faults: BTreeMap<IpNet, String>,
    /// Hears of devices.
    watch: Watch,
    learning: Learning,
    /// Whether the state is other than what the next agent would find.
    is_changed: bool,
    updates: u64,
    moved: u64,
    /// When flows were looked at last.
    rearranged: Duration,
    /// Held as long as the agent lives.
    _lock: File,
}

/// A device whose packets are steered.
struct Sender {
    paths: Paths,
    rearranger: Rearranger<FlowKey>,
    /// Without one, flows that have no gaps stay where they are.
    _holder: Option<Holder>,
}

impl Agent {
    /// Does what is asked.
    ///
    /// # Errors
    /// Why it was not done. Nothing was changed then, unless the disk is full.
    pub fn handle(&mut self, request: Request) -> Result<Reply, AgentError> {
        let changed = match request {
            Request::Add { prefix, relays, encapsulation, policy, weight } => {
                let mut to = self.state.statics.get(&prefix.trunc()).cloned().unwrap_or(Static {
                    lists: Vec::new(),
                    encapsulation: encapsulation.unwrap_or(self.options.encapsulation),
                    policy: self.options.policy,
                });
                if encapsulation.is_some_and(|kind| kind != to.encapsulation) {
                    return Err(AgentError::OtherType(prefix, to.encapsulation));
                }
                to.policy = policy.unwrap_or(to.policy);
                if weight.is_some() && to.policy != Policy::Weighted {
                    return Err(AgentError::NoWeights(prefix, to.policy));
                }
                match to.lists.iter_mut().find(|(list, _)| *list == relays) {
                    Some((_, known)) => *known = weight.unwrap_or(*known),
                    None => to.lists.push((relays, weight.unwrap_or(1))),
                }
                self.say(prefix.trunc(), Some(to))?
            }
            Request::Set { prefix, to } => self.say(prefix.trunc(), Some(to))?,
            Request::Select { prefix, policy } => self.choose(prefix.trunc(), Some(policy))?,
            Request::Del { prefix, relays: Some(gone) } => {
                let known = self.state.statics.get(&prefix.trunc()).cloned();
                let mut left = known.ok_or(AgentError::NotThere(prefix))?;
                let before = left.lists.len();
                left.lists.retain(|(list, _)| *list != gone);
                if left.lists.len() == before {
                    return Err(AgentError::NotThere(prefix));
                }
                self.say(prefix.trunc(), Some(left).filter(|left| !left.lists.is_empty()))?
            }
            Request::Del { prefix, relays: None } => {
                let prefix = prefix.trunc();
                let known = self.state.statics.get(&prefix).cloned();
                let was_said = self.say(prefix, None)?;
                let chosen = self.choose(prefix, None);
                if chosen.is_err() && was_said {
                    self.say(prefix, known)?;
                }
                if !chosen? && !was_said {
                    return Err(AgentError::NotThere(prefix));
                }
                true
            }
            Request::Show => return Ok(Reply::Prefixes(self.prefixes()?)),
            Request::Flows => return Ok(Reply::Flows(self.flows()?)),
            Request::Move { flow, list } => self.move_flow(flow, list)?,
            Request::Status => return Ok(Reply::Status(self.status()?.into())),
            Request::Metrics => return Ok(Reply::Metrics(self.metrics()?)),
        };
        self.save()?;
        Ok(Reply::Done { changed })
    }

    /// Says by which ways a prefix goes, or no more, and whether that is new.
    fn say(&mut self, prefix: IpNet, to: Option<Static>) -> Result<bool, AgentError> {
        if self.state.statics.get(&prefix) == to.as_ref() && !self.faults.contains_key(&prefix) {
            return Ok(false);
        }
        self.must_steer()?;
        let before = self.ways(prefix);
        let after = match &to {
            Some(to) => to.ways(),
            None => self.learnt(prefix),
        };
        self.steer(prefix, before, after)?;
        match to {
            Some(to) => self.state.statics.insert(prefix, to),
            None => self.state.statics.remove(&prefix),
        };
        self.is_changed = true;
        Ok(true)
    }

    fn must_steer(&self) -> Result<(), AgentError> {
        if self.options.devices.is_empty() { Err(AgentError::NothingSteered) } else { Ok(()) }
    }

    /// A device cannot take a prefix that it should.
    fn fail(&mut self, prefix: IpNet, error: &crate::Error) {
        tracing::error!(%prefix, %error, "the prefix goes by plain routing");
        self.faults.insert(prefix, error.to_string());
    }

    /// By which ways a prefix goes.
    fn ways(&self, prefix: IpNet) -> Ways {
        self.state.statics.get(&prefix).map_or_else(|| self.learnt(prefix), Static::ways)
    }

    /// Has all devices steer a prefix by other ways, or none of them.
    fn steer(&mut self, prefix: IpNet, before: Ways, after: Ways) -> Result<(), AgentError> {
        let mut done: Vec<&mut Sender> = Vec::new();
        for sender in self.senders.values_mut() {
            if let Err(error) = sender.paths.set(prefix, after.clone()) {
                for sender in done {
                    if let Err(error) = sender.paths.set(prefix, before.clone()) {
                        tracing::error!(%prefix, %error, "not all devices steer it alike");
                    }
                }
                return Err(error.into());
            }
            done.push(sender);
        }
        self.faults.remove(&prefix);
        self.note_limits();
        Ok(())
    }

    /// Notes how superpackets of devices were before they were limited, for the next agent to know.
    fn note_limits(&mut self) {
        let paths = || self.senders.values().map(|sender| &sender.paths);
        let segments = paths().filter_map(|paths| Some((paths.device(), paths.segments_before()?))).collect();
        let lengths = paths().filter_map(|paths| Some((paths.device(), paths.lengths_before()?))).collect();
        if (&self.state.segments, &self.state.lengths) != (&segments, &lengths) {
            (self.state.segments, self.state.lengths) = (segments, lengths);
            self.is_changed = true;
        }
    }

    /// Has a flow go by another list, and stay there.
    fn move_flow(&self, name: FlowName, list: u32) -> Result<bool, AgentError> {
        let key = FlowKey::from(name);
        for sender in self.senders.values() {
            let Some(flow) = sender.paths.flows()?.into_iter().find(|flow| flow.key == key) else { continue };
            if let Some(prefix) = flow.prefix
                && self.policy(prefix) != Policy::FlowBased
            {
                return Err(AgentError::NotMoved(prefix));
            }
            sender.paths.move_flow(&key, list, true)?;
            return Ok((flow.moves.unwrap_or(flow.list), flow.by_hand) != (list, true));
        }
        Err(AgentError::NoFlow(name))
    }

    fn policy(&self, prefix: IpNet) -> Policy {
        self.state.statics.get(&prefix).map_or_else(|| self.policy_of_learnt(prefix), |known| known.policy)
    }

    /// Moves flows, where it is time.
    fn rearrange(&mut self) {
        if now() < self.rearranged + Rearrangement::default().period {
            return;
        }
        self.rearranged = now();
        let policies: BTreeMap<_, _> =
            self.all().map(|(prefix, ways)| (prefix, (self.policy(prefix), ways.lists.len()))).collect();
        if !policies.values().any(|(policy, _)| *policy == Policy::FlowBased) {
            return;
        }
        for sender in self.senders.values_mut() {
            match rearrange(&mut sender.rearranger, &sender.paths, &policies) {
                Ok(moved) => self.moved += moved,
                Err(error) => tracing::error!(%error, "flows are not rearranged"),
            }
        }
    }

    /// All prefixes that are steered.
    fn all(&self) -> impl Iterator<Item = (IpNet, Ways)> + '_ {
        let learnt = self.state.learnt.keys().filter(|prefix| !self.state.statics.contains_key(*prefix));
        self.state.statics.keys().chain(learnt).map(|prefix| (*prefix, self.ways(*prefix)))
    }

    /// Writes down what the next agent shall find.
    fn save(&mut self) -> Result<(), AgentError> {
        if self.is_changed {
            let path = self.options.places.state();
            self.state.write(&path).map_err(|error| AgentError::Saved(path, error))?;
            self.is_changed = false;
        }
        Ok(())
    }
}
