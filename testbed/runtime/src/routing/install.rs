//! Routes into nodes, as they are decided.

use super::loaded;
use crate::build::{Builder, messages};
use crate::kernel::namespace::{self, Kind};
use crate::kernel::netlink::{Batch, Netlink};
use crate::plan::{ControlState, auxiliary};
use ipnet::IpNet;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_REPLACE};
use plait_control_routing::{Crossing, Decider, Way};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Who decides, and what nodes were given.
#[derive(Clone)]
pub(crate) struct Rerouting {
    decider: Arc<Mutex<Decider>>,
    installed: BTreeMap<String, BTreeSet<Way>>,
}

/// How long each direction of each link takes; nothing of those that are down.
pub(crate) type LinkDelays = HashMap<(String, usize), Duration>;

/// What nodes are to have.
pub(crate) type Decided = Vec<(String, BTreeSet<Way>)>;

impl Rerouting {
    fn of(control: &ControlState) -> io::Result<Self> {
        let applications = control.applications.iter().map(loaded).collect::<Result<Vec<_>, _>>();
        let decider = Decider::new(control.ground.clone(), applications.map_err(io::Error::other)?, false);
        let decider = Arc::new(Mutex::new(decider.map_err(io::Error::other)?));
        Ok(Self { decider, installed: BTreeMap::new() })
    }

    /// A node is gone, and what it had.
    pub fn forget(&mut self, node: &str) {
        self.installed.remove(node);
    }
}

/// Lets applications decide, on the calling thread, and gives what nodes are to have other than before.
pub(super) fn decide(decider: &Mutex<Decider>, delays: &LinkDelays, now: Duration) -> Decided {
    let mut decider = lock(decider);
    let delay = |crossing: &Crossing| delays.get(&(crossing.link.clone(), crossing.side)).copied();
    decider.observe(delay, now);
    while let Some((application, failure)) = decider.poll_failure() {
        tracing::error!(%application, %failure, "routes stay as they are");
    }
    let mut decided = Vec::new();
    let ground = decider.ground().clone();
    while let Some((place, ways)) = decider.poll_change() {
        decided.push((ground.nodes[place].name.clone(), ways.clone()));
    }
    decided
}

/// A run that panicked is contained by the runtime; what else there is stands between two calls.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Of nodes by name: their namespaces, routes that go and routes that come.
#[derive(Default)]
pub(super) struct Messages(Vec<(String, Arc<OwnedFd>, Batch, Batch)>);

impl Messages {
    /// Writes all of it.
    ///
    /// # Errors
    /// The first that the kernel refused; the others were written.
    pub fn send(self) -> io::Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        namespace::on_thread(|| {
            let mut outcome = Ok(());
            for (name, network, mut gone, mut new) in self.0 {
                namespace::enter(&*network, Kind::Network)?;
                let netlink = Netlink::open()?;
                // A route may have gone with its device.
                drop(netlink.send(&mut gone)?);
                if let Some(refused) = netlink.send(&mut new)?.into_iter().next() {
                    let text = format!("a route of {name}: {}", refused.error);
                    outcome = outcome.and(Err(io::Error::other(text)));
                }
            }
            outcome
        })
    }
}

impl Builder {
    /// Has other applications decide routes, or none, and gives nodes what they decide first.
    ///
    /// # Errors
    /// Applications that the runtime refuses; what was decided before stays. Routes that the kernel refuses.
    pub(crate) fn control(&mut self, control: Option<&ControlState>) -> io::Result<()> {
        let next = control.map(Rerouting::of).transpose()?;
        let before = std::mem::replace(&mut self.rerouting, next).map(|before| before.installed);
        let Some(rerouting) = &mut self.rerouting else {
            let all = before.unwrap_or_default();
            let none: Decided = all.keys().map(|node| (node.clone(), BTreeSet::new())).collect();
            let messages = self.messages(&all, &none);
            let _writing = lock(&self.writing);
            return messages.send();
        };
        rerouting.installed = before.unwrap_or_default();
        let decider = rerouting.decider.clone();
        let mut decided = decide(&decider, &self.link_delays(), Duration::ZERO);
        // What others decided, these may not speak of.
        let known: BTreeSet<&str> = decided.iter().map(|(node, _)| node.as_str()).collect();
        let rest: Vec<String> = self.rerouting.iter().flat_map(|own| own.installed.keys().cloned()).collect();
        let rest: Vec<String> = rest.into_iter().filter(|node| !known.contains(node.as_str())).collect();
        decided.extend(rest.into_iter().map(|node| (node, BTreeSet::new())));
        let messages = self.reroute(&decider, &decided);
        let _writing = lock(&self.writing);
        messages.send()
    }

