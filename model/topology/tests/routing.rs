//! What addresses and routes guarantee, on any network.

use ipnet::IpNet;
use plait_model_topology::address::{Assignment, assign, segments, subnets};
use plait_model_topology::document::Source;
use plait_model_topology::network::NodeIndex;
use plait_model_topology::route::{FullRoute, Route, TableBuilder, full_tables, static_routes};
use plait_model_topology::vocabulary::Role;
use plait_model_topology::{Network, Vocabulary, parse_network};
use proptest::prelude::*;
use std::collections::HashMap;
use std::net::IpAddr;

fn network(text: &str) -> Network {
    parse_network(&Source::new("net.yaml", text), &Vocabulary::core(), &|_| Err(String::new()))
        .unwrap_or_else(|report| panic!("{report}\n{text}"))
}

fn assigned(text: &str) -> (Network, Assignment) {
    let network = network(text);
    let assignment = assign(&network, None).unwrap_or_else(|faults| panic!("{faults:?}\n{text}"));
    (network, assignment)
}

/// Longest prefix match as the kernel does it; connected prefixes come first.
fn lookup(table: &[Route], to: IpAddr) -> Option<Route> {
    table
        .iter()
        .filter(|route| route.prefix.contains(&to))
        .max_by_key(|route| route.prefix.prefix_len())
        .copied()
}

fn lookup_full(table: &[FullRoute], to: IpAddr) -> Option<&FullRoute> {
    table.iter().find(|route| route.prefix.contains(&to))
}

fn connected(network: &Network, assignment: &Assignment, node: NodeIndex, to: IpAddr) -> bool {
    let _ = network;
    assignment.all(node).any(|net| net.contains(&to))
}

/// Every promise of the route module, checked on one network.
fn check(network: &Network, assignment: &Assignment) {
    let full = full_tables(network, assignment);
    let small = static_routes(network, assignment);
    let mut owner: HashMap<IpAddr, NodeIndex> = HashMap::new();
    for node in 0..network.nodes.len() {
        for net in assignment.all(node) {
            assert!(owner.insert(net.addr(), node).is_none(), "{} is given once", net.addr());
        }
    }
    for (node, (small, full)) in small.iter().zip(&full).enumerate() {
        let name = &network.nodes[node].name;
        assert!(small.len() <= full.len(), "{name}: {} routes for {}", small.len(), full.len());
        for route in small {
            let neighbour = owner[&route.via];
            let shared = network.nodes[node].interfaces.len() > route.interface
                && assignment.all(node).any(|net| net.contains(&route.via));
            assert!(shared && neighbour != node, "{name}: {route:?} leads to a neighbour");
        }
    }
    for (&to, &home) in &owner {
        for start in 0..network.nodes.len() {
            if network.nodes[start].role == Role::Switch || connected(network, assignment, start, to) {
                continue;
            }
            let wanted = lookup_full(&full[start], to);
            let got = lookup(&small[start], to);
            match (wanted, got) {
                (None, None) => (),
                (None, Some(route)) => assert_eq!(route.prefix.prefix_len(), 0, "{to} cannot be reached"),
                (Some(full), Some(route)) => assert!(
                    full.next_hops.iter().any(|hop| hop.via == route.via && hop.interface == route.interface),
                    "{}: {to} by {route:?}, not one of {full:?}",
                    network.nodes[start].name
                ),
                (Some(full), None) => panic!("{}: no route to {to}, {full:?}", network.nodes[start].name),
            }
            if wanted.is_none() {
                continue;
            }
            let mut at = start;
            let mut steps = 0;
            while at != home && !connected(network, assignment, at, to) {
                assert!(at == start || network.nodes[at].role == Role::Router, "only routers forward");
                at = owner[&lookup(&small[at], to).expect("the way goes on").via];
                steps += 1;
                assert!(steps <= network.nodes.len(), "{to} from {} loops", network.nodes[start].name);
            }
        }
    }
}

