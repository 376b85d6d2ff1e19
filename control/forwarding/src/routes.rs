//! Ways between all switches: the state `routes`.

use crate::Set;
use crate::links::{Link, Links, Settled};
use crate::outgoing::{delete_leaving, some, superseding};
use plait_control_openflow::{Commands, Fields, Port, Staged, Switches, Version};
use plait_control_runtime::{Dag, Failure, Manifest, Mismatch, Perhaps, Type, Value, View, Wit, native, wit};
use plait_model_topology::graph::{Graph, NextHops};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// The shortest ways between all switches, and the ports behind which hosts are.
///
/// Choice: no spanning tree. A broadcast goes from the controller to the edge ports of all switches, which needs none:
/// it meets each host once whatever the switches hold, and loops in the network are nothing to it.
#[derive(Debug, Clone)]
pub struct Routes {
    /// How often the links have changed.
    pub epoch: u64,
    paths: Arc<Paths>,
    edges: BTreeMap<u64, Vec<Port>>,
}

/// The shortest ways over a set of links.
#[derive(Debug)]
struct Paths {
    links: Vec<Link>,
    ends: HashSet<(u64, Port)>,
    switches: Vec<u64>,
    places: HashMap<u64, usize>,
    graph: Graph,
    /// By edge of the graph: the link whose ends are the edge's.
    edges: Vec<Link>,
    /// By switch.
    next: Vec<NextHops>,
}

/// A step of a way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hop {
    /// It leaves by this port,
    pub out: Port,
    /// to this switch,
    pub to: u64,
    /// by that one's port.
    pub in_port: Port,
}

impl Paths {
    /// Links count that were heard in both directions, each as one step. Cost: a breadth-first search for each switch.
    fn of(links: &[Link]) -> Self {
        let all: BTreeSet<Link> = links.iter().copied().collect();
        let both = |link: &&Link| link.from < link.to && all.contains(&link.back());
        let edges: Vec<Link> = all.iter().filter(both).copied().collect();
        let switches: BTreeSet<u64> = edges.iter().flat_map(|link| [link.from, link.to]).collect();
        let switches: Vec<u64> = switches.into_iter().collect();
        let places: HashMap<u64, usize> =
            switches.iter().enumerate().map(|(place, switch)| (*switch, place)).collect();
        let ends = edges.iter().map(|link| (places[&link.from], places[&link.to], 1));
        let graph = Graph::undirected(switches.len(), ends);
        let next = (0..switches.len()).map(|from| graph.next_hops(&graph.shortest_paths(from))).collect();
        let ends =
            all.iter().flat_map(|link| [(link.from, link.from_port), (link.to, link.to_port)]).collect();
        Self { links: all.into_iter().collect(), ends, switches, places, graph, edges, next }
    }

    fn hops(&self, from: u64, to: u64) -> impl Iterator<Item = Hop> {
        let ends = self.places.get(&from).zip(self.places.get(&to)).filter(|(from, to)| from != to);
        ends.into_iter().flat_map(move |(place, to)| {
            self.graph.next_hop_arcs(*place, &self.next[*place], *to).map(move |arc| {
                let link = self.edges[arc.edge as usize];
                let link = if link.from == from { link } else { link.back() };
                Hop { out: link.from_port, to: link.to, in_port: link.to_port }
            })
        })
    }
}

impl Routes {
    fn of(epoch: u64, links: &[Link], settled: &[(u64, Port)], before: Option<&Self>) -> Self {
        let paths = match before.filter(|before| before.paths.links == links) {
            Some(before) => before.paths.clone(),
            None => Arc::new(Paths::of(links)),
        };
        let mut edges: BTreeMap<u64, Vec<Port>> = BTreeMap::new();
        for (switch, port) in settled.iter().filter(|end| !paths.ends.contains(end)) {
            edges.entry(*switch).or_default().push(*port);
        }
        Self { epoch, paths, edges }
    }

    /// The steps with which the shortest ways from one switch to another begin, in an order that does not change.
    /// None if there is no way, or if both are one.
    pub fn hops(&self, from: u64, to: u64) -> impl Iterator<Item = Hop> {
        self.paths.hops(from, to)
    }

    /// Whether there is a way.
    pub fn joined(&self, from: u64, to: u64) -> bool {
        from == to || self.hops(from, to).next().is_some()
    }

