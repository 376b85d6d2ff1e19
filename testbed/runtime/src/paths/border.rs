//! Where a fabric ends, where a file does not say it.

use plait_model_topology::Network;
use plait_model_topology::address::segments;
use plait_model_topology::network::{NodeIndex, Port};
use plait_model_topology::vocabulary::Role;
use std::collections::{BTreeMap, BTreeSet};

/// The interfaces of routers behind which, through whatever switches, there are only hosts that choose no paths. Choice: where a
/// host that chooses or another router is there as well, no interface is a border, since headers come by it that are right; of
/// who is beside them, their source does not tell.
pub fn usual(network: &Network, choosing: &[NodeIndex]) -> BTreeMap<NodeIndex, Vec<String>> {
    let choosing: BTreeSet<NodeIndex> = choosing.iter().copied().collect();
    let is_router = |port: &Port| network.nodes[port.node].role == Role::Router;
    let mut all: BTreeMap<NodeIndex, Vec<String>> = BTreeMap::new();
    for segment in segments(network) {
        let (inner, others): (Vec<Port>, Vec<Port>) = segment.ports.into_iter().partition(is_router);
        let is_one = inner.iter().all(|port| port.node == inner[0].node);
        if !is_one || others.is_empty() || others.iter().any(|port| choosing.contains(&port.node)) {
            continue;
        }
        for Port { node, interface } in inner {
            all.entry(node).or_default().push(network.nodes[node].interfaces[interface].name.clone());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use plait_model_topology::document::Source;
    use plait_model_topology::{Vocabulary, parse_network};

    /// Borders of a network in which hosts of these names choose.
    fn of(text: &str, choosing: &[&str]) -> Vec<String> {
        let source = Source::new("n.yaml", format!("plait: 1\nname: n\n{text}"));
        let network = parse_network(&source, &Vocabulary::core(), &|path| Err(format!("no {path}"))).unwrap();
        let choosing: Vec<NodeIndex> = choosing.iter().map(|name| network.node(name).unwrap()).collect();
        let names = |(node, names): (NodeIndex, Vec<String>)| {
            let node = network.nodes[node].name.clone();
            names.into_iter().map(move |name| format!("{node}:{name}"))
        };
        usual(&network, &choosing).into_iter().flat_map(names).collect()
    }

    #[test]
    fn a_border_is_where_only_hosts_are_that_choose_no_paths() {
        let line = "nodes: {a: host, r: router, s: router, b: host}\nlinks: [a-r, r-s, s-b]\n";
        assert_eq!(of(line, &["a", "b"]), [""; 0]);
        assert_eq!(of(line, &["b"]), ["r:eth0"]);
        assert_eq!(of(line, &[]), ["r:eth0", "s:eth1"]);
    }

    #[test]
    fn who_is_on_a_segment_with_a_host_that_chooses_or_with_two_routers_is_kept_out_by_no_border() {
        let nodes = "nodes: {a: host, b: host, c: host, r: router, s: router, sw: switch, far: switch}\n";
        let switched = format!("{nodes}links: [r-sw, sw-far, far-a, sw-b, s-c, r-s]\n");
        assert_eq!(of(&switched, &["c"]), ["r:eth0"], "two hosts behind two switches");
        assert_eq!(of(&switched, &["a", "c"]), [""; 0]);
        let shared = format!("{nodes}lans: {{office: [a, b, r]}}\nlinks: [r-s, s-c, sw-far]\n");
        assert_eq!(of(&shared, &["c"]), ["r:eth1"]);
        assert_eq!(of(&shared, &["b", "c"]), [""; 0]);
        let two = format!("{nodes}lans: {{office: [a, b, r, s]}}\nlinks: [s-c, sw-far]\n");
        assert_eq!(of(&two, &["c"]), [""; 0]);
        let alone = "nodes: {b: host, r: router, s: router, sw: switch}\nlinks: [r-sw, r-s, s-b]\n";
        assert_eq!(of(alone, &["b"]), [""; 0], "nobody is behind the switch");
    }
}
