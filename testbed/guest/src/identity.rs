//! Who a guest is on the network: a node's name, interfaces, addresses and routes, as a shell script for the
//! guest.

use plait_model_topology::vocabulary::Role;
use plait_testbed_runtime::plan::{InterfaceState, NodeState, State};
use std::fmt::Write;

/// The interfaces a guest takes over, in the order of their names.
pub fn interfaces(node: &NodeState) -> impl Iterator<Item = (&str, &InterfaceState)> {
    node.interfaces
        .iter()
        .map(|(name, interface)| (name.as_str(), interface))
        .filter(|(name, _)| *name != "lo")
}

/// A hardware address as people write it.
pub fn mac(interface: &InterfaceState) -> String {
    interface.mac.map(|byte| format!("{byte:02x}")).join(":")
}

/// The script that makes a guest a node of this name.
///
/// A switch becomes a bridge, a router forwards. Files, commands and daemons of the node are not taken over.
pub fn script(state: &State, name: &str, node: &NodeState) -> String {
    let mut script = format!("set -e\necho {name} >/proc/sys/kernel/hostname\n");
    let mut line = |text: String| writeln!(script, "{text}").expect("a string takes everything");
    line("cat >/etc/hosts <<.\n127.0.0.1 localhost\n::1 localhost".to_owned());
    for (address, name) in &state.hosts {
        line(format!("{address} {name}"));
    }
    line(".".to_owned());
    // Found by their hardware addresses, and under names that no other has until all are found.
    for (number, (_, interface)) in interfaces(node).enumerate() {
        line(format!(
            "for found in /sys/class/net/*; do [ \"$(cat $found/address)\" != {} ] || \
             ip link set \"${{found##*/}}\" name plait{number}; done",
            mac(interface)
        ));
    }
    let forwards = u8::from(node.role == Role::Router);
    line(format!("sysctl -q -w net.ipv4.ip_forward={forwards} net.ipv6.conf.all.forwarding={forwards}"));
    line("ip -batch - <<.\nlink set lo up".to_owned());
    if node.role == Role::Switch {
        line("link add name br0 type bridge\nlink set br0 addrgenmode none\nlink set br0 up".to_owned());
    }
    for (number, (interface, _)) in interfaces(node).enumerate() {
        line(format!("link set plait{number} name {interface}"));
        let end = (name.to_owned(), interface.to_owned());
        let mtu = state.links.values().find(|link| link.ends.contains(&end)).and_then(|link| link.mtu);
        mtu.into_iter().for_each(|mtu| line(format!("link set {interface} mtu {mtu}")));
        let bridged = if node.role == Role::Switch { "master br0 " } else { "" };
        line(format!("link set {interface} {bridged}addrgenmode none\nlink set {interface} up"));
    }
    for (device, interface) in &node.interfaces {
        for address in &interface.addresses {
            let kind = if address.addr().is_ipv6() { " nodad" } else { "" };
            line(format!("address add {address} dev {device}{kind}"));
        }
    }
    for route in &node.routes {
        let device = route.interface.as_ref().map_or(String::new(), |name| format!(" dev {name}"));
        line(format!("route add {} via {}{device}", route.to, route.via));
    }
    line(".".to_owned());
    for (name, value) in &node.sysctls {
        line(format!("sysctl -q -w '{name}={}'", value.replace('\'', "'\\''")));
    }
    script
}
