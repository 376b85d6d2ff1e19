//! What containerlab's labs become.

mod imports_common;

use imports_common::{BARE_LAB, LAB, import, loses, names, read};
use plait_model_topology::Network;
use plait_model_topology::network::{FileContent, Node, Routing};

fn node<'a>(network: &'a Network, name: &str) -> &'a Node {
    &network.nodes[network.node(name).expect("it is there")]
}

fn addresses(node: &Node) -> Vec<String> {
    let interfaces = node.interfaces.iter();
    let of = |name: &str, address: &_| format!("{name} {address}");
    interfaces.flat_map(|own| own.addresses.iter().map(move |address| of(&own.name, address))).collect()
}

#[test]
fn kinds_images_and_sysctls_say_what_a_node_is() {
    let network = read(&import("two.clab.yml", LAB).unwrap());
    assert_eq!(network.name, "two-sites");
    assert_eq!(names(&network), ["r1", "r2", "pc1", "pc2", "pc3", "lan0", "core1"]);
    let kinds: Vec<_> = network.nodes.iter().map(|node| node.kind.as_str()).collect();
    assert_eq!(kinds, ["router", "router", "host", "router", "host", "switch", "router"]);
    let Routing::Frr(frr) = &network.routing else { panic!("{:?}", network.routing) };
    assert!(frr.ospf && frr.bgp, "nobody looked into the bound files");
    assert!(network.pools.ipv4.is_none(), "the lab gives addresses itself");
}

#[test]
fn links_keep_their_interfaces_and_mtus() {
    let network = read(&import("two.clab.yml", LAB).unwrap());
    let links: Vec<_> =
        network.links.iter().map(|link| link.ends.map(|end| network.port_name(end))).collect();
    let wanted = [
        ["r1:eth1", "r2:eth1"],
        ["r1:eth2", "core1:eth0"],
        ["pc1:eth1", "lan0:pc1"],
        ["r1:eth3", "lan0:r1"],
        ["pc2:eth1", "r2:eth2"],
        ["pc2:eth2", "pc3:eth1"],
    ];
    assert_eq!(links, wanted);
    assert_eq!((network.links[0].mtu, network.links[1].mtu), (Some(9000), Some(1400)));
}

#[test]
fn exec_becomes_addresses_routes_and_commands() {
    let network = read(&import("two.clab.yml", LAB).unwrap());
    let pc1 = node(&network, "pc1");
    assert_eq!(addresses(pc1), ["eth1 192.168.1.2/24", "eth1 2001:db8:1::2/64"]);
    let routes: Vec<_> = pc1.routes.iter().map(|route| format!("{} {}", route.to, route.via)).collect();
    assert_eq!(routes, ["192.168.0.0/16 192.168.1.1"]);
    let commands: Vec<_> = pc1.commands.iter().map(|command| command.value.as_str()).collect();
    let wanted = ["ip r a default via 172.20.30.1", "echo \"started at $(date)\" > /tmp/started"];
    assert_eq!(commands, wanted);
    let pc2 = node(&network, "pc2");
    assert_eq!(addresses(pc2), ["eth1 192.168.2.2/24"]);
    assert!(pc2.commands.is_empty());
    assert_eq!(pc2.sysctls["net.ipv4.tcp_ecn"].value, "0", "the nearest wins");
    assert_eq!(addresses(node(&network, "r2")), ["eth2 192.168.2.1/24"], "the link gives it");
    assert_eq!(addresses(node(&network, "r1")), ["eth2 10.9.0.1/30"]);
}

#[test]
fn bound_files_and_limits_stay() {
    let imported = import("two.clab.yml", LAB).unwrap();
    let network = read(&imported);
    let file = &node(&network, "pc1").files["/srv/index.html"].value;
    assert_eq!(*file, FileContent::Source("pc1/index.html".to_owned()));
    assert!(imported.yaml.contains("frr: {config: r1/frr.conf}"), "{}", imported.yaml);
    assert!(imported.yaml.contains("limits: {memory: 512MiB, processor: 50%}"), "{}", imported.yaml);
    assert!(imported.yaml.contains("processors: [0, 1]"), "{}", imported.yaml);
}

