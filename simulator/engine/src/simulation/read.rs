//! What can be read between runs.

use super::Simulation;
use crate::address::NOBODY;
use crate::capture::{Captured, write_pcapng};
use crate::fabric::{LinkIndex, NodeIndex};
use crate::flow::{FlowCounters, FlowIndex};
use crate::host::{Host, HostIndex};
use crate::partition::DirectionState;
use crate::reason::{NodeCounters, Totals};
use crate::selector::{Selector, SelectorIndex};
use plait_model_link::{Conditions, Counters, Journal};
use std::net::IpAddr;

/// The state of one direction of a link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkState {
    /// What became of its packets.
    pub counters: Counters,
    /// Bytes in its queue, the packet being sent included.
    pub backlog: u64,
    /// Whether it passes nothing.
    pub is_down: bool,
}

impl Simulation {
    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.fabric.nodes.len()
    }

    /// How many links there are.
    pub fn links(&self) -> usize {
        self.fabric.links.len()
    }

    /// How many flows there are.
    pub fn flows(&self) -> usize {
        self.fabric.flows.len()
    }

    /// A node's name.
    pub fn node_name(&self, node: NodeIndex) -> &str {
        &self.fabric.nodes[node.0 as usize].name
    }

    /// The node that has an address.
    pub fn owner(&self, address: IpAddr) -> Option<NodeIndex> {
        let index = self.fabric.addresses.find(address)?;
        Some(self.fabric.addresses.owner(index)).filter(|owner| *owner != NOBODY).map(NodeIndex)
    }

    /// A link's name.
    pub fn link_name(&self, link: LinkIndex) -> &str {
        &self.fabric.links[link.0 as usize].name
    }

    /// A link's two ends.
    pub fn ends(&self, link: LinkIndex) -> [NodeIndex; 2] {
        self.fabric.links[link.0 as usize].ends.map(NodeIndex)
    }

    /// The seed by which a node chooses among next hops: see [`choose`](crate::hash::choose).
    pub fn hash_seed(&self, node: NodeIndex) -> u64 {
        self.fabric.ways[node.0 as usize].hash_seed
    }

    /// The links of a node's next hops towards an address that some node has, in the order in which hashes number
    /// them. Empty where there is no route.
    pub fn next_hops(&self, node: NodeIndex, to: IpAddr) -> Vec<LinkIndex> {
        let Some(to) = self.fabric.addresses.find(to) else { return Vec::new() };
        self.fabric
            .hops(&self.fabric.ways[node.0 as usize], self.fabric.target(to))
            .iter()
            .map(|hop| LinkIndex(hop.out / 2))
            .collect()
    }

    /// One direction of a link: 0 from its end 0, 1 towards it.
    pub fn link_state(&mut self, link: LinkIndex, side: usize) -> LinkState {
        self.on_direction(link, side, |state| match state.busy().map(|busy| &busy.direction) {
            Some(direction) => LinkState {
                counters: direction.counters(),
                backlog: direction.backlog_bytes(),
                is_down: direction.is_down(),
            },
            None => LinkState::default(),
        })
    }

    /// The conditions of one direction of a link.
    pub fn conditions(&self, link: LinkIndex, side: usize) -> &Conditions {
        let place = self.fabric.directions[2 * link.0 as usize + side];
        self.partitions[place.partition as usize].directions[place.local as usize].conditions()
    }

    /// What chance decided about the first packets of one direction of a link.
    /// None where no packet came yet.
    pub fn journal(&self, link: LinkIndex, side: usize) -> Option<&Journal> {
        let place = self.fabric.directions[2 * link.0 as usize + side];
        let state = &self.partitions[place.partition as usize].directions[place.local as usize];
        state.busy().map(|busy| busy.direction.journal())
    }

    /// What a node counted.
    pub fn node_counters(&self, node: NodeIndex) -> NodeCounters {
        let place = self.fabric.nodes[node.0 as usize].place;
        self.partitions[place.partition as usize].nodes[place.local as usize]
    }

    /// What a flow's source sent and its sink saw.
    pub fn flow_counters(&self, flow: FlowIndex) -> FlowCounters {
        let place = &self.fabric.flows[flow.0 as usize];
        let source = &self.partitions[place.source.partition as usize].sources[place.source.local as usize];
        let sink = &self.partitions[place.sink.partition as usize].sinks[place.sink.local as usize];
        FlowCounters { sent: source.sent(), ..sink.counters }
    }

    /// What became of all packets.
    pub fn totals(&mut self) -> Totals {
        let mut totals = Totals::default();
        let now = self.done.saturating_sub(1);
        for part in &mut self.partitions {
            totals.hops += part.hops;
            totals.under_way += part.held.len() as u64;
            for node in &part.nodes {
                totals.sent += node.sent;
                totals.received += node.received;
                totals.at_nodes += node.dropped.iter().sum::<u64>();
            }
            for busy in part.directions.iter_mut().filter_map(DirectionState::busy_mut) {
                let direction = &mut busy.direction;
                let left = direction.hand_over(now);
                debug_assert!(left.is_none(), "a packet left at an instant that is over");
                let link = direction.counters();
                totals.duplicated += link.duplicated;
                totals.at_links += link.failed + link.lost + link.queue_dropped + link.aqm_dropped;
                totals.under_way += link.under_way();
            }
        }
        totals
    }

    /// A protocol, if it is an `H`.
    pub fn host<H: Host>(&self, host: HostIndex) -> Option<&H> {
        let place = self.fabric.hosts[host.0 as usize];
        let known: &dyn std::any::Any =
            &*self.partitions[place.partition as usize].hosts[place.local as usize].host;
        known.downcast_ref()
    }

    /// A selector, if it is an `S`.
    pub fn selector<S: Selector>(&self, selector: SelectorIndex) -> Option<&S> {
        let (partition, out) = self.fabric.selectors[selector.0 as usize];
        let known: &dyn std::any::Any = &**self.partitions[partition as usize].selectors.get(&out)?;
        known.downcast_ref()
    }

    /// A selector to be changed, if it is an `S`.
    pub fn selector_mut<S: Selector>(&mut self, selector: SelectorIndex) -> Option<&mut S> {
        let (partition, out) = self.fabric.selectors[selector.0 as usize];
        let known: &mut dyn std::any::Any =
            &mut **self.partitions[partition as usize].selectors.get_mut(&out)?;
        known.downcast_mut()
    }

    /// The packets of all captures until now, by instant and then by interface.
    pub fn captured(&self) -> Vec<Captured> {
        let mut all: Vec<Captured> =
            self.partitions.iter().flat_map(|part| part.log.packets.iter().cloned()).collect();
        // Those of one interface at one instant are of one partition and stand in order.
        all.sort_by_key(|packet| (packet.at, packet.capture));
        all
    }

    /// The same as a pcap-ng file, its interfaces named `node:0` in the order in which captures were asked for.
    pub fn pcapng(&self) -> Vec<u8> {
        let name = |&(node, interface): &(NodeIndex, usize)| format!("{}:{interface}", self.node_name(node));
        let interfaces: Vec<String> = self.captures.iter().map(name).collect();
        write_pcapng(&interfaces, &self.captured())
    }
}
