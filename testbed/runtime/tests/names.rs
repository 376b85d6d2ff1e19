//! Which names nodes find.

use plait_model_topology::address::assign;
use plait_model_topology::document::Source;
use plait_model_topology::{Vocabulary, parse_network};
use plait_testbed_runtime::plan::{Wishes, desired};

/// The addresses behind a name.
fn addresses(hosts: &[(std::net::IpAddr, String)], name: &str) -> Vec<String> {
    hosts.iter().filter(|(_, known)| known == name).map(|(address, _)| address.to_string()).collect()
}

#[test]
fn a_node_is_found_by_its_name_whatever_interfaces_are_called() {
    let text = "plait: 1
nodes: [r, R-eth0, r-lan, r-lan-2, a]
lans: {office: {members: [r:eth0, 'r:lan-2', 'r:wan', R-eth0, 'r-lan:2', 'r-lan:3', r-lan-2, a], prefix: 10.0.0.0/24}}
";
    let source = Source::new("net.yaml", text);
    let none = |_: &str| Err(String::new());
    let network = parse_network(&source, &Vocabulary::core(), &none).unwrap();
    let assignment = assign(&network, None).unwrap();
    let hosts = desired(&network, &assignment, &Wishes::default(), &none).unwrap().hosts;
    assert_eq!(addresses(&hosts, "R-eth0"), ["10.0.0.4"]);
    assert!(addresses(&hosts, "r-eth0").is_empty(), "hostnames know no case");
    assert_eq!(addresses(&hosts, "r-lan-2"), ["10.0.0.7"], "two interfaces and a node are called so");
    assert_eq!(addresses(&hosts, "r-wan"), ["10.0.0.3"]);
    assert_eq!(addresses(&hosts, "r-lan-3"), ["10.0.0.6"]);
    assert_eq!(addresses(&hosts, "r"), ["10.0.0.1"]);
}