#[test]
fn what_has_no_place_is_told_once_with_its_line() {
    let imported = import("two.clab.yml", LAB).unwrap();
    for (what, why, line) in [
        ("prefix", "no place", 3),
        ("mgmt", "no place", 4),
        ("env of node r1", "no environment", 11),
        ("sysctl kernel.msgmax", "of the network", 16),
        ("image of node r1", "this machine's FRR", 19),
        ("bind daemons:/etc/frr/daemons", "Plait's to write", 22),
        ("image of node pc1", "programs of this machine", 24),
        ("exec of node pc1", "`commands`", 35),
        ("bind /lib/modules:/lib/modules", "of one machine", 39),
        ("bind pc1/www:/srv/www", "may be a folder", 40),
        ("ports of node pc1", "uplink", 41),
        ("mgmt-ipv4 of node pc1", "no management network", 42),
        ("node core1", "vendor's image", 54),
        ("startup-config of node core1", "vendor's system", 57),
        ("node outside", "left out", 58),
        ("link.endpoints.mac", "no place", 67),
        ("interface core1:ethernet-1/1", "no name of a Linux device", 69),
        ("address 10.9.0.2/30", "could not be given", 69),
        ("link to host:pc3", "out of the lab", 77),
        ("link of type vxlan", "out of the lab", 78),
    ] {
        loses(&imported, what, why, Some(line));
    }
    let told = imported.losses.iter().filter(|loss| loss.what.starts_with("image of")).count();
    assert_eq!(told, 3, "one for each place where an image stands");
}

#[test]
fn a_lab_without_addresses_is_numbered_and_routed() {
    let network = read(&import("bare.clab.yml", BARE_LAB).unwrap());
    let Routing::Frr(frr) = &network.routing else { panic!("{:?}", network.routing) };
    assert!(frr.ospf && !frr.bgp);
    assert!(network.pools.ipv4.is_some());
}

#[test]
fn malformed_labs_are_refused_with_line_and_remedy() {
    for (text, expected, line) in [
        ("topology:\n", "no `topology`", 1),
        ("name: x\n", "no `topology`", 1),
        ("[1]\n", "a map of keys", 1),
        ("topology:\n  links: []\n", "no nodes", 2),
        ("topology:\n  nodes: [a]\n", "`nodes` is a map", 2),
        ("topology:\n  nodes:\n    a: {image: x}\n", "has no kind", 3),
        ("topology:\n  nodes:\n    a: {kind: linux, group: x}\n  groups: {y: {}}\n", "unknown group `x`", 3),
        ("topology:\n  nodes:\n    a1: {kind: linux}\n  links:\n    - endpoints: [a1:e, a2:e]\n", "`a1`?", 5),
        ("topology:\n  nodes:\n    a: {kind: linux}\n  links:\n    - endpoints: [a:e]\n", "two endpoints", 5),
        (
            "topology:\n  nodes:\n    a: {kind: linux}\n  links:\n    - endpoints: [a, a]\n",
            "its interface",
            5,
        ),
        (
            "topology:\n  nodes:\n    a: {kind: linux}\n    b: {kind: linux}\n  links:\n\
             \x20   - endpoints: [a:e, b:e]\n    - endpoints: [a:e, b:f]\n",
            "plugged in twice",
            7,
        ),
    ] {
        let report = import("bad.clab.yml", text).expect_err("it is malformed");
        assert!(report.contains(expected), "{expected}\n{report}");
        assert!(report.contains(&format!("bad.clab.yml:{line}:")), "line {line}\n{report}");
        assert!(report.contains("help"), "{report}");
    }
}