    /// What a node has of what was decided.
    pub(crate) fn decided_routes(&self, node: &str) -> impl Iterator<Item = &Way> {
        self.rerouting.as_ref().and_then(|own| own.installed.get(node)).into_iter().flatten()
    }

    /// Who decides now, and about what.
    pub(super) fn asked(&self) -> Option<(Arc<Mutex<Decider>>, LinkDelays)> {
        Some((self.rerouting.as_ref()?.decider.clone(), self.link_delays()))
    }

    /// What nodes are to be told of what was decided; nothing if somebody else decides meanwhile.
    pub(super) fn reroute(&mut self, by: &Arc<Mutex<Decider>>, decided: &Decided) -> Messages {
        let Some(rerouting) = self.rerouting.as_mut().filter(|own| Arc::ptr_eq(&own.decider, by)) else {
            return Messages::default();
        };
        let before = rerouting.installed.clone();
        for (node, ways) in decided {
            rerouting.installed.insert(node.clone(), ways.clone());
        }
        self.messages(&before, decided)
    }

    /// Routes of nodes as messages. All that a node is to have is written, because the kernel may have forgotten some with a
    /// device that was down.
    fn messages(&self, before: &BTreeMap<String, BTreeSet<Way>>, decided: &Decided) -> Messages {
        let mut batches = Vec::new();
        for (name, ways) in decided {
            let (Some(node), Some(state)) = (self.node(name), self.state.nodes.get(name)) else { continue };
            let congestion_control = state.congestion_control.as_deref();
            // A route by hand that is new took the place of one that was decided, and may be the same.
            let by_hand = state.routes.iter().map(|route| route.to.trunc());
            let kept: BTreeSet<IpNet> = ways.iter().map(|way| way.to).chain(by_hand).collect();
            let (mut gone, mut new) = (Batch::default(), Batch::default());
            let message = |way: &Way, add: bool| {
                let index = node.indices.get(&way.interface).copied();
                messages::route(way.to, way.via, index, congestion_control, add)
            };
            for way in before.get(name).into_iter().flatten() {
                if !kept.contains(&way.to) {
                    gone.push(message(way, false), 0);
                }
            }
            ways.iter().for_each(|way| new.push(message(way, true), NLM_F_CREATE | NLM_F_REPLACE));
            batches.push((name.clone(), node.network.clone(), gone, new));
        }
        Messages(batches)
    }

    /// How long links take as they are now.
    fn link_delays(&self) -> LinkDelays {
        let mut delays = LinkDelays::new();
        let of = |name: &String, side: usize| -> Option<Duration> {
            let is_cut = self.cuts.get(name).is_some_and(|cut| cut[side]);
            (!is_cut).then(|| self.state.links[name].conditions[side].delay.into())
        };
        for name in self.state.links.keys() {
            for side in 0..2 {
                if let Some(delay) = of(name, side) {
                    delays.insert((name.clone(), side), delay);
                }
            }
        }
        // A link that the kernel shapes in two halves is known by its own name: both begin at its ends.
        let whole = self
            .state
            .nodes
            .keys()
            .filter_map(|node| Some((node, node.strip_prefix(auxiliary("").as_str())?)));
        for (own, link) in whole {
            let halves = self.state.links.iter().filter(|(_, half)| half.ends[1].0 == *own);
            let halves: Vec<&String> = halves.map(|(name, _)| name).collect();
            let [a, b] = halves[..] else { continue };
            for side in 0..2 {
                if let (Some(near), Some(far)) = (of(a, side), of(b, 1 - side)) {
                    delays.insert((link.to_owned(), side), near + far);
                }
            }
        }
        delays
    }
}
