//! The driver between a network and the applications, and the runtime that runs them.

use crate::Applications;
use crate::ground::{Crossing, Ground};
use crate::views::{Link, Links, Node, Nodes, PricedLink, PricedLinks, Routes};
use ipnet::IpNet;
use plait_control_runtime::{
    Action, Config, Content, Dag, Driver, Entry, Failure, InPlace, Name, NotTaken, Port, Refused, Report,
    Runtime, Signature, Snapshot, View, ViewId, changed,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// What the driver, the DAG of all applications, and what they write for it are called.
const DRIVER: &str = "network";
const DAG: &str = "routing";

/// The least that a link's delay counts.
const LEAST: Duration = Duration::from_micros(1);

/// A route of a node, to one address of another.
///
/// Choice: one for each address rather than for prefixes, so that what is for a node goes the way that was decided for it
/// even where its prefix is that of a link which failed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Way {
    /// Where it leads.
    pub to: IpNet,
    /// The neighbour's address.
    pub via: IpAddr,
    /// The interface that it leaves by.
    pub interface: String,
}

/// Why applications cannot decide a network's routes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Undecided {
    /// The runtime refuses one.
    #[error("{0}")]
    Refused(#[from] Refused),
    /// None of them writes `routes@1`.
    #[error("none of {} writes routes@1: nothing would have a route", .0.join(", "))]
    NoRoutes(Vec<String>),
}

/// Applications over the links of a network: [`observe`](Self::observe) when something happened or time passed, then
/// [`poll_change`](Self::poll_change) until it gives nothing.
pub struct Decider {
    runtime: Runtime,
    driver: NetworkDriver,
    /// Of each node, what it has now.
    ways: Vec<BTreeSet<Way>>,
    changed: BTreeSet<usize>,
    failures: VecDeque<(Name, Failure)>,
    runs: u64,
}

/// What happens to links becomes views; routes become ways.
struct NetworkDriver {
    ground: Arc<Ground>,
    /// Of each hop how long it takes, if it is up.
    hops: Vec<Option<Duration>>,
}

impl Driver for NetworkDriver {
    /// Of each hop of the ground.
    type Event = Vec<Option<Duration>>;
    /// The ways of each node.
    type Message = Vec<BTreeSet<Way>>;

    fn name(&self) -> Name {
        named(DRIVER)
    }

    fn signature(&self) -> Signature {
        let outputs = vec![Port::of::<Links>(), Port::of::<PricedLinks>(), Port::of::<Nodes>()];
        Signature { inputs: vec![Port::of::<Routes>()], outputs }
    }

    fn observe(&mut self, hops: Self::Event, views: &Snapshot) -> Vec<(ViewId, Content)> {
        self.hops = hops;
        let id = |place: usize| self.ground.nodes[place].id;
        let up = || {
            let all = self.ground.hops.iter().zip(&self.hops);
            all.filter_map(|(hop, delay)| Some((hop, (*delay)?.max(LEAST))))
        };
        let links = up().map(|(hop, delay)| Link { source: id(hop.from), target: id(hop.to), delay });
        let priced = up().map(|(hop, delay)| PricedLink {
            source: id(hop.from),
            target: id(hop.to),
            delay,
            cost: hop.cost,
        });
        let links = changed(Links { up: links.collect() }, views);
        let priced = changed(PricedLinks { up: priced.collect() }, views);
        let mut changes: Vec<_> = links.into_iter().chain(priced).collect();
        if views.content(&Nodes::id()).is_none() {
            let node = |node: &crate::GroundNode| Node {
                id: node.id,
                name: node.name.clone(),
                forwards: node.forwards,
            };
            let nodes = Nodes { all: self.ground.nodes.iter().map(node).collect() };
            changes.push((Nodes::id(), Content::new(nodes)));
        }
        changes
    }

    fn push(&mut self, _: &ViewId, _: Option<&Content>, now: &Content) -> Vec<Self::Message> {
        now.read::<Routes>().map(|routes| vec![self.ways(&routes)]).unwrap_or_default()
    }
}

impl NetworkDriver {
    /// What routes mean to each node. Choice: a route to a neighbour that no link leads to now, or of a node that there is
    /// not, means nothing; an application that has not heard of a failure yet does no harm by it.
    fn ways(&self, routes: &Routes) -> Vec<BTreeSet<Way>> {
        let ground = &*self.ground;
        let places: BTreeMap<u32, usize> =
            ground.nodes.iter().enumerate().map(|(place, node)| (node.id, place)).collect();
        // Of several hops between two nodes the fastest, and of those the first.
        let mut nearest: BTreeMap<(usize, usize), (Duration, usize)> = BTreeMap::new();
        for (at, (hop, delay)) in ground.hops.iter().zip(&self.hops).enumerate() {
            let Some(delay) = *delay else { continue };
            let known = nearest.entry((hop.from, hop.to)).or_insert((delay, at));
            *known = (*known).min((delay, at));
        }
        let mut ways = vec![BTreeSet::new(); ground.nodes.len()];
        for route in &routes.best {
            let place = |id| places.get(&id).copied();
            let (Some(from), Some(to), Some(next)) =
                (place(route.source), place(route.destination), place(route.next_hop))
            else {
                continue;
            };
            let Some((_, hop)) = nearest.get(&(from, next)).filter(|_| from != to) else { continue };
            let hop = &ground.hops[*hop];
            for address in &ground.nodes[to].addresses {
                let gateway = hop.gateways.iter().find(|own| own.is_ipv6() == address.is_ipv6());
                // What is on the link itself is reached by the prefix that the link has.
                let Some(via) = gateway.copied().filter(|via| via != address) else { continue };
                let to = IpNet::from(*address);
                if !ground.nodes[from].by_hand.contains(&to) {
                    ways[from].insert(Way { to, via, interface: hop.interface.clone() });
                }
            }
        }
        ways
    }
}

