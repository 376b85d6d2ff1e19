//! Routes and relay lists that follow links, some time after them: what daemons that speak a link-state protocol come to.

use crate::paths::{KnownRoutes, Steering};
use crate::routes::{Routes, Table};
use crate::world::World;
use plait_control_paths::Survey;
use plait_model_topology::Network;
use plait_model_topology::address::Assignment;
use plait_model_topology::network::Port;
use plait_simulator_engine::NodeIndex;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long it takes until routers, and hosts that listen to them, know of a change.
///
/// Choice: nobody speaks. All know at one instant what daemons would tell each other within some milliseconds, and what
/// follows from it is done at that instant. Who must know who heard what when, simulates the daemons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Detection {
    /// A link failed whose ends see its carrier go: one without conditions, or with nothing but a rate.
    pub seen: Duration,
    /// Another link failed: nothing comes by it any more.
    pub silent: Duration,
    /// A link is back.
    pub back: Duration,
}

impl Detection {
    /// That of OSPF with these intervals (RFC 2328): who is silent for the dead interval has failed.
    ///
    /// Choice: the last hello came half a hello before the failure, which is the mean. A link that is back counts after a dead interval and a hello, where FRR's daemons took one and a half to two
    /// times as long; the RFC bounds it by no time.
    pub fn of_ospf(hello: Duration, dead: Duration) -> Self {
        Self {
            seen: SETTLING,
            silent: dead.saturating_sub(hello / 2) + SETTLING,
            back: dead + hello + SETTLING,
        }
    }
}

/// From hearing of a change to new routes. Choice: what FRR's daemons took for it in a network of four routers, about.
const SETTLING: Duration = Duration::from_millis(10);

/// What became of changes of links.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct FollowReport {
    /// How often routes followed.
    pub changes: u64,
    /// What failed, each with its instant; all stayed as it was then.
    pub failures: Vec<String>,
}

/// What is known of links, and what follows from it.
pub(crate) struct Following {
    detection: Detection,
    multipath: bool,
    /// Of each link of the world, in their order, whether it is known to be up.
    is_up: Vec<bool>,
    /// Links of which another thing will be known, and when.
    pending: BTreeMap<usize, Duration>,
    /// The tables of nodes.
    tables: Vec<Table>,
    report: FollowReport,
}

impl Following {
    pub fn new(detection: Detection, multipath: bool, links: usize, tables: Vec<Table>) -> Self {
        Self {
            detection,
            multipath,
            is_up: vec![true; links],
            pending: BTreeMap::new(),
            tables,
            report: FollowReport::default(),
        }
    }
}

impl World {
    /// What became of changes of links, where routes follow them.
    pub fn follow_report(&self) -> Option<&FollowReport> {
        self.following.as_ref().map(|following| &following.report)
    }

    /// Has hosts that learn know the network as it is, by all shortest paths or by the first alone.
    pub(crate) fn begin_to_learn(&mut self, multipath: bool) {
        let now = self.now();
        let Some(steering) = &mut self.steering else { return };
        hear(steering, &self.network, &self.assignment, multipath, now);
        if let Some(learning) = &mut steering.learning {
            learning.run(now);
        }
    }

    /// When something follows next.
    pub(crate) fn next_to_follow(&self) -> Option<Duration> {
        let following = self.following.as_ref()?;
        let learning = self.steering.as_ref().and_then(|steering| steering.learning.as_ref());
        let timeout = learning.and_then(|learning| learning.timeout());
        following.pending.values().copied().chain(timeout).min()
    }

    /// Links may be others than they were: who finds that out does so in time. What is as it was before anybody knew of it, nobody
    /// will know.
    pub(crate) fn notice(&mut self) {
        let now = self.now();
        let Self { following: Some(following), simulation, links, .. } = self else { return };
        let Detection { seen, silent, back } = following.detection;
        for (at, link) in links.iter().enumerate() {
            let is_up = !(0..2).any(|side| simulation.link_state(link.index, side).is_down);
            if is_up == following.is_up[at] {
                following.pending.remove(&at);
                continue;
            }
            let takes = match is_up {
                true => back,
                false if link.is_seen => seen,
                false => silent,
            };
            following.pending.entry(at).or_insert(now + takes);
        }
    }

    /// Has routes and lists follow what is known by now.
    pub(crate) fn follow(&mut self) {
        let now = self.now();
        let Some(following) = &mut self.following else { return };
        let mut due = Vec::new();
        following.pending.retain(|at, when| {
            let is_due = *when <= now;
            due.extend(is_due.then_some(*at));
            !is_due
        });
        due.iter().for_each(|at| following.is_up[*at] ^= true);
        if !due.is_empty() {
            self.reroute(now);
        }
        self.learn(now);
    }

    fn reroute(&mut self, now: Duration) {
        let Self { following: Some(following), steering, simulation, .. } = self else { return };
        let gone: BTreeSet<Port> = (self.links.iter().zip(&following.is_up))
            .filter(|(_, is_up)| !**is_up)
            .flat_map(|(link, _)| &link.ports)
            .copied()
            .collect();
        let assignment = self.assignment.without(|port| gone.contains(&port));
        let routes = Routes {
            network: &self.network,
            assignment: &assignment,
            paths: steering.as_ref().map(|steering| &steering.spec),
            interfaces: &self.interfaces,
            multipath: following.multipath,
        };
        let tables: Vec<Table> = routes.tables().collect();
        let mut changes = Vec::new();
        for (node, (before, table)) in following.tables.iter().zip(&tables).enumerate() {
            let index = NodeIndex(node as u32);
            let left = before.keys().filter(|prefix| !table.contains_key(prefix));
            changes.extend(left.map(|prefix| (index, *prefix, Vec::new())));
            let new = table.iter().filter(|(prefix, via)| before.get(prefix) != Some(via));
            changes.extend(new.map(|(prefix, via)| (index, *prefix, via.clone())));
        }
        following.report.changes += 1;
        if let Err(why) = simulation.set_routes(changes) {
            return following.report.failures.push(format!("at {now:?}: {why}"));
        }
        following.tables = tables;
        if let Some(steering) = steering {
            hear(steering, &self.network, &assignment, following.multipath, now);
        }
    }

    /// Lets hosts do what they learnt.
    fn learn(&mut self, now: Duration) {
        let Some(learning) = self.steering.as_mut().and_then(|steering| steering.learning.as_mut()) else {
            return;
        };
        let is_changed = learning.run(now);
        let mut failures: Vec<String> = learning.failures().collect();
        if is_changed && let Err(why) = self.steer() {
            failures.push(why.to_string());
        }
        if let Some(following) = &mut self.following {
            let at = failures.into_iter().map(|why| format!("at {now:?}: {why}"));
            following.report.failures.extend(at);
        }
    }
}

/// Has hosts that learn hear of a network's links and, where they plan by them, of its routes.
fn hear(steering: &mut Steering, network: &Network, assignment: &Assignment, multipath: bool, now: Duration) {
    let Steering { spec, learning: Some(learning), .. } = steering else { return };
    if let Some(encapsulation) = learning.knows_routes() {
        learning.be_told(KnownRoutes::of(network, assignment, spec, encapsulation, multipath));
    }
    learning.hear(&Survey::of(network, assignment, &spec.relays).of_ospf(), now);
}
