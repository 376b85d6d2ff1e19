//! Who has which address.

use super::segment::segments;
use crate::network::{Network, NodeIndex, Port};
use indexmap::IndexMap;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// The addresses of a network, by name, so that they can be kept and given to [`super::assign`] after an edit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    /// Addresses by node and interface, in the order of the network.
    pub(super) nodes: IndexMap<String, IndexMap<String, Vec<IpNet>>>,
    /// Prefixes by [`super::Segment::key`]: that from which members are numbered first.
    pub(super) segments: IndexMap<String, Vec<IpNet>>,
}

impl Assignment {
    /// The addresses of an interface, IPv4 before IPv6, each with the length of its prefix.
    pub fn addresses(&self, port: Port) -> &[IpNet] {
        let interfaces = self.nodes.get_index(port.node).map(|(_, interfaces)| interfaces);
        interfaces.and_then(|interfaces| interfaces.get_index(port.interface)).map_or(&[], |(_, nets)| nets)
    }

    /// The same, but for interfaces that are gone: they have no addresses.
    pub fn without(&self, is_gone: impl Fn(Port) -> bool) -> Self {
        let mut left = self.clone();
        for (node, interfaces) in left.nodes.values_mut().enumerate() {
            for (interface, nets) in interfaces.values_mut().enumerate() {
                if is_gone(Port { node, interface }) {
                    nets.clear();
                }
            }
        }
        left
    }

    /// What the node's name resolves to: the first address of its first interface that has one. Switches have none.
    pub fn primary(&self, node: NodeIndex) -> Option<IpAddr> {
        self.all(node).next().map(|net| net.addr())
    }

    /// All addresses of a node, in the order of its interfaces.
    pub fn all(&self, node: NodeIndex) -> impl Iterator<Item = IpNet> + '_ {
        let interfaces = self.nodes.get_index(node).map(|(_, interfaces)| interfaces);
        interfaces.into_iter().flat_map(|interfaces| interfaces.values().flatten().copied())
    }

    /// The prefixes of a segment by its key, IPv4 before IPv6.
    pub fn prefixes(&self, segment: &str) -> &[IpNet] {
        self.segments.get(segment).map_or(&[], Vec::as_slice)
    }

    /// Every segment's key and prefixes.
    pub fn segments(&self) -> impl Iterator<Item = (&str, &[IpNet])> {
        self.segments.iter().map(|(key, prefixes)| (key.as_str(), prefixes.as_slice()))
    }

    /// The addresses a node had within a prefix, by names alone: interfaces may have been renumbered by an edit.
    pub(super) fn within<'a>(&'a self, node: &str, prefix: &'a IpNet) -> impl Iterator<Item = IpAddr> + 'a {
        let interfaces =
            self.nodes.get(node).into_iter().flat_map(|interfaces| interfaces.values().flatten());
        interfaces.map(|net| net.addr()).filter(move |address| prefix.contains(address))
    }
}

/// A prefix and the interfaces that have an address in it: what a router calls a connected network.
#[derive(Debug, Clone, PartialEq)]
pub struct Subnet {
    /// The prefix, without host bits.
    pub prefix: IpNet,
    /// Its interfaces, each with its first address in the prefix.
    pub members: Vec<(Port, IpAddr)>,
}

/// The subnets of a network under an assignment, segment by segment, in the order of the file.
pub fn subnets(network: &Network, assignment: &Assignment) -> Vec<Subnet> {
    let mut subnets: Vec<Subnet> = Vec::new();
    for segment in segments(network) {
        let from = subnets.len();
        for &port in &segment.ports {
            for net in assignment.addresses(port) {
                let prefix = net.trunc();
                let at = match subnets[from..].iter().position(|subnet| subnet.prefix == prefix) {
                    Some(at) => from + at,
                    None => {
                        subnets.push(Subnet { prefix, members: Vec::new() });
                        subnets.len() - 1
                    }
                };
                let members = &mut subnets[at].members;
                if members.last().is_none_or(|(last, _)| *last != port) {
                    members.push((port, net.addr()));
                }
            }
        }
    }
    subnets
}