impl Decider {
    /// Applications that run one after another, in this order, whenever the state of links has changed. `record` lets
    /// [`poll_entry`](Self::poll_entry) tell everything.
    ///
    /// # Errors
    /// Applications that the runtime refuses, or of which none writes routes.
    pub fn new(ground: Ground, applications: Applications, record: bool) -> Result<Self, Undecided> {
        let mut runtime = Runtime::new(Config { record, ..Config::default() });
        let ways = vec![BTreeSet::new(); ground.nodes.len()];
        let hops = vec![None; ground.hops.len()];
        let driver = NetworkDriver { ground: Arc::new(ground), hops };
        let signature = driver.signature();
        for port in &signature.outputs {
            runtime.grant(&driver.name(), &port.view.name);
        }
        runtime.add_driver(&driver.name(), signature)?;
        let names: Vec<String> = applications.iter().map(|(known, _)| known.name.to_string()).collect();
        let writes = |(manifest, _): &(plait_control_runtime::Manifest, _)| {
            manifest.outputs.iter().any(|output| output.view == Routes::id())
        };
        if !applications.iter().any(writes) {
            return Err(Undecided::NoRoutes(names));
        }
        for (manifest, application) in applications {
            for output in &manifest.outputs {
                runtime.grant(&manifest.name, &output.view.name);
            }
            runtime.add_application(manifest, application)?;
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        runtime.add_dag(Duration::ZERO, Dag::chain(DAG, &names).on("links@1"))?;
        Ok(Self { runtime, driver, ways, changed: BTreeSet::new(), failures: VecDeque::new(), runs: 0 })
    }

    /// Looks at the links: `delay` says how long a crossing takes, and nothing of one that is down. Applications run if
    /// anything is other than before.
    pub fn observe(&mut self, delay: impl Fn(&Crossing) -> Option<Duration>, now: Duration) {
        let hop = |hop: &crate::Hop| hop.over.iter().map(&delay).sum::<Option<Duration>>();
        let hops: Vec<_> = self.driver.ground.hops.iter().map(hop).collect();
        let is_first = self.runtime.state().content(&Nodes::id()).is_none();
        if hops != self.driver.hops || is_first {
            let taken: Result<(), NotTaken> = self.runtime.observe(now, &mut self.driver, hops);
            debug_assert_eq!(taken, Ok(()), "a driver writes what it declares");
        }
        for action in self.runtime.settle(&mut InPlace::default(), || now) {
            match action {
                Action::Report(Report::Failed { application, failure, .. }) => {
                    self.failures.push_back((application, failure));
                }
                Action::Report(Report::Committed { .. }) => self.runs += 1,
                _ => {}
            }
        }
        // Links may be others where routes are not.
        let ways = match self.routes() {
            Some(routes) => self.driver.ways(&routes),
            None => return,
        };
        for (place, (before, after)) in self.ways.iter().zip(&ways).enumerate() {
            if before != after {
                self.changed.insert(place);
            }
        }
        self.ways = ways;
    }

    /// A node whose ways are others than before, by its place in [`Ground::nodes`], and all that it has now.
    pub fn poll_change(&mut self) -> Option<(usize, &BTreeSet<Way>)> {
        let place = self.changed.pop_first()?;
        Some((place, &self.ways[place]))
    }

    /// Why an application changed nothing, if one failed. It runs again when links change again.
    pub fn poll_failure(&mut self) -> Option<(Name, Failure)> {
        self.failures.pop_front()
    }

    /// The next line of the recording.
    pub fn poll_entry(&mut self) -> Option<Entry> {
        self.runtime.poll_entry()
    }

    /// The ways of a node, by its place in [`Ground::nodes`].
    pub fn ways(&self, place: usize) -> &BTreeSet<Way> {
        &self.ways[place]
    }

    /// The routes as they were decided last, if ever.
    pub fn routes(&self) -> Option<Arc<Routes>> {
        self.runtime.state().content(&Routes::id())?.read().ok()
    }

    /// How often all applications ran to their end.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// The network that it is for.
    pub fn ground(&self) -> &Arc<Ground> {
        &self.driver.ground
    }

    /// The runtime, to be drawn and measured.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }
}

fn named(name: &str) -> Name {
    name.parse().unwrap_or_else(|fault| panic!("{fault}"))
}