/// A network of routers, hosts and switches with links and LANs at random.
fn any_network(most: usize) -> impl Strategy<Value = String> {
    let kinds = prop::collection::vec(0..6u8, 2..most);
    kinds.prop_flat_map(move |kinds| {
        let nodes = kinds.len();
        let links = prop::collection::vec((0..nodes, 0..nodes, 1..4u32), 1..2 * nodes);
        let lans = prop::collection::vec(prop::collection::vec(0..nodes, 2..5), 0..3);
        (Just(kinds), links, lans, any::<bool>(), any::<bool>()).prop_map(
            |(kinds, links, lans, costs, v6)| {
                let mut text = String::from("plait: 1\n");
                if v6 {
                    text += "defaults: {ipv6: on}\n";
                }
                text += "nodes:\n";
                for (node, kind) in kinds.iter().enumerate() {
                    let kind = match kind {
                        0..=3 => "router",
                        4 => "host",
                        _ => "switch",
                    };
                    text += &format!("  n{node}: {kind}\n");
                }
                text += "links:\n";
                for (a, b, cost) in links.iter().filter(|(a, b, _)| a != b) {
                    let cost = if costs { *cost } else { 1 };
                    text += &format!("  - {{endpoints: [n{a}, n{b}], cost: {cost}}}\n");
                }
                for (lan, members) in lans.iter().enumerate() {
                    if lan == 0 {
                        text += "lans:\n";
                    }
                    let members: std::collections::BTreeSet<_> =
                        members.iter().map(|m| format!("n{m}")).collect();
                    text +=
                        &format!("  lan{lan}: [{}]\n", members.into_iter().collect::<Vec<_>>().join(", "));
                }
                text.replace("links:\nlans:", "lans:").trim_end_matches("links:\n").to_owned()
            },
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_smallest_tables_follow_shortest_paths_and_arrive(text in any_network(24)) {
        let (network, assignment) = assigned(&text);
        check(&network, &assignment);
    }

    #[test]
    fn the_same_network_gets_the_same_addresses_and_keeps_them(text in any_network(16)) {
        let (network, assignment) = assigned(&text);
        prop_assert_eq!(&assign(&network, None).unwrap(), &assignment);
        prop_assert_eq!(&assign(&network, Some(&assignment)).unwrap(), &assignment);
        let kept: Assignment = serde_json::from_str(&serde_json::to_string(&assignment).unwrap()).unwrap();
        prop_assert_eq!(kept, assignment);
    }

    #[test]
    fn crowded_networks_are_numbered_without_a_clash_or_refused_with_a_reason(text in crowded()) {
        let parsed = parse_network(&Source::new("net.yaml", text.as_str()), &Vocabulary::core(), &|_| Err(String::new()));
        // An address given twice is the reader's to refuse.
        prop_assume!(parsed.is_ok());
        let network = parsed.unwrap();
        match assign(&network, None) {
            Err(faults) => prop_assert!(!faults.is_empty() && faults.iter().all(|fault| fault.help.is_some())),
            Ok(assignment) => {
                let nets: Vec<_> = subnets(&network, &assignment).into_iter().map(|subnet| subnet.prefix).collect();
                for (at, a) in nets.iter().enumerate() {
                    prop_assert!(nets[..at].iter().all(|b| !a.contains(b) && !b.contains(a)), "{:?}", nets);
                }
                check(&network, &assignment);
                prop_assert_eq!(assign(&network, Some(&assignment)).unwrap(), assignment);
            }
        }
    }

    #[test]
    fn an_edit_moves_no_segment_that_stays(text in any_network(16), drop in any::<prop::sample::Index>()) {
        let (network, before) = assigned(&text);
        prop_assume!(!network.links.is_empty());
        let mut edited = network.clone();
        // A new router with two new links, and one link renamed: the old name goes, a new one comes.
        let renamed = drop.index(edited.links.len());
        edited.links[renamed].name = "new".to_owned();
        let after = assign(&edited, Some(&before)).unwrap();
        for segment in segments(&edited) {
            if segment.key != "new" {
                prop_assert_eq!(before.prefixes(&segment.key), after.prefixes(&segment.key));
            }
        }
        check(&edited, &after);
    }
}

/// Prefixes and pools from a small space, so that they clash and run out.
fn crowded() -> impl Strategy<Value = String> {
    let pools = prop::sample::select(vec![
        "ipv4: 10.0.0.0/30",
        "ipv4: 10.0.0.0/28",
        "ipv4: 10.0.0.0/24",
        "ipv4: 10.0.0.0/16",
        "ipv4: 0.0.0.0/0",
        "ipv4: 255.255.255.255/32",
        "ipv4: 255.255.255.0/24, ipv6: 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ff00/120'",
        "ipv4: off, ipv6: 'fd00::/64'",
        "ipv4: off, ipv6: 'fd00::/63'",
        "ipv4: off, ipv6: '::/0'",
        "ipv4: off",
        "ipv6: on",
    ]);
    let prefixes = vec![
        "10.0.0.0/30",
        "10.0.0.4/31",
        "10.0.0.8/29",
        "10.0.0.16/32",
        "10.0.0.0/8",
        "0.0.0.0/0",
        "255.255.255.254/31",
        "192.168.0.0/24",
        "fd00::/64",
        "fd00::2/127",
        "::/0",
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127",
    ];
    let addresses = vec![
        "10.0.0.1/24",
        "10.0.0.9/29",
        "10.0.0.10/29",
        "10.0.0.255/24",
        "10.0.0.16/32",
        "10.0.0.5/31",
        "172.16.0.1/12",
        "fd00::1/64",
        "fd00::3/127",
        "ff::1/128",
        "0.0.0.1/0",
        "::5/0",
    ];
    let prefix = prop::option::weighted(0.3, prop::sample::select(prefixes));
    let address = prop::option::weighted(0.2, prop::sample::select(addresses));
    let links = prop::collection::vec((0..5usize, 0..5usize, prefix.clone(), address), 1..8);
    (pools, links, prop::option::weighted(0.4, prefix)).prop_map(|(pools, links, lan)| {
        let mut ports = vec![String::new(); 5];
        let mut text = String::new();
        for (at, (a, b, prefix, address)) in links.iter().enumerate().filter(|(_, (a, b, ..))| a != b) {
            let address = address.map_or(String::new(), |address| format!("addresses: ['{address}']"));
            ports[*a] += &format!("p{at}: {{{address}}}, ");
            let prefix = prefix.map_or(String::new(), |prefix| format!(", prefix: '{prefix}'"));
            text += &format!("  - {{endpoints: ['n{a}:p{at}', n{b}]{prefix}}}\n");
        }
        let nodes: Vec<_> = ports
            .iter()
            .enumerate()
            .map(|(node, ports)| {
                format!("  n{node}: {{kind: router, interfaces: {{{}}}}}\n", ports.trim_end_matches(", "))
            })
            .collect();
        let links = if text.is_empty() { String::new() } else { format!("links:\n{text}") };
        let lan = lan.map_or(String::new(), |prefix| {
            let prefix = prefix.map_or(String::new(), |prefix| format!(", prefix: '{prefix}'"));
            format!("lans: {{office: {{members: [n0, n1, n2]{prefix}}}}}\n")
        });
        format!("plait: 1\ndefaults: {{{pools}}}\nnodes:\n{}{links}{lan}", nodes.concat())
    })
}

fn chain(routers: usize) -> String {
    let nodes: Vec<_> = (0..routers).map(|n| format!("r{n}: router")).collect();
    let links: Vec<_> = (1..routers).map(|n| format!("r{}-r{n}", n - 1)).collect();
    format!("plait: 1\nnodes: {{{}}}\nlinks: [{}]\n", nodes.join(", "), links.join(", "))
}

#[test]
fn a_link_is_a_31_and_a_127_and_a_lan_has_room_to_grow() {
    let (network, assignment) = assigned(
        "plait: 1\ndefaults: {ipv6: on}\nnodes: [a, b, c, d, e, f]\nlinks: [a-b]\nlans: {office: [b, c, d, e, f]}\n",
    );
    let lengths = |key: &str| assignment.prefixes(key).iter().map(IpNet::prefix_len).collect::<Vec<_>>();
    assert_eq!(lengths("a-b"), [31, 127]);
    assert_eq!(lengths("office"), [28, 64]);
    assert_eq!(assignment.addresses(network.links[0].ends[0]).len(), 2);
    assert_eq!(assignment.primary(0), Some(assignment.addresses(network.links[0].ends[0])[0].addr()));
}

#[test]
fn switches_join_what_is_plugged_into_them() {
    let (network, assignment) = assigned(
        "plait: 1\nnodes: {a: , b: , s1: switch, s2: switch, r: router, c: }\nlinks: [a-s1, s1-s2, b-s2, r-s2, r-c]\n",
    );
    let keys: Vec<_> = segments(&network).into_iter().map(|segment| segment.key).collect();
    assert_eq!(keys, ["switch s1", "r-c"]);
    assert_eq!(subnets(&network, &assignment)[0].members.len(), 3);
    check(&network, &assignment);
    let tables = static_routes(&network, &assignment);
    assert_eq!(tables[0].len(), 1);
    assert_eq!(tables[0][0].prefix.to_string(), "0.0.0.0/0", "a host has one way out");
    assert!(tables[2].is_empty(), "a switch has no routes");
}

#[test]
fn given_addresses_are_kept_and_their_neighbours_numbered_from_the_same_prefix() {
    let (network, assignment) = assigned(
        "plait: 1
nodes: {a: {interfaces: {eth0: {addresses: [192.168.7.9/24]}}}, b: router, c: }
links: ['a:eth0-b', {endpoints: [b, c], prefix: 172.16.0.0/30}]
",
    );
    assert_eq!(assignment.prefixes("a:eth0-b"), &[] as &[IpNet], "a link is named after its nodes");
    assert_eq!(assignment.prefixes("a-b")[0].to_string(), "192.168.7.0/24");
    let b: Vec<_> = assignment.all(1).map(|net| net.to_string()).collect();
    assert_eq!(b, ["192.168.7.1/24", "172.16.0.1/30"]);
    check(&network, &assignment);
}

#[test]
fn prefixes_that_clash_are_reported_with_both_places() {
    for (text, expected) in [
        (
            "plait: 1\nnodes: [a, b, c]\nlinks:\n- {endpoints: [a, b], prefix: 10.1.0.0/16}\n- {endpoints: [b, c], prefix: 10.1.2.0/24}\n",
            "would share addresses",
        ),
        (
            "plait: 1\nnodes: {a: {interfaces: {eth0: {addresses: [10.0.0.1/24]}}}, b: {interfaces: {eth0: {addresses: [10.0.0.2/25]}}}}\nlinks: ['a:eth0-b:eth0']\n",
            "does not fit",
        ),
        (
            "plait: 1\nnodes: {a: {interfaces: {eth0: {addresses: [10.0.0.0/24]}}}, b: }\nlinks: ['a:eth0-b']\n",
            "is not the address of a host",
        ),
        (
            "plait: 1\nnodes: {a: , b: , s: {kind: switch, interfaces: {p: {addresses: [10.0.0.1/24]}}}}\nlinks: ['s:p-a', s-b]\n",
            "is a port of a switch",
        ),
        (
            "plait: 1\ndefaults: {ipv4: 10.0.0.0/30}\nnodes: [a, b, c, d]\nlinks: [a-b, b-c, c-d]\n",
            "has no room left for `c-d`",
        ),
        (
            "plait: 1\nnodes: [a, b, c]\nlans: {office: {members: [a, b, c], prefix: 10.0.0.0/30}}\n",
            "has no address left for `c:eth0`",
        ),
    ] {
        let faults = assign(&network(text), None).expect_err("the file is at odds with itself");
        assert!(faults[0].message.contains(expected), "{expected}: {faults:?}");
        assert!(faults[0].help.is_some());
    }
}

#[test]
fn a_pool_is_used_to_its_last_link() {
    let (network, assignment) = assigned(
        "plait: 1\ndefaults: {ipv4: 10.0.0.0/29, ipv6: 'fd00::/64'}\nnodes: [a, b, c, d, e]\nlinks: [a-b, b-c, c-d, d-e]\n",
    );
    assert!(network.links.iter().all(|link| assignment.prefixes(&link.name).len() == 2));
}

#[test]
fn a_small_pool_serves_a_small_network() {
    for pool in ["10.0.0.0/24", "10.0.0.0/23", "10.0.0.0/28", "192.168.0.0/16"] {
        let text = format!(
            "plait: 1\ndefaults: {{ipv4: {pool}}}\nnodes: [a, b, c]\nlinks: [a-b, b-c]\nlans: {{l: [a, b, c]}}\n"
        );
        let (network, assignment) = assigned(&text);
        check(&network, &assignment);
    }
}

#[test]
fn tables_can_be_made_on_many_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<TableBuilder>();
}

#[test]
fn a_new_member_does_not_renumber_a_lan() {
    let (_, before) = assigned("plait: 1\nnodes: [a, b, c]\nlans: {office: [a, b, c]}\n");
    let edited = network("plait: 1\nnodes: [x, a, b, c]\nlinks: [x-b]\nlans: {office: [x, c, b, a]}\n");
    let after = assign(&edited, Some(&before)).unwrap();
    assert_eq!(after.prefixes("office"), before.prefixes("office"));
    for (was, is) in [(0, 1), (2, 3)] {
        assert_eq!(before.primary(was), after.primary(is), "node {is} keeps its address");
    }
    assert!(after.all(2).any(|net| Some(net.addr()) == before.primary(1)), "under another interface name");
}

#[test]
fn routes_to_what_cannot_be_reached_do_not_exist() {
    let (network, assignment) = assigned(
        "plait: 1\nnodes: {a: , r: router, s: router, b: , c: , t: router, u: router, v: router}\nlinks: [a-r, r-s, s-b, b-t, t-u, u-v]\n",
    );
    check(&network, &assignment);
    let r = &static_routes(&network, &assignment)[1];
    let far = assignment.prefixes("t-u")[0].addr();
    assert_eq!(lookup(r, far), None, "paths do not lead through the host b");
}

#[test]
fn two_routers_that_have_only_each_other_have_no_default_routes() {
    let (network, assignment) =
        assigned("plait: 1\nnodes: {a: , r: router, s: router, b: }\nlinks: [a-r, r-s, s-b]\n");
    let tables = static_routes(&network, &assignment);
    assert_eq!(tables[0][0].prefix.prefix_len(), 0);
    assert_ne!(tables[1][0].prefix.prefix_len(), 0);
    assert_ne!(tables[2][0].prefix.prefix_len(), 0);
    check(&network, &assignment);
}

#[test]
fn a_node_with_an_uplink_can_have_the_same_routes_without_the_default() {
    let (network, assignment) = assigned(&chain(5));
    let builder = TableBuilder::new(&network, &assignment);
    assert_eq!(builder.table(0)[0].prefix.prefix_len(), 0);
    assert!(builder.table_without_default(0).iter().all(|route| route.prefix.prefix_len() > 0));
}

#[test]
fn a_hub_has_more_next_hops_than_a_word_has_bits() {
    let mut text = String::from("plait: 1\nnodes:\n  hub: router\n");
    for spoke in 0..150 {
        text += &format!("  r{spoke}: router\n  h{spoke}: host\n");
    }
    text += "links:\n";
    for spoke in 0..150 {
        text += &format!("  - hub-r{spoke}\n  - r{spoke}-h{spoke}\n");
    }
    let (network, assignment) = assigned(&text);
    check(&network, &assignment);
    assert_eq!(static_routes(&network, &assignment)[0].len(), 150);
}

#[test]
fn routes_outside_the_pool_cover_only_what_is_assigned() {
    let (network, assignment) = assigned(
        "plait: 1
nodes: {a: router, b: router, c: router, d: router}
links:
  - {endpoints: [a, b], prefix: 1.0.0.0/24}
  - {endpoints: [b, c], prefix: 1.0.2.0/24}
  - {endpoints: [c, d], prefix: 1.0.3.0/24}
  - {endpoints: [d, a], prefix: 200.0.0.0/24}
",
    );
    check(&network, &assignment);
    for route in static_routes(&network, &assignment).iter().flatten() {
        assert!(route.prefix.prefix_len() >= 23, "{route:?}");
    }
}
