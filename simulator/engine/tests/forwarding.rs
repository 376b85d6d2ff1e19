//! Which way packets go, and what becomes of them.

mod support;

use plait_model_quantity::Bandwidth;
use plait_simulator_engine::*;
use std::net::IpAddr;
use std::time::Duration;
use support::{address, conditions, fat_tree, link, node};

const MS: Duration = Duration::from_millis(1);

fn flow(from: NodeIndex, to: NodeIndex, packets: u32) -> FlowSpec {
    let rate = Bandwidth::from_bits_per_second(10_000_000);
    FlowSpec { limit: Some(packets), ..FlowSpec::constant(address(from), address(to), [1000, 2000], rate) }
}

/// Two hosts and a router between them.
fn line() -> (Builder, [NodeIndex; 3]) {
    let mut builder = Builder::new(1);
    let wire = conditions(&[("delay", "1ms"), ("rate", "8Mbit")]);
    let a = node(&mut builder, "a", Kind::Host);
    let r = node(&mut builder, "r", Kind::Router);
    let b = node(&mut builder, "b", Kind::Host);
    link(&mut builder, a, r, &wire);
    link(&mut builder, r, b, &wire);
    (builder, [a, r, b])
}

#[test]
fn a_packet_takes_the_delay_and_the_bits_of_each_link() {
    let (mut builder, [a, r, b]) = line();
    builder.shortest_path_routes();
    let mut simulation = builder.build().unwrap();
    let flow = simulation.add_flow(&flow(a, b, 1)).unwrap();
    simulation.run_until(10 * MS);
    let seen = simulation.flow_counters(flow);
    // 1042 bytes at 8 Mbit/s, twice.
    assert_eq!((seen.sent, seen.received, seen.bytes), (1, 1, 1000));
    assert_eq!(seen.delay_sum, 2 * (1_000_000 + 1_042_000));
    assert_eq!(simulation.node_counters(r).forwarded, 1);
}

#[test]
fn what_nobody_routes_or_listens_to_is_counted_with_its_reason() {
    let (mut builder, [a, r, b]) = line();
    let to_all = "0.0.0.0/0".parse().unwrap();
    builder.route(a, to_all, vec![Via { interface: 0, neighbour: Neighbour::OnLink }]);
    let mut simulation = builder.build().unwrap();
    simulation.add_flow(&flow(a, b, 3)).unwrap();
    simulation.add_flow(&flow(b, a, 2)).unwrap();
    simulation.run_until(Duration::from_secs(1));
    assert_eq!(simulation.node_counters(r).dropped_for(Reason::NoRoute), 3);
    assert_eq!(simulation.node_counters(b).dropped_for(Reason::NoRoute), 2);
    assert!(simulation.totals().is_conserved());
}

#[test]
fn a_packet_in_a_two_node_loop_dies_within_its_ttl() {
    let mut builder = Builder::new(1);
    let wire = conditions(&[("delay", "1ms")]);
    let [a, r, s, b] = [("a", Kind::Host), ("r", Kind::Router), ("s", Kind::Router), ("b", Kind::Host)]
        .map(|(name, kind)| node(&mut builder, name, kind));
    link(&mut builder, a, r, &wire);
    link(&mut builder, r, s, &wire);
    link(&mut builder, s, b, &wire);
    let to = "10.0.0.0/24".parse().unwrap();
    for (node, interface) in [(a, 0), (r, 1), (s, 0)] {
        builder.route(node, to, vec![Via { interface, neighbour: Neighbour::OnLink }]);
    }
    let mut simulation = builder.build().unwrap();
    simulation.add_flow(&flow(a, b, 1)).unwrap();
    simulation.run_until(Duration::from_secs(10));
    let [r, s] = [r, s].map(|node| simulation.node_counters(node));
    assert_eq!(r.dropped_for(Reason::Expired) + s.dropped_for(Reason::Expired), 1);
    assert_eq!(r.forwarded + s.forwarded, 63);
    assert!(simulation.totals().is_conserved());
}

#[test]
fn a_stack_goes_by_its_relays_and_by_no_other_way() {
    let (mut builder, hosts) = fat_tree(1, 4, &conditions(&[("delay", "10us"), ("rate", "1Gbit")]));
    let x: IpAddr = "192.0.2.1".parse().unwrap();
    // The nodes after 16 hosts and 16 switches of pods are the four roots.
    let roots: Vec<NodeIndex> = (32..36).map(NodeIndex).collect();
    let edge = NodeIndex(16);
    for relay in roots.iter().chain([&edge]) {
        builder.decapsulate(*relay, x);
    }
    let mut simulation = builder.build().unwrap();
    let all = [Encapsulation::Gre, Encapsulation::Ipip, Encapsulation::Gue, Encapsulation::Ovstack];
    for encapsulation in all {
        for (at, root) in roots.iter().enumerate() {
            let before: Vec<NodeCounters> =
                roots.iter().map(|root| simulation.node_counters(*root)).collect();
            let relays = Relays { encapsulation, source: x, relays: vec![address(edge), address(*root)] };
            let spec =
                FlowSpec { relays: Some(relays), start: simulation.now(), ..flow(hosts[0], hosts[15], 20) };
            let flow = simulation.add_flow(&spec).unwrap();
            simulation.run_until(simulation.now() + 100 * MS);
            assert_eq!(simulation.flow_counters(flow).received, 20, "{encapsulation:?}");
            for (other, root) in roots.iter().enumerate() {
                let forwarded = simulation.node_counters(*root).forwarded - before[other].forwarded;
                assert_eq!(forwarded, if other == at { 20 } else { 0 });
            }
        }
    }
    assert_eq!(simulation.node_counters(edge).decapsulated, 320);
    assert!(simulation.totals().is_conserved());
}