    /// Whether hosts may be behind a port: it was probed for long enough, and there is no link.
    pub fn is_edge(&self, switch: u64, port: Port) -> bool {
        self.edges.get(&switch).is_some_and(|ports| ports.binary_search(&port).is_ok())
    }

    /// Whether a port is the end of a link.
    pub fn is_link(&self, switch: u64, port: Port) -> bool {
        self.paths.ends.contains(&(switch, port))
    }

    /// The edge ports of each switch.
    pub fn edges(&self) -> impl Iterator<Item = (u64, &[Port])> {
        self.edges.iter().map(|(switch, ports)| (*switch, &ports[..]))
    }

    /// The ports by which a way led that leads there no longer, of each switch, if a link is gone.
    fn left(&self, now: &Self) -> BTreeSet<(u64, Port)> {
        let mut left = BTreeSet::new();
        let still: BTreeSet<&Link> = now.paths.links.iter().collect();
        if self.paths.links.iter().all(|link| still.contains(link)) {
            return left;
        }
        for from in &self.paths.switches {
            for to in &self.paths.switches {
                let new: Vec<Hop> = now.hops(*from, *to).collect();
                let gone = self.hops(*from, *to).filter(|hop| !new.contains(hop));
                left.extend(gone.map(|hop| (*from, hop.out)));
            }
        }
        left
    }
}

/// What they follow from. Choice: as a value they are links and ports, from which the ways are computed anew, and not the
/// ways, of which there are more than the square of the switches.
impl Wit for Routes {
    fn schema() -> Type {
        Plain::schema()
    }
    fn to_value(&self) -> Value {
        let edges = self.edges().flat_map(|(switch, ports)| ports.iter().map(move |port| (switch, *port)));
        Plain { epoch: self.epoch, links: self.paths.links.clone(), edges: edges.collect() }.to_value()
    }
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        let Plain { epoch, links, edges } = Plain::from_value(value)?;
        Ok(Self::of(epoch, &links, &edges, None))
    }
}

struct Plain {
    epoch: u64,
    links: Vec<Link>,
    edges: Vec<(u64, Port)>,
}
wit!(struct Plain { epoch, links, edges });

impl View for Routes {
    const NAME: &'static str = "routes";
}

/// The application that computes ways when links change.
pub fn routes() -> Set {
    Set::default()
        .with(
            Manifest::new("routes")
                .reads("links@1?")
                .reads("settled@1")
                .reads("switches@1")
                .reads("routes@1?")
                .writes("routes@1?")
                .writes("~commands@1?")
                .writes("~staged-commands@1?"),
            native(|(links, settled, switches, before)| compute(links, settled, switches, before)),
        )
        .dag(Dag::chain("routes", &["routes"]).on("links@1").on("settled@1"))
}

/// Other routes, the flows that they end, and that no flow is to be told any more that was decided by those of before.
type Computed = (Perhaps<Routes>, Perhaps<Commands>, Perhaps<Staged>);

/// Choice: when a link is gone, a switch loses the flows that leave by a port which some shortest way has left, and no
/// others: their next packets come here and get a way of now. What is on a shortest way still goes on undisturbed. A link
/// that is new takes nothing away, since flows that are there still arrive: a controller that starts again and finds one
/// link after the other would otherwise break what is established. A switch that is away is told, too: its driver keeps that.
fn compute(
    links: Option<Arc<Links>>,
    settled: Arc<Settled>,
    switches: Arc<Switches>,
    before: Option<Arc<Routes>>,
) -> Result<Computed, Failure> {
    let links = links.as_ref().map_or(&[][..], |links| &links.list);
    let before = before.as_deref();
    let epoch = before.map_or(0, |before| before.epoch + u64::from(before.paths.links != links));
    let now = Routes::of(epoch, links, &settled.ports, before);
    let same = |before: &Routes| before.epoch == epoch && before.edges == now.edges;
    if before.is_some_and(same) {
        return Ok((Perhaps(None), Perhaps(None), Perhaps(None)));
    }
    let mut commands = Commands::default();
    for (switch, port) in before.map(|before| before.left(&now)).unwrap_or_default() {
        let version = switches.known.get(&switch).and_then(|info| Version::of(info.version));
        let delete = version.and_then(|version| delete_leaving(version, Fields::ANY, port));
        commands.extend(delete.map(|command| (switch, command)));
    }
    let steps = superseding(&commands);
    Ok((Perhaps(Some(now)), some(commands), steps))
}
