//! The switches of a fabric, what packets between them cost, and which prefixes lie behind which.

use ipnet::IpNet;
use plait_model_topology::graph::Graph;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// A switch: whatever forwards by shortest paths, and takes tunnel headers off packets for its address.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Switch {
    /// Its router ID.
    pub id: Ipv4Addr,
    /// The address that tunnel headers name it by; none where it has none that leads to it alone.
    pub relay: Option<IpAddr>,
    /// What lies behind it and behind no other.
    pub prefixes: Vec<IpNet>,
}

/// One direction of what joins two switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Link {
    /// The index of the switch that sends.
    pub from: u32,
    /// The index of the one that receives.
    pub to: u32,
    /// What it costs.
    pub cost: u32,
}

/// Switches in order of their IDs, and the graph of their links: vertex i is switch i. A copy is the same one, and costs nothing.
#[derive(Debug, Clone)]
pub struct Fabric {
    switches: Arc<[Switch]>,
    links: Arc<[Link]>,
    graph: Arc<Graph>,
}

impl Fabric {
    /// Of switches and links between them, by their places in the order of the switches as given. Of several links from
    /// one to another those count that cost least.
    ///
    /// # Panics
    /// When two switches have one ID, or a link ends at none.
    pub fn new(switches: Vec<Switch>, links: Vec<Link>) -> Self {
        let mut switches: Vec<_> = switches.into_iter().enumerate().collect();
        switches.sort_by_key(|(_, switch)| switch.id);
        assert!(switches.windows(2).all(|two| two[0].1.id != two[1].1.id), "two switches of one ID");
        let mut place = vec![0; switches.len()];
        switches.iter().enumerate().for_each(|(new, (old, _))| place[*old] = new as u32);
        let mut links = links;
        for link in &mut links {
            link.from = place[link.from as usize];
            link.to = place[link.to as usize];
        }
        Self::of(switches.into_iter().map(|(_, switch)| switch).collect::<Vec<_>>(), links)
    }

    fn of(switches: impl Into<Arc<[Switch]>>, mut links: Vec<Link>) -> Self {
        let switches = switches.into();
        links.retain(|link| link.from != link.to);
        if !links.is_sorted() {
            links.sort_unstable();
        }
        links.dedup_by_key(|link| (link.from, link.to));
        let edges = links.iter().map(|link| (link.from as usize, link.to as usize, link.cost));
        let graph = Graph::directed(switches.len(), edges);
        Self { switches, links: links.into(), graph: Arc::new(graph) }
    }

    /// The same switches as vertices 0, 1, … of a graph with links that cost the same both ways: switch i has the ID and
    /// relay 10.0.0.0 + i + 1, and behind it lies 172.16.0.0 + 256 i / 24.
    ///
    /// # Panics
    /// With more than 4,096 switches: 172.16.0.0/12 has no more such prefixes.
    pub fn of_links(switches: usize, links: impl IntoIterator<Item = (usize, usize, u32)>) -> Self {
        assert!(switches <= 4096, "172.16.0.0/12 has a prefix for each of 4096 switches, not of {switches}");
        let switch = |index: u32| {
            let id = Ipv4Addr::from(0x0a00_0001 + index);
            let prefix = ipnet::Ipv4Net::new_assert((0xac10_0000 + 256 * index).into(), 24);
            Switch { id, relay: Some(id.into()), prefixes: vec![prefix.into()] }
        };
        let both = |(a, b, cost): (usize, usize, u32)| {
            let (a, b) = (a as u32, b as u32);
            [Link { from: a, to: b, cost }, Link { from: b, to: a, cost }]
        };
        Self::new((0..switches as u32).map(switch).collect(), links.into_iter().flat_map(both).collect())
    }

    /// The same without links between pairs of switches, in both directions.
    pub fn without_links(&self, pairs: &[(usize, usize)]) -> Self {
        let gone = |link: &Link| {
            let (from, to) = (link.from as usize, link.to as usize);
            pairs.contains(&(from, to)) || pairs.contains(&(to, from))
        };
        let links = self.links.iter().copied().filter(|link| !gone(link)).collect();
        Self::of(self.switches.clone(), links)
    }

    /// The switches in order of their IDs.
    pub fn switches(&self) -> &[Switch] {
        &self.switches
    }

    /// The links, by the switches that send and then those that receive: one at most of each pair.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// The graph: vertex i is switch i, edge i is link i.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Whether the switches of another fabric are these, so that their indices mean the same.
    pub(crate) fn has_switches_of(&self, other: &Self) -> bool {
        let is_same = |(a, b): (&Switch, &Switch)| a.id == b.id;
        self.switches.len() == other.switches.len() && self.switches.iter().zip(other.switches()).all(is_same)
    }

    /// The index of a switch.
    pub fn index(&self, id: Ipv4Addr) -> Option<usize> {
        self.switches.binary_search_by_key(&id, |switch| switch.id).ok()
    }
}

impl PartialEq for Fabric {
    fn eq(&self, other: &Self) -> bool {
        // The graph is made of the rest.
        let is_same = Arc::ptr_eq(&self.switches, &other.switches) && Arc::ptr_eq(&self.links, &other.links);
        is_same || self.switches == other.switches && self.links == other.links
    }
}

impl Eq for Fabric {}
