//! The names that every node finds in `/etc/hosts`.

use plait_model_topology::Network;
use plait_model_topology::address::Assignment;
use plait_model_topology::network::Port;
use std::collections::HashMap;
use std::net::IpAddr;

/// Every node by its name, in both versions of IP where it has both, and every address of a node that has several
/// interfaces as `NODE-INTERFACE`, unless that is the name of a node or stands for another interface too.
pub(super) fn hosts(network: &Network, assignment: &Assignment) -> Vec<(IpAddr, String)> {
    // Who looks a name up does not mind its case.
    let mut uses: HashMap<String, usize> = HashMap::new();
    for node in &network.nodes {
        *uses.entry(node.name.to_ascii_lowercase()).or_default() += 1;
        for interface in node.interfaces.iter().filter(|_| node.interfaces.len() > 1) {
            *uses.entry(alias(&node.name, &interface.name).to_ascii_lowercase()).or_default() += 1;
        }
    }
    let mut hosts = Vec::new();
    for (index, node) in network.nodes.iter().enumerate() {
        // A name has one address of each version, so that `ping -6` finds one too.
        for ipv6 in [false, true] {
            let first = assignment.all(index).find(|net| net.addr().is_ipv6() == ipv6);
            hosts.extend(first.map(|net| (net.addr(), node.name.clone())));
        }
        if node.interfaces.len() < 2 {
            continue;
        }
        for (position, interface) in node.interfaces.iter().enumerate() {
            let alias = alias(&node.name, &interface.name);
            if uses[&alias.to_ascii_lowercase()] > 1 {
                continue;
            }
            for net in assignment.addresses(Port { node: index, interface: position }) {
                hosts.push((net.addr(), alias.clone()));
            }
        }
    }
    hosts
}

fn alias(node: &str, interface: &str) -> String {
    format!("{node}-{interface}")
}
