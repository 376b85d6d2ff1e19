//! A fat-tree of real switches and hosts, and the relays that name its paths.

use crate::Method;
use plait_control_paths::{AnyHash, Fabric, FatTree, RelayList};
use plait_model_link::{Conditions, ConditionsSpec};
use plait_simulator_world::engine::{
    Builder, Encapsulation, Kind, LinkSpec, NodeIndex, Relays, Simulation, StackIndex,
};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// The source of all outer headers, which nobody has.
const SHARED: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// What a link beside the tree costs: no shortest path leads over one where another does not.
const BESIDE: u32 = 100;

/// Edge switches come first, pod by pod, then aggregation switches, then roots; hosts are numbered along the edge switches.
pub struct Plan {
    pub k: usize,
    fabric: Fabric,
    links: Vec<(usize, usize)>,
    tree: FatTree,
}

impl Plan {
    pub fn new(k: usize) -> Self {
        let half = k / 2;
        let (edges, roots) = (k * half, half * half);
        let mut links = Vec::new();
        for pod in 0..k {
            for above in 0..half {
                let aggregation = edges + pod * half + above;
                links.extend((0..half).map(|edge| (pod * half + edge, aggregation)));
                links.extend((0..half).map(|root| (aggregation, 2 * edges + above * half + root)));
            }
        }
        let fabric = Fabric::of_links(2 * edges + roots, links.iter().map(|&(a, b)| (a, b, 1)));
        let tree = FatTree::recognise(&fabric).expect("it is a fat-tree");
        Self { k, fabric, links, tree }
    }

    pub fn hosts(&self) -> usize {
        self.k * self.k * self.k / 4
    }

    fn edge(&self, host: usize) -> usize {
        host / (self.k / 2)
    }

    pub fn address(&self, host: usize) -> IpAddr {
        let half = self.k / 2;
        Ipv4Addr::from(0xac10_0002 + 256 * (host / half) as u32 + (host % half) as u32).into()
    }

    /// Whether a link is of the spanning tree: each pod's first aggregation switch, and the first root.
    fn is_of_tree(&self, (lower, upper): (usize, usize)) -> bool {
        let half = self.k / 2;
        let edges = self.k * half;
        let first = |aggregation: usize| (aggregation - edges).is_multiple_of(half);
        if lower < edges { first(upper) } else { first(lower) && upper == 2 * edges }
    }

    /// The network, and its hosts.
    pub fn build(&self, seed: u64, method: Method) -> (Simulation, Vec<NodeIndex>) {
        let spec = ConditionsSpec::from_settings(&[("rate", "8Mbit"), ("delay", "10us"), ("queue", "100ms")]);
        let conditions: Arc<Conditions> =
            Arc::new(spec.expect("conditions").build(&|_| Err("no traces".into())).expect("conditions"));
        let mut builder = Builder::new(seed);
        let switches: Vec<NodeIndex> = self
            .fabric
            .switches()
            .iter()
            .map(|switch| {
                let node = builder.node(format!("s{}", switch.id), Kind::Router);
                builder.address(node, switch.id.into());
                builder.decapsulate(node, SHARED.into());
                node
            })
            .collect();
        let link = |builder: &mut Builder, ends: [NodeIndex; 2], cost: u32| {
            let name = format!("{}-{}", ends[0].0, ends[1].0);
            builder.link(LinkSpec { cost, ..LinkSpec::symmetric(name, ends, Arc::clone(&conditions)) });
        };
        for &(a, b) in &self.links {
            let cost = if method != Method::Tree || self.is_of_tree((a, b)) { 1 } else { BESIDE };
            link(&mut builder, [switches[a], switches[b]], cost);
        }
        let hosts = (0..self.hosts())
            .map(|host| {
                let node = builder.node(format!("h{host}"), Kind::Host);
                builder.address(node, self.address(host));
                link(&mut builder, [node, switches[self.edge(host)]], 1);
                node
            })
            .collect();
        builder.shortest_path_routes();
        (builder.build().expect("a fat-tree can be built"), hosts)
    }

    /// The lists of relays from one host to another, and their places in a simulation: none below one edge switch, where
    /// there is one path.
    pub fn lists(&self, simulation: &mut Simulation, from: usize, to: usize, known: &mut Known) -> Lists {
        let ends = (self.edge(from), self.edge(to));
        if ends.0 == ends.1 {
            return Lists::default();
        }
        let lists = known.entry(ends).or_insert_with(|| {
            let mut forwarding = AnyHash::new(self.fabric.graph());
            let paths = self.tree.paths(&self.fabric, ends.0, ends.1, &mut forwarding).unwrap_or_default();
            let mut list = |relay: usize| {
                let relays: RelayList = vec![self.fabric.switches()[relay].id.into()];
                let stack = Relays {
                    encapsulation: Encapsulation::Gre,
                    source: SHARED.into(),
                    relays: relays.clone(),
                };
                (relays, simulation.add_relays(&stack).expect("a relay"))
            };
            paths.into_iter().map(|(_, at)| list(at)).unzip()
        });
        lists.clone()
    }
}

/// Lists of relays, and their places in a simulation.
pub type Lists = (Vec<RelayList>, Vec<StackIndex>);

/// Lists by the edge switches of both ends.
pub type Known = BTreeMap<(usize, usize), Lists>;