#[test]
fn a_relay_takes_off_nothing_of_a_source_that_it_does_not_know() {
    let (mut builder, [a, r, b]) = line();
    builder.shortest_path_routes();
    builder.decapsulate(r, "192.0.2.1".parse().unwrap());
    let mut simulation = builder.build().unwrap();
    let relays = |source: &str| {
        let source = source.parse().unwrap();
        Some(Relays { encapsulation: Encapsulation::Gre, source, relays: vec![address(r)] })
    };
    let good = simulation.add_flow(&FlowSpec { relays: relays("192.0.2.1"), ..flow(a, b, 5) }).unwrap();
    let bad = simulation.add_flow(&FlowSpec { relays: relays("192.0.2.2"), ..flow(a, b, 7) }).unwrap();
    simulation.run_until(Duration::from_secs(1));
    assert_eq!(simulation.flow_counters(good).received, 5);
    assert_eq!(simulation.flow_counters(bad).received, 0);
    assert_eq!(simulation.node_counters(r).dropped_for(Reason::NotDecapsulated), 7);
}

#[test]
fn flows_spread_over_equal_paths_as_the_published_hash_says() {
    let (builder, hosts) = fat_tree(3, 4, &conditions(&[("delay", "10us"), ("rate", "1Gbit")]));
    let mut simulation = builder.build().unwrap();
    let edge = NodeIndex(16);
    let (from, to) = (address(hosts[0]), address(hosts[15]));
    let ways = simulation.next_hops(edge, to);
    assert_eq!(ways.len(), 2);
    let mut expected = [0u64; 2];
    for port in 0..1000 {
        let mut spec = flow(hosts[0], hosts[15], 1);
        spec.ports = [port, 9];
        simulation.add_flow(&spec).unwrap();
        let hash = hash::flow_hash(from, to, 17, [port, 9]);
        expected[hash::choose(hash, simulation.hash_seed(edge), 2) as usize] += 1;
    }
    // All at once would not fit a queue.
    simulation.run_until(Duration::from_secs(1));
    let took: Vec<u64> = ways.iter().map(|link| simulation.link_state(*link, 0).counters.arrived).collect();
    let dropped = simulation.totals().at_links;
    assert_eq!(took.iter().sum::<u64>() + dropped, 1000);
    // Binomial with n = 1000: 3.3 standard deviations are 52.
    assert!(expected[0].abs_diff(500) < 52, "{expected:?}");
    if dropped == 0 {
        assert_eq!(took, expected);
    }
}

#[test]
fn what_does_not_fit_a_link_is_too_big() {
    let mut builder = Builder::new(1);
    let [a, b] = ["a", "b"].map(|name| node(&mut builder, name, Kind::Host));
    builder.link(LinkSpec::symmetric("a-b", [a, b], conditions(&[])));
    builder.shortest_path_routes();
    let mut simulation = builder.build().unwrap();
    for size in [1472, 1473] {
        simulation.add_flow(&FlowSpec { size: Size::Constant(size), ..flow(a, b, 1) }).unwrap();
    }
    simulation.run_until(MS);
    assert_eq!(simulation.node_counters(a).dropped_for(Reason::TooBig), 1);
    assert_eq!(simulation.node_counters(b).received, 1);
}

#[test]
fn a_failed_link_passes_nothing_until_it_recovers() {
    let (mut builder, [a, _, b]) = line();
    builder.shortest_path_routes();
    let mut simulation = builder.build().unwrap();
    // One datagram in 834 µs for a second.
    let index = simulation.add_flow(&FlowSpec { ports: [1, 2], ..flow(a, b, 1000) }).unwrap();
    simulation.run_until(100 * MS);
    let before = simulation.flow_counters(index).received;
    assert!(before > 50);
    simulation.set_link_up(LinkIndex(1), 0, false);
    simulation.run_until(200 * MS);
    assert_eq!(simulation.flow_counters(index).received, before);
    simulation.set_link_up(LinkIndex(1), 0, true);
    simulation.set_node_up(b, false);
    simulation.run_until(300 * MS);
    assert_eq!(simulation.flow_counters(index).received, before);
    simulation.set_node_up(b, true);
    simulation.run_until(Duration::from_secs(3));
    assert!(simulation.flow_counters(index).received > before + 300);
    let failed = simulation.link_state(LinkIndex(1), 0).counters.failed;
    assert!(failed > 100, "{failed}");
    assert!(simulation.totals().is_conserved());
}

#[test]
fn stations_behind_switches_reach_each_other_without_using_hops() {
    let mut builder = Builder::new(1);
    let wire = conditions(&[("delay", "1us")]);
    let [s, t] = ["s", "t"].map(|name| node(&mut builder, name, Kind::Switch));
    let hosts: Vec<NodeIndex> = (0..4).map(|at| node(&mut builder, format!("h{at}"), Kind::Host)).collect();
    for (at, host) in hosts.iter().enumerate() {
        link(&mut builder, *host, if at < 2 { s } else { t }, &wire);
    }
    link(&mut builder, s, t, &wire);
    builder.shortest_path_routes();
    let mut simulation = builder.build().unwrap();
    let mut flows = Vec::new();
    for from in &hosts {
        for to in hosts.iter().filter(|to| *to != from) {
            flows.push(simulation.add_flow(&flow(*from, *to, 3)).unwrap());
        }
    }
    simulation.run_until(Duration::from_secs(1));
    for flow in flows {
        assert_eq!(simulation.flow_counters(flow).received, 3);
    }
    assert!(simulation.totals().is_conserved());
}
